"""The bars of long work, in a real browser: against a real instance, and a scripted stream."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from canvas_provider import Canvas, CanvasContext, CanvasError, Progress, create_canvas
from canvas_provider.serving.streams import EventStream
from canvas_provider.types import JSONValue
from tests.support.browser import Visit
from tests.support.instances import open_served
from tests.support.script import Script, frame, run_clock_until, serve

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Shelf</title>
<link rel="stylesheet" href="./canvas.css">
<h1>Shelf</h1>
<script type="module">
  import { connect } from "./canvas.js";
  window.canvas = connect();
  window.heard = [];
  canvas.onProgress((work, running) => heard.push([work.title, work.status, running.length]));
</script>
"""


class Works:
    """A handler's work that goes on when a test says so."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.over = asyncio.Event()
        self.work: Progress | None = None
        self.error: Exception | None = None


def make_shelf(page: Path, works: Works) -> Canvas:
    page.write_text(PAGE)
    shelf = create_canvas(id="shelf", display_name="Shelf", description="Books.", page=page)

    @shelf.action
    async def load(ctx: CanvasContext, title: str) -> None:
        """Load."""
        async with ctx.progress(title, total=4) as works.work:
            works.begun.set()
            await works.over.wait()
            if works.error is not None:
                raise works.error

    return shelf


def bars(page: Page) -> Locator:
    return page.locator("canvas-progress .work")


def bar(page: Page, title: str) -> Locator:
    return page.get_by_role("progressbar", name=title, exact=True)


def work(id: str, status: str = "running", **facts: JSONValue) -> bytes:
    data: dict[str, JSONValue] = {
        "id": id,
        "title": f"Work {id}",
        "message": "",
        "done": 0,
        "total": None,
        "status": status,
        "author": "agent",
        "action": "act",
    }
    return frame("progress", **{**data, **facts})


async def test_a_bar_appears_advances_and_ends_on_every_page_also_on_one_that_comes_late(
    tmp_path: Path, visit: Visit
) -> None:
    works = Works()
    shelf = make_shelf(tmp_path / "page.html", works)
    async with open_served(shelf) as (served, instance):
        page = await visit(served.url, clock=True)
        await page.wait_for_function("() => canvas.status === 'live'")
        call = asyncio.ensure_future(instance.invoke("load", {"title": "Books"}, author="agent"))
        await works.begun.wait()
        assert works.work is not None
        await expect(bar(page, "Books")).to_have_attribute("aria-valuenow", "0")
        works.work.advance()
        works.work.update(message="Emma")
        await expect(bar(page, "Books")).to_have_attribute("aria-valuenow", "25")
        await expect(bar(page, "Books")).to_have_attribute("aria-valuetext", "25%, Emma")
        late = await visit(served.url, clock=True)
        await expect(bar(late, "Books")).to_have_attribute("aria-valuenow", "25")
        for each in (page, late):
            await each.clock.pause_at(await each.evaluate("Date.now() / 1000 + 1"))
        works.over.set()
        await call
        for each in (page, late):
            await expect(bars(each)).to_have_attribute("data-status", "done")
            await expect(bars(each)).to_contain_text("Done")
            await each.clock.run_for(2000)
            await expect(each.locator("canvas-progress")).to_have_count(0)
        assert (await page.evaluate("heard"))[0] == ["Books", "running", 1]
        assert (await page.evaluate("heard"))[-1] == ["Books", "done", 0]


async def test_a_failure_and_a_close_are_told_on_the_page(tmp_path: Path, visit: Visit) -> None:
    works = Works()
    shelf = make_shelf(tmp_path / "page.html", works)
    async with open_served(shelf) as (served, instance):
        page = await visit(served.url)
        await page.wait_for_function("() => canvas.status === 'live'")
        works.error = CanvasError("full", "The shelf is full.")
        works.over.set()
        with pytest.raises(CanvasError):
            await instance.invoke("load", {"title": "Failing"}, author="person")
        await expect(bars(page)).to_have_attribute("data-status", "failed")
        await expect(bars(page)).to_contain_text("The shelf is full.")
        await expect(page.locator("canvas-progress [role=status]")).to_have_text("Failing: Failed")

        works.over.clear()
        works.begun.clear()
        call = asyncio.ensure_future(instance.invoke("load", {"title": "Running"}, author="person"))
        await works.begun.wait()
        await expect(bar(page, "Running")).to_be_visible()
        call.cancel()
        await expect(bars(page).last).to_have_attribute("data-status", "cancelled")
        await expect(bars(page).last).to_contain_text("Cancelled")
        assert works.work is not None
        works.begun.clear()
        call = asyncio.ensure_future(instance.invoke("load", {"title": "Last"}, author="person"))
        await works.begun.wait()
        await expect(bar(page, "Last")).to_be_visible()
        await served.aclose("closed")
        await expect(bar(page, "Last")).to_have_count(0)
        assert (await page.evaluate("heard"))[-1] == ["Last", "lost", 0]
        call.cancel()


# --- With a stream that says what we want


@asynccontextmanager
async def scripted(visit: Visit) -> AsyncIterator[tuple[Page, Script]]:
    script = Script()
    script.opening = frame("snapshot", revision=1, state=None)
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await page.wait_for_function("() => window.changes?.length === 1")
        await page.evaluate("canvas.onProgress((work) => window.latest = work); 0")
        yield page, script


async def arrived(page: Page, id: str, status: str) -> None:
    await page.wait_for_function(
        "([id, status]) => window.latest?.id === id && latest.status === status", arg=[id, status]
    )


async def test_work_that_is_over_at_once_is_no_bar_but_its_failure_is(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1") + work("1", "done"))
        await arrived(page, "1", "done")
        await page.clock.run_for(1000)
        await expect(page.locator("canvas-progress")).to_have_count(0)
        script.stream.publish(work("2") + work("2", "failed") + work("3", "cancelled"))
        await expect(bars(page)).to_have_text(["Work 2Failed", "Work 3Cancelled"])
        await page.clock.run_for(10_000)
        await expect(page.locator("canvas-progress")).to_have_count(0)


async def test_only_a_few_bars_are_shown_at_a_time(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        script.stream.publish(b"".join(work(str(number)) for number in range(7)))
        await expect(bars(page)).to_have_count(7)
        await expect(page.get_by_role("progressbar")).to_have_count(4)
        await expect(page.locator("canvas-progress .more")).to_have_text("and 3 more")
        script.stream.publish(b"".join(work(str(number), "done") for number in range(3)))
        await page.clock.run_for(3000)
        await expect(page.get_by_role("progressbar")).to_have_count(4)
        await expect(page.locator("canvas-progress .more")).to_be_hidden()


async def test_without_a_total_the_bar_says_only_that_something_goes_on(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1", done=1234))
        await expect(bar(page, "Work 1")).to_be_visible()
        await expect(bar(page, "Work 1")).not_to_have_attribute("aria-valuenow", "0")
        fill = page.locator("canvas-progress .fill")
        assert await bar(page, "Work 1").get_attribute("aria-valuenow") is None
        animation = "(fill) => getComputedStyle(fill).animationName"
        assert await fill.evaluate(animation) == "pass"
        await page.emulate_media(reduced_motion="reduce")
        assert await fill.evaluate(animation) == "none"
        script.stream.publish(work("1", done=3, total=2))
        await expect(bar(page, "Work 1")).to_have_attribute("aria-valuenow", "100")


async def test_the_bars_follow_the_theme_and_not_the_styles_of_the_page(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        await page.evaluate(
            """() => {
              document.documentElement.style.setProperty(
                "--background-color-default", "rgb(1, 2, 3)");
              const sheet = document.createElement("style");
              sheet.textContent = "div, span { display: none; color: red; margin: 40px }";
              document.head.append(sheet);
              document.body.innerHTML = "<button style='position: fixed; inset: 0'>All</button>";
              document.querySelector("button").onclick = () => { window.clicked = true; };
            }"""
        )
        before = await page.evaluate("[document.body.offsetWidth, document.body.offsetHeight]")
        script.stream.publish(work("1", total=2, done=1))
        await expect(bars(page)).to_be_visible()
        color = await bars(page).evaluate("(bar) => getComputedStyle(bar).backgroundColor")
        assert color == "rgb(1, 2, 3)"
        after = await page.evaluate("[document.body.offsetWidth, document.body.offsetHeight]")
        assert after == before, "nothing moves"
        box = await bars(page).bounding_box()
        assert box is not None
        await page.mouse.click(box["x"] + 5, box["y"] + 5)
        assert await page.evaluate("window.clicked"), "and nothing is in the way"
        await page.set_viewport_size({"width": 320, "height": 400})
        box = await bars(page).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320


async def test_a_text_is_shown_as_it_is(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1", title="<b>x</b>", message="<img src=x>"))
        await expect(bars(page)).to_contain_text("<b>x</b>")
        await expect(bars(page).locator("img, b")).to_have_count(0)


async def test_what_is_no_longer_heard_of_is_forgotten(visit: Visit) -> None:
    """Its end may have been missed."""
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1", total=2) + work("2", total=2))
        await expect(bars(page)).to_have_count(2)
        await page.clock.run_for(20_000)
        script.stream.publish(work("2", total=2, done=1))
        await expect(bar(page, "Work 2")).to_have_attribute("aria-valuenow", "50")
        await page.clock.run_for(12_000)
        await expect(bars(page)).to_have_count(1)
        await expect(bar(page, "Work 2")).to_be_visible()
        assert await page.evaluate("latest.status") == "lost"


async def test_after_an_interruption_only_what_still_runs_has_a_bar(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1", total=2) + work("2", total=2))
        await expect(bars(page)).to_have_count(2)
        broken, script.opening = script.stream, work("2", total=2, done=1)
        script.stream = EventStream(opening=script._open, snapshot=lambda: b"")
        broken.close(b":\n\n")
        await expect(bar(page, "Work 2")).to_have_attribute("aria-valuenow", "50")
        await page.clock.run_for(2000)
        await expect(bars(page)).to_have_count(1)
        await expect(bar(page, "Work 2")).to_be_visible()


async def test_of_a_provider_that_is_gone_no_bar_is_left(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    async with scripted(visit) as (page, script):
        script.stream.publish(work("1", total=2))
        await expect(bars(page)).to_have_count(1)
        script.streaming = False
        script.stream.close(b":\n\n")
        await run_clock_until(page, "document.querySelector('canvas-progress') === null")
        assert await page.evaluate("canvas.status") == "reconnecting"


async def test_a_page_can_show_it_in_its_own_way(visit: Visit) -> None:
    async with scripted(visit) as (page, script):
        await page.evaluate(
            """async () => {
              canvas.close();
              const { connect } = await import("./canvas.js");
              window.own = connect({ progress: false });
              window.heard = [];
              window.stop = own.onProgress((work, running) =>
                heard.push([work.id, work.status, running.map(({ id }) => id)]));
            }"""
        )
        await page.wait_for_function("() => own.status === 'live'")
        script.stream.publish(work("1") + work("2") + work("1", "failed"))
        await page.wait_for_function("() => heard.length === 3")
        expected: Any = [
            ["1", "running", ["1"]],
            ["2", "running", ["1", "2"]],
            ["1", "failed", ["2"]],
        ]
        assert await page.evaluate("heard") == expected
        late = "(() => { const got = []; own.onProgress((w) => got.push(w.id)); return got; })()"
        assert await page.evaluate(late) == ["2"]
        await page.evaluate("stop()")
        script.stream.publish(work("2", "done"))
        await page.clock.run_for(2000)
        await expect(page.locator("canvas-progress")).to_have_count(0)
        assert len(await page.evaluate("heard")) == 3
