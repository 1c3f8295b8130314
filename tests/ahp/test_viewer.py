"""A canvas in a browser that reaches nothing but the viewer: each byte comes through the host."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import Request, expect

from canvas_provider.ahp.client import AHPClient
from canvas_provider.ahp.development import DevelopmentChat
from canvas_provider.ahp.host import AHPHost
from canvas_provider.ahp.hosting.chat_source import LiveURLs
from canvas_provider.ahp.relay import Encoding, Relay
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.protocol.ahp import ResourceReadResult
from docs.examples.viewer.viewer import serve
from tests.support.ahp import EXTENSION, Desk, hosted
from tests.support.ahp_host import within
from tests.support.browser import Visit, anyio_backend, browser, visit
from tests.support.origins import open_origin, reply
from tests.support.require import ROOT

__all__ = ["anyio_backend", "browser", "visit"]


class Counting(Relay):
    """A relay that counts the bytes that went through it."""

    def __init__(self) -> None:
        super().__init__()
        self.read_names: list[str] = []

    async def read(
        self, uri: str, sources: LiveURLs, encoding: Encoding | None = None
    ) -> ResourceReadResult:
        result = await super().read(uri, sources, encoding)
        self.read_names.append(uri.rpartition("/")[2])
        return result


@asynccontextmanager
async def open_cold_kanban(folder: Path) -> AsyncIterator[tuple[AHPClient, Workbench, Counting]]:
    """A client of a development host whose extension does not run yet."""
    bench = Workbench(
        Extension(ROOT / "examples" / "kanban" / "extension.py", "kanban"),
        working_directory=str(folder),
        workspace_path=str(folder),
        copilot_home=folder / "copilot",
    )
    relay = Counting()
    try:
        async with (
            asyncio.timeout(40),
            await AHPHost.start([DevelopmentChat(bench)], reader=relay) as host,
            AHPClient(host.url, direct=False) as client,
        ):
            yield client, bench, relay
    finally:
        await bench.aclose(2)


@pytest.mark.browser
@pytest.mark.process
async def test_a_kanban_opened_on_a_cold_chat_shows_its_columns_and_cards(
    tmp_path: Path, visit: Visit
) -> None:
    # Chromium says so of the stream and of the undo, which a relayed page has not.
    visit.expected.append("Failed to load resource")
    async with open_cold_kanban(tmp_path) as (client, bench, relay):
        chat = await client.find_chat()
        await client.follow(chat)
        assert client.registry(chat) is None
        registry = await client.request_registry(chat)
        [(extension, kind)] = list(registry or ())
        canvas = await client.open_canvas(chat, extension.extension_id, kind.canvas_id)
        state = client.state(canvas)
        assert state is not None
        for title in ("Ship it", "Write the notes"):
            await bench.runtime.invoke(str(state["instanceId"]), "add_card", {"title": title})

        requests: list[Request] = []
        async with serve(client, canvas) as address:
            page = await visit("about:blank")
            page.on("request", lambda request: requests.append(request))
            await page.goto(address)
            await expect(page.locator(".columns > *")).not_to_have_count(0)
            for title in ("Ship it", "Write the notes"):
                await expect(page.get_by_text(title)).to_be_visible()
            for column in ("Backlog", "In progress", "Done"):
                heading = page.get_by_role("heading", name=column, exact=True)
                await expect(heading).to_be_visible()
            await page.close()

        local = [each for each in requests if not each.url.startswith(("data:", "blob:"))]
        assert all(each.url.startswith(address) for each in local)
        assert {each.method for each in local} == {"GET"}
        assert {"", "kanban.js", "kanban.css", "canvas.js", "state"} <= set(relay.read_names)
        assert not any(name.startswith("events") for name in relay.read_names)


async def test_the_viewer_shows_nothing_but_the_canvas() -> None:
    async with (
        open_origin({"/": reply(b"secret")}) as other,
        open_origin({"/page/": reply(b"<p>", "text/html"), "/page/a%20b?c": reply(b"x")}) as origin,
        hosted(desk := Desk()) as it,
        AHPClient(it.host.url, direct=False) as client,
        aiohttp.ClientSession() as http,
    ):
        desk.shown = {"url": f"{origin.url}/page/", "title": "Page"}
        canvas = await within(client.open_canvas(desk.chat, EXTENSION, "board"))
        async with serve(client, canvas) as address:
            async with http.get(address) as shown:
                assert (shown.status, await shown.text()) == (200, "<p>")
                assert shown.content_type == "text/html"
                assert shown.headers["X-Content-Type-Options"] == "nosniff"
            async with http.get(f"{address}a%20b?c") as shown:
                assert await shown.text() == "x"
            for name in (f"//127.0.0.1:{other.port}/", f"{other.url}/", "nothing", "%2e%2e/x"):
                async with http.get(address + name) as shown:
                    assert shown.status == 404
            async with http.get(address.rpartition("/")[0][:-1] + "/") as shown:
                assert shown.status == 404
            async with http.post(address) as shown:
                assert shown.status == 405
            await desk.kill()
            async with http.get(address) as shown:
                assert shown.status == 404
        assert other.connected == 0
