"""`ctx.progress`, from a handler to the page and to the person's timeline."""

import asyncio
import threading
from typing import Any

import pytest

from canvas_provider import Canvas, CanvasContext, CanvasError, Progress, create_canvas
from canvas_provider.errors import ActionTimeout, Closing, HandlerError
from canvas_provider.testing import PageEvent, Panel, TimelineLine, open_canvas


def ended(event: PageEvent) -> bool:
    return bool(event.data["status"] != "running")


async def last(panel: Panel) -> Any:
    return (await panel.events.wait_for("progress", ended)).data


@pytest.fixture
def canvas() -> Canvas:
    return create_canvas(id="shelf", display_name="Shelf", description="Books.")


async def test_a_page_sees_a_work_from_start_to_end(canvas: Canvas) -> None:
    @canvas.action
    async def load(ctx: CanvasContext) -> str | None:
        """Load."""
        async with ctx.progress("Loading", total=3) as p:
            for name in "abc":
                p.update(message=name)
                p.advance()
        return p.status

    async with open_canvas(canvas) as panel:
        assert await panel.agent.load() == "done"
        facts = {"id": "1", "title": "Loading", "total": 3, "author": "agent", "action": "load"}
        begun = await panel.events.wait_for("progress")
        assert begun.data == {**facts, "message": "", "done": 0, "status": "running"}
        assert begun.id is None, "the browser would resume after something that is no revision"
        assert await last(panel) == {**facts, "message": "c", "done": 3, "status": "done"}
        assert panel.timeline == [], "it took no second"


async def test_a_def_handler_writes_with(canvas: Canvas) -> None:
    @canvas.action
    def load(ctx: CanvasContext) -> None:
        """Load."""
        with ctx.progress("Loading", total=2) as p:
            p.advance(2)

    async with open_canvas(canvas) as panel:
        await panel.person.load()
        told = await last(panel)
        assert (told["done"], told["status"], told["author"]) == (2, "done", "person")


async def test_a_failure_is_told_without_its_text_unless_it_was_made_to_be_read(
    canvas: Canvas,
) -> None:
    @canvas.action
    async def load(ctx: CanvasContext, title: str, secret: str) -> None:
        """Load."""
        async with ctx.progress(title):
            raise CanvasError("no", "Not today.") if secret == "none" else ValueError(secret)

    async with open_canvas(canvas) as panel:
        with pytest.raises(HandlerError):
            await panel.agent.load(title="First", secret="hunter2")
        told = await last(panel)
        assert (told["status"], told["message"]) == ("failed", "")
        with pytest.raises(CanvasError, match="Not today"):
            await panel.agent.load(title="Second", secret="none")
        assert (await last(panel))["message"] == "Not today."
        line = await panel.timeline.wait_for("Second")
        assert line == TimelineLine("Second: failed", "warning", ephemeral=True)
        assert [each.text for each in panel.timeline] == ["First: failed", "Second: failed"]
        assert "hunter2" not in repr(list(panel.events))


async def test_works_nest_and_run_side_by_side(canvas: Canvas) -> None:
    both = asyncio.Barrier(2)

    @canvas.action
    async def load(ctx: CanvasContext, name: str) -> None:
        """Load."""
        async with ctx.progress(name, total=1) as outer, ctx.progress(f"{name} inside"):
            await both.wait()
            outer.advance()

    async with open_canvas(canvas) as panel:
        await asyncio.gather(panel.agent.load(name="A"), panel.person.load(name="B"))
        ends = [await last(panel) for _ in range(4)]
        assert sorted(end["title"] for end in ends) == ["A", "A inside", "B", "B inside"]
        assert len({end["id"] for end in ends}) == 4


@pytest.mark.parametrize("kind", ["async", "def"])
async def test_a_call_that_is_out_of_time_cancels_its_work(canvas: Canvas, kind: str) -> None:
    release = threading.Event()
    late: list[Progress] = []
    gone = threading.Event()

    @canvas.action(name="async", timeout=0.01)
    async def wait(ctx: CanvasContext) -> None:
        """Load."""
        async with ctx.progress("Loading"):
            await asyncio.Event().wait()

    @canvas.action(name="def", timeout=0.3)
    def block(ctx: CanvasContext) -> None:
        """Load."""
        with ctx.progress("Loading") as p:
            late.append(p)
            release.wait(5)
            p.advance()
        with ctx.progress("After its end") as p:
            late.append(p)
        gone.set()

    async with open_canvas(canvas) as panel:
        try:
            with pytest.raises(ActionTimeout):
                await panel.agent(kind)
            assert (await last(panel))["status"] == "cancelled"
        finally:
            release.set()
        if kind == "def":
            assert await asyncio.to_thread(gone.wait, 5)
            assert [p.status for p in late] == ["cancelled", "cancelled"]
        titles = {event.data["title"] for event in panel.events if event.name == "progress"}
        assert titles == {"Loading"}


