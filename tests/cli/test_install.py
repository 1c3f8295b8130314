"""What `canvas-provider install` puts where, what it refuses, and what it never touches."""

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from canvas_provider.cli.installation import RECORD
from canvas_provider.cli.main import main
from canvas_provider.config import copilot_home

SOURCE = "import sys\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "the project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """An extension as an author has it: a folder with a page, and things that are not it."""
    folder = tmp_path / "board"
    write(folder / "extension.py", SOURCE)
    write(folder / "page" / "index.html", "<p>board")
    write(folder / "page" / "app.js", "1")
    write(folder / ".env", "SECRET=1")
    write(folder / "__pycache__" / "extension.cpython-311.pyc", "")
    write(folder / "env" / "pyvenv.cfg", "")
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(*args: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["install", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def contents(folder: Path) -> dict[str, str]:
    """Every file below `folder`, byte code left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }


def installed(project: Path, name: str = "board") -> Path:
    return project / ".github" / "extensions" / name


def test_a_folder_is_copied_beside_the_shim(project: Path, board: Path) -> None:
    run(board, "--project", project)

    folder = installed(project)
    assert contents(folder).keys() == {
        ".canvas-provider.json",
        ".gitignore",
        "extension.mjs",
        "extension.py",
        "page/app.js",
        "page/index.html",
    }
    assert (folder / "page" / "index.html").read_text(encoding="utf-8") == "<p>board"
    assert list(folder.parent.iterdir()) == [folder]
    assert list((folder / "__pycache__").glob("extension.*.pyc"))


def test_a_file_becomes_extension_py_under_its_own_name(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "notes.py", SOURCE)
    result = run(tmp_path / "notes.py", "--project", project)

    folder = installed(project, "notes")
    assert (folder / "extension.py").read_text(encoding="utf-8") == SOURCE
    assert "Only notes.py was taken" in result.output


def test_what_can_be_committed_holds_no_absolute_path(project: Path, board: Path) -> None:
    run(board, "--project", project)

    folder = installed(project)
    ignored = (folder / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert RECORD in ignored
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    assert record["python"] == sys.executable
    for name, text in contents(folder).items():
        if name not in ignored:
            assert str(project.parent) not in text, name
            assert sys.prefix not in text, name


def test_without_a_project_it_is_the_git_root_around(
    project: Path, board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    run(board)
    assert (installed(project) / "extension.mjs").is_file()


def test_outside_of_git_the_project_has_to_be_named(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--project" in run(board, code=1).output


def test_a_user_install_goes_to_the_copilot_home(board: Path) -> None:
    said = run(board, "--user", "--name", "mine").output
    assert (copilot_home() / "extensions" / "mine" / "extension.mjs").is_file()
    assert "in the project" not in said


def test_json_tells_programs_what_was_done(project: Path, board: Path) -> None:
    done = json.loads(run(board, "--project", project, "--json").output)
    assert done == {
        "name": "board",
        "folder": str(installed(project)),
        "python": sys.executable,
        "files": ["extension.py", "page/app.js", "page/index.html"],
        "removed": [],
        "replaced": [],
        "backup": None,
    }
    refused = json.loads(run("nowhere", "--project", project, "--json", code=1).output)
    assert "does not exist" in refused["error"]["message"]


def test_installing_again_updates_in_place_and_touches_nothing_else(
    project: Path, board: Path
) -> None:
    run(board, "--project", project)
    folder = installed(project)
    write(folder / "artifacts" / "board.json", "data")
    write(folder / "page" / "notes.txt", "mine")
    write(board / "extension.py", "import os\n")
    write(board / "page" / "new.js", "2")
    (board / "page" / "app.js").unlink()

    result = run(board, "--project", project)

    there = contents(folder)
    assert there["extension.py"] == "import os\n"
    assert there["page/new.js"] == "2"
    assert "page/app.js" not in there
    assert there["artifacts/board.json"] == "data"
    assert there["page/notes.txt"] == "mine"
    assert "page/app.js" in result.output
    assert list(folder.parent.iterdir()) == [folder]


def test_folders_that_become_empty_go_with_their_files(project: Path, board: Path) -> None:
    write(board / "lib" / "deep" / "part.py", "")
    run(board, "--project", project)
    (board / "lib" / "deep" / "part.py").unlink()
    run(board, "--project", project)
    assert not (installed(project) / "lib").exists()


def test_a_foreign_extension_is_refused(project: Path, board: Path) -> None:
    folder = installed(project)
    write(folder / "extension.mjs", "foreign")
    write(folder / "data.txt", "theirs")
    before = contents(project)

    result = run(board, "--project", project, code=1)

    assert "not an extension of ours" in result.output
    assert "--force" in result.output
    assert contents(project) == before


def test_force_replaces_a_foreign_extension_and_keeps_it(project: Path, board: Path) -> None:
    folder = installed(project)
    write(folder / "extension.mjs", "foreign")
    write(folder / "data.txt", "theirs")

    done = json.loads(run(board, "--project", project, "--force", "--json").output)

    assert done["replaced"] == ["board/"]
    assert contents(Path(done["backup"])) == {"extension.mjs": "foreign", "data.txt": "theirs"}
    assert "data.txt" not in contents(folder)
    # Copilot starts each extension.mjs that is exactly one folder deep.
    assert list(folder.parent.glob("*/extension.mjs")) == [folder / "extension.mjs"]


def test_force_says_what_it_replaced_and_where_that_is(project: Path, board: Path) -> None:
    write(installed(project) / "extension.mjs", "foreign")
    output = run(board, "--project", project, "--force").output
    assert "Replaced: board/" in output
    assert ".replaced" in output


def test_what_was_edited_since_is_replaced_only_by_force(project: Path, board: Path) -> None:
    run(board, "--project", project)
    folder = installed(project)
    write(folder / "extension.py", "edited = True\n")
    write(board / "extension.py", "newer = True\n")

    result = run(board, "--project", project, code=1)
    assert "extension.py was changed since" in result.output
    assert contents(folder)["extension.py"] == "edited = True\n"

    done = json.loads(run(board, "--project", project, "--force", "--json").output)
    assert done["replaced"] == ["extension.py"]
    assert contents(Path(done["backup"])) == {"extension.py": "edited = True\n"}
    assert contents(folder)["extension.py"] == "newer = True\n"


def test_data_without_an_extension_is_installed_around(board: Path) -> None:
    """A store made its folder before the extension was installed there."""
    folder = copilot_home() / "extensions" / "board"
    write(folder / "artifacts" / "board.json", "data")
    run(board, "--user")
    assert contents(folder)["artifacts/board.json"] == "data"
    assert (folder / "extension.mjs").is_file()


def test_a_colleagues_clone_is_completed_in_place(project: Path, board: Path) -> None:
    """Git brings what was committed, so the record and the byte code are missing."""
    run(board, "--project", project)
    folder = installed(project)
    (folder / RECORD).unlink()
    write(folder / "page" / "more.js", "3")
    before = contents(folder)

    for path in (folder, folder / "extension.py"):
        run(path, "--project", project)
        after = contents(folder)
        assert json.loads(after.pop(RECORD))["python"] == sys.executable
        assert after == before
        (folder / RECORD).unlink()


def test_naming_the_installed_script_itself_takes_nothing_away(project: Path, board: Path) -> None:
    run(board, "--project", project)
    before = contents(installed(project))
    run(installed(project) / "extension.py", "--project", project)
    assert contents(installed(project)) == before


def test_a_folder_that_was_linked_by_hand_is_completed_where_it_is(
    project: Path, board: Path
) -> None:
    installed(project).parent.mkdir(parents=True)
    installed(project).symlink_to(board)
    done = json.loads(run(board, "--project", project, "--json").output)
    assert done["folder"] == str(board)
    assert installed(project).is_symlink()
    assert (board / "extension.mjs").is_file()
    assert (board / ".env").is_file()


def test_links_within_the_project_are_relative(project: Path) -> None:
    source = project / "src" / "board"
    write(source / "extension.py", SOURCE)
    write(source / "page" / "index.html", "<p>")
    run(source, "--project", project, "--link")

    folder = installed(project)
    assert os.readlink(folder / "extension.py") == "../../../src/board/extension.py"
    assert (folder / "page" / "index.html").read_text(encoding="utf-8") == "<p>"
    assert "*" not in (folder / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_links_out_of_the_project_are_kept_from_git(project: Path, board: Path) -> None:
    run(board, "--project", project, "--link")
    folder = installed(project)
    assert os.readlink(folder / "extension.py") == str(board / "extension.py")
    assert "*" in (folder / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not (folder / "extension.mjs").is_symlink()


def test_links_and_copies_take_turns_without_touching_the_source(
    project: Path, board: Path
) -> None:
    before = contents(board)
    for options in ([], ["--link"], ["--link"], [], ["--link"]):
        run(board, "--project", project, *options)
        folder = installed(project)
        assert (folder / "page").is_symlink() == bool(options)
        assert (folder / "extension.py").is_symlink() == bool(options)
        assert contents(board) == before
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_that_became_a_link_is_not_written_through(
    project: Path, board: Path, tmp_path: Path
) -> None:
    run(board, "--project", project)
    folder = installed(project)
    elsewhere = tmp_path / "elsewhere"
    (folder / "page").rename(elsewhere)
    (folder / "page").symlink_to(elsewhere)
    write(board / "page" / "app.js", "newer")
    before = contents(elsewhere)

    assert "page" in run(board, "--project", project, code=1).output
    done = json.loads(run(board, "--project", project, "--force", "--json").output)

    assert done["replaced"] == ["page"]
    assert contents(elsewhere) == before
    assert contents(folder)["page/app.js"] == "newer"


def test_a_failure_in_the_middle_leaves_everything_as_it_was(
    project: Path, board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(board, "--project", project)
    folder = installed(project)
    write(folder / "artifacts" / "board.json", "data")
    (board / "page" / "index.html").unlink()
    write(board / "extension.py", "import os\n")
    before = contents(project)
    rename = os.rename

    for fail_at in range(1, 10):
        calls = 0

        def failing(origin: Path, target: Path, fail_at: int = fail_at) -> None:
            nonlocal calls
            calls += 1
            if calls == fail_at:
                raise OSError(28, "No space left on device", str(target))
            rename(origin, target)

        with monkeypatch.context() as patched:
            patched.setattr("os.rename", failing)
            assert "No space left" in run(board, "--project", project, code=1).output
        assert contents(project) == before
        assert list(folder.parent.iterdir()) == [folder]


def test_a_failing_first_install_leaves_no_trace(
    project: Path, board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(origin: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copy2", failing)
        run(board, "--project", project, code=1)
    assert not (project / ".github").exists()


def test_an_author_may_ignore_more(project: Path, board: Path) -> None:
    run(board, "--project", project)
    ignore = installed(project) / ".gitignore"
    write(ignore, "secret.txt\n" + ignore.read_text(encoding="utf-8"))
    run(board, "--project", project)
    run(board, "--project", project)
    lines = ignore.read_text(encoding="utf-8").splitlines()
    assert lines.count("secret.txt") == lines.count(RECORD) == 1


@pytest.mark.parametrize(
    "name",
    ["a/b", "..", ".hidden", "", " ", "a\\b", "a:b", "a.", "a ", "a\nb", "a\x1b[0mb", "a\udcff"],
)
def test_a_name_that_is_no_folder_is_refused(project: Path, board: Path, name: str) -> None:
    assert "--name" in run(board, "--project", project, "--name", name, code=1).output


def test_a_path_that_no_system_takes_is_an_error_in_one_line(project: Path, board: Path) -> None:
    for arguments in (("x" * 300,), (board, "--name", "x" * 300)):
        output = run(*arguments, "--project", project, code=1).output
        assert "too long" in output
        assert output.startswith("Error: ")


def test_what_git_ignores_is_kept_byte_by_byte(project: Path, board: Path) -> None:
    run(board, "--project", project)
    ignore = installed(project) / ".gitignore"
    ignore.write_bytes(b"\xff\xfe*.log\n" + ignore.read_bytes())
    before = ignore.read_bytes()
    run(board, "--project", project)
    assert ignore.read_bytes() == before


def test_sources_that_cannot_work_are_refused_with_the_reason(
    project: Path, board: Path, tmp_path: Path
) -> None:
    write(tmp_path / "text.txt", "")
    assert "is no .py file" in run(tmp_path / "text.txt", "--project", project, code=1).output

    write(tmp_path / "empty" / "main.py", "")
    assert "has no extension.py" in run(tmp_path / "empty", "--project", project, code=1).output

    write(tmp_path / "broken.py", "def (:\n")
    assert "broken.py, line 1" in run(tmp_path / "broken.py", "--project", project, code=1).output

    write(board / "extension.mjs", "theirs")
    assert "extension.mjs is not ours" in run(board, "--project", project, code=1).output
    (board / "extension.mjs").unlink()

    (board / "loop").symlink_to(board)
    assert "a link to a folder" in run(board, "--project", project, code=1).output
    (board / "loop").unlink()

    (board / "gone").symlink_to(tmp_path / "not there")
    assert "leads nowhere" in run(board, "--project", project, code=1).output
    assert not (project / ".github").exists()


def test_a_project_inside_of_the_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "extension.py", SOURCE)
    assert "inside the other" in run(tmp_path, "--project", tmp_path, code=1).output


def test_project_and_user_exclude_each_other(project: Path, board: Path) -> None:
    assert "not both" in run(board, "--project", project, "--user", code=2).output


def test_a_name_that_the_user_has_too_is_mentioned(project: Path, board: Path) -> None:
    run(board, "--user")
    assert "Copilot starts both" in run(board, "--project", project).output
