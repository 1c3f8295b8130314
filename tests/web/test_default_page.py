"""What a canvas without a page of its own shows."""

from typing import Any

import pytest
from playwright.async_api import expect

from canvas_provider import create_canvas
from tests.support.browser import Visit
from tests.support.instances import open_served

pytestmark = pytest.mark.browser


async def test_the_state_is_shown_and_followed(visit: Visit) -> None:
    canvas = create_canvas(
        id="notes", display_name="Notes & <b>", description="Notes.", state=dict[str, Any]
    )

    @canvas.action
    async def write(state: dict[str, Any], text: str) -> None:
        """Write a note."""
        state["text"] = text

    async with open_served(canvas) as (served, instance):
        page = await visit(served.url)
        await expect(page).to_have_title("Notes & <b>")
        await expect(page.locator("h1")).to_have_text("Notes & <b>")
        await expect(page.locator("#state")).to_have_text("{}")
        await instance.invoke("write", {"text": "<i>hello</i>"}, author="agent")
        await expect(page.locator("#state")).to_contain_text('"text": "<i>hello</i>"')
        await expect(page.locator("#change")).to_have_text("Revision 1, by agent (write)")


async def test_a_canvas_without_state_has_a_page_too(visit: Visit) -> None:
    canvas = create_canvas(id="plain", display_name="Plain", description="Nothing.")
    async with open_served(canvas) as (served, _):
        page = await visit(served.url)
        await expect(page.locator("#state")).to_have_text("null")
