"""Put one open instance on the air: a token, a port, an app."""

import secrets
from typing import TYPE_CHECKING, Literal, Protocol

from starlette.types import ASGIApp

from canvas_provider.types import Token
from canvas_provider.web.app import InstanceApp

if TYPE_CHECKING:
    from canvas_provider.canvas.instance import Instance

__all__ = ["Origin", "Served", "Servers", "serve_instance"]


class Origin(Protocol):
    """Where an app is reached: `serving.server.Origin`, or a stand-in without sockets."""

    @property
    def host(self) -> str:
        """`host:port`, as a browser sends it."""

    @property
    def base(self) -> str:
        """The origin as a URL, without a slash at its end."""

    async def aclose(self, grace: float = ...) -> None:
        """Stop serving; requests in flight get `grace` seconds."""


class Servers(Protocol):
    """Gives apps an origin each: `serving.server.LoopbackServers`."""

    async def serve(self, app: ASGIApp) -> Origin:
        """Serve `app` at an origin of its own."""


class Served:
    """An instance on the air."""

    def __init__(self, app: InstanceApp, origin: Origin, token: Token) -> None:
        self._app = app
        self._origin = origin
        self._token = token

    @property
    def url(self) -> str:
        """Where the page is. It holds the token: never log it."""
        return f"{self._origin.base}/{self._token}/"

    @property
    def visited(self) -> bool:
        """Whether anybody has asked for it."""
        return self._app.visited

    def drop_streams(self) -> int:
        """Break every event stream off, and return how many. Pages come back by themselves."""
        return self._app.drop_streams()

    async def aclose(
        self, reason: Literal["closed", "shutdown"] = "closed", *, grace: float = 0.25
    ) -> None:
        """End every event stream with `closed` and this reason, then free the port. Idempotent.

        Args:
            grace: seconds that requests in flight get.
        """
        self._app.close(reason)
        await self._origin.aclose(grace)


async def serve_instance(
    instance: "Instance", servers: Servers, *, development: bool = False
) -> Served:
    """Serve an instance at an origin and under a token of its own, until `Served.aclose`.

    Args:
        development: its page listens to the development host that embeds it.
    """
    token = Token(secrets.token_urlsafe(32))
    app = InstanceApp(instance, token=token, development=development)
    try:
        origin = await servers.serve(app)
    except BaseException:
        app.close("closed")
        raise
    # Nothing was awaited since the port was bound, so nobody has been refused.
    app.bind(origin.host)
    return Served(app, origin, token)
