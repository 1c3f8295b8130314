"""The shim where it has to work: started by the real CLI, in places that are not kind to it."""

import os
import sys
from pathlib import Path

import pytest

from canvas_provider.testing import CLISession, CopilotCLI
from tests.support.copilot import create_cli, processes, wait_no_processes
from tests.support.extension import write_extension
from tests.support.venv import create_venv

pytestmark = [pytest.mark.copilot, pytest.mark.process]

EXTENSION = """
import os, sys
from canvas_provider import create_canvas, run

canvas = create_canvas(id="where", display_name="Where", description="Says where it runs.")

@canvas.action
async def describe() -> dict[str, object]:
    "Describe the process."
    return {"pid": os.getpid(), "python": sys.executable, "here": os.getcwd()}

if __name__ == "__main__":
    run(canvas)
"""


def place(cli: CopilotCLI, tmp_path: Path) -> Path:
    return cli.install(write_extension(tmp_path, "where", EXTENSION))


async def describe(cli: CopilotCLI) -> tuple[CLISession, dict[str, object]]:
    session = await cli.create_session()
    await session.wait_listed("where")
    await session.open("where", "one")
    described: dict[str, object] = await session.invoke("one", "describe")
    return session, described


async def test_with_execve_python_takes_the_place_of_node(cli: CopilotCLI, tmp_path: Path) -> None:
    place(cli, tmp_path)
    session, described = await describe(cli)
    (extension,) = await session.extensions()
    assert extension["pid"] == described["pid"]
    assert described["python"] == sys.executable
    assert described["here"] == str(cli.project)
    # One process, and it is Python: no Node stayed.
    ((pid, command),) = processes(cli).items()
    assert pid == described["pid"]
    assert command.startswith(sys.executable)


async def test_without_execve_node_stays_in_front_and_ends_with_python(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    shim = place(cli, tmp_path) / "extension.mjs"
    text = shim.read_text(encoding="utf-8")
    shim.write_text(f"{text}\n".replace("\n\n", "\nprocess.execve = undefined;\n", 1), "utf-8")
    session, described = await describe(cli)
    (extension,) = await session.extensions()
    assert extension["pid"] != described["pid"]
    assert processes(cli).keys() == {extension["pid"], described["pid"]}

    await session.reload()
    await session.wait_open("one")
    assert len(processes(cli)) == 2
    await session.disconnect()
    await wait_no_processes(cli, 3)


async def test_without_execve_nothing_is_left_after_a_sigkill_of_the_cli(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    shim = place(cli, tmp_path) / "extension.mjs"
    text = shim.read_text(encoding="utf-8")
    shim.write_text(f"{text}\n".replace("\n\n", "\nprocess.execve = undefined;\n", 1), "utf-8")
    await describe(cli)
    await cli.kill()
    await wait_no_processes(cli, 3)


async def test_a_project_may_hold_folders_with_the_names_of_our_dependencies(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    for name in ("starlette", "pydantic", "canvas_provider", "asyncio"):
        (cli.project / name).mkdir()
        (cli.project / name / "__init__.py").write_text("raise SystemExit(9)", encoding="utf-8")
    place(cli, tmp_path)
    await describe(cli)


async def test_a_bare_path_and_only_a_venv_at_the_projects_root_will_do(tmp_path: Path) -> None:
    async with create_cli(tmp_path, project="bäre project", PATH="/usr/bin:/bin") as cli:
        (place(cli, tmp_path) / ".canvas-provider.json").unlink()
        python = create_venv(cli.project)
        _, described = await describe(cli)
        assert described["python"] == str(python)


async def test_without_any_python_one_line_says_so_and_the_session_goes_on(
    tmp_path: Path,
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    async with create_cli(tmp_path, PATH=f"{empty}", HOME=os.environ["HOME"]) as cli:
        (place(cli, tmp_path) / ".canvas-provider.json").unlink()
        session = await cli.create_session()
        await session.wait_status("where", "failed")
        (line,) = [line for line in cli.log().splitlines() if line.startswith("canvas-provider: ")]
        assert "no Python 3.11 or newer with canvas_provider was found" in line
        assert "pip install canvas-provider" in line
