"""A headless Chromium, and the kanban in it."""

import copy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from canvas_provider import MemoryStore
from examples.kanban.extension import kanban
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright
from tests.support.live import Live, open_live
from tests.support.require import require_chromium

WAIT_MS = 5000


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One loop for all tests here, so that they can share the browser."""
    return "asyncio"


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = require_chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
async def board() -> AsyncIterator[Live]:
    """A kanban with one card in its first column, kept in memory."""
    canvas = copy.copy(kanban)
    canvas.store = MemoryStore()
    async with open_live(canvas) as live:
        await live.agent("add_card", title="Ship it", notes="To everybody", assignee="Ana Lopez")
        yield live


class Look:
    """How a page is opened: width, colours, and what counts as an error on it."""

    def __init__(self, browser: Browser, stack: AsyncExitStack) -> None:
        self._browser = browser
        self._stack = stack
        self.errors: list[str] = []

    async def __call__(
        self,
        live: Live,
        *,
        width: int = 1000,
        dark: bool = False,
        touch: bool = False,
        calm: bool = True,
    ) -> Page:
        context = await self._browser.new_context(
            viewport={"width": width, "height": 640},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if calm else "no-preference",
            has_touch=touch,
        )
        self._stack.push_async_callback(context.close)
        page = await context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        await page.goto(live.url)
        await page.wait_for_selector(".columns")
        return page

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium says so of every answer that is no success, also of a refusal that is shown.
        is_refusal = message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not is_refusal:
            self.errors.append(message.text)


@pytest.fixture
async def look(browser: Browser) -> AsyncIterator[Look]:
    """Open pages; whatever a page complains about fails the test."""
    async with AsyncExitStack() as stack:
        look = Look(browser, stack)
        yield look
    assert look.errors == []
