"""`ctx.open_state`: another document of the canvas, beside the one that the panel shows."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from canvas_provider import Canvas, CanvasContext, MemoryStore, create_canvas
from canvas_provider.canvas.threads import Workers
from canvas_provider.errors import (
    ActionTimeout,
    CanvasProviderError,
    HandlerError,
    StateClosed,
    StateError,
)
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.store import Stored
from tests.support.instances import open_instance
from tests.support.sessions import joined


@dataclass
class Day:
    name: str = ""
    tasks: list[str] = field(default_factory=list)


class SlowStore(MemoryStore):
    """Can keep one who loads a document waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.loading = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def load(self, key: str, since: int = 0) -> Stored | None:
        self.loading.set()
        await self.go_on.wait()
        return await super().load(key, since)


ONE = "<StateRegistry of 1 documents>"
"""Only the panel's own is held."""


def first(ctx: CanvasContext) -> Day:
    return Day(name=f"seed of {ctx.canvas_id}")


def make_canvas(**options: Any) -> Canvas:
    return create_canvas(
        id="days", display_name="Days", description="Days.", **{"state": first, **options}
    )


def key_of(ctx: CanvasContext) -> str:
    return str(ctx.input.get("day", "monday"))


async def test_a_change_of_another_document_is_the_calls_and_live() -> None:
    kept, other = MemoryStore(), MemoryStore()
    canvas = make_canvas(
        state_key=key_of, store=lambda ctx: other if ctx.input.get("other") else kept
    )

    @canvas.action
    async def carry(ctx: CanvasContext[Day]) -> str:
        """Carry something over."""
        async with ctx.open_state("tuesday") as tuesday:
            assert tuesday.value.name == "seed of days"
            await tuesday.update(lambda day: day.tasks.append("wash up"))
            async with tuesday.change() as day:
                day.tasks.append("dry up")
        with pytest.raises(StateClosed):
            await tuesday.update(lambda day: day.tasks.clear())
        return ctx.state.value.name

    @canvas.action
    async def show(ctx: CanvasContext[Day]) -> list[Any]:
        """Show the day."""
        made = [f"{one.author}: {one.action}" for one in ctx.state.history()]
        return [*ctx.state.value.tasks, *made]

    async with joined(canvas) as it, asyncio.timeout(5):
        await it.runtime.open("days", "shown", {"day": "tuesday"})
        await it.runtime.open("days", "elsewhere", {"day": "tuesday", "other": True})
        await it.runtime.open("days", "panel")
        assert await it.runtime.invoke("panel", "carry") == "seed of days"
        assert await it.runtime.invoke("shown", "show") == [
            *("wash up", "dry up"),
            *("agent: carry", "agent: carry"),
        ]
        assert await it.runtime.invoke("elsewhere", "show") == []
        assert await it.runtime.invoke("panel", "show") == []


async def test_a_function_in_a_thread_writes_with_and_may_say_how_it_begins() -> None:
    canvas = make_canvas()

    @canvas.action
    def carry(ctx: CanvasContext[Day]) -> list[str]:
        """Carry something over."""
        with ctx.open_state("tuesday", initial=lambda: Day("its own")) as tuesday:
            with tuesday.change() as day:
                day.tasks.append("wash up")
            return [tuesday.value.name, *tuesday.value.tasks]

    async with open_instance(canvas) as instance, asyncio.timeout(5):
        outcome = await instance.invoke("carry", author="person")
    assert outcome.result == ["its own", "wash up"]


async def test_it_ends_with_the_call_whatever_a_thread_still_does() -> None:
    store = SlowStore()
    registry = StateRegistry(store)
    canvas = make_canvas()
    begun, go_on = threading.Event(), threading.Event()
    said: list[Exception] = []
    left = threading.Event()

    @canvas.action(timeout=0.01)
    def carry(ctx: CanvasContext[Day]) -> None:
        """Carry something over, slowly."""
        try:
            with ctx.open_state("tuesday") as tuesday, tuesday.change() as day:
                day.tasks.append("too late")
                begun.set()
                go_on.wait(5)
        except StateClosed as error:
            said.append(error)
        try:
            with ctx.open_state("tuesday"):
                pytest.fail("it was opened")
        except StateClosed as error:
            said.append(error)
        left.set()

    async with open_instance(canvas, registry=registry) as instance, asyncio.timeout(5):
        with pytest.raises(ActionTimeout):
            await instance.invoke("carry", author="agent")
        assert await Workers().run(lambda: begun.wait(5))
        go_on.set()
        assert await Workers().run(lambda: left.wait(5))
        assert repr(registry) == ONE
    assert len(said) == 2
    assert await store.load("tuesday") is None


