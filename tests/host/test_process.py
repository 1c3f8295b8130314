"""The extension as a child process: its wire, its stderr, its environment and its end."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from canvas_provider.host.process import (
    STRIPPED,
    ExtensionProcess,
    create_environment,
    describe_exit,
)
from canvas_provider.wire.peer import Peer
from tests.support.processes import gone
from tests.support.scripted import BOARD, write_extension

pytestmark = pytest.mark.process

WAIT = "\nimport signal, sys, time\nprint('up', file=sys.stderr, flush=True)\ntime.sleep(60)\n"


class Running:
    def __init__(self, process: ExtensionProcess, lines: list[str], said: asyncio.Event) -> None:
        self.process = process
        self.lines = lines
        self.said = said

    async def hear(self, text: str) -> None:
        """Wait until a line has been written to stderr."""
        async with asyncio.timeout(5):
            while text not in self.lines:
                self.said.clear()
                await self.said.wait()


@asynccontextmanager
async def running(folder: Path, source: str, **environment: str) -> AsyncIterator[Running]:
    lines: list[str] = []
    said = asyncio.Event()

    def hear(line: str) -> None:
        lines.append(line)
        said.set()

    script = write_extension(folder, source)
    process = await ExtensionProcess.start(
        script,
        working_directory=str(folder),
        environment={**create_environment(script, "s1"), **environment},
        on_stderr=hear,
    )
    try:
        yield Running(process, lines, said)
    finally:
        await process.stop(0)
        await process.transport.aclose()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_the_wire_is_stdin_and_stdout(tmp_path: Path) -> None:
    joined = asyncio.Event()

    async def serve(method: str, params: object) -> None:
        joined.set()

    async with running(tmp_path, BOARD + "\nasyncio.run(main())\n") as it, asyncio.timeout(5):
        peer = Peer(it.process.transport, on_request=serve)
        peer.start()
        await joined.wait()
        assert await peer.request("canvas.open", {}) == {
            "title": "My board",
            "status": str(it.process.pid),
        }
        await peer.aclose()
        assert await it.process.wait() == 0


async def test_stderr_comes_line_by_line_whatever_it_holds(tmp_path: Path) -> None:
    source = (
        "import os, sys\n"
        "os.write(2, b'one\\r\\ntw\\xc3')\n"
        "os.write(2, b'\\xb6 \\xff\\n\\n' + b'x' * 40_000)\n"
        "print('printed')\n"
    )
    async with running(tmp_path, source) as it, asyncio.timeout(5):
        assert await it.process.wait() == 0
    assert it.lines[:3] == ["one", "twö \ufffd", ""]
    assert "".join(it.lines[3:]) == "x" * 40_000 + "printed"


async def test_a_sigterm_is_given_its_grace(tmp_path: Path) -> None:
    source = "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(7))\n" + WAIT
    async with running(tmp_path, source) as it:
        await it.hear("up")
        async with asyncio.timeout(4):
            assert await it.process.stop(5.0) == 7


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_what_does_not_end_is_killed(tmp_path: Path, is_stopped: bool) -> None:
    """A process that ignores SIGTERM, and one that is stopped."""
    ignore = "" if is_stopped else "import signal\nsignal.signal(15, signal.SIG_IGN)\n"
    async with running(tmp_path, ignore + WAIT) as it:
        await it.hear("up")
        if is_stopped:
            os.kill(it.process.pid, signal.SIGSTOP)
        async with asyncio.timeout(5):
            code = await it.process.stop(0.1)
        assert code < 0  # which of the two signals ended it, the kernel decides
        assert not is_alive(it.process.pid)
        assert await it.process.stop(0.1) == code


async def test_a_killed_extension_takes_its_children_along(tmp_path: Path) -> None:
    source = (
        "import signal, subprocess, sys\nsignal.signal(15, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print('child', child.pid, file=sys.stderr, flush=True)\n" + WAIT
    )
    async with running(tmp_path, source) as it:
        await it.hear("up")
        child = int(it.lines[0].split()[1])
        await it.process.stop(0.1)
        await gone(child)


async def test_a_child_that_keeps_stderr_does_not_hold_up_the_end(tmp_path: Path) -> None:
    source = (
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '3'])\n"
        "print('bye', file=sys.stderr, flush=True)\n"
    )
    async with running(tmp_path, source) as it, asyncio.timeout(2.5):
        assert await it.process.wait() == 0
    assert "bye" in it.lines


async def test_the_environment_is_copilots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Specification: facts 1.4, 1.5."""
    for name in STRIPPED:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("GH_TOKEN", "kept")
    source = (
        "import json, os, sys\n"
        "print(json.dumps([dict(os.environ), os.getcwd(), sys.flags.safe_path]), file=sys.stderr)\n"
    )
    async with running(tmp_path, source) as it, asyncio.timeout(5):
        await it.process.wait()
    environment, directory, is_safe = json.loads("".join(it.lines))
    assert not STRIPPED & set(environment)
    assert environment["GH_TOKEN"] == "kept"
    assert environment["SESSION_ID"] == "s1"
    assert environment["EXTENSION_PATH"] == str(tmp_path / "extension.mjs")
    assert environment["COPILOT_EXTENSION_PARENT_PID"] == str(os.getpid())
    assert directory == str(tmp_path)
    assert is_safe


async def test_an_interpreter_that_is_not_there_raises_and_leaks_nothing(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="nowhere"):
        await ExtensionProcess.start(
            write_extension(tmp_path),
            working_directory=str(tmp_path),
            environment={},
            on_stderr=lambda line: None,
            python="/nowhere/python",
        )
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_exit_is_described_in_words() -> None:
    assert describe_exit(3) == "exit code 3"
    assert describe_exit(-9) == "SIGKILL"
    assert describe_exit(-200) == "signal 200"
