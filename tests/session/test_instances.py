"""Opens, updates and closes of one instance that overlap, and the end that comes in between."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider import Canvas, CanvasContext, MemoryStore, Opened, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.errors import NotJSON
from canvas_provider.host.registry import HostRefusal
from canvas_provider.types import JSONValue
from tests.support.sessions import NoServed, joined


def make_canvas(**options: Any) -> Canvas:
    return create_canvas(id="board", display_name="Board", description="A board.", **options)


async def test_the_end_waits_for_a_close_that_is_under_way() -> None:
    """What `on_close` saves needs the store, and a running action its commit."""
    log: list[str] = []
    closing, go_on = asyncio.Event(), asyncio.Event()

    class Store(MemoryStore):
        async def aclose(self) -> None:
            log.append("store closed")
            await super().aclose()

    board = make_canvas(state=dict, store=Store())

    @board.on_close
    async def gone(ctx: CanvasContext) -> None:
        closing.set()
        await go_on.wait()
        log.append("on_close done")

    async with joined(board) as it, asyncio.timeout(5):
        await it.runtime.open("board", "b1")
        close = asyncio.ensure_future(it.runtime.close("b1"))
        await closing.wait()
        end = it.session.begin_close()
        for _ in range(100):
            await asyncio.sleep(0)  # noqa: TID251  # what would not wait is over by then
        go_on.set()
        await end
        await close
    assert log == ["on_close done", "store closed"]


async def test_each_instance_is_kept_in_the_store_that_its_context_picks() -> None:
    """Two that pick the same store share the document; another store has one of its own."""
    stores = {"red": MemoryStore(), "blue": MemoryStore()}
    board = make_canvas(
        state=dict, store=lambda ctx: stores[ctx.input["store"]], state_key=lambda ctx: "board"
    )

    @board.action
    async def paint(ctx: CanvasContext, colour: str = "") -> Any:
        if colour:
            async with ctx.state.change() as draft:
                draft["colour"] = colour
        return dict(ctx.state.value)

    async with joined(board) as it, asyncio.timeout(5):
        for instance_id, store in (("b1", "red"), ("b2", "blue"), ("b3", "red")):
            await it.runtime.open("board", instance_id, {"store": store})
        await it.runtime.invoke("b1", "paint", {"colour": "crimson"})
        assert await it.runtime.invoke("b2", "paint") == {}
        assert await it.runtime.invoke("b3", "paint") == {"colour": "crimson"}
        with pytest.raises(HostRefusal, match="under another instance id"):
            await it.runtime.open("board", "b1", {"store": "blue"})
        assert await it.runtime.invoke("b1", "paint") == {"colour": "crimson"}


async def test_what_picks_a_store_must_return_one(caplog: pytest.LogCaptureFixture) -> None:
    board = make_canvas(state=dict, store=lambda ctx: None)
    async with joined(board) as it, asyncio.timeout(5):
        with pytest.raises(HostRefusal):
            await it.runtime.open("board", "b1")
    assert "store= returned NoneType: it must return a store" in caplog.text


async def test_an_update_while_the_page_is_put_on_the_air_keeps_the_input() -> None:
    serving, go_on = asyncio.Event(), asyncio.Event()
    updates: list[asyncio.Task[None]] = []
    told: list[object] = []

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        async def update() -> None:
            await serving.wait()
            asyncio.get_running_loop().call_soon(go_on.set)
            await ctx.instance.update(status="ready")

        updates.append(asyncio.ensure_future(update()))
        yield

    board = make_canvas(lifespan=lifespan)

    @board.on_open
    async def opened(ctx: CanvasContext, project: str) -> Opened:
        return Opened(title=project)

    async with joined(board) as it, asyncio.timeout(5):
        serve = it.web.serve

        async def slow(instance: Instance) -> NoServed:
            serving.set()
            await go_on.wait()
            return await serve(instance)

        async def tell(instance: Instance, input: object) -> None:
            told.append(input)

        it.session._instances._serve = slow
        it.session._instances._reopen = tell
        await it.runtime.open("board", "b1", {"project": "mine"})
        await updates[0]
    assert told == [{"project": "mine"}]


async def test_a_page_that_cannot_be_served_leaves_an_open_instance_as_it_was() -> None:
    board = make_canvas()

    @board.on_open
    async def opened(ctx: CanvasContext, elsewhere: bool = True) -> Opened:
        return Opened(url="http://127.0.0.1:9/" if elsewhere else None)

    async def fail(instance: Instance) -> NoServed:
        raise OSError("no port")

    async with joined(board) as it:
        it.session._instances._serve = fail
        await it.runtime.open("board", "b1")
        with pytest.raises(HostRefusal):
            await it.runtime.open("board", "b1", {"elsewhere": False})
        again = await it.runtime.open("board", "b1", {"elsewhere": True})
        assert again["url"] == "http://127.0.0.1:9/"


async def test_an_instance_whose_first_page_cannot_be_served_can_be_opened_again() -> None:
    async with joined(make_canvas()) as it:
        serve = it.web.serve

        async def fail(instance: Instance) -> NoServed:
            raise OSError("no port")

        it.session._instances._serve = fail
        with pytest.raises(HostRefusal):
            await it.runtime.open("board", "b1")
        it.session._instances._serve = serve
        assert "url" in await it.runtime.open("board", "b1")


async def test_what_json_cannot_carry_is_named_before_it_is_sent() -> None:
    board = make_canvas()

    @board.action
    async def ping(ctx: CanvasContext) -> JSONValue:
        return "pong"

    async with joined(board) as it:
        await it.session.canvas.open("board", "b1")
        with pytest.raises(NotJSON):
            await it.session.canvas.invoke("b1", "ping", {"x": math.nan})
        with pytest.raises(NotJSON):
            await it.session.canvas.open("board", "b2", {"x": math.inf})
        assert await it.session.canvas.invoke("b1", "ping") == "pong"
