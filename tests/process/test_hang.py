"""A process whose own code hangs ends in time all the same."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.types import JSONObject, JSONValue
from tests.support.extension import is_listening
from tests.support.provider import provider

pytestmark = pytest.mark.process

BOARD = """
import sys, threading, time
from canvas_provider import CanvasContext, create_canvas, run

board = create_canvas(id="board", display_name="Board", description="A board.")

@board.action
async def sleep(ctx: CanvasContext) -> None:
    print("hanging", flush=True)
    time.sleep(30)

@board.action
async def compute(ctx: CanvasContext) -> None:
    print("hanging", flush=True)
    while True:
        pass
"""
THREAD = "threading.Thread(target=time.sleep, args=(30,)).start()\n"


def _write(folder: Path, source: str) -> Path:
    file = folder / "extension.py"
    file.write_text(source, encoding="utf-8")
    return file


@pytest.mark.parametrize("action", ["sleep", "compute"])
@pytest.mark.parametrize("end", ["EOF", "SIGTERM", "SIGINT", "parent"])
async def test_a_handler_that_blocks_the_loop(tmp_path: Path, action: str, end: str) -> None:
    copilot = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    file = _write(tmp_path, BOARD + "run(board)")
    async with provider(file, COPILOT_EXTENSION_PARENT_PID=str(copilot.pid)) as it:
        port = int(str((await it.open())["url"]).split(":")[2].split("/")[0])
        call = asyncio.ensure_future(it.invoke(action))
        async with asyncio.timeout(5):
            while b"hanging" not in it.stderr:
                await asyncio.wait([call], timeout=0.01)
        if end == "EOF":
            await it.peer.aclose()
        elif end == "parent":
            copilot.kill()
        else:
            it.process.send_signal(getattr(signal, end))
        assert await it.exit_code(within=3) == 1
        assert not await is_listening(port)
        with pytest.raises(Exception):  # noqa: B017  # answered or cut off: both are an end
            await call
    if copilot.returncode is None:
        copilot.kill()
    await copilot.wait()


@pytest.mark.parametrize(
    ("end", "status"), [("sys.exit(7)", 7), ("sys.exit('no key')", 1), ("run()", 1)]
)
async def test_an_early_end_is_not_held_up_by_threads(
    tmp_path: Path, end: str, status: int
) -> None:
    async with provider(_write(tmp_path, BOARD + THREAD + end), join=False) as it:
        assert await it.exit_code() == status


async def test_a_rejected_join_is_not_held_up_by_threads(tmp_path: Path) -> None:
    async def refuse(method: str, params: JSONObject) -> JSONValue:
        raise RemoteError(-32603, "denied")

    source = BOARD + THREAD + "run(board)"
    async with provider(_write(tmp_path, source), answer=refuse, join=False) as it:
        assert await it.exit_code() == 1


async def test_a_thread_that_prints_what_nobody_reads(tmp_path: Path) -> None:
    source = BOARD.replace("import sys,", "import os, sys,") + (
        "@board.action\n"
        "def fill(ctx: CanvasContext) -> None:\n"
        "    print('hanging', flush=True)\n"
        "    os.dup2(os.pipe()[1], 1)\n"
        "    print('x' * 1_000_000)\n"
        "run(board)\n"
    )
    async with provider(_write(tmp_path, source)) as it:
        await it.open()
        call = asyncio.ensure_future(it.invoke("fill"))
        async with asyncio.timeout(5):
            while b"hanging" not in it.stderr:
                await asyncio.wait([call], timeout=0.01)
        it.process.terminate()
        assert await it.exit_code(within=3) == 1
        with pytest.raises(Exception):  # noqa: B017  # answered or cut off: both are an end
            await call
