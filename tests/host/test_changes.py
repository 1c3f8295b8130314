"""What a saved file means, and which folders are looked at."""

import os
import py_compile
from pathlib import Path

import pytest

from canvas_provider.host.changes import Sources, drop_bytecode, list_folders

APP = Path("/work/app")
SOURCES = Sources.of(
    APP / "extension.py",
    {"modules": ["/work/app/extension.py", "/work/shared/cards.py"], "pages": ["/work/app/page"]},
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("app/extension.py", "code"),
        ("app/parts/new.py", "code"),
        ("shared/cards.py", "code"),
        ("app/page/index.html", "page"),
        ("app/page/lib/data.json", "page"),
        ("shared/unused.py", None),
        ("app/test_extension.py", None),
        ("app/conftest.py", None),
        ("app/.venv/lib/x.py", None),
        ("app/__pycache__/extension.cpython-311.pyc", None),
        ("app/notes.md", None),
        ("app/other.html", None),
        ("app/page/.index.html.swp", None),
        ("app/page/index.html~", None),
        ("app/page/4913.tmp", None),
        ("elsewhere/index.html", None),
    ],
)
def test_a_saved_file_is_code_or_a_page_or_nothing(path: str, kind: str | None) -> None:
    code, pages = SOURCES.sort([Path("/work", path)])
    assert (bool(code), bool(pages)) == (kind == "code", kind == "page")


def test_where_an_extension_does_not_tell_web_files_are_its_pages() -> None:
    sources = Sources.of(APP / "extension.py", {})
    saved = [APP / "ui" / "index.html", APP / "ui" / "data.json", APP / "extension.py"]
    assert sources.sort(saved) == ([APP / "extension.py"], [APP / "ui" / "index.html"])


def test_folders_that_nobody_edits_are_not_looked_at(tmp_path: Path) -> None:
    for name in ("app/page/lib", "app/node_modules/x", "app/.git/hooks", "app/artifacts", "shared"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "app" / "env" / "lib").mkdir(parents=True)
    (tmp_path / "app" / "env" / "pyvenv.cfg").touch()
    told = {"modules": [str(tmp_path / "shared" / "cards.py"), "/nowhere/x.py"], "pages": []}
    folders = list_folders(Sources.of(tmp_path / "app" / "extension.py", told))  # type: ignore[arg-type]
    names = {str(each.relative_to(tmp_path.resolve())) for each in folders}
    assert names == {"app", "app/page", "app/page/lib", "shared"}


def test_a_file_that_is_saved_twice_in_a_second_is_compiled_anew(tmp_path: Path) -> None:
    source = tmp_path / "cards.py"
    source.write_text("one = 1\n")
    compiled = Path(py_compile.compile(str(source)) or "")
    before = source.stat()
    source.write_text("one = 2\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    drop_bytecode([source, tmp_path / "gone.py"])
    assert not compiled.exists()
