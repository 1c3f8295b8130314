"""A change that fails, however and wherever it is made: nothing remains of it, and nobody heard."""

import asyncio
import threading
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel

from canvas_provider import Canvas, CanvasContext, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.errors import CanvasError, StoreError
from tests.support.instances import open_client
from tests.support.stores import KINDS, StoreKind
from tests.web.test_feed import listen


class Board(BaseModel):
    count: int = 0
    free: Any = None


class Failure:
    """How a handler fails once it has written; and what it returns."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.started = asyncio.Event()
        """The handler has come to where it waits."""
        self.release = threading.Event()
        """Lets threads end, which nobody can cancel."""
        self._loop = asyncio.get_running_loop()

    def write(self, board: Board) -> Any:
        """What every handler does in its change."""
        board.count += 1
        match self.name:
            case "raises":
                raise CanvasError("no", "No.")
            case "fails unexpectedly":
                raise ZeroDivisionError
            case "exits":
                raise SystemExit(3)
            case "state is not JSON":
                board.free = float("nan")
            case "state is not JSON deep inside":
                board.free = {"a": [{"b": 2**60}]}
            case "state is invalid":
                board.count = "many"  # type: ignore[assignment]
            case "result is not JSON":
                return {1, float("inf")}
        return None

    async def wait(self) -> None:
        self.started.set()
        if self.name in ("takes too long", "is cancelled"):
            await asyncio.Event().wait()

    def wait_in_thread(self) -> None:
        self._loop.call_soon_threadsafe(self.started.set)
        if self.name in ("takes too long", "is cancelled"):
            self.release.wait(10)


FAILURES: Final = [
    "raises",
    "fails unexpectedly",
    "exits",
    "state is not JSON",
    "state is not JSON deep inside",
    "state is invalid",
    "result is not JSON",
    "takes too long",
    "is cancelled",
    "store fails",
    "is stale",
]

WAYS: Final = ["draft", "draft_in_a_thread", "block", "block_in_a_thread", "update"]


def declare(failure: Failure) -> Canvas:
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        state=Board,
        state_key=lambda ctx: "board",
    )
    timeout = 0.05 if failure.name == "takes too long" else None

    @canvas.action(name="draft", timeout=timeout)
    async def draft(board: Board) -> Any:
        result = failure.write(board)
        await failure.wait()
        return result

    @canvas.action(name="draft_in_a_thread", timeout=timeout)
    def draft_in_thread(board: Board) -> Any:
        result = failure.write(board)
        failure.wait_in_thread()
        return result

    @canvas.action(name="block", timeout=timeout)
    async def block(ctx: CanvasContext) -> None:
        async with ctx.state.change() as board:
            failure.write(board)
            await failure.wait()

    @canvas.action(name="block_in_a_thread", timeout=timeout)
    def block_in_thread(ctx: CanvasContext) -> None:
        with ctx.state.change() as board:
            failure.write(board)
            failure.wait_in_thread()

    @canvas.action(name="update", timeout=timeout)
    async def update(ctx: CanvasContext) -> None:
        async def write(board: Board) -> None:
            failure.write(board)
            await failure.wait()

        await ctx.state.update(write)

    return canvas


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
async def test_nothing_remains_of_a_change_that_fails(
    kind: StoreKind, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is made with an injected draft, in a block or by `update`, in a thread or not."""
    failure = Failure(name)
    store = kind.make(tmp_path)
    async with (
        asyncio.timeout(20),
        open_client(declare(failure), store) as (http, instance),
        listen(http) as page,
    ):
        assert instance.state is not None
        state = instance.state
        await page.next()
        await state.update(lambda board: setattr(board, "count", 1))
        assert (await page.next()).data["revision"] == 1
        document, history = state.document, state.history()
        stored = await store.load("board")
        assert (len(history), stored is None) == (1, False)
        for way in WAYS:
            if name == "result is not JSON" and not way.startswith("draft"):
                continue  # A block has ended, and is committed, before there is a result.
            with monkeypatch.context() as patched:
                if name == "store fails":
                    patched.setattr(store, "commit", refuse)
                await fail(instance, way, failure)
            assert (state.revision, state.document) == (1, document), way
            assert state.document is document, way
            assert state.history() == history, way
            assert await store.load("board") == stored, way
        # Nobody holds the turn, and the page hears of this before anything else.
        await state.update(lambda board: setattr(board, "count", 7))
        heard = await page.next()
        assert (heard.data["revision"], heard.data["ops"]) == (
            2,
            [{"op": "replace", "path": "/count", "value": 7}],
        )
        failure.release.set()


async def refuse(*arguments: Any) -> None:
    raise StoreError("the disk is full")


async def fail(instance: Instance, action: str, failure: Failure) -> None:
    """Call an action that is to fail."""
    failure.started.clear()
    expected = 0 if failure.name == "is stale" else None
    call = asyncio.ensure_future(
        instance.invoke(action, author="person", expected_revision=expected)
    )
    if failure.name == "is cancelled":
        await failure.started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    else:
        with pytest.raises(CanvasError):
            await call
