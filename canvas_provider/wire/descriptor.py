"""Reading and writing one file descriptor without ever blocking the event loop.

Two ways for each direction, because there is no single one. A pipe or a socket is polled by the
loop. Everything else (a file, a terminal, the null device, all of Windows) gets a daemon thread
that blocks: epoll refuses files, and O_NONBLOCK on a terminal would be shared with whoever else
writes there.

Each object owns its descriptor and closes it. `on_eof` is called at most once and never from
inside a method that the caller has called.
"""

import asyncio
import contextlib
import os
import queue
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from canvas_provider.wire.backlog import Backlog

__all__ = [
    "CHUNK_SIZE",
    "DataCallback",
    "EndCallback",
    "Reader",
    "Writer",
    "open_reader",
    "open_writer",
]

DataCallback: TypeAlias = Callable[[bytes], None]
EndCallback: TypeAlias = Callable[[Exception | None], None]
"""Called with what broke, or None for an orderly end."""

CHUNK_SIZE: Final = 64 * 1024
"""Most bytes read at once: what a pipe holds on Linux."""


class Reader(Protocol):
    """The incoming half."""

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None: ...

    def close(self) -> None:
        """Stop at once: no callback follows. Idempotent."""


class Writer(Protocol):
    """The outgoing half."""

    def start(self, on_broken: EndCallback) -> None: ...

    def write(self, data: bytes) -> None:
        """Queue bytes. Once the other side is gone, they are dropped."""

    async def drain(self) -> None:
        """Wait until no more than `HIGH_WATER` bytes are unwritten, or the other side is gone."""

    async def aclose(self) -> None:
        """Write what is queued, then close; if cancelled, close at once."""

    def abort(self) -> None:
        """Close at once: what is queued is dropped. Idempotent."""


def open_reader(fd: int) -> Reader:
    """Take over a descriptor for reading."""
    return PolledReader(fd) if _is_pollable(fd) else ThreadReader(fd)


def open_writer(fd: int) -> Writer:
    """Take over a descriptor for writing."""
    return PolledWriter(fd) if _is_pollable(fd) else ThreadWriter(fd)


def _is_pollable(fd: int) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class PolledReader:
    """Reads when the loop says there is something."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        os.set_blocking(self._fd, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._stop()
            os.close(self._fd)

    def _stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._fd)
            self._loop = None

    def _read(self) -> None:
        try:
            data = os.read(self._fd, CHUNK_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._stop()
            self._on_eof(error)
            return
        if data:
            self._on_data(data)
        else:
            # Else the loop would spin: a descriptor at its end is always readable.
            self._stop()
            self._on_eof(None)


class ThreadReader:
    """Reads in a thread, which waits until each chunk was taken."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._started = False
        self._closed = False
        self._wanted = threading.Semaphore(1)

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        self._started = True
        _run_in_thread(self._read_all, self._fd)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._started:
            # The thread closes the descriptor, since it may be reading it right now.
            self._wanted.release()
        else:
            os.close(self._fd)

    def _read_all(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._wanted.acquire() and not self._closed:
            try:
                data = os.read(self._fd, CHUNK_SIZE)
            except OSError as error:
                loop.call_soon_threadsafe(self._deliver_eof, error)
                return
            if not data:
                loop.call_soon_threadsafe(self._deliver_eof, None)
                return
            loop.call_soon_threadsafe(self._deliver, data)

    def _deliver(self, data: bytes) -> None:
        if not self._closed:
            self._on_data(data)
            self._wanted.release()

    def _deliver_eof(self, exception: Exception | None) -> None:
        if not self._closed:
            self._on_eof(exception)


class PolledWriter:
    """Writes at once as far as it goes, and the rest when the loop says there is room."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: deque[memoryview] = deque()
        self._backlog = Backlog()
        # False from the moment that aclose() begins, or that the other side is gone.
        self._is_accepting = True
        self._closed = False

    def start(self, on_broken: EndCallback) -> None:
        self._on_broken = on_broken
        os.set_blocking(self._fd, False)
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        if not self._is_accepting:
            return
        assert self._loop is not None, "start() comes first"
        rest = memoryview(data)
        if not self._queue:
            rest = rest[self._try_write(rest) :]
            if not rest or not self._is_accepting:
                return
            self._loop.add_writer(self._fd, self._write_queued)
        self._queue.append(rest)
        self._backlog.grow(len(rest))

    async def drain(self) -> None:
        await self._backlog.wait_low()

    async def aclose(self) -> None:
        self._is_accepting = False
        try:
            await self._backlog.wait_empty()
        finally:
            self.abort()

    def abort(self) -> None:
        self._is_accepting = False
        if not self._closed:
            self._closed = True
            self._drop_queue()
            os.close(self._fd)

    def _try_write(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._is_accepting = False
            self._drop_queue()
            assert self._loop is not None
            self._loop.call_soon(self._report, error)
            return 0

    def _report(self, error: OSError) -> None:
        if not self._closed:
            self._on_broken(error)

    def _write_queued(self) -> None:
        while self._queue:
            rest = self._queue[0]
            written = self._try_write(rest)
            if not self._queue:
                return
            self._backlog.shrink(written)
            if written < len(rest):
                self._queue[0] = rest[written:]
                return
            self._queue.popleft()
        assert self._loop is not None
        self._loop.remove_writer(self._fd)

    def _drop_queue(self) -> None:
        if self._queue:
            self._queue.clear()
            assert self._loop is not None
            self._loop.remove_writer(self._fd)
        self._backlog.drop()


class ThreadWriter:
    """Writes in a thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._started = False
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._backlog = Backlog()
        self._is_accepting = True
        self._closed = False

    def start(self, on_broken: EndCallback) -> None:
        self._on_broken = on_broken
        self._started = True
        _run_in_thread(self._write_all, self._fd)

    def write(self, data: bytes) -> None:
        if self._is_accepting:
            self._backlog.grow(len(data))
            self._queue.put(data)

    async def drain(self) -> None:
        await self._backlog.wait_low()

    async def aclose(self) -> None:
        self._is_accepting = False
        try:
            await self._backlog.wait_empty()
        finally:
            self.abort()

    def abort(self) -> None:
        if self._closed:
            return
        self._is_accepting = False
        self._closed = True
        self._backlog.drop()
        if self._started:
            # The thread closes the descriptor, since it may be writing to it right now.
            self._queue.put(None)
        else:
            os.close(self._fd)

    def _write_all(self, loop: asyncio.AbstractEventLoop) -> None:
        while (data := self._queue.get()) is not None and not self._closed:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                loop.call_soon_threadsafe(self._break, error)
                return
            loop.call_soon_threadsafe(self._shrink, len(data))

    def _shrink(self, size: int) -> None:
        if not self._closed:
            self._backlog.shrink(size)

    def _break(self, error: OSError) -> None:
        self._is_accepting = False
        self._backlog.drop()
        if not self._closed:
            self._on_broken(error)


def _run_in_thread(target: Callable[[asyncio.AbstractEventLoop], None], fd: int) -> None:
    """Run the target, then close its descriptor: no one else knows when that is safe."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        # A loop that is closed takes no more calls, and then nobody is left to be told.
        with contextlib.suppress(RuntimeError):
            target(loop)
        os.close(fd)

    # A daemon, since it may sit in a read() that nothing ends.
    threading.Thread(target=run, name="canvas_provider wire", daemon=True).start()
