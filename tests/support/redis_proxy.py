"""A line to a Redis server that counts, breaks, and loses what it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MESSAGE = b"$7\r\nmessage\r\n"
"""How a published message begins, as RESP2."""


class RedisProxy:
    """Listens on a port of its own, and passes everything on to `port`."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._can_pass = asyncio.Event()
        self._can_pass.set()
        self.bytes = 0
        """Passed on, in both directions."""
        self.loses_answer_to = b""
        """The next request with this in it is passed on, and the line cut at its answer."""
        self.loses_messages = False
        """Whether what is published does not arrive."""
        self.answers_lost = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    def hang(self) -> None:
        """Keep every connection, and let nothing through."""
        self._can_pass.clear()

    def heal(self) -> None:
        self._can_pass.set()

    def cut(self) -> None:
        """Break every connection off."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def aclose(self) -> None:
        self.heal()
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        asked = asyncio.Event()
        try:
            await asyncio.gather(
                self._pass_requests(reader, far_writer, asked),
                self._pass_answers(far_reader, writer, asked),
            )
        except OSError:
            pass
        finally:
            for one in (writer, far_writer):
                self._writers.discard(one)
                one.transport.abort()

    async def _pass_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        while data := await reader.read(1 << 20):
            await self._can_pass.wait()
            if self.loses_answer_to and self.loses_answer_to in data:
                self.loses_answer_to = b""
                asked.set()
            self.bytes += len(data)
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    async def _pass_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        while data := await reader.read(1 << 20):
            await self._can_pass.wait()
            if asked.is_set():
                self.answers_lost += 1
                break
            if self.loses_messages and MESSAGE in data:
                continue
            self.bytes += len(data)
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[RedisProxy]:
    """Start a line to a server."""
    proxy = RedisProxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.aclose()
