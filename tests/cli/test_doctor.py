"""What `canvas-provider doctor` finds, and what it says to do about it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from canvas_provider.cli.main import main
from canvas_provider.cli.new import create_extension

pytestmark = pytest.mark.process

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copilot's home, and a project to be in."""
    home = tmp_path / "home"
    monkeypatch.setenv("COPILOT_HOME", str(home))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    return home


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A canvas without a fault."""
    folder = tmp_path / "board"
    create_extension(folder, "board")
    return folder


def run(*args: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["doctor", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def rows(folder: Path, check: str, *, code: int = 0) -> list[Row]:
    """What was found of one kind."""
    report = json.loads(run(folder, "--json", code=code).stdout)
    assert report["ok"] is (code == 0)
    return [row for row in report["findings"] if row["check"] == check]


def row(folder: Path, check: str, *, code: int = 0) -> Row:
    [found] = rows(folder, check, code=code)
    return found


def test_a_sound_canvas_gets_a_row_for_everything_that_was_looked_at(board: Path) -> None:
    report = json.loads(run(board, "--json").stdout)

    assert {found["level"] for found in report["findings"]} == {"ok", "note"}
    assert [found["check"] for found in report["findings"]] == [
        "interpreter",
        "package",
        "entry",
        "join",
        "canvas",
        "scope",
        "page",
        "folders",
        "sharing",
        "log",
    ]
    [canvas] = [found for found in report["findings"] if found["check"] == "canvas"]
    assert canvas["text"] == "board, with 4 actions for the agent."


def test_a_table_names_the_fix_below_each_row(board: Path) -> None:
    (board / "extension.mjs").unlink()
    lines = run(board).output.splitlines()
    at = next(number for number, line in enumerate(lines) if "There is no extension.mjs" in line)
    assert lines[at].startswith("· entry")
    assert lines[at + 1].strip() == "→ Put it into Copilot: canvas-provider install PATH"


def test_examining_stores_nothing(board: Path, home: Path) -> None:
    run(board)
    assert not home.exists()


def test_what_ends_at_its_start_is_shown_with_what_it_said(board: Path) -> None:
    (board / "extension.py").write_text("import sys\nsys.exit('no luck today')\n")
    found = row(board, "join", code=1)
    assert found["level"] == "error"
    assert "ended before it had joined" in found["text"]
    assert "no luck today" in found["text"]


def test_what_the_runtime_refuses_is_told_in_its_words(board: Path) -> None:
    script = board / "extension.py"
    script.write_text(script.read_text().replace('id="board"', 'id=""'))
    assert "id" in row(board, "join", code=1)["text"]


def test_an_interpreter_that_is_gone_is_named_and_nothing_is_started(board: Path) -> None:
    record = board / ".canvas-provider.json"
    record.write_text(json.dumps({"python": "/nowhere/python"}))
    found = row(board, "interpreter", code=1)
    assert "/nowhere/python (recorded at the install) cannot be run" in found["text"]
    assert rows(board, "join", code=1) == []


def test_an_interpreter_without_the_package_is_told_how_to_get_it(
    board: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    (board / ".canvas-provider.json").write_text(json.dumps({"python": str(bare)}))
    found = row(board, "interpreter", code=1)
    assert "No module named 'canvas_provider'" in found["text"]
    assert f"{bare} -m pip install canvas-provider" in found["fix"]


def test_a_strangers_shim_is_an_error_and_an_old_one_a_note(board: Path) -> None:
    shim = board / "extension.mjs"
    shim.write_text(shim.read_text() + "// older")
    assert row(board, "entry")["level"] == "note"
    shim.write_text("console.log('mine')")
    assert row(board, "entry", code=1)["level"] == "error"


def test_a_second_entry_is_named(board: Path) -> None:
    (board / "extension.js").write_text("")
    assert "extension.js" in rows(board, "entry")[0]["text"]


def test_names_that_are_there_twice_are_found(board: Path, home: Path, tmp_path: Path) -> None:
    create_extension(home / "extensions" / "board", "blank")
    project = tmp_path / "project" / ".github" / "extensions"
    create_extension(project / "other", "board")
    script = project / "other" / "extension.py"
    script.write_text(script.read_text().replace('id="other"', 'id="board"'))

    texts = [found["text"] for found in rows(board, "scope")]
    assert texts == [
        "The project extension other seems to declare board, too.",
        f"There is a user extension board, too, in {home / 'extensions' / 'board'}.",
    ]


@pytest.mark.parametrize(
    ("name", "text", "check"),
    [
        ("page.html", '<script src="https://cdn.example/x.js"></script>', "external URLs"),
        ("page.html", '<link rel="stylesheet" href="//cdn.example/x.css">', "external URLs"),
        (
            "page.html",
            '<script type="module">import "https://x.example/a.js";</script>',
            "external URLs",
        ),
        ("page.html", '<style>@import "https://x.example/a.css";</style>', "external URLs"),
        ("look.css", "body { background: url(https://x.example/a.png) }", "external URLs"),
        ("app.js", 'import { x } from "https://x.example/a.js";', "external URLs"),
        ("app.js", "await fetch('https://x.example/a')", "external URLs"),
        ("page.html", '<img src="/logo.svg">', "absolute paths"),
        ("app.js", 'await fetch("/state")', "absolute paths"),
        ("app.js", 'list.innerHTML = `<b onclick="go()">x</b>`;', "inline handlers"),
        ("app.js", "button.setAttribute('onclick', 'go()')", "inline handlers"),
        ("page.html", "<script>list.innerHTML = '<i onload=go()>'</script>", "inline handlers"),
        ("app.js", "eval(text)", "code from text"),
        ("app.js", "const f = new Function('return 1');", "code from text"),
        ("app.js", "localStorage.theme = 'dark'", "browser storage"),
    ],
)
def test_what_a_page_cannot_do_is_found_with_its_place(
    board: Path, name: str, text: str, check: str
) -> None:
    (board / name).write_text(f"\n{text}\n")
    found = row(board, check)
    assert found["level"] == "warning"
    assert f"{name}:2" in found["text"]
    assert found["fix"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", '<a href="https://docs.example">read</a>'),
        ("page.html", '<button onclick="go()">admitted by its hash</button>'),
        ("page.html", '<img src="data:image/png;base64,AAAA"><img src="./a.svg">'),
        ("app.js", "// see https://docs.example and <b onclick=…>"),
        ("app.js", 'button.onclick = () => go("https"); const path = "/" + name;'),
        ("app.js", "retrieval(text); medieval(1)"),
        ("app.js", 'import { connect } from "./canvas.js";'),
    ],
)
def test_what_a_page_can_do_is_no_finding(board: Path, name: str, text: str) -> None:
    (board / name).write_text(text)
    assert row(board, "page")["level"] == "ok"


def test_a_home_that_is_a_file_is_an_error(board: Path, home: Path) -> None:
    home.write_text("")
    assert str(home) in row(board, "folders", code=1)["text"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"name": "board"}', '{"name": "board", "version": "1.0.0"}']
)
def test_a_manifest_that_stops_the_discovery_is_an_error(board: Path, text: str) -> None:
    (board / "copilot-extension.json").write_text(text)
    found = row(board, "sharing", code=1)
    assert '{"name": "board", "version": 1}' in found["fix"]


def test_what_a_gist_does_not_take_is_named(board: Path) -> None:
    (board / "big.txt").write_bytes(b"x" * 1_000_001)
    (board / "logo.png").write_bytes(b"\x89PNG\0\0")
    texts = [found["text"] for found in rows(board, "sharing")]
    assert texts == [
        "big.txt has more than 1 MB, which a gist does not take.",
        "logo.png is no text, which a gist does not take.",
    ]


def test_the_end_of_copilots_log_is_shown(board: Path, home: Path) -> None:
    (home / "logs").mkdir(parents=True)
    mine = home / "logs" / "process-1-2.log"
    mine.write_text(f"=== launch pid=2 module={board / 'extension.mjs'} ===\nModuleNotFound\n")
    (home / "logs" / "process-1-3.log").write_text("=== launch pid=3 module=/x/other.mjs ===")
    assert "ModuleNotFound" in row(board, "log")["text"]

    with mine.open("a") as log:
        log.write("=== exit code=3 disposition=startup-failure ===\n")
    assert row(board, "log")["level"] == "warning"


def test_of_a_file_alone_no_page_is_looked_at(board: Path) -> None:
    (board / "extension.py").rename(board / "board.py")
    (board / "page.html").write_text('<img src="/logo.svg">')
    assert row(board / "board.py", "page")["level"] == "note"


def test_a_path_without_an_extension_is_refused(tmp_path: Path) -> None:
    run(tmp_path, code=2)
