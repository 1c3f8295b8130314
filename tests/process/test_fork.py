"""A forked child process has nothing of ours: no signal handlers, no wire, no port."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.extension import is_listening
from tests.support.provider import provider

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork"),
]

BOARD = """
import multiprocessing, os, time
from canvas_provider import create_canvas, run

board = create_canvas(id="board", display_name="Board", description="A board.")
fork = multiprocessing.get_context("fork")

@board.action
async def start() -> int:
    global child
    child = fork.Process(target=time.sleep, args=(30,))
    child.start()
    return child.pid

@board.action
async def stop() -> int:
    child.terminate()
    child.join(5)
    return child.exitcode

@board.action
async def start_raw() -> int:
    if pid := os.fork():
        return pid
    time.sleep(30)
    os._exit(0)

run(board)
"""


async def test_a_child_ends_by_a_signal_that_is_not_ours(tmp_path: Path) -> None:
    file = tmp_path / "extension.py"
    file.write_text(BOARD, encoding="utf-8")
    async with provider(file) as it:
        await it.open()
        for _ in range(5):
            await it.invoke("start")
            # At once: the child may not even have left fork().
            assert await it.invoke("stop") == -signal.SIGTERM
        it.process.terminate()
        assert await it.exit_code() == 0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_a_child_that_lives_on_holds_neither_the_wire_nor_a_port(
    tmp_path: Path, end: signal.Signals
) -> None:
    file = tmp_path / "extension.py"
    file.write_text(BOARD, encoding="utf-8")
    async with provider(file) as it:
        port = int(str((await it.open())["url"]).split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        child = await it.invoke("start_raw")
        assert isinstance(child, int)
        try:
            it.process.send_signal(end)
            async with asyncio.timeout(3):
                await it.peer.wait_closed()
                assert await reader.read() == b""
            assert not await is_listening(port)
        finally:
            writer.close()
            # It also holds our stderr, for which the end of the test waits.
            os.kill(child, signal.SIGKILL)
