"""The pages that `canvas-provider new` makes, used by a person in a real browser."""

import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from canvas_provider import MemoryStore
from canvas_provider.cli.new import create_extension
from canvas_provider.types import JSONValue
from tests.support.browser import Visit, anyio_backend, browser, visit
from tests.support.live import Live, open_live

__all__ = ["anyio_backend", "browser", "visit"]

pytestmark = pytest.mark.browser

Begin = Callable[[str], Awaitable[tuple[Live, Page]]]


@pytest.fixture
async def begin(tmp_path: Path, visit: Visit) -> AsyncIterator[Begin]:
    """Make a canvas from a template and look at its page."""
    async with AsyncExitStack() as stack:

        async def begin(template: str) -> tuple[Live, Page]:
            create_extension(tmp_path / "retro", template)
            script = tmp_path / "retro" / "extension.py"
            spec = importlib.util.spec_from_file_location(f"new_{template}", script)
            assert spec is not None and spec.loader is not None
            module: Any = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.canvas.store = MemoryStore()
            live = await stack.enter_async_context(open_live(module.canvas))
            return live, await visit(live.url)

        yield begin


async def test_a_board_shows_what_both_do(begin: Begin, visit: Visit) -> None:
    live, page = await begin("board")
    await page.get_by_label("New task").fill("Ship it")
    await page.get_by_role("button", name="Add").click()
    row = page.locator("section[data-column=todo] li", has_text="Ship it")
    await row.get_by_label("Column").select_option("doing")
    await page.locator("section[data-column=doing] li", has_text="Ship it").wait_for()

    await live.agent("move_task", task_id="task-1", column="done")
    done = page.locator("section[data-column=done] li", has_text="Ship it")
    await done.get_by_label("Delete").click()
    await done.wait_for(state="detached")
    assert visit.complaints == []


async def test_a_chart_shows_what_the_agent_draws(begin: Begin, visit: Visit) -> None:
    live, page = await begin("chart")
    points: JSONValue = [{"label": "cold", "value": 560}, {"label": "warm", "value": -20.5}]
    await live.agent("draw", title="Start-up", unit="ms", points=points)
    await page.get_by_role("heading", name="Start-up").wait_for()
    assert await page.get_by_role("meter", name="warm").get_attribute("value") == "-20.5"

    await page.get_by_label("Label", exact=True).fill("warm")
    await page.get_by_label("Value").fill("85")
    await page.get_by_role("button", name="Set").click()
    await page.locator("output", has_text="85 ms").wait_for()
    assert visit.complaints == []


async def test_a_form_keeps_what_is_half_typed(begin: Begin, visit: Visit) -> None:
    live, page = await begin("form")
    details = page.get_by_label("Details")
    await details.press_sequentially("The door")
    await live.agent("fill_in", name="Ana", email="ana@example.org", kind="problem")
    await page.wait_for_function("document.forms[0].elements.name.value === 'Ana'")
    assert await details.input_value() == "The door"
    assert await page.get_by_label("What is it about?").input_value() == "problem"

    await page.get_by_role("button", name="Send").click()
    await page.get_by_text("Thank you").wait_for()
    assert (await live.agent("get_form"))["details"] == "The door"
    await page.get_by_role("button", name="Another one").click()
    await page.wait_for_function("document.forms[0].elements.name.value === ''")
    assert await details.input_value() == ""
    assert visit.complaints == []


async def test_a_text_is_saved_and_follows_the_agent(begin: Begin, visit: Visit) -> None:
    live, page = await begin("blank")
    text = page.get_by_label("Retro")
    await text.fill("Dear all,")
    await text.blur()
    await page.get_by_text("Saved.").wait_for()
    assert await live.agent("get_text") == "Dear all,"

    await live.agent("set_text", text="Dear all, hello")
    await page.get_by_text("The agent has changed the text.").wait_for()
    assert await text.input_value() == "Dear all, hello"
    assert visit.complaints == []
