"""What `canvas-provider new` makes: a canvas that runs, is tested, and can be shared."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from canvas_provider.cli.main import main
from canvas_provider.cli.new import TEMPLATES

NAME = "Weekly retro"


def run(*args: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["new", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def tool(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a Python tool in the new folder, with no settings but its own."""
    environment = {**os.environ, "COPILOT_HOME": str(folder / "home"), "PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-m", *args],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared, because checking the framework is nearly all of the work."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.process
@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_passes_its_own_tests_and_checks(
    tmp_path: Path, mypy_cache: Path, template: str
) -> None:
    folder = tmp_path / NAME
    run(folder, "--template", template)

    for command in (
        ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
        ("ruff", "check", "--isolated", "--select", "E,F,I,B,UP", "--line-length", "100", "."),
        ("ruff", "format", "--isolated", "--check", "--line-length", "100", "."),
        ("mypy", "--strict", "--cache-dir", str(mypy_cache), "extension.py", "test_extension.py"),
    ):
        done = tool(folder, *command)
        assert done.returncode == 0, done.stdout
    assert "__" not in (folder / "page.html").read_text()


def test_it_is_named_after_its_folder(tmp_path: Path) -> None:
    made = json.loads(run(tmp_path / NAME, "--template", "board", "--json").output)
    folder = Path(made["folder"])

    assert folder == tmp_path / NAME
    assert made["files"] == sorted(
        [
            ".canvas-provider.json",
            ".gitignore",
            "README.md",
            "copilot-extension.json",
            "extension.mjs",
            "extension.py",
            "page.html",
            "test_extension.py",
        ]
    )
    source = (folder / "extension.py").read_text()
    assert 'id="weekly-retro"' in source
    assert 'display_name="Weekly retro"' in source
    assert (folder / "README.md").read_text().startswith("# Weekly retro\n")
    # A version that is a text, such as "1.0.0", stops Copilot's discovery.
    assert json.loads((folder / "copilot-extension.json").read_text()) == {
        "name": NAME,
        "version": 1,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME]


@pytest.mark.parametrize("title", ['A "quoted" one', "Back\\slash", "<b>bold</b> & `code`"])
def test_a_title_cannot_break_code_or_page(tmp_path: Path, title: str) -> None:
    run(tmp_path / "retro", "--title", title)
    compile((tmp_path / "retro" / "extension.py").read_text(), "extension.py", "exec")
    assert "<b>bold" not in (tmp_path / "retro" / "page.html").read_text()


def test_what_it_says_to_run_can_be_pasted(tmp_path: Path) -> None:
    lines = run(tmp_path / NAME).output.splitlines()
    assert any(line.strip().startswith(f"cd '{tmp_path / NAME}' && pytest") for line in lines)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "retro").mkdir()
    run(tmp_path / "retro")
    assert (tmp_path / "retro" / "extension.py").exists()


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "retro"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")

    assert "is there already" in run(folder, code=1).output
    assert "is there already" in run(folder / "notes.txt", code=1).output
    error = json.loads(run(folder, "--json", code=1).output)["error"]
    assert error["code"] == "not_created"
    assert [path.name for path in tmp_path.rglob("*")] == ["retro", "notes.txt"]


@pytest.mark.parametrize("name", [".hidden", "a:b", "trailing "])
def test_a_name_that_no_extension_can_have_is_refused(tmp_path: Path, name: str) -> None:
    run(tmp_path / name, code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in run(tmp_path / "file" / "retro", code=1).output
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
