"""The pages of the recipes in a real browser, used by a person. Nothing on them is blocked."""

import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Page

from canvas_provider import Canvas, MemoryStore
from canvas_provider.types import JSONValue
from docs.examples.crew.extension import crew
from docs.examples.deck.extension import cards
from docs.examples.diagram.extension import diagram
from docs.examples.orb.extension import orb
from docs.examples.picture.extension import picture
from docs.examples.site.extension import site
from tests.support.browser import Visit, anyio_backend, browser, visit
from tests.support.live import Live, open_live

__all__ = ["anyio_backend", "browser", "visit"]

pytestmark = pytest.mark.browser

Begin = Callable[[Canvas], Awaitable[tuple[Live, Page]]]


@pytest.fixture
async def begin(visit: Visit) -> AsyncIterator[Begin]:
    """Open a canvas, kept in memory, and look at its page."""
    async with AsyncExitStack() as stack:

        async def begin(canvas: Canvas) -> tuple[Live, Page]:
            if canvas is not site:
                canvas = copy.copy(canvas)
                canvas.store = MemoryStore()
            live = await stack.enter_async_context(open_live(canvas))
            return live, await visit(live.url, color_scheme="dark")

        yield begin


async def test_the_orb_asks_and_is_given_a_colour(begin: Begin) -> None:
    live, page = await begin(orb)
    await page.get_by_role("button", name="Ask for a colour").click()
    await page.get_by_text("The agent is choosing").wait_for()
    await live.agent("set_color", color="#1a7f37", mood="calm")
    await page.get_by_role("img", name="#1a7f37 calm").wait_for()


async def test_a_card_that_is_turned_over_stays_so(begin: Begin) -> None:
    live, page = await begin(cards)
    await page.get_by_label("Front").fill("être")
    await page.get_by_label("Back").fill("to be")
    await page.get_by_role("button", name="Add").click()
    card = page.locator("li", has_text="être")
    await card.locator("summary").click()
    await live.agent("add_card", front="avoir", back="to have")
    await page.locator("li", has_text="avoir").wait_for()
    assert await card.get_by_text("to be").is_visible()
    await card.get_by_label("known").check()
    await live.agent("mark", front="avoir", known=True)
    await page.wait_for_function("document.querySelectorAll('input:checked').length === 2")


async def test_a_note_is_written_on_a_node(begin: Begin) -> None:
    live, page = await begin(diagram)
    nodes: JSONValue = [
        {"id": "a", "label": "Plan"},
        {"id": "b", "label": "Build", "needs": ["a"]},
        {"id": "c", "label": "A cycle is no reason to hang", "needs": ["b", "c"]},
    ]
    await live.agent("draw", nodes=nodes)
    await page.get_by_role("button", name="Build").press("Enter")
    await page.get_by_label("Your note on Build").press_sequentially("How")
    await live.agent("draw", nodes=nodes)
    await page.get_by_label("Your note on Build").press_sequentially(" long?")
    await page.get_by_role("button", name="Save the note").click()
    await page.get_by_role("button", name="Build, with a note").wait_for()
    assert await live.agent("get_notes") == {"b": "How long?"}


async def test_a_pixel_is_painted(begin: Begin) -> None:
    live, page = await begin(picture)
    square = page.get_by_role("button", name="3, 2", exact=True)
    await square.click()
    await page.wait_for_function(
        "getComputedStyle(document.querySelectorAll('#grid button')[35]).backgroundColor"
        " === 'rgb(9, 105, 218)'"
    )


async def test_a_page_of_the_site_cannot_reach_the_canvas(begin: Begin, visit: Visit) -> None:
    visit.expected.append("Blocked script execution .* frame is sandboxed")
    live, page = await begin(site)
    hostile = "<h1>Hi</h1><script>parent.document.title='taken'</script>"
    await live.agent("write_page", name="home", title="Home", body=hostile)
    await page.get_by_role("button", name="home").click()
    await page.frame_locator("iframe").get_by_role("heading", name="Hi").wait_for()
    assert await page.title() == "Site"
    await page.get_by_label("Status of home").select_option("done")
    await page.wait_for_function("document.querySelector('select').value === 'done'")


async def test_a_person_sets_a_fault(begin: Begin) -> None:
    live, page = await begin(crew)
    await page.get_by_label("The next").select_option("claim")
    await page.get_by_role("button", name="Set", exact=True).click()
    await page.get_by_text("The next claim: refuse.").wait_for()
    await live.agent("plan", texts=["one"])
    await page.get_by_role("cell", name="task-1").wait_for()
    await page.get_by_role("button", name="Undo the latest change").click()
    await page.get_by_role("cell", name="task-1").wait_for(state="detached")
