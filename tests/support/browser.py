"""A headless Chromium for a whole module, and pages in it that may not complain.

Import `anyio_backend`, `browser` and `visit` into a `conftest.py`.
"""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from tests.support.require import require_chromium

__all__ = ["ARGUMENTS", "Visit", "anyio_backend", "browser", "visit"]

WAIT_MS: Final = 5000

ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for a module's tests, because a browser outlives each of them."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    path = require_chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        await browser.close()


class Visit:
    """Opens pages. What they write to the console, and what they throw, is kept."""

    def __init__(self, browser: Browser, stack: AsyncExitStack) -> None:
        self._browser = browser
        self._stack = stack
        self.console: list[str] = []
        """`type: text` of every message."""
        self.expected = [r"net::ERR_(CONNECTION|INCOMPLETE)"]
        """Patterns of warnings and errors that belong to the test. At its end servers go first."""

    async def __call__(
        self, url: str, *, script: str | None = None, clock: bool = False, **options: Any
    ) -> Page:
        """Open `url`, as a context with these options, after `script` ran in it.

        Args:
            clock: the page's time is the test's: see `page.clock`.
        """
        context = await self._browser.new_context(**options)
        self._stack.push_async_callback(context.close)
        page = await context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        page.on("console", self._note)
        if script is not None:
            await page.add_init_script(script)
        if clock:
            await page.clock.install()
        await page.goto(url)
        return page

    def _note(self, message: ConsoleMessage) -> None:
        # What a browser asks for by itself, outside of every page's address.
        if not message.location["url"].endswith("/favicon.ico"):
            self.console.append(f"{message.type}: {message.text}")

    @property
    def complaints(self) -> list[str]:
        """Warnings and errors that nobody expected."""
        return [
            line
            for line in self.console
            if line.startswith(("error", "warning"))
            and not any(re.search(pattern, line) for pattern in self.expected)
        ]


@pytest.fixture
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    async with AsyncExitStack() as stack:
        visit = Visit(browser, stack)
        yield visit
    assert not visit.complaints, "\n".join(visit.complaints)
