"""The development host's panel, for tests that look at it in a browser."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from playwright.async_api import Browser, Page, expect

from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair

__all__ = ["WAIT_MS", "MemoryPanel", "serve_memory", "show_panel"]

WAIT_MS: Final = 20_000

expect.set_options(timeout=WAIT_MS)


class MemoryPanel(NamedTuple):
    """A panel whose extension is in this process."""

    bench: Workbench
    peer: Peer
    url: str


@asynccontextmanager
async def serve_memory(
    folder: Path,
    declared: JSONObject,
    serve: Callable[[str, JSONObject], Awaitable[JSONValue]],
) -> AsyncIterator[MemoryPanel]:
    """Serve a panel; `declared` is what the extension sends with `session.resume`."""
    extension = Extension(folder / "extension.py", "demo")
    bench = Workbench(extension, working_directory=str(folder), workspace_path=str(folder))
    panel = await PanelServer.start(bench, LoopbackServers())
    near, far = memory_pair()
    await bench.runtime.attach(near, extension_id=extension.id, extension_name=extension.name)
    peer = Peer(far, on_request=serve)
    peer.start()
    try:
        await peer.request("session.resume", {"sessionId": bench.runtime.session_id, **declared})
        yield MemoryPanel(bench, peer, panel.url)
    finally:
        await peer.aclose()
        await bench.aclose(0)
        await panel.aclose()


@asynccontextmanager
async def show_panel(
    browser: Browser, url: str, *, width: int = 1280, dark: bool = False, name: str = "counter"
) -> AsyncIterator[Page]:
    """The panel's page; whatever is thrown in it fails the test."""
    context = await browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    page.set_default_timeout(WAIT_MS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(url)
    await expect(page.locator("#name")).to_have_text(name)
    yield page
    await context.close()
    assert errors == []
