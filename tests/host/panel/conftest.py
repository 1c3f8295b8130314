from tests.support.browser import anyio_backend, browser

__all__ = ["anyio_backend", "browser"]
