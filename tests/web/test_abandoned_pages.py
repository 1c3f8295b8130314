"""Pages that break off at any moment, or stop reading: real sockets, and what is left of them."""

import asyncio
import contextlib
import os
import random
import socket
import struct
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from canvas_provider import Canvas, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.state.patch import apply
from canvas_provider.testing.events import EventParser, PageEvent
from canvas_provider.web.feed import Feed
from canvas_provider.web.service import Served
from tests.support.instances import open_served

DESCRIPTORS: Final = "/dev/fd"


@pytest.fixture
def canvas() -> Canvas:
    return create_canvas(
        id="board", display_name="Board", description="A board.", state=dict[str, Any]
    )


class Reader:
    """A page on a socket of its own, whose buffers and end are in the test's hand."""

    def __init__(self, url: str, receive_buffer: int | None = None) -> None:
        self._address = urlsplit(url)
        self._loop = asyncio.get_running_loop()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)

    @property
    def request(self) -> bytes:
        target = f"{self._address.path}events"
        return f"GET {target} HTTP/1.1\r\nHost: {self._address.netloc}\r\n\r\n".encode()

    async def connect(self) -> None:
        await self._loop.sock_connect(self.socket, ("127.0.0.1", self._address.port))

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.socket, data)

    async def read_until(self, wanted: bytes) -> None:
        received = b""
        while wanted not in received:
            received += await self._loop.sock_recv(self.socket, 65536)

    def reset(self) -> None:
        """Break off with an RST, as a process does that is killed with unread data."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    async def lines(self) -> AsyncIterator[str]:
        """Read the chunks of the response, line by line."""
        reader, writer = await asyncio.open_connection(sock=self.socket, limit=1 << 24)
        try:
            await reader.readuntil(b"\r\n\r\n")
            text = b""
            while size := int(await reader.readline(), 16):
                text += (await reader.readexactly(size + 2))[:-2]
                *whole, text = text.split(b"\n")
                for line in whole:
                    yield line.decode()
        finally:
            writer.close()


async def connects_only(page: Reader) -> None:
    await page.connect()


async def sends_half_a_head(page: Reader) -> None:
    await page.connect()
    await page.send(page.request[:40])


async def asks_and_does_not_wait(page: Reader) -> None:
    await page.connect()
    await page.send(page.request)


async def reads_the_first_line(page: Reader) -> None:
    await asks_and_does_not_wait(page)
    await page.read_until(b"200 OK")


async def reads_the_snapshot(page: Reader) -> None:
    await asks_and_does_not_wait(page)
    await page.read_until(b"event: snapshot")


async def asks_twice(page: Reader) -> None:
    await page.connect()
    await page.send(page.request * 2)
    await page.read_until(b"event: snapshot")


async def says_that_it_is_done(page: Reader) -> None:
    await reads_the_snapshot(page)
    page.socket.shutdown(socket.SHUT_WR)


MOMENTS: Final = [
    connects_only,
    sends_half_a_head,
    asks_and_does_not_wait,
    reads_the_first_line,
    reads_the_snapshot,
    asks_twice,
    says_that_it_is_done,
]


def feed_of(served: Served) -> Feed:
    return served._app._site.feed


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # many things may make it true
        await asyncio.sleep(0)  # noqa: TID251  # steps of the loop, in which sockets are served


def change(text: str) -> Callable[[Any], None]:
    return lambda draft: draft.update(text=text)


@pytest.mark.skipif(not os.path.isdir(DESCRIPTORS), reason="descriptors cannot be counted here")
@pytest.mark.parametrize("seed", range(2))
async def test_200_pages_that_break_off_leave_no_stream_task_or_descriptor(
    canvas: Canvas, seed: int
) -> None:
    source = random.Random(seed)
    async with asyncio.timeout(30), open_served(canvas) as (served, instance):
        assert instance.state is not None
        feed = feed_of(served)
        # The first page makes what stays: shapes, threads, and what is imported late.
        first = Reader(served.url)
        await reads_the_snapshot(first)
        first.socket.close()
        await until(lambda: feed.stream.pages == 0)
        tasks, descriptors = asyncio.all_tasks(), set(os.listdir(DESCRIPTORS))

        async def visit() -> None:
            page = Reader(served.url, source.choice([None, 4096]))
            await source.choice(MOMENTS)(page)
            if source.random() < 0.5:
                # More than its sockets hold, so that it is busy when it goes.
                await instance.state.update(change("x" * source.randrange(1, 400_000)))  # type: ignore[union-attr]
            page.socket.close() if source.random() < 0.3 else page.reset()

        await asyncio.gather(*(visit() for _ in range(200)))
        await until(lambda: feed.stream.pages == 0)
        await until(lambda: asyncio.all_tasks() == tasks)
        await until(lambda: set(os.listdir(DESCRIPTORS)) == descriptors)
        # And there is room for the next one, who is up to date.
        last = Reader(served.url)
        await asks_and_does_not_wait(last)
        await last.read_until(f'"revision":{instance.state.revision}'.encode())
        last.socket.close()


@contextlib.contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Tell the bytes that were allocated at most, beyond those at the beginning."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def follow(event: PageEvent, state: Any) -> Any:
    """Do what a page does with an event."""
    if event.name == "snapshot":
        return event.data["state"]
    return apply(state, event.data["ops"])


async def test_a_page_that_stops_reading_costs_bounded_memory_and_is_right_again(
    canvas: Canvas,
) -> None:
    """1,000 changes of 100 kB pass it by. Its backlog is bounded, and so is the history."""
    async with asyncio.timeout(60), open_served(canvas) as (served, instance):
        page = Reader(served.url, receive_buffer=65536)
        await asks_and_does_not_wait(page)
        await until(lambda: feed_of(served).stream.pages == 1)
        with peak_memory() as peak:
            await _change_a_lot(instance)
            assert peak() < 5_000_000
        await _catch_up(page, instance)


async def _change_a_lot(instance: Instance) -> None:
    assert instance.state is not None
    for number in range(1000):
        await instance.state.update(change(f"{number} " + "x" * 100_000))
        await asyncio.sleep(0)  # noqa: TID251  # a step in which sockets are served, no time


async def _catch_up(page: Reader, instance: Instance) -> None:
    assert instance.state is not None
    parser, state, names = EventParser(), None, []
    async for line in page.lines():
        if (event := parser.feed(line)) is None:
            continue
        names.append(event.name)
        state = follow(event, state)
        if event.data["revision"] == 1000:
            break
    assert state == instance.state.document
    assert len(names) < 500, "it was moved to a snapshot"
    assert names.count("snapshot") >= 2


async def test_an_instance_closes_while_a_page_is_blocked_in_a_write(canvas: Canvas) -> None:
    """It gets the grace of a request in flight, no more; and nothing of it is left."""
    async with asyncio.timeout(20), open_served(canvas) as (served, instance):
        assert instance.state is not None
        tasks = asyncio.all_tasks()
        stream = feed_of(served).stream
        page = Reader(served.url, receive_buffer=4096)
        await asks_and_does_not_wait(page)
        await until(lambda: stream.pages == 1)
        while not any(known._catching_up for known in stream._pages):
            await instance.state.update(change("x" * 1_000_000 + str(instance.state.revision)))
        await served.aclose(grace=0.01)
        assert stream.pages == 0
        await until(lambda: asyncio.all_tasks() <= tasks)
        await asyncio.wait_for(instance.close(explicit=True), 5)
        assert instance.phase == "closed"
        with contextlib.suppress(ConnectionResetError):
            while await asyncio.get_running_loop().sock_recv(page.socket, 1 << 20):
                pass
        page.socket.close()
