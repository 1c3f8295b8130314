"""Origins without sockets: what the loopback servers are in a test.

Each app gets an address that only `InProcessServers` knows. It is an httpx transport, too, so a
client reaches each app at its address, through the same guards a browser meets.
"""

from itertools import count
from typing import Final

import httpx

from canvas_provider.canvas.instance import Instance
from canvas_provider.testing.asgi import ASGIApp, StreamingASGITransport
from canvas_provider.web.service import Served, serve_instance

__all__ = ["InProcessOrigin", "InProcessServers", "InProcessWeb"]

FIRST_PORT: Final = 49152
"""The first of the ports that are nobody's own (RFC 6335 section 6)."""


class InProcessOrigin:
    """Where one app is reached."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.port = port
        self.transport = StreamingASGITransport(app, raise_app_exceptions=True)
        self.closed = False

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def base(self) -> str:
        return f"http://{self.host}"

    async def aclose(self, grace: float = 0.5) -> None:
        """Refuse new requests; those in flight get `grace` seconds. Idempotent."""
        if not self.closed:
            self.closed = True
            await self.transport.aclose(grace)


class InProcessServers(httpx.AsyncBaseTransport):
    """Serves apps, and sends an `httpx.AsyncClient`'s requests to them."""

    def __init__(self) -> None:
        self._ports = count(FIRST_PORT)
        self._origins: dict[tuple[str, int | None], InProcessOrigin] = {}

    async def serve(self, app: ASGIApp) -> InProcessOrigin:
        origin = InProcessOrigin(app, next(self._ports))
        self._origins["127.0.0.1", origin.port] = origin
        return origin

    def has(self, url: str) -> bool:
        """Whether an app is served there."""
        return self._find(httpx.URL(url)) is not None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        origin = self._find(request.url)
        if origin is None:
            raise httpx.ConnectError("Nothing is served there.", request=request)
        return await origin.transport.handle_async_request(request)

    async def aclose(self) -> None:
        for origin in self._origins.values():
            await origin.aclose()

    def _find(self, url: httpx.URL) -> InProcessOrigin | None:
        origin = self._origins.get((url.host, url.port))
        return None if origin is None or origin.closed else origin


class InProcessWeb:
    """A session's pages on `InProcessServers`. Knows each instance, to look into it."""

    def __init__(self, servers: InProcessServers) -> None:
        self._servers = servers
        self.instances: dict[str, Instance] = {}

    async def serve(self, instance: Instance) -> Served:
        self.instances[instance.instance_id] = instance
        return await serve_instance(instance, self._servers)

    async def aclose(self) -> None:
        """Nothing to do: each page was closed with its instance, and no port is held."""
