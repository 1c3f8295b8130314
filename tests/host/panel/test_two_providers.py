"""Two extensions that declare a canvas of the same id: each is shown, opened and driven."""

from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser, expect

from canvas_provider.host.registry import HostRefusal
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.panel import serve_memory, show_panel

pytestmark = pytest.mark.browser

OTHER: Final = "project:other"

BOARD: JSONObject = {
    "id": "board",
    "displayName": "Board",
    "description": "",
    "actions": [{"name": "ask"}],
}


async def test_two_providers_with_one_canvas_id_are_told_apart(
    browser: Browser, tmp_path: Path
) -> None:
    asked: list[tuple[str, str, JSONValue]] = []

    async def first(method: str, params: JSONObject) -> JSONValue:
        asked.append(("first", method, params.get("instanceId")))
        return {"by": "first"} if method == "canvas.action.invoke" else {"title": "Of the first"}

    async def second(method: str, params: JSONObject) -> JSONValue:
        asked.append(("second", method, params.get("instanceId")))
        return {"by": "second"} if method == "canvas.action.invoke" else {"title": "Of the second"}

    async with serve_memory(tmp_path, {"canvases": [BOARD]}, first) as panel:
        runtime = panel.bench.runtime
        near, far = memory_pair()
        async with show_panel(browser, panel.url, name="demo") as page:
            cards = page.locator("#canvases .card")
            await expect(cards).to_have_count(1)
            # One that is alone needs no more names.
            await expect(cards.filter(has_text=panel.bench.extension.id)).to_have_count(0)
            await runtime.attach(near, extension_id=OTHER, extension_name="other")
            peer = Peer(far, on_request=second)
            peer.start()
            try:
                resume: JSONObject = {"sessionId": runtime.session_id, "canvases": [BOARD]}
                await peer.request("session.resume", resume)
                await expect(cards).to_have_count(2)
                with pytest.raises(HostRefusal):
                    await runtime.open("board", "any")
                owners = {"first": panel.bench.extension.id, "second": OTHER}
                for who, extension_id in owners.items():
                    card = cards.filter(has=page.get_by_text(extension_id, exact=True))
                    await card.get_by_role("button", name="Open…").click()
                    instance = await page.locator("#instance-id").input_value()
                    await page.locator("#dialog").get_by_role("button", name="Open").click()
                    await expect(page.locator("#dialog")).to_be_hidden()
                    assert asked[-1] == (who, "canvas.open", instance)
                    # The only action of a canvas is unfolded by itself.
                    action = page.locator('.sheet:not([hidden]) details.action[data-action="ask"]')
                    await action.get_by_role("button", name="Invoke").click()
                    await expect(action.locator(".outcome")).to_contain_text(f'"{who}"')
                    assert asked[-1] == (who, "canvas.action.invoke", instance)
                # Each has its own instance, although the ids were made up from one canvas id.
                assert len({instance for _, _, instance in asked}) == 2
            finally:
                await peer.aclose()
