"""The shim under a plain Node: which Python it takes, and how it stays in front of it.

A Node without `process.execve` is the case here; under the real Copilot CLI, which has it, see
`tests/copilot/test_shim.py`.
"""

import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import IO

import pytest

from tests.support.require import require_node
from tests.support.venv import create_venv

pytestmark = pytest.mark.process

TIMEOUT = 10

EXTENSION = """\
import json, os, sys
print(json.dumps({"argv": sys.argv, "python": sys.executable, "path": sys.path, "pid": os.getpid(),
                  "parent": os.getppid(), "safe": sys.flags.safe_path}), file=sys.stderr)
"""

# Answers a signal as a provider does, so that it can be told from one that was killed.
WAITING = """\
import os, signal
def leave(*_):
    os.write(2, b"told to leave\\n")
    os._exit(7)
signal.signal(signal.SIGTERM, leave)
os.write(2, b"waiting\\n")
while True:
    signal.pause()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "prøject with spaces"
    extension = folder / ".github" / "extensions" / "böard one"
    extension.mkdir(parents=True)
    shim = resources.files("canvas_provider.cli") / "shim" / "extension.mjs"
    (extension / "extension.mjs").write_bytes(shim.read_bytes())
    (extension / "extension.py").write_text(EXTENSION, encoding="utf-8")
    return folder


@pytest.fixture
def extension(project: Path) -> Path:
    return project / ".github" / "extensions" / "böard one"


def environment(project: Path, **more: str) -> dict[str, str]:
    """No interpreter on the PATH, so that only what a test gives can be found."""
    (project / "bin").mkdir(exist_ok=True)
    return {"PATH": str(project / "bin"), "HOME": str(project), **more}


def run(project: Path, extension: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [require_node(), str(extension / "extension.mjs")],
        cwd=project,
        env=environment(project, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
    )


def ran(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    seen: dict[str, object] = json.loads(done.stderr.splitlines()[-1])
    return seen


def python(path: Path, *, version: str = "", without: str = "") -> Path:
    """A Python at `path`, that may claim another version or lack a module."""
    spoil = ""
    if version:
        spoil = f"import sys; sys.version_info = ({version}, 0); "
    if without:
        spoil += f"import sys; sys.modules[{without!r}] = None; "
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = -c ]; then shift; exec {sys.executable} -c "{spoil}$1"; fi\n'
        f'CALLED_AS="$0" exec {sys.executable} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_named_python_runs_boot_without_the_working_directory_on_its_path(
    project: Path, extension: Path
) -> None:
    (project / "canvas_provider").mkdir()  # would shadow ours
    seen = ran(run(project, extension, CANVAS_PROVIDER_PYTHON=sys.executable))
    assert seen["argv"] == [str(extension / "extension.py")]
    assert seen["python"] == sys.executable
    assert seen["safe"] is True
    assert str(project) not in seen["path"]  # type: ignore[operator]
    assert seen["path"][0] == str(extension)  # type: ignore[index]


def test_a_named_python_that_is_missing_is_said_at_once(project: Path, extension: Path) -> None:
    create_venv(extension)
    done = run(project, extension, CANVAS_PROVIDER_PYTHON="/not/there")
    assert done.returncode == 1
    assert done.stderr == (
        "canvas-provider: CANVAS_PROVIDER_PYTHON is /not/there, which cannot be run: "
        "correct it or unset it.\n"
    )


def test_a_named_python_may_be_a_command(project: Path, extension: Path) -> None:
    python(project / "bin" / "my-python")
    ran(run(project, extension, CANVAS_PROVIDER_PYTHON="my-python"))


def test_the_recorded_python_is_run_without_a_probe(project: Path, extension: Path) -> None:
    called = project / "called"
    recorded = project / "recorded python"
    recorded.write_text(f'#!/bin/sh\necho "$@" >> "{called}"\n', encoding="utf-8")
    recorded.chmod(0o700)
    record = extension / ".canvas-provider.json"
    record.write_text(json.dumps({"python": str(recorded)}), encoding="utf-8")
    assert run(project, extension).returncode == 0
    assert called.read_text(encoding="utf-8").splitlines() == [
        f"-P -m canvas_provider.boot {extension / 'extension.py'}"
    ]


@pytest.mark.parametrize("record", ['{"python": "/gone/python"}', "{", '{"python": 5}', "{}"])
def test_a_record_that_leads_nowhere_is_passed_over(
    project: Path, extension: Path, record: str
) -> None:
    (extension / ".canvas-provider.json").write_text(record, encoding="utf-8")
    own = create_venv(extension)
    assert ran(run(project, extension))["python"] == str(own)


def test_a_venv_beside_the_extension_comes_before_the_projects(
    project: Path, extension: Path
) -> None:
    at_root = create_venv(project)
    assert ran(run(project, extension))["python"] == str(at_root)
    beside = create_venv(extension)
    assert ran(run(project, extension))["python"] == str(beside)


# A stranger's folder, without the right to give files away: of /tmp/.venv, say.
OWNERS = """\
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { lstatSync } = fs;
fs.lstatSync = (path) => (path.endsWith(".venv") ? { uid: 54321 } : lstatSync(path));
syncBuiltinESMExports();
"""


def test_a_venv_that_belongs_to_another_user_is_not_run(project: Path, extension: Path) -> None:
    create_venv(project)
    preload = project / "owners.mjs"
    preload.write_text(OWNERS, encoding="utf-8")
    done = run(project, extension, NODE_OPTIONS=f"--import={preload.as_uri()}")
    assert done.returncode == 1
    assert f"{project / '.venv'} belongs to another user" in done.stderr


def test_a_linked_extension_uses_the_project_that_links_it(
    project: Path, extension: Path, tmp_path: Path
) -> None:
    """Copilot says where it found the extension; Node follows the link first."""
    extension.rename(tmp_path / "elsewhere")
    extension.symlink_to(tmp_path / "elsewhere")
    at_root = create_venv(project)
    seen = ran(run(project, extension, EXTENSION_PATH=str(extension / "extension.mjs")))
    assert seen["python"] == str(at_root)
    assert seen["argv"] == [str(extension / "extension.py")]


def test_the_working_directory_of_a_users_extension_is_no_source_of_programs(
    project: Path, extension: Path, tmp_path: Path
) -> None:
    """It is whatever was cloned last: its .venv may be anything."""
    outside = tmp_path / "home" / "extensions" / "board"
    outside.parent.mkdir(parents=True)
    extension.rename(outside)
    create_venv(project)
    assert run(project, outside).returncode == 1


def test_inline_metadata_is_given_to_uv(project: Path, extension: Path) -> None:
    called = project / "called"
    uv = project / "bin" / "uv"
    (project / "bin").mkdir()
    uv.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{called}"\n', encoding="utf-8")
    uv.chmod(0o700)
    script = extension / "extension.py"
    script.write_text("# /// script\n# dependencies = []\n# ///\n" + EXTENSION, encoding="utf-8")
    assert run(project, extension).returncode == 0
    words = called.read_text(encoding="utf-8").splitlines()
    boot = ["python", "-P", "-m", "canvas_provider.boot", str(script)]
    assert words == ["run", "--quiet", "--no-project", "--with-requirements", str(script), *boot]


def test_python3_is_taken_when_it_serves(project: Path, extension: Path) -> None:
    python(project / "bin" / "python3")
    ran(run(project, extension))


def test_a_python3_that_does_not_serve_is_passed_over(project: Path, extension: Path) -> None:
    python(project / "bin" / "python3", version="3, 10")
    good = python(project / "more" / "python3")
    path = os.pathsep.join([str(project / "bin"), str(good.parent)])
    ran(run(project, extension, PATH=path))


def test_no_python_at_all_is_explained_in_one_line(project: Path, extension: Path) -> None:
    python(project / "bin" / "python3", version="3, 10")
    python(project / ".venv" / "bin" / "python", without="canvas_provider")
    done = run(project, extension)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "pip install canvas-provider" in line
    assert "CANVAS_PROVIDER_PYTHON is not set" in line
    assert f"{extension / '.canvas-provider.json'} is not there" in line
    assert f"{project / '.venv/bin/python'} has no canvas_provider" in line
    assert f"{project / 'bin/python3'} is Python 3.10" in line


def test_a_project_with_a_folder_of_our_name_does_not_make_a_python_serve(
    project: Path, extension: Path
) -> None:
    bare = project / "bin" / "python3"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    bare.chmod(0o700)
    (project / "canvas_provider").mkdir()
    done = run(project, extension)
    assert done.returncode == 1
    assert f"{bare} has no canvas_provider" in done.stderr


def test_a_missing_script_is_said(project: Path, extension: Path) -> None:
    (extension / "extension.py").unlink()
    done = run(project, extension)
    assert done.returncode == 1
    assert "extension.py is missing" in done.stderr


# In front of the child, where Node cannot become it


@contextmanager
def started(
    project: Path, extension: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    (extension / "extension.py").write_text(WAITING, encoding="utf-8")
    process = subprocess.Popen(
        [require_node(), *options, str(extension / "extension.mjs")],
        cwd=project,
        env=environment(project, CANVAS_PROVIDER_PYTHON=sys.executable),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin is not None and process.stderr is not None
    with process:
        try:
            yield process, process.stderr
        finally:
            process.kill()


def read_line(stream: IO[str]) -> str:
    ready, _, _ = select.select([stream], [], [], TIMEOUT)
    assert ready, "nothing came"
    return stream.readline().strip()


def test_the_exit_code_is_the_childs(project: Path, extension: Path) -> None:
    (extension / "extension.py").write_text("raise SystemExit(5)", encoding="utf-8")
    assert run(project, extension, CANVAS_PROVIDER_PYTHON=sys.executable).returncode == 5


def test_a_child_that_died_of_a_signal_is_mirrored(project: Path, extension: Path) -> None:
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    (extension / "extension.py").write_text(text, encoding="utf-8")
    done = run(project, extension, CANVAS_PROVIDER_PYTHON=sys.executable)
    assert done.returncode == -signal.SIGKILL


def test_sigterm_reaches_the_child_which_may_take_its_time(project: Path, extension: Path) -> None:
    with started(project, extension) as (process, stderr):
        read_line(stderr)
        process.terminate()
        assert read_line(stderr) == "told to leave"
        assert process.wait(TIMEOUT) == 7


def test_a_shim_that_is_made_to_exit_takes_the_child_with_it(
    project: Path, extension: Path
) -> None:
    """Copilot's bootstrap has a watch of its own, which ends the Node process."""
    watch = 'data:text/javascript,process.on("SIGUSR2", () => process.exit(3))'
    with started(project, extension, "--import", watch) as (process, stderr):
        read_line(stderr)
        process.send_signal(signal.SIGUSR2)
        assert read_line(stderr) == "told to leave"
        assert process.wait(TIMEOUT) == 3


def test_a_shim_whose_parent_is_gone_takes_the_child_with_it(
    project: Path, extension: Path
) -> None:
    """A shell in between, killed, leaves the shim an orphan."""
    (extension / "extension.py").write_text(WAITING, encoding="utf-8")
    line = f'"{require_node()}" "{extension / "extension.mjs"}" & wait'
    with subprocess.Popen(
        ["/bin/sh", "-c", line],
        cwd=project,
        env=environment(project, CANVAS_PROVIDER_PYTHON=sys.executable),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as shell:
        assert shell.stderr is not None
        read_line(shell.stderr)
        shell.kill()
        assert read_line(shell.stderr) == "told to leave"
