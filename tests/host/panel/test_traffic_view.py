"""The traffic in the page: found, paired, and fast however much there is."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from canvas_provider.errors import RemoteError
from canvas_provider.host.link import Message
from canvas_provider.types import JSONObject, JSONValue
from tests.support.panel import MemoryPanel, serve_memory, show_panel

pytestmark = pytest.mark.browser

BOARD: JSONObject = {
    "id": "board",
    "displayName": "Board",
    "description": "",
    "actions": [{"name": "move"}, {"name": "fail"}],
}


async def serve(method: str, params: JSONObject) -> JSONValue:
    if params.get("actionName") == "fail":
        raise RemoteError(-32603, "There is no card 7.", {"code": "card_not_found"})
    return {"deep": {"er": [1, {"k": "v" * 9000}]}}


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[MemoryPanel]:
    async with serve_memory(tmp_path, {"canvases": [BOARD]}, serve) as panel:
        await panel.bench.runtime.open("board", "one")
        yield panel


@pytest.fixture
async def page(browser: Browser, panel: MemoryPanel) -> AsyncIterator[Page]:
    async with show_panel(browser, panel.url, name="demo", width=1600) as page:
        yield page


async def test_an_answer_and_its_request_lead_to_each_other(page: Page, panel: MemoryPanel) -> None:
    await panel.bench.runtime.invoke("one", "move", {"card": "7"})
    request = page.locator(".row.request", has_text="canvas.action.invoke")
    await expect(request.locator(".duration")).to_contain_text("ms")
    await request.click()
    detail = page.locator(".detail")
    await expect(detail).to_contain_text('"card": "7"')
    await expect(page.locator(".row.pair .kind")).to_have_text("result")
    await detail.get_by_role("button", name="answer").click()
    await detail.locator("summary", has_text="{ k }").click()
    await expect(detail).to_contain_text("9000 characters")
    await page.keyboard.press("Tab")
    await page.locator(".rows").press("ArrowUp")
    await expect(detail).to_contain_text('"card": "7"')
    await page.locator(".rows").press("Escape")
    await expect(detail).to_be_hidden()


async def test_messages_are_filtered_in_every_way(page: Page, panel: MemoryPanel) -> None:
    await panel.bench.runtime.open("board", "two")
    await panel.bench.runtime.invoke("one", "move")
    action = page.locator('details.action[data-action="fail"]')
    await page.locator('[data-instance="one"] .tab-name').click()
    await action.locator("visible=true").locator("summary").first.click()
    await action.locator("visible=true").get_by_role("button", name="Invoke").click()
    outcome = action.locator("visible=true").locator(".outcome")
    await expect(outcome).to_contain_text("✗ error")
    await expect(outcome).to_contain_text("card_not_found")
    rows = page.locator(".row")
    await page.get_by_label("errors only").check()
    # The error, and what it answers.
    await expect(rows.locator(".method")).to_have_text(["canvas.action.invoke"] * 2)
    await expect(rows.last).to_contain_text("There is no card 7.")
    await page.get_by_label("errors only").uncheck()
    await page.get_by_label("Direction").select_option("in")
    await expect(page.locator(".row.out")).to_have_count(0)
    await page.get_by_label("Method").select_option("canvas.open")
    await expect(rows).to_have_count(2)
    await page.get_by_label("Instance").select_option("two")
    await expect(rows).to_have_count(1)
    await expect(page.locator("#traffic-count")).to_contain_text("1 of ")
    await page.get_by_label("Direction").select_option("")
    await expect(rows).to_have_count(2)
    await page.locator("#filter").fill("nothing like this")
    await expect(rows).to_have_count(0)


async def test_ten_thousand_messages_are_no_burden(page: Page, panel: MemoryPanel) -> None:
    await expect(page.locator(".row").first).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    tell = panel.bench.journal.note_message
    for number in range(11_000):
        body = {"jsonrpc": "2.0", "method": "session.log", "params": {"message": f"m{number}"}}
        tell(Message("project:demo", "in", json.dumps(body).encode()))
    await expect(page.locator("#traffic-limit")).to_contain_text("paused, 10000 waiting")
    await expect(page.locator(".row", has_text="m10999")).to_have_count(0)
    await page.get_by_role("button", name="Go on").click()
    await expect(page.locator(".row", has_text="m10999")).to_be_visible()
    await expect(page.locator("#traffic-limit")).to_have_text("the last 10,000")
    assert await page.locator(".row").count() < 100
    took = await page.evaluate(
        """async () => {
          const rows = document.querySelector(".rows");
          const began = performance.now();
          for (let at = 0; at < 20; at++) {
            rows.scrollTop = at * 10000;
            await new Promise(requestAnimationFrame);
          }
          return performance.now() - began;
        }"""
    )
    assert took < 5000, "twenty frames"
    await page.locator("#filter").fill("m10998")
    await expect(page.locator(".row")).to_have_count(1)
    await page.locator("#filter").fill("")
    await page.get_by_role("button", name="Clear").click()
    await expect(page.locator("#traffic-count")).to_have_text("0")