async def test_a_close_cancels_what_runs_also_beyond_its_call(canvas: Canvas) -> None:
    works: list[Progress] = []

    @canvas.action
    async def start(ctx: CanvasContext) -> None:
        """Start something that goes on by itself."""
        works.append(ctx.progress("By itself").__enter__())

    async with open_canvas(canvas) as panel:
        await panel.agent.start()
        await panel.close()
        assert works[0].status == "cancelled"
        works[0].advance()
    async with open_canvas(canvas) as panel:
        await panel.agent.start()
    assert works[1].status == "cancelled"


async def test_a_page_that_comes_late_gets_what_runs_and_nothing_else(canvas: Canvas) -> None:
    go, going = asyncio.Event(), asyncio.Event()

    @canvas.action
    async def load(ctx: CanvasContext) -> None:
        """Load."""
        async with ctx.progress("Over"):
            pass
        async with ctx.progress("Loading", total=9) as p:
            p.advance(4)
            going.set()
            await go.wait()

    async with open_canvas(canvas) as panel:
        call = asyncio.ensure_future(panel.agent.load())
        await going.wait()
        panel.events.clear()
        await panel.events.follow(panel.http)
        told = await panel.events.wait_for("progress")
        assert (told.data["title"], told.data["done"]) == ("Loading", 4)
        go.set()
        await call
        assert (await last(panel))["title"] == "Loading"
        assert [e.data["status"] for e in panel.events if e.name == "progress"][0] == "running"


async def test_an_opening_may_take_its_time(canvas: Canvas) -> None:
    """The page comes when the opening is over, so only the timeline hears of it."""

    @canvas.on_open
    async def opened(ctx: CanvasContext, fail: bool = False) -> None:
        with ctx.progress("Opening") as p:
            p.advance()
            if fail:
                raise CanvasError("no", "No.")

    async with open_canvas(canvas) as panel:
        assert panel.timeline == []
        with pytest.raises(CanvasError):
            await panel.reopen({"fail": True})
        assert (await panel.timeline.wait_for("Opening")).level == "warning"


async def test_a_canvas_without_a_page_has_a_timeline_all_the_same() -> None:
    canvas = create_canvas(id="far", display_name="Far", description="Elsewhere.")

    @canvas.on_open
    async def opened(ctx: CanvasContext) -> dict[str, str]:
        return {"url": "https://example.com/"}

    @canvas.action
    async def load(ctx: CanvasContext) -> None:
        """Load."""
        async with ctx.progress("Loading"):
            raise CanvasError("no", "No.")

    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError):
            await panel.agent.load()
        await panel.timeline.wait_for("Loading: failed")


async def test_the_name_of_the_event_is_taken(canvas: Canvas) -> None:
    @canvas.action
    async def say(ctx: CanvasContext) -> str:
        """Say."""
        with pytest.raises(ValueError, match="progress"):
            ctx.emit("progress", 1)
        return "refused"

    async with open_canvas(canvas) as panel:
        assert await panel.agent.say() == "refused"


async def test_a_handler_that_is_closed_upon_says_cancelled_while_the_session_lasts(
    canvas: Canvas, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvas.close_timeout = 0.01
    going = asyncio.Event()

    @canvas.action
    async def load(ctx: CanvasContext) -> None:
        """Load."""
        async with ctx.progress("Loading"):
            going.set()
            await asyncio.Event().wait()

    monkeypatch.setattr("canvas_provider.canvas.board.LINE_AFTER", 0.0)
    async with open_canvas(canvas) as panel:
        call = asyncio.ensure_future(panel.agent.load())
        await going.wait()
        await panel.timeline.wait_for("Loading…")
        await panel.close()
        with pytest.raises(Closing):
            await call
        await panel.timeline.wait_for("Loading: cancelled")

    going.clear()
    async with open_canvas(canvas) as panel:
        call = asyncio.ensure_future(panel.agent.load())
        await going.wait()
        await panel.timeline.wait_for("Loading…")
    with pytest.raises(CanvasError):
        await call
    assert [line.text for line in panel.timeline] == ["Loading…"], "it is silent at the end"
