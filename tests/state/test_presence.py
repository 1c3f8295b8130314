"""Who has a document open: in this process, and, on Redis, in others, until they leave or die."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from canvas_provider import CanvasContext, MemoryStore, RedisStore, create_canvas
from canvas_provider.state import redis_presence
from canvas_provider.state.shared import SharedState
from canvas_provider.state.surroundings import Presence
from canvas_provider.testing import open_canvas
from tests.support.redis_server import shared_url
from tests.support.require import ROOT

NEIGHBOUR = """
import asyncio, sys
from canvas_provider import RedisStore
from canvas_provider.state import redis_presence
from canvas_provider.state.shared import SharedState

redis_presence.FORGET_AFTER = 1.0
redis_presence.SAY_EVERY = 0.2

async def main(url, prefix, name):
    store = RedisStore(url, prefix=prefix)
    state = await SharedState.open(store, "board")
    state.subscribe(lambda revision: None)
    state.enter(name)
    print("in", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await state.aclose()
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RedisStore]:
    made = RedisStore(shared_url(), prefix=str(tmp_path))
    async with asyncio.timeout(30):
        yield made
    await made.aclose()


async def until(state: SharedState[Any], holds: Callable[[Presence], bool]) -> None:
    news = asyncio.Event()
    leave = state.subscribe_surroundings(news.set)
    while not holds(state.presence):
        news.clear()
        await news.wait()
    leave()


async def start(store: RedisStore, name: str) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", NEIGHBOUR, shared_url(), store.prefix, name),
        stdin=PIPE,
        stdout=PIPE,
        cwd=ROOT,
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"in\n"
    return child


@pytest.mark.process
async def test_other_processes_come_and_leave_and_are_forgotten_when_they_die(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_presence, "SAY_EVERY", 0.1)
    state = await SharedState.open(store, "board")
    state.subscribe(lambda revision: None)
    state.enter("ann")
    assert state.presence == Presence(1, ("ann",))
    leaving, dying = await asyncio.gather(start(store, "bo"), start(store, "cleo"))
    await until(state, lambda presence: presence == Presence(3, ("ann", "bo", "cleo")))
    await leaving.communicate(b"\n")
    await until(state, lambda presence: presence == Presence(2, ("ann", "cleo")))
    dying.kill()
    await dying.communicate()
    await until(state, lambda presence: presence == Presence(1, ("ann",)))
    await state.aclose()


async def test_panels_of_one_process_are_counted_and_their_names_told_once() -> None:
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        state=dict,
        state_key=lambda ctx: "board",
        person_name=lambda ctx: ctx.input["who"],
    )

    @canvas.action
    async def who(ctx: CanvasContext) -> list[Any]:
        """Tell who is here."""
        return [ctx.state.presence.count, *ctx.state.presence.names, ctx.state.online]

    store = MemoryStore()
    async with open_canvas(canvas, {"who": "ann\n"}, store=store) as panel:
        assert await panel.agent.who() == [1, "ann", True]
        shared = await SharedState.open(store, "other")
        assert shared.presence.count == 0
        await panel.runtime.open("board", "second", {"who": "bo"})
        event = await panel.events.wait_for("presence")
        assert event.data == {"count": 2, "names": ["ann", "bo"]}
        await panel.runtime.open("board", "third", {"who": "bo"})
        event = await panel.events.wait_for("presence")
        assert event.data == {"count": 3, "names": ["ann", "bo"]}
        for name in ("second", "third"):
            await panel.runtime.close(name)
        event = await panel.events.wait_for("presence", lambda event: event.data["count"] == 1)
        assert event.data == {"count": 1, "names": ["ann"]}


async def test_a_panel_without_a_name_has_that_of_the_systems_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOGNAME", "dana")
    canvas = create_canvas(id="board", display_name="B", description="A board.", state=dict)

    @canvas.action
    async def who(ctx: CanvasContext) -> list[str]:
        """Tell who is here."""
        return list(ctx.state.presence.names)

    async with open_canvas(canvas) as panel:
        assert await panel.agent.who() == ["dana"]
