"""A TCP connection's way through the test, which can be cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Tunnel", "open_tunnel"]


class Tunnel:
    """Carries bytes between whoever connects and a port."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.is_open = True
        """Whether new connections are let through."""
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """End every connection without a word."""
        for writer in self._writers:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.is_open:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def open_tunnel(target: int) -> AsyncIterator[Tunnel]:
    tunnel = Tunnel(target)
    server = await asyncio.start_server(tunnel.carry, "127.0.0.1", 0)
    tunnel.port = server.sockets[0].getsockname()[1]
    async with server:
        yield tunnel
        tunnel.cut()
