"""A browser that resolves a stranger's name to this machine, as a rebound name does."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright

from tests.support.browser import ARGUMENTS, anyio_backend, visit
from tests.support.require import require_chromium

__all__ = ["anyio_backend", "browser", "visit"]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    arguments = [*ARGUMENTS, "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=require_chromium(), args=arguments
        )
        yield browser
        await browser.close()
