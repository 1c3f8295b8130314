"""A headless Chromium for what the docs show."""

from tests.support.browser import anyio_backend, browser, visit

__all__ = ["anyio_backend", "browser", "visit"]
