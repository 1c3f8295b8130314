"""Every way a provider can end, at every point of its work: nothing stays, nothing is lost."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from canvas_provider import JSONFileStore
from canvas_provider.state.shared import SharedState
from tests.support.extension import is_listening
from tests.support.provider import Provider, provider

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="there are no such signals"),
]

EXTENSION: Final = """
import asyncio, os, sys, time
from pathlib import Path
from canvas_provider import CanvasContext, JSONFileStore, create_canvas, run

board = create_canvas(
    id="board", display_name="Board", description="A board.", state=dict,
    store=JSONFileStore(Path(__file__).parent / "store"), state_key=lambda ctx: "board",
)

def here():
    print("here", file=sys.stderr, flush=True)

@board.on_open
async def opened(ctx: CanvasContext, stay: bool = False) -> None:
    if stay:
        here()
        await asyncio.Event().wait()

@board.action
async def add(state: dict, text: str) -> int:
    state.setdefault("items", []).append(text)
    return len(state["items"])

@board.action
async def wait() -> None:
    here()
    await asyncio.Event().wait()

@board.action
async def ignore() -> None:
    here()
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

@board.action
def sleep() -> None:
    here()
    time.sleep(60)

@board.action
async def hold(ctx: CanvasContext) -> None:
    async with ctx.state.change() as draft:
        draft["half"] = True
        here()
        await asyncio.Event().wait()

@board.action
async def write(state: dict) -> None:
    fsync = os.fsync

    def slow(descriptor):
        here()
        time.sleep(0.2)
        fsync(descriptor)

    os.fsync = slow
    state["written"] = True

@board.action
async def toil(ctx: CanvasContext) -> None:
    async with ctx.progress("Toil") as work:
        here()
        while True:
            work.advance()
            await asyncio.sleep(0)

if os.environ.get("AT_IMPORT"):
    here()
    time.sleep(60)
run(board)
"""

ENDS: Final = ["EOF", "SIGTERM", "SIGINT", "SIGKILL", "the end of Copilot"]

WORK: Final = ["nothing", "opening", "streams", "wait", "ignore", "sleep", "hold", "write", "toil"]

CUT_OFF: Final = ("ignore", "sleep", "write")
"""What may last longer than there is time for: the last one on a slow machine only."""


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    file = tmp_path / "extension.py"
    file.write_text(EXTENSION, encoding="utf-8")
    return file


@asynccontextmanager
async def copilot() -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that stands for Copilot, as far as one can be seen to end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "input()"), stdin=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def begin(it: Provider, work: str, url: str, stack: AsyncExitStack) -> None:
    """Get the provider to work, and wait until it does."""
    calls: list[asyncio.Future[Any]] = []

    async def abandon() -> None:
        # Answered with an error, or cut off: both are an end.
        async with asyncio.timeout(5):
            await asyncio.gather(*calls, return_exceptions=True)

    stack.push_async_callback(abandon)
    match work:
        case "nothing":
            return
        case "streams":
            http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
            for _ in range(3):
                events = http.stream("GET", url + "events")
                response = await stack.enter_async_context(events)
                await anext(response.aiter_lines())
            return
        case "opening":
            calls.append(asyncio.ensure_future(it.open("b2", input={"stay": True})))
        case _:
            calls.append(asyncio.ensure_future(it.invoke(work)))
    await it.said("here")


async def finish(it: Provider, end: str, parent: asyncio.subprocess.Process) -> None:
    match end:
        case "EOF":
            await it.peer.aclose()
        case "the end of Copilot":
            # Somebody else holds the pipe, so there is neither an EOF nor a signal.
            parent.kill()
        case _:
            it.process.send_signal(getattr(signal, end))


async def stored(folder: Path) -> Any:
    """What a second provider finds, after it has written: no lock and no file is in its way."""
    store = JSONFileStore(folder)
    async with asyncio.timeout(5):
        state = await SharedState.open(store, "board", initial=dict)
        await state.update(lambda draft: draft.update(after=True))
        document = state.document
        await state.aclose()
        await store.aclose()
    return document


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("end", ENDS)
async def test_nothing_stays_and_nothing_is_lost(extension: Path, end: str, work: str) -> None:
    async with (
        copilot() as parent,
        provider(extension, COPILOT_EXTENSION_PARENT_PID=str(parent.pid)) as it,
        AsyncExitStack() as stack,
    ):
        url = str((await it.open())["url"])
        assert await it.invoke("add", {"text": "acknowledged"}) == 1
        await begin(it, work, url, stack)
        await finish(it, end, parent)
        code = await it.exit_code(within=3)
        if end == "SIGKILL":
            assert code == -signal.SIGKILL
        else:
            # 1: something was cut off.
            assert code == 0 or (code == 1 and work in CUT_OFF), it.errors()
            assert "Traceback" not in it.errors()
        assert not await is_listening(httpx.URL(url).port or 0)
    document = await stored(extension.parent / "store")
    assert document["items"] == ["acknowledged"]
    assert "half" not in document
    left = {file.name for file in (extension.parent / "store").iterdir()}
    assert left <= {"board.json", ".board.json.lock"}, left


@pytest.mark.parametrize("end", ["EOF", "SIGTERM", "SIGINT", "SIGKILL"])
async def test_a_file_that_is_still_imported_can_be_ended(extension: Path, end: str) -> None:
    async with copilot() as parent, provider(extension, join=False, AT_IMPORT="1") as it:
        await it.said("here")
        await finish(it, end, parent)
        assert await it.exit_code(within=3) != 0
    assert not (extension.parent / "store").exists()
