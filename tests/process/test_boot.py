"""`boot` runs a file as Python does, and says more when it cannot."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

BOOT = [sys.executable, "-P", "-m", "canvas_provider.boot"]


def run(
    command: list[str], *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if "PYTHONPATH" in os.environ:
        environ["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environ,
        cwd=cwd,
        timeout=20,
    )


def write(path: Path, code: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return path


def boot(file: Path, *arguments: str | Path, cwd: Path | None = None) -> str:
    """Run a file that has to succeed; return what it printed, which is on stderr."""
    done = run(BOOT, file, *arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


def test_the_file_is_main_and_gets_its_arguments(tmp_path: Path) -> None:
    file = write(
        tmp_path / "ein Ordner mit Ümlaut" / "extension.py",
        "import sys\nhere = 1\n"
        "print([__name__, __file__, sys.argv, __spec__, sys.modules['__main__'].here])",
    )
    assert (
        boot(file, "a", "b c") == f"{['__main__', str(file), [str(file), 'a', 'b c'], None, 1]}\n"
    )


def test_a_relative_path_is_taken_from_the_working_directory(tmp_path: Path) -> None:
    write(tmp_path / "extension.py", "import sys; print(sys.argv[0], __file__)")
    printed = boot(Path("extension.py"), cwd=tmp_path)
    assert printed == f"extension.py {tmp_path / 'extension.py'}\n"


def test_modules_come_from_the_files_folder_and_never_from_the_working_directory(
    tmp_path: Path,
) -> None:
    """The working directory is the user's project, which may hold anything."""
    project, folder = tmp_path / "project", tmp_path / "extension"
    write(project / "starlette" / "__init__.py", "raise RuntimeError('shadowed')")
    write(project / "json.py", "raise RuntimeError('shadowed')")
    write(project / "helper.py", "raise RuntimeError('shadowed')")
    write(folder / "helper.py", "name = 'mine'")
    code = "import helper, json, starlette, sys; print(helper.name, sys.path[0])"
    file = write(folder / "extension.py", code)
    assert boot(file, cwd=project) == f"mine {folder}\n"


def test_without_the_option_p_the_working_directory_is_not_searched_either(
    tmp_path: Path,
) -> None:
    write(tmp_path / "project" / "helper.py", "")
    code = "from importlib.util import find_spec; print(find_spec('helper'))"
    file = write(tmp_path / "extension" / "main.py", code)
    command = [sys.executable, "-m", "canvas_provider.boot"]
    done = run(command, file, cwd=tmp_path / "project")
    assert done.stderr == "None\n"


def test_a_link_finds_what_lies_beside_its_target(tmp_path: Path) -> None:
    write(tmp_path / "source" / "helper.py", "name = 'beside the target'")
    file = write(tmp_path / "source" / "extension.py", "import helper; print(helper.name)")
    link = tmp_path / "link.py"
    link.symlink_to(file)
    assert boot(link) == "beside the target\n"


def test_pickles_annotations_and_spawned_processes_find_the_files_names(tmp_path: Path) -> None:
    code = """
import multiprocessing, pickle, typing

class Card:
    other: "Card"

def work():
    print("in the child", __name__)

if __name__ == "__main__":
    assert type(pickle.loads(pickle.dumps(Card()))) is Card
    assert typing.get_type_hints(Card) == {"other": Card}
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    print(child.exitcode)
"""
    assert boot(write(tmp_path / "extension.py", code)) == "in the child __mp_main__\n0\n"


def test_byte_code_is_kept_and_made_anew_when_the_source_changes(tmp_path: Path) -> None:
    file = write(tmp_path / "extension.py", "print('one')")
    assert boot(file) == "one\n"
    assert list(tmp_path.glob("__pycache__/extension.*.pyc"))
    write(file, "print('another')")
    assert boot(file) == "another\n"
    shutil.rmtree(tmp_path / "__pycache__")
    assert boot(file) == "another\n"


FAILURES = {
    "an error": "def f():\n    1 / 0\n\nf()\n",
    "a chain": "try:\n    1 / 0\nexcept ArithmeticError as e:\n    raise ValueError from e\n",
    "a syntax error": "x = = 1\n",
    "an indentation error": "if x:\npass\n",
    "a syntax error elsewhere": "import broken\n",
    "an error elsewhere": "import failing\n",
    "a group": "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])\n",
}


