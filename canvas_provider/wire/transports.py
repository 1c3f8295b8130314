"""Transports: they move bytes and know nothing of messages.

A transport pushes: `start()` names the two callbacks, and from then on bytes arrive in order, then
the end, once. Writing never waits, so that two ends that both have much to say cannot wait for each
other; whoever produces without limit awaits `drain()`.
"""

import asyncio
import os
from collections import deque
from typing import Protocol

from canvas_provider.wire.backlog import Backlog
from canvas_provider.wire.descriptor import DataCallback, EndCallback, open_reader, open_writer

__all__ = ["MemoryTransport", "PipeTransport", "Transport", "memory_pair"]


class Transport(Protocol):
    """One end of a byte stream in both directions."""

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        """Begin to receive. `on_eof` gets what broke, or None; neither is called from in here."""

    def write(self, data: bytes) -> None:
        """Queue bytes, once started. They are dropped when the other side is gone."""

    async def drain(self) -> None:
        """Wait while the other side is far behind."""

    async def aclose(self) -> None:
        """Write what is queued, then close; if cancelled, close at once. No callback follows."""

    def abort(self) -> None:
        """Close at once: what is queued is dropped. Idempotent, also after `aclose()`."""


class PipeTransport:
    """A transport over two descriptors, which it owns: pipes, sockets, files, terminals.

    They may be the same one, and may block or not.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        if read_fd == write_fd:
            write_fd = os.dup(read_fd)
        self._reader = open_reader(read_fd)
        self._writer = open_writer(write_fd)
        self._ended = False

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        self._on_eof = on_eof
        self._writer.start(self._end)
        self._reader.start(on_data, self._end)

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def aclose(self) -> None:
        self._ended = True
        self._reader.close()
        await self._writer.aclose()

    def abort(self) -> None:
        self._ended = True
        self._reader.close()
        self._writer.abort()

    def _end(self, exception: Exception | None) -> None:
        # Either half may end first, and the other may follow.
        if not self._ended:
            self._ended = True
            self._reader.close()
            self._on_eof(exception)


class MemoryTransport:
    """One end of a `memory_pair()`.

    What was written before a close still arrives, and then the end.
    """

    def __init__(self) -> None:
        self._other = self
        self._inbox: deque[bytes] = deque()
        # What the other end wrote and this one has not taken; the other end waits for it.
        self._backlog = Backlog()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_scheduled = False
        self._is_at_end = False
        self._closed = False

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        self._loop = asyncio.get_running_loop()
        self._schedule()

    def write(self, data: bytes) -> None:
        if not (self._closed or self._other._closed):
            self._other._backlog.grow(len(data))
            self._other._inbox.append(data)
            self._other._schedule()

    async def drain(self) -> None:
        await self._other._backlog.wait_low()

    async def aclose(self) -> None:
        self.abort()

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._inbox.clear()
            self._backlog.drop()
            self._other._is_at_end = True
            self._other._schedule()

    def _schedule(self) -> None:
        # Never from inside write(): two ends that answer at once would recurse without end.
        if self._loop is not None and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_scheduled = False
        while self._inbox:
            data = self._inbox.popleft()
            self._backlog.shrink(len(data))
            self._on_data(data)
        if self._is_at_end and not self._closed:
            self._on_eof(None)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Connect two transports of one event loop to each other."""
    one, other = MemoryTransport(), MemoryTransport()
    one._other, other._other = other, one
    return one, other
