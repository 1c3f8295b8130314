"""The panel at a loopback port."""

import secrets
from typing import Self

from canvas_provider.host.bench import Bench
from canvas_provider.host.panel.app import PanelApp
from canvas_provider.serving.server import LoopbackServers, Origin
from canvas_provider.types import Token

__all__ = ["PanelServer"]


class PanelServer:
    """The panel of one session, served. Whoever knows `url` can use it."""

    def __init__(self, app: PanelApp, origin: Origin, url: str) -> None:
        self._app = app
        self._origin = origin
        self.url = url

    @classmethod
    async def start(cls, bench: Bench, servers: LoopbackServers, *, port: int = 0) -> Self:
        """Serve it, with a token of its own.

        Raises:
            OSError: the port is taken.
        """
        token = Token(secrets.token_urlsafe(32))
        app = PanelApp(bench, token=token)
        origin = await servers.serve(app, port=port)
        app.bind(origin.host)
        return cls(app, origin, f"{origin.base}/{token}/")

    async def aclose(self, grace: float = 0.2) -> None:
        """End its event streams, then free the port; requests get `grace` seconds."""
        self._app.close()
        await self._origin.aclose(grace)