@pytest.mark.parametrize("code", FAILURES.values(), ids=FAILURES)
def test_an_error_is_reported_as_python_does_and_one_line_says_what_to_do(
    tmp_path: Path, code: str
) -> None:
    write(tmp_path / "broken.py", "y = = 2\n")
    write(tmp_path / "failing.py", "raise RuntimeError('elsewhere')\n")
    file = write(tmp_path / "extension.py", code)
    plain, ours = run([sys.executable], file), run(BOOT, file)
    assert (ours.returncode, ours.stdout) == (plain.returncode, "") == (1, "")
    *report, advice = ours.stderr.splitlines(keepends=True)
    assert "".join(report) == plain.stderr
    assert advice == (
        f"canvas_provider: {file} failed before it was done: "
        "fix the error above, then reload the extension\n"
    )


EXITS = {
    "exit code": "raise SystemExit(3)",
    "exit text": "import sys; sys.exit('bye')",
    "exit nothing": "raise SystemExit",
    "interrupt": "def f():\n    raise KeyboardInterrupt\n\nf()\n",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "at exit": "import atexit; atexit.register(print, 'leaving')",
}


@pytest.mark.parametrize("code", EXITS.values(), ids=EXITS)
def test_every_other_end_is_as_in_plain_python(tmp_path: Path, code: str) -> None:
    file = write(tmp_path / "extension.py", code)
    plain, ours = run([sys.executable], file), run(BOOT, file)
    assert (ours.returncode, ours.stdout) == (plain.returncode, "")
    assert ours.stderr == plain.stdout + plain.stderr


def test_a_forgotten_run_is_named(tmp_path: Path) -> None:
    code = (
        "from canvas_provider import create_canvas\n"
        "canvas = create_canvas(id='a', display_name='A', description='A canvas.')\n"
    )
    assert "call run(canvas)" in boot(write(tmp_path / "extension.py", code))


def test_a_missing_dependency_is_named_with_the_interpreter_that_lacks_it(tmp_path: Path) -> None:
    file = write(tmp_path / "extension.py", "import no_such_package.part\n")
    done = run(BOOT, file)
    assert done.returncode == 1
    assert f'{file}", line 1, in <module>' in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"canvas_provider: {sys.executable} has no module 'no_such_package'. Install the package "
        f"that provides it there, for example: {sys.executable} -m pip install no_such_package"
    )


def test_a_hook_of_the_authors_reports_instead(tmp_path: Path) -> None:
    code = "import sys\nsys.excepthook = lambda kind, e, tb: print(repr(e), tb.tb_lineno)\n1 / 0\n"
    done = run(BOOT, write(tmp_path / "extension.py", code))
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "ZeroDivisionError('division by zero') 3"


@pytest.mark.parametrize(
    "code", ["import mine.nonsense", "import msvcrt", "raise ModuleNotFoundError"]
)
def test_nothing_is_to_be_installed_for_a_module_that_no_package_brings(
    tmp_path: Path, code: str
) -> None:
    write(tmp_path / "mine" / "__init__.py", "")
    done = run(BOOT, write(tmp_path / "extension.py", code))
    assert done.returncode == 1
    assert "pip install" not in done.stderr
    assert "fix the error above" in done.stderr


def test_threads_and_exit_handlers_do_not_keep_a_failed_file_alive(tmp_path: Path) -> None:
    """Copilot makes the user's first turn wait for a process that neither joins nor exits."""
    code = """
import threading
print("no end of line", end="")
threading.Thread(target=threading.Event().wait).start()
1 / 0
"""
    done = run(BOOT, write(tmp_path / "extension.py", code))
    assert done.returncode == 1
    assert done.stderr.startswith("no end of line")
    assert "ZeroDivisionError" in done.stderr


def test_exit_handlers_of_a_failed_file_still_run(tmp_path: Path) -> None:
    code = "import atexit; atexit.register(print, 'saved')\n1 / 0\n"
    done = run(BOOT, write(tmp_path / "extension.py", code))
    assert done.stderr.endswith("saved\n")


def test_a_file_that_is_not_there_is_refused_with_its_full_path(tmp_path: Path) -> None:
    done = run(BOOT, "extension.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"canvas_provider: there is no file {tmp_path / 'extension.py'}: "
        "name the extension's Python file\n"
    )
    assert run(BOOT, tmp_path).returncode == 2


def test_no_file_at_all_is_refused_with_the_command_line() -> None:
    done = run(BOOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "python -P -m canvas_provider.boot EXTENSION_FILE" in done.stderr
