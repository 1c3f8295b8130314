"""Every piece of code in the README and the docs: it compiles, it runs, and it keeps its word."""

import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.require import ROOT, require_copilot_cli, require_node

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"""(?:\]\(|(?:src|srcset)=")(?!https?://|#)([^)#\s"]+)""")
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [code for found, code in BLOCK.findall(text) if found == language]


class Markup(HTMLParser):
    """Collects module scripts, and elements that were not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


@pytest.fixture
def as_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module that pages can import as `extension`, with a page file beside it."""
    module = types.ModuleType("extension")
    module.__file__ = str(tmp_path / "extension.py")
    monkeypatch.setitem(sys.modules, "extension", module)
    yield module


def run_page(page: Path, module: types.ModuleType) -> None:
    """Run the Python of a page from top to bottom, as one module, beside its first two files."""
    folder = Path(str(module.__file__)).parent
    for code in blocks(page, "python")[:1]:
        (folder / "extension.py").write_text(code, encoding="utf-8")
    for html in blocks(page, "html")[:1]:
        (folder / "page.html").write_text(html, encoding="utf-8")
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), module.__dict__)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_python_of_a_page_runs(page: Path, as_extension: types.ModuleType) -> None:
    run_page(page, as_extension)


def find_tests() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for code in blocks(page, "python"):
            for name in re.findall(r"^async def (test_\w+)", code, re.MULTILINE):
                yield page, name


@pytest.mark.parametrize(("page", "name"), list(find_tests()))
async def test_a_test_in_the_docs_passes(
    page: Path,
    name: str,
    as_extension: types.ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_page(page, as_extension)
    test = getattr(as_extension, name)
    if "CopilotCLI" in test.__code__.co_names:
        monkeypatch.setenv("COPILOT_CLI_PATH", str(require_copilot_cli()))
    fixtures = {"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}
    cases = [
        {mark.args[0]: value}
        for mark in getattr(test, "pytestmark", [])
        if mark.name == "parametrize"
        for value in mark.args[1]
    ]
    for case in cases or [{}]:
        await test(**case, **fixtures)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_html_of_a_page_is_well_formed(page: Path, tmp_path: Path) -> None:
    for number, html in enumerate(blocks(page, "html")):
        markup = Markup()
        markup.feed(html)
        markup.close()
        assert markup.open == []
        for script in markup.scripts:
            file = tmp_path / f"{number}.mjs"
            file.write_text(script, encoding="utf-8")
            check = [require_node(), "--check", str(file)]
            done = subprocess.run(check, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
