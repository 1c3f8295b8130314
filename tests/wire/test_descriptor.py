"""The halves of a `PipeTransport`: what goes wrong in one direction. See also test_transports."""

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from canvas_provider.wire.descriptor import (
    PolledReader,
    PolledWriter,
    Reader,
    ThreadReader,
    ThreadWriter,
    Writer,
    open_reader,
    open_writer,
)


async def read_to_end(reader: Reader) -> tuple[bytes, Exception | None]:
    heard = bytearray()
    end: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    reader.start(heard.extend, end.set_result)
    async with asyncio.timeout(5):
        exception = await end
    reader.close()
    return bytes(heard), exception


async def write_until_broken(writer: Writer, data: bytes) -> Exception | None:
    broken: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    writer.start(broken.set_result)
    writer.write(data)
    async with asyncio.timeout(5):
        exception = await broken
        writer.write(data)
        await writer.drain()
        await writer.aclose()
    return exception


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def test_pipes_and_sockets_are_polled_and_all_else_gets_a_thread(tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    one, other = (each.detach() for each in socket.socketpair())
    file = tmp_path / "file"
    file.touch()
    polled = [
        (open_reader(read_fd), PolledReader),
        (open_writer(write_fd), PolledWriter),
        (open_reader(one), PolledReader),
        (open_writer(other), PolledWriter),
    ]
    threaded = [
        (open_reader(os.open(file, os.O_RDONLY)), ThreadReader),
        (open_writer(os.open(file, os.O_WRONLY)), ThreadWriter),
        (open_reader(os.open(os.devnull, os.O_RDONLY)), ThreadReader),
        (open_writer(os.open(os.devnull, os.O_WRONLY)), ThreadWriter),
    ]
    for half, kind in polled + threaded:
        assert type(half) is kind
        if isinstance(half, PolledReader | ThreadReader):
            half.close()
        elif isinstance(half, PolledWriter | ThreadWriter):
            half.abort()


async def test_the_end_is_told_once_even_to_whoever_does_not_close() -> None:
    read_fd, write_fd = os.pipe()
    os.close(write_fd)
    reader = PolledReader(read_fd)
    ends: list[Exception | None] = []
    told = asyncio.Event()

    def end(exception: Exception | None) -> None:
        ends.append(exception)
        told.set()

    reader.start(lambda data: None, end)
    async with asyncio.timeout(5):
        await told.wait()
    for _ in range(3):
        await asyncio.sleep(0)  # noqa: TID251  # more loop rounds, in which nothing may come
    assert ends == [None]
    reader.close()


async def test_a_polled_read_that_fails_is_the_end() -> None:
    one, other = (each.detach() for each in socket.socketpair())
    os.write(one, b"unread")
    os.close(other)
    heard, exception = await read_to_end(PolledReader(one))
    assert heard == b""
    assert isinstance(exception, ConnectionResetError)


async def test_a_threads_read_that_fails_is_the_end(tmp_path: Path) -> None:
    heard, exception = await read_to_end(ThreadReader(os.open(tmp_path, os.O_RDONLY)))
    assert heard == b""
    assert isinstance(exception, IsADirectoryError)


async def test_a_threads_write_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    writer = ThreadWriter(os.open(tmp_path / "file", os.O_RDONLY))
    assert isinstance(await write_until_broken(writer, bytes(1 << 20)), OSError)


async def test_a_threads_close_that_is_cancelled_gives_up_the_rest() -> None:
    """Of a pipe that nobody reads, here in place of a terminal that is held."""
    read_fd, write_fd = os.pipe()
    writer = ThreadWriter(write_fd)
    writer.start(lambda exception: None)
    for _ in range(2):
        writer.write(bytes(1 << 20))
    closing = asyncio.ensure_future(writer.aclose())
    done, _ = await asyncio.wait({closing}, timeout=0)
    assert not done
    closing.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({closing})
        heard, _ = await read_to_end(PolledReader(read_fd))
    assert len(heard) in (0, 1 << 20), "what the thread has begun is not cut"


async def test_waking_up_for_nothing_is_nothing() -> None:
    """Two readers of one pipe are both woken; the second finds it empty."""
    read_fd, write_fd = os.pipe()
    both = [PolledReader(read_fd), PolledReader(os.dup(read_fd))]
    heard: list[bytes] = []
    ends: list[Exception | None] = []
    for each in both:
        each.start(heard.append, ends.append)
    os.write(write_fd, b"x")
    async with asyncio.timeout(5):
        while not heard:  # noqa: ASYNC110  # a loop round each, with both in it
            await asyncio.sleep(0)  # noqa: TID251
    assert (heard, ends) == ([b"x"], [])
    os.close(write_fd)
    for each in both:
        each.close()


async def test_a_closed_reader_says_nothing_more(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 200_000)
    reader = ThreadReader(os.open(file, os.O_RDONLY))
    chunks: list[bytes] = []
    heard = asyncio.Event()

    def hear(data: bytes) -> None:
        chunks.append(data)
        reader.close()
        reader.close()
        heard.set()

    reader.start(hear, lambda exception: chunks.append(b"end"))
    async with asyncio.timeout(5):
        await heard.wait()
        await asyncio.to_thread(_join_wire_threads)
    assert len(chunks) == 1


@pytest.mark.parametrize("what", ["data", "end"])
def test_a_thread_that_outlives_its_loop_closes_its_descriptor(what: str) -> None:
    terminal, line = os.openpty()

    async def start_reading() -> None:
        ThreadReader(line).start(lambda data: None, lambda exception: None)

    asyncio.run(start_reading())
    if what == "data":
        os.write(terminal, b"typed\n")
    os.close(terminal)
    _join_wire_threads()
    assert not is_open(line)


def _join_wire_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "canvas_provider wire":
            thread.join(5)
            assert not thread.is_alive()
