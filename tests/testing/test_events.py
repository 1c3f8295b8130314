"""The page's event stream as a test reads it."""

import asyncio
from typing import Any

import httpx
import pytest

from canvas_provider.testing import PageEvent, PageEvents, StreamingASGITransport
from canvas_provider.testing.events import EventParser


def parse(text: str) -> list[PageEvent]:
    parser = EventParser()
    events = [parser.feed(line) for line in text.splitlines()]
    return [event for event in events if event is not None]


def test_events_are_read_as_a_browser_reads_them() -> None:
    """HTML Standard section 9.2.6."""
    assert parse(
        ": a comment\n"
        "event: snapshot\nid: 7\ndata: {\n"
        'data: "revision": 7}\n\n'
        "event: nothing\n\n"
        "data:1\n\n"
        "event: half\ndata: 2\n"
    ) == [PageEvent("snapshot", {"revision": 7}, "7"), PageEvent("message", 1)]


class Stream:
    """An event stream that a test fills."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.readers = 0

    def put(self, name: str, data: str = "null") -> None:
        self.lines.put_nowait(f"event: {name}\ndata: {data}\n\n".encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.readers += 1
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            body = await self.lines.get()
            await send({"type": "http.response.body", "body": body, "more_body": bool(body)})
            if not body:
                return


def client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=StreamingASGITransport(app), base_url="http://127.0.0.1:1/")


async def test_waiting_goes_on_after_what_was_returned_before() -> None:
    stream, events = Stream(), PageEvents()
    stream.put("snapshot", "0")
    async with asyncio.timeout(5), client(stream) as http:
        await events.follow(http)
        for name, data in (("patch", "1"), ("other", "2"), ("patch", "3"), ("patch", "4")):
            stream.put(name, data)
        assert (await events.wait_for("patch")).data == 1
        assert (await events.wait_for("patch", lambda event: event.data > 3)).data == 4
        waiting = asyncio.create_task(events.wait_for("patch"))
        stream.put("patch", "5")
        assert (await waiting).data == 5
        assert [event.name for event in events] == [
            "snapshot", "patch", "other", "patch", "patch", "patch",
        ]  # fmt: skip
        await events.unfollow()


async def test_what_does_not_come_is_told_with_what_did() -> None:
    stream, events = Stream(), PageEvents()
    stream.put("snapshot")
    async with asyncio.timeout(5), client(stream) as http:
        await events.follow(http)
        with pytest.raises(TimeoutError, match=r"No 'patch' came within 0\.01 s, only: snapshot"):
            await events.wait_for("patch", timeout=0.01)
        await events.unfollow()


async def test_following_again_leaves_the_first_stream() -> None:
    first, second, events = Stream(), Stream(), PageEvents()
    async with asyncio.timeout(5), client(first) as one, client(second) as other:
        first.put("snapshot", "1")
        await events.follow(one)
        second.put("snapshot", "2")
        await events.follow(other)
        first.put("late", "3")
        second.put("patch", "4")
        await events.wait_for("patch")
        assert [event.data for event in events] == [1, 2, 4]
        await events.unfollow()


async def test_a_stream_that_is_refused_says_so() -> None:
    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    events = PageEvents()
    async with asyncio.timeout(5), client(refusing) as http:
        with pytest.raises(httpx.HTTPStatusError):
            await events.follow(http)
