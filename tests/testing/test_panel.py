"""`open_canvas`: what a test of a canvas can do and see, through everything that is real."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from canvas_provider import (
    Action,
    Canvas,
    CanvasContext,
    CanvasError,
    JSONFileStore,
    MemoryStore,
    Opened,
    create_canvas,
)
from canvas_provider.errors import HandlerError, InvalidInput, NoHandler, UnknownAction
from canvas_provider.testing import open_canvas
from canvas_provider.wire.framing import MAX_FRAME_SIZE


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def notes(log: list[str]) -> Canvas:
    """A canvas with everything that a panel shows."""

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        log.append("entered")
        yield
        log.append("left")

    canvas = create_canvas(
        id="notes",
        display_name="Notes",
        description="Notes that we share.",
        state=dict[str, Any],
        lifespan=lifespan,
        actions=[Action(name="unhandled", description="Nothing handles it.")],
    )

    @canvas.on_open
    async def opened(ctx: CanvasContext, topic: str = "all") -> Opened:
        log.append(f"opened {topic} {'again' if ctx.reopened else 'first'}")
        if topic == "secret":
            raise CanvasError("secret_topic", "That topic is secret.")
        return Opened(title=f"Notes on {topic}", status="ready")

    @canvas.on_close
    async def closed(ctx: CanvasContext) -> None:
        log.append("closed")

    @canvas.action
    async def put(state: dict[str, Any], name: str, count: int = 1) -> int:
        """Put a note."""
        state[name] = count
        return len(state)

    @canvas.action
    async def refuse() -> None:
        """Refuse on purpose."""
        raise CanvasError("not_today", "Not today.")

    @canvas.action
    async def fail() -> None:
        """Fail by accident."""
        raise ZeroDivisionError("secret")

    @canvas.action(audience="person")
    async def sign() -> str:
        """Only a person may."""
        return "signed"

    @canvas.action
    async def announce(ctx: CanvasContext, text: str) -> None:
        """Tell the page something that is no state."""
        ctx.emit("news", {"text": text})

    return canvas


async def test_both_users_call_the_same_actions(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        assert (panel.state, panel.revision) == ({}, 0)
        assert await panel.agent.put(name="a") == 1
        assert await panel.person.put(name="b", count=3) == 2
        assert (panel.state, panel.revision) == ({"a": 1, "b": 3}, 2)
        assert await panel.agent("put", {"name": "c"}) == 3
        assert await panel.person("put", {"name": "d"}) == 4


async def test_the_state_is_a_copy(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        panel.state["a"] = 1
        assert panel.state == {}


@pytest.mark.parametrize("user", ["agent", "person"])
async def test_errors_are_the_same_for_both_users(
    notes: Canvas, user: Literal["agent", "person"]
) -> None:
    async with open_canvas(notes) as panel:
        caller = panel.agent if user == "agent" else panel.person

        with pytest.raises(CanvasError) as refused:
            await caller.refuse()
        assert (refused.value.code, str(refused.value)) == ("not_today", "Not today.")

        with pytest.raises(HandlerError) as failed:
            await caller.fail()
        assert failed.value.code == "canvas_handler_error"
        assert "secret" not in str(failed.value)

        with pytest.raises(InvalidInput, match="name"):
            await caller.put(nam="x")
        with pytest.raises(UnknownAction):
            await caller.nothing()
        with pytest.raises(NoHandler):
            await caller.unhandled()
        assert panel.revision == 0


async def test_a_person_can_ask_for_the_state_that_was_seen(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        await panel.agent.put(name="a")
        with pytest.raises(CanvasError) as stale:
            await panel.person("put", {"name": "b"}, expected_revision=0)
        assert stale.value.code == "revision_conflict"
        assert await panel.person("put", {"name": "b"}, expected_revision=1) == 2


async def test_a_person_waits_as_long_as_an_action_takes(
    notes: Canvas,
) -> None:
    """And not as long as an HTTP client waits by default."""

    @notes.action
    async def build() -> str:
        await done.wait()
        return "built"

    done = asyncio.Event()
    async with open_canvas(notes) as panel:
        panel.http.timeout = httpx.Timeout(0.01)
        call = asyncio.ensure_future(panel.person.build())
        with pytest.raises(httpx.ReadTimeout):
            await panel.http.post("actions/build", json={})
        assert not call.done()
        done.set()
        async with asyncio.timeout(5):
            assert await call == "built"


async def test_an_audience_is_kept(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        assert await panel.person.sign() == "signed"
        with pytest.raises(UnknownAction):
            await panel.agent.sign()


async def test_opening_is_shown_as_copilot_shows_it(notes: Canvas, log: list[str]) -> None:
    async with open_canvas(notes, {"topic": "cats"}) as panel:
        assert (panel.title, panel.status) == ("Notes on cats", "ready")
        url = panel.url
        await panel.reopen({"topic": "dogs"})
        assert (panel.title, panel.url) == ("Notes on dogs", url)
    assert log == ["entered", "opened cats first", "opened dogs again", "left"]


@pytest.mark.parametrize("given", [{}, None], ids=str)
async def test_nothing_can_be_said_in_three_ways(notes: Canvas, given: Any) -> None:
    async with open_canvas(notes) as absent, open_canvas(notes, given) as panel:
        assert panel.title == absent.title == "Notes on all"


async def test_a_canvas_that_refuses_to_open_raises_its_error(notes: Canvas) -> None:
    with pytest.raises(CanvasError) as refused:
        async with open_canvas(notes, {"topic": "secret"}):
            pass
    assert refused.value.code == "secret_topic"
    with pytest.raises(InvalidInput, match="topic"):
        async with open_canvas(notes, {"topic": 5}):
            pass


async def test_the_page_hears_of_changes_and_news(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        snapshot = await panel.events.wait_for("snapshot")
        assert snapshot.data == {"revision": 0, "state": {}}
        await panel.agent.put(name="a")
        patch = await panel.events.wait_for("patch")
        assert patch.data["revision"] == 1
        assert patch.data["author"] == "agent"
        assert patch.data["action"] == "put"
        await panel.person.announce(text="hello")
        assert (await panel.events.wait_for("news")).data == {"text": "hello"}


async def test_http_is_the_pages_own_app_with_its_guards(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        assert (await panel.http.get("state")).json() == {"revision": 0, "state": {}}
        assert (await panel.http.get("")).headers["content-type"].startswith("text/html")
        assert (await panel.http.get("canvas.js")).status_code == 200
        without_token = panel.http.base_url.join("/state")
        assert (await panel.http.get(without_token)).status_code == 404
        foreign = {"Origin": "https://elsewhere.example"}
        assert (await panel.http.post("actions/sign", headers=foreign)).status_code == 403
        async with asyncio.timeout(5), panel.http.stream("GET", "events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            assert b'"revision":0' in await anext(response.aiter_bytes())


async def test_a_close_runs_on_close_and_ends_the_page(notes: Canvas, log: list[str]) -> None:
    async with open_canvas(notes) as panel:
        await panel.close()
        assert log[-2:] == ["closed", "left"]
        assert (await panel.events.wait_for("closed")).data == {"reason": "closed"}
        with pytest.raises(httpx.ConnectError):
            await panel.http.get("state")
        with pytest.raises(CanvasError) as refused:
            await panel.agent.put(name="a")
        assert refused.value.code == "instance_not_open"
        await panel.reopen()
        assert await panel.person.put(name="b") == 1


async def test_leaving_the_block_is_no_close(notes: Canvas, log: list[str]) -> None:
    async with open_canvas(notes):
        pass
    assert log == ["entered", "opened all first", "left"]


async def test_a_reload_opens_the_instance_again(notes: Canvas, log: list[str]) -> None:
    async with open_canvas(notes, {"topic": "cats"}) as panel:
        await panel.agent.put(name="a")
        await panel.reload()
        assert (await panel.events.wait_for("closed")).data == {"reason": "shutdown"}
        assert log == ["entered", "opened cats first", "left", "entered", "opened cats again"]
        assert panel.title == "Notes on cats"
        assert panel.state == {"a": 1}
        assert await panel.person.put(name="b") == 2
        await panel.events.wait_for("patch", lambda event: event.data["revision"] == 2)


async def test_a_reload_that_fails_says_why(notes: Canvas, log: list[str]) -> None:
    canvas = create_canvas(id="moody", display_name="Moody", description="Opens once.")

    @canvas.on_open
    async def opened(ctx: CanvasContext) -> None:
        if ctx.reopened:
            raise CanvasError("not_again", "Not again.")

    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError) as refused:
            await panel.reload()
        assert refused.value.code == "not_again"


async def test_the_canvas_own_store_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    canvas = create_canvas(
        id="n",
        display_name="N",
        description="N.",
        state=dict[str, Any],
        store=JSONFileStore(folder),
    )

    @canvas.action
    async def put(state: dict[str, Any]) -> None:
        """Put."""
        state["a"] = 1

    for _ in range(2):
        async with open_canvas(canvas) as panel:
            assert panel.state == {}
            await panel.agent.put()
    assert not folder.exists()


async def test_a_store_that_is_given_twice_shows_what_lasts(notes: Canvas, tmp_path: Path) -> None:
    for store in (MemoryStore(), JSONFileStore(tmp_path)):
        async with open_canvas(notes, store=store) as panel:
            await panel.agent.put(name="a")
        async with open_canvas(notes, store=store) as panel:
            assert panel.state == {"a": 1}


async def test_a_canvas_without_state_has_none() -> None:
    canvas = create_canvas(id="n", display_name="N", description="N.")

    @canvas.action
    async def ping() -> str:
        """Ping."""
        return "pong"

    async with open_canvas(canvas) as panel:
        assert (panel.state, panel.revision) == (None, 0)
        assert await panel.person.ping() == await panel.agent.ping() == "pong"


async def test_a_canvas_at_a_url_of_its_own_is_known_by_it() -> None:
    def opened(ctx: CanvasContext) -> dict[str, str]:
        return {"url": "http://127.0.0.1:9/own", "title": "Own"}

    canvas = create_canvas(id="n", display_name="N", description="N.", open=opened)
    async with open_canvas(canvas) as panel:
        assert (panel.url, panel.title) == ("http://127.0.0.1:9/own", "Own")
        assert list(panel.events) == []


async def test_nothing_is_left_running(notes: Canvas) -> None:
    before = asyncio.all_tasks()
    async with open_canvas(notes) as panel:
        await panel.agent.put(name="a")
    assert asyncio.all_tasks() == before


async def test_the_repr_does_not_hold_the_token(notes: Canvas) -> None:
    async with open_canvas(notes) as panel:
        token = str(panel.url).split("/")[-2]
        assert token not in repr(panel)


async def test_a_result_that_is_too_large_for_a_message_ends_one_call() -> None:
    """A page is served by HTTP, which has no such limit."""
    canvas = create_canvas(id="big", display_name="Big", description="Big.", state=dict)

    @canvas.action
    async def give(state: dict[str, Any], size: int) -> str:
        """Give that much."""
        state["size"] = size
        return "x" * size

    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError, match="result is too large to be told") as caught:
            await panel.agent.give(size=MAX_FRAME_SIZE)
        assert caught.value.code == "result_too_large"
        assert panel.state == {"size": MAX_FRAME_SIZE}
        assert len(await panel.person.give(size=50_000)) == 50_000
        assert await panel.agent.give(size=2) == "xx"
