"""Opens, closes, updates and actions of one instance that overlap, as Copilot sends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider import CanvasContext, CanvasError, Opened, create_canvas
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.errors import RemoteError, StateClosed
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import EXTENSION, NoWeb, joined, make_session


class Host:
    """A runtime that serialises nothing."""

    def __init__(self) -> None:
        self.asked: list[JSONObject] = []
        self.gate = asyncio.Event()
        self.peer: Peer
        self.web = NoWeb()

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        if method == "session.canvas.open":
            self.asked.append(params)
            await self.gate.wait()
            return {**params, **await self.ask("canvas.open", input=params.get("input"))}
        return {"ok": True, "sessionId": "s-1"}

    async def ask(self, method: str, **fields: Any) -> Any:
        params = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "board", **fields}
        async with asyncio.timeout(5):
            return await self.peer.request(method, {"instanceId": "b1", **params})

    def start(self, method: str, **fields: Any) -> "asyncio.Task[Any]":
        return asyncio.create_task(self.ask(method, **fields))


@asynccontextmanager
async def hosted(canvas: Canvas) -> AsyncIterator[Host]:
    ours, theirs = memory_pair()
    host = Host()
    host.peer = Peer(theirs, on_request=host.answer)
    host.peer.start()
    session = make_session([canvas], ours, web=host.web)
    await session.join()
    try:
        yield host
    finally:
        await session.aclose()
        await host.peer.aclose()


def make_canvas(**options: Any) -> Canvas:
    return create_canvas(id="board", display_name="Board", description="A board.", **options)


@pytest.fixture
def gates() -> dict[str, asyncio.Event]:
    return {"begun": asyncio.Event(), "go": asyncio.Event()}


@pytest.fixture
def board(gates: dict[str, asyncio.Event]) -> Canvas:
    """A board whose opening waits for `go`, and fails for the project `bad`."""
    board = make_canvas(state=dict)

    @board.on_open
    async def opened(ctx: CanvasContext, project: str = "good") -> Opened:
        gates["begun"].set()
        await gates["go"].wait()
        if project == "bad":
            raise CanvasError("bad", "No such project.")
        return Opened(title=project)

    @board.action
    async def ping() -> str:
        return "pong"

    @board.action
    async def rename(ctx: CanvasContext, title: str) -> None:
        await ctx.instance.update(title=title)

    return board


@pytest.mark.parametrize("waiting", [1, 3])
async def test_an_open_behind_one_that_fails_makes_a_panel_that_works(
    board: Canvas, gates: dict[str, asyncio.Event], waiting: int
) -> None:
    async with hosted(board) as host:
        bad = host.start("canvas.open", input={"project": "bad"})
        await gates["begun"].wait()
        good = [host.start("canvas.open", input={"project": "good"}) for _ in range(waiting)]
        gates["go"].set()
        with pytest.raises(RemoteError, match="No such project"):
            await bad
        assert len({(await each)["url"] for each in good}) == 1
        invoked = await host.ask("canvas.action.invoke", actionName="ping")
        assert invoked == "pong"
        await host.ask("canvas.close")
        assert host.web.served["b1"].ended == ["closed"]


async def test_an_open_behind_a_close_is_refused_and_the_next_one_is_a_new_panel(
    board: Canvas, gates: dict[str, asyncio.Event]
) -> None:
    async with hosted(board) as host:
        first = host.start("canvas.open")
        await gates["begun"].wait()
        second = host.start("canvas.open", input={"project": "other"})
        closing = host.start("canvas.close")
        for each in (first, second):
            with pytest.raises(RemoteError, match="closing|closed"):
                await each
        await closing
        assert host.web.served == {}
        gates["go"].set()
        assert "url" in await host.ask("canvas.open")
        assert await host.ask("canvas.action.invoke", actionName="ping") == "pong"


async def test_an_open_with_another_input_during_an_update_is_one(
    board: Canvas, gates: dict[str, asyncio.Event]
) -> None:
    gates["go"].set()
    async with hosted(board) as host:
        await host.ask("canvas.open")
        renaming = host.start("canvas.action.invoke", actionName="rename", input={"title": "new"})
        while not host.asked:
            await asyncio.wait([renaming], timeout=0.01)
        assert (await host.ask("canvas.open"))["title"] == "new"
        opened = await host.ask("canvas.open", input={"project": "other"})
        assert opened["title"] == "other"
        host.gate.set()
        await renaming


async def test_an_update_during_a_close_is_told_that_the_instance_is_closing() -> None:
    closing, go = asyncio.Event(), asyncio.Event()
    board = make_canvas()

    @board.action
    async def rename(ctx: CanvasContext) -> None:
        closing.set()
        await go.wait()
        await ctx.instance.update(title="late")

    async with hosted(board) as host:
        await host.ask("canvas.open")
        served = host.web.served["b1"]

        async def end(reason: str) -> None:
            go.set()
            with pytest.raises(RemoteError, match="is closing"):
                await renaming

        served.aclose = end  # type: ignore[method-assign]
        renaming = host.start("canvas.action.invoke", actionName="rename")
        await closing.wait()
        await host.ask("canvas.close")
        assert host.asked == []


@pytest.mark.parametrize("way", ["awaited", "in a task"])
async def test_an_action_may_close_its_own_instance(way: str) -> None:
    """The close does not wait for the action, which waits for the close."""
    ended: list[str] = []
    canvas = create_canvas(id="b", display_name="B", description="A board.", state=dict)

    @canvas.action
    async def done(ctx: CanvasContext) -> str:
        """Close the board."""
        closing = ctx.session.canvas.close(ctx.instance_id)
        await (closing if way == "awaited" else asyncio.create_task(closing))
        with pytest.raises(StateClosed):
            _ = ctx.state
        return "closed"

    @canvas.on_close
    async def closed(ctx: CanvasContext) -> None:
        ended.append(ctx.instance_id)

    async with joined(canvas) as there:
        await there.runtime.open("b", "one")
        async with asyncio.timeout(3):
            assert await there.runtime.invoke("one", "done") == "closed"
        assert ended == ["one"]
        assert there.runtime.list_open() == []
