"""One client's socket: what is sent to it waits in a bounded `Outbox`, and never for its sake."""

import asyncio
from collections.abc import Coroutine
from typing import Final, Self

from aiohttp import ClientConnectionResetError, web

from canvas_provider.ahp.hosting.outbox import Outbox

__all__ = ["ClientLink"]

MAX_FRAME: Final = 1024 * 1024
"""Bytes of what a client sends at once; more ends the connection."""

HEARTBEAT: Final = 30.0
"""Seconds after which a client that says nothing is asked whether it is there."""

CLOSE_DEADLINE: Final = 1.0
"""Seconds for a client to take what is left before the end."""

MAX_READS: Final = 2
"""Resources that are being read for one client."""


class ClientLink:
    """The socket of one client, and the tasks that work for it. Made by `accept`."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.BaseTransport) -> None:
        self.socket = socket
        self.reading = asyncio.Semaphore(MAX_READS)
        self._transport = transport
        self._outbox = Outbox()
        self._changed = asyncio.Event()
        self._sent = asyncio.Event()
        self._is_closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def accept(cls, request: web.Request) -> Self:
        """Take a request for an upgrade."""
        socket = web.WebSocketResponse(
            max_msg_size=MAX_FRAME, heartbeat=HEARTBEAT, compress=False, timeout=CLOSE_DEADLINE
        )
        await socket.prepare(request)
        assert request.transport is not None
        link = cls(socket, request.transport)
        link.begin(link._write())
        return link

    def send(self, frame: str, key: tuple[str, str] | None) -> bool:
        """Queue a frame; False: the client was too slow, and the connection has been cut."""
        if self._is_closing:
            return True
        if not self._outbox.put(frame, key):
            self.close(flush=False)
            return False
        self._sent.clear()
        self._changed.set()
        return True

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Have something done for this client; it ends with the connection."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait_sent(self) -> None:
        """Wait until nothing is queued."""
        await self._sent.wait()

    def close(self, *, flush: bool) -> None:
        """End the connection, after what is queued if `flush`, and at once otherwise."""
        self._is_closing = True
        self._changed.set()
        if not flush:
            self._outbox.clear()
            self._transport.abort()  # type: ignore[attr-defined]

    async def aclose(self) -> None:
        """End everything that is being done for the client."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _write(self) -> None:
        try:
            while True:
                while (frame := self._outbox.take()) is not None:
                    await self.socket.send_str(frame)
                self._sent.set()
                if self._is_closing:
                    break
                self._changed.clear()
                await self._changed.wait()
            await self.socket.close()
        except ClientConnectionResetError:
            pass  # It is gone: whoever reads notices that, too.
        finally:
            self.close(flush=False)
