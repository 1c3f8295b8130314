"""Pages on loopback servers: what brings starlette and uvicorn into the process.

`session.join` imports this module late, after the handshake is written.
"""

from canvas_provider.canvas.instance import Instance
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.web.service import Served, serve_instance

__all__ = ["LoopbackWeb"]


class LoopbackWeb:
    """Serves every instance of a process; the `WebStack` of a session.

    Args:
        development: pages listen to the development host that embeds them.
    """

    def __init__(self, *, development: bool = False) -> None:
        self._development = development
        self._servers = LoopbackServers()

    async def serve(self, instance: Instance) -> Served:
        return await serve_instance(instance, self._servers, development=self._development)

    async def aclose(self) -> None:
        await self._servers.aclose()