async def test_a_call_that_ends_while_it_waits_for_the_document_lets_go_of_it() -> None:
    store = SlowStore()
    registry = StateRegistry(store)
    canvas = make_canvas()
    left = threading.Event()

    @canvas.action(timeout=0.01)
    def carry(ctx: CanvasContext[Day]) -> None:
        """Carry something over."""
        with pytest.raises(StateClosed), ctx.open_state("tuesday"):
            pytest.fail("it was opened")
        left.set()

    async with open_instance(canvas, registry=registry) as instance, asyncio.timeout(5):
        store.loading.clear()
        store.go_on.clear()
        with pytest.raises(ActionTimeout):
            await instance.invoke("carry", author="agent")
        await store.loading.wait()
        store.go_on.set()
        assert await Workers().run(lambda: left.wait(5))
        assert repr(registry) == ONE


async def test_nobody_holds_a_document_whose_block_was_cancelled() -> None:
    registry = StateRegistry(MemoryStore())
    canvas = make_canvas()
    entered = asyncio.Event()

    @canvas.action(timeout=0.05)
    async def carry(ctx: CanvasContext[Day]) -> None:
        """Carry something over, and never end."""
        async with ctx.open_state("tuesday") as tuesday, tuesday.change() as day:
            day.tasks.append("never")
            entered.set()
            await asyncio.Event().wait()

    @canvas.action
    async def look(ctx: CanvasContext[Day]) -> list[str]:
        """Look at the other document."""
        async with ctx.open_state("tuesday") as tuesday:
            await tuesday.update(lambda day: day.tasks.append("look"))
            tasks = list(tuesday.value.tasks)
        assert ctx.others == ()
        return tasks

    async with open_instance(canvas, registry=registry) as instance, asyncio.timeout(5):
        with pytest.raises(ActionTimeout):
            await instance.invoke("carry", author="agent")
        assert entered.is_set()
        assert repr(registry) == ONE
        assert (await instance.invoke("look", author="agent")).result == ["look"]
        assert repr(registry) == ONE


@pytest.mark.parametrize(
    ("options", "key", "cause", "said"),
    [
        ({"state": None}, "tuesday", StateError, "pass state= to create_canvas"),
        ({}, "", TypeError, "a key is a text that is not empty"),
        ({}, 5, TypeError, "a key is a text that is not empty"),
    ],
)
async def test_what_cannot_be_opened_is_refused(
    options: dict[str, Any], key: Any, cause: type[Exception], said: str
) -> None:
    canvas = make_canvas(**options)

    @canvas.action
    async def carry(ctx: CanvasContext) -> None:
        """Carry something over."""
        async with ctx.open_state(key):
            pytest.fail("it was opened")

    async with open_instance(canvas) as instance, asyncio.timeout(5):
        with pytest.raises((HandlerError, StateError)) as refusal:
            await instance.invoke("carry", author="agent")
    error = refusal.value.__cause__ or refusal.value
    assert isinstance(error, cause)
    assert said in str(error)


async def test_a_block_is_entered_once_and_in_the_loop_by_async_with() -> None:
    canvas = make_canvas()

    @canvas.action
    async def carry(ctx: CanvasContext) -> None:
        """Carry something over."""
        block = ctx.open_state("tuesday")
        with pytest.raises(CanvasProviderError, match="async with"):
            block.__enter__()
        async with block:
            with pytest.raises(StateError, match="once"):
                await block.__aenter__()

    async with open_instance(canvas) as instance, asyncio.timeout(5):
        await instance.invoke("carry", author="agent")
