"""An event stream against readers that can be made slow, without a socket."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Message, Scope

from canvas_provider.serving.streams import MAX_LATEST, EventStream
from canvas_provider.serving.ticker import TICKER, Ticker
from tests.support.asgi import ask, make_scope


class Reader:
    """A page's end of one stream. While `stuck`, whatever is sent to it has to wait."""

    def __init__(self, stream: EventStream, scope: Scope) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.chunks: list[bytes] = []
        self.complete = False
        self.left = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self._news = asyncio.Condition()
        self.task = asyncio.create_task(self._run(stream, scope))

    async def _run(self, stream: EventStream, scope: Scope) -> None:
        await stream(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
            return
        self.chunks.append(message["body"])
        if not message.get("more_body", False):
            self.complete = True
            self.left.set()
        await self._free.wait()

    def stick(self) -> None:
        self._free.clear()

    def free(self) -> None:
        self._free.set()

    @property
    def text(self) -> bytes:
        return b"".join(self.chunks)

    def hang_up(self) -> None:
        self.left.set()


async def settle() -> None:
    """Let everything that can run, run."""
    for _ in range(20):
        await asyncio.sleep(0)  # noqa: TID251  # steps of the loop, not time


Open = Callable[..., Awaitable[Reader]]


@asynccontextmanager
async def readers_of(stream: EventStream) -> AsyncIterator[Open]:
    opened: list[Reader] = []

    async def open_reader(**scope: Any) -> Reader:
        reader = Reader(stream, make_scope(path="/events", **scope))
        opened.append(reader)
        await settle()
        return reader

    yield open_reader
    for reader in opened:
        reader.free()
        reader.hang_up()
    async with asyncio.timeout(5):
        await asyncio.gather(*(reader.task for reader in opened))
    assert stream.pages == 0


def make_stream(**options: Any) -> EventStream:
    return EventStream(
        opening=lambda scope: b"<opening>", snapshot=lambda: b"<snapshot>", **options
    )


async def test_a_page_gets_the_opening_then_what_is_published() -> None:
    stream = make_stream()
    stream.publish(b"<too early>")
    async with readers_of(stream) as open_reader:
        reader = await open_reader()
        assert reader.status == 200
        assert reader.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        stream.publish(b"<1>")
        stream.publish(b"<2>")
        assert reader.chunks == [b"<opening>", b"<1>", b"<2>"], "written within the call"


async def test_all_pages_share_one_frame() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        readers = [await open_reader() for _ in range(5)]
        assert stream.pages == 5
        frame = b"<%d>" % 1
        stream.publish(frame)
        assert all(reader.chunks[-1] is frame for reader in readers)


async def test_a_page_that_left_is_forgotten() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        gone, here = await open_reader(), await open_reader()
        gone.hang_up()
        await settle()
        assert stream.pages == 1
        stream.publish(b"<1>")
        assert (gone.text, here.text) == (b"<opening>", b"<opening><1>")


async def test_a_slow_page_gets_what_it_missed_in_order() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        slow, quick = await open_reader(), await open_reader()
        slow.stick()
        for number in range(1, 6):
            stream.publish(b"<%d>" % number)
        assert quick.text == b"<opening><1><2><3><4><5>"
        assert slow.text == b"<opening><1>"
        slow.free()
        await settle()
        assert slow.text == quick.text
        stream.publish(b"<6>")
        assert slow.text == quick.text, "and is up to date again"


async def test_a_page_too_far_behind_is_moved_to_a_fresh_snapshot() -> None:
    snapshots = 0

    def snapshot() -> bytes:
        nonlocal snapshots
        snapshots += 1
        return b"<snapshot>"

    stream = EventStream(opening=lambda scope: b"<opening>", snapshot=snapshot, max_backlog=10)
    async with readers_of(stream) as open_reader:
        reader = await open_reader()
        reader.stick()
        for number in range(100):
            stream.publish(b"<%d>" % number)
        reader.free()
        await settle()
        stream.publish(b"<last>")
        assert reader.text == b"<opening><0><snapshot><last>"
        assert snapshots == 1


async def test_of_frames_with_a_key_a_slow_page_gets_the_newest_after_all_else() -> None:
    stream = EventStream(
        opening=lambda scope: b"<opening>", snapshot=lambda: b"<snapshot>", max_backlog=10
    )
    async with readers_of(stream) as open_reader:
        slow, quick = await open_reader(), await open_reader()
        slow.stick()
        stream.publish(b"<1>")
        for number in range(3):
            stream.publish(b"<a%d>" % number, key="a")
            stream.publish(b"<b%d>" % number, key="b")
        stream.publish(b"<a3>", key="a")
        stream.publish(b"<2>")
        slow.free()
        await settle()
        assert quick.text == b"<opening><1><a0><b0><a1><b1><a2><b2><a3><2>"
        assert slow.text == b"<opening><1><2><b2><a3>"

        slow.stick()
        stream.publish(b"<3>")
        stream.publish(b"<a4>", key="a")
        stream.publish(b"<much too long>")
        slow.free()
        await settle()
        assert slow.text.endswith(b"<3><snapshot><a4>"), "a snapshot says nothing of them"


async def test_a_page_that_never_reads_keeps_only_so_many_frames_with_a_key() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        reader = await open_reader()
        reader.stick()
        stream.publish(b"<1>")
        for number in range(1000):
            stream.publish(b"<k%d>" % number, key=str(number))
        reader.free()
        await settle()
        kept = b"".join(b"<k%d>" % number for number in range(1000 - MAX_LATEST, 1000))
        assert reader.text == b"<opening><1>" + kept


async def test_a_page_that_never_reads_holds_a_bounded_amount_of_memory() -> None:
    stream = make_stream(max_backlog=64 * 1024)
    async with readers_of(stream) as open_reader:
        reader = await open_reader()
        reader.stick()
        stream.publish(b"<0>")
        gc.collect()
        tracemalloc.start()
        for _ in range(10_000):
            stream.publish(bytes(1024))
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 256 * 1024


async def test_a_page_that_comes_while_others_are_slow_starts_afresh() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        slow = await open_reader()
        slow.stick()
        stream.publish(b"<1>")
        stream.publish(b"<2>")
        assert (await open_reader()).text == b"<opening>"


async def test_frames_published_before_the_response_has_begun_are_not_sent_before_it() -> None:
    """The opening is made later, and holds them."""
    stream = make_stream()
    started = asyncio.Event()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.start":
            await started.wait()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    task = asyncio.create_task(stream(make_scope(), receive, send))
    await settle()
    stream.publish(b"<1>")
    started.set()
    await task
    assert [message.get("body") for message in sent] == [None, b"<opening>"]


@pytest.mark.parametrize(
    "cause", [OSError("gone"), asyncio.CancelledError()], ids=["fails", "ends"]
)
async def test_a_page_that_breaks_off_before_the_headers_is_forgotten(
    cause: BaseException,
) -> None:
    stream = make_stream()
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        await waiting

    async def receive() -> Message:
        raise AssertionError("nothing is read before the response has begun")

    task = asyncio.create_task(stream(make_scope(), receive, send))
    await settle()
    assert stream.pages == 1
    waiting.set_exception(cause) if isinstance(cause, OSError) else task.cancel()
    with pytest.raises(type(cause)):
        await task
    assert stream.pages == 0
    stream.publish(b"<1>")
    stream.close(b"<closed>")
    await settle()
    assert sent == ["http.response.start"]


async def test_an_empty_opening_sends_nothing() -> None:
    stream = EventStream(opening=lambda scope: b"", snapshot=lambda: b"")
    async with readers_of(stream) as open_reader:
        assert (await open_reader()).chunks == []


async def test_closing_ends_every_stream_with_the_last_frame() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        readers = [await open_reader() for _ in range(3)]
        stream.publish(b"<1>")
        stream.close(b"<closed>")
        stream.publish(b"<late>")
        stream.close(b"<again>")
        for reader in readers:
            assert (reader.text, reader.complete) == (b"<opening><1><closed>", True)
        await settle()
        assert all(reader.task.done() for reader in readers)


@pytest.mark.parametrize("frames", [1, 2, 100])
async def test_closing_a_slow_page_neither_waits_nor_forgets_to_say_so(frames: int) -> None:
    stream = make_stream(max_backlog=20)
    async with readers_of(stream) as open_reader:
        slow = await open_reader()
        slow.stick()
        for number in range(frames):
            stream.publish(b"<%d>" % number)
        stream.close(b"<closed>")
        assert not slow.complete
        slow.free()
        await settle()
        assert slow.text.endswith(b"<closed>")
        assert slow.text.count(b"<closed>") == 1
        assert slow.complete


async def test_a_page_that_sticks_at_the_very_end_is_told_once() -> None:
    stream = make_stream()
    async with readers_of(stream) as open_reader:
        slow = await open_reader()
        slow.stick()
        stream.close(b"<closed>")
        slow.free()
        await settle()
        assert slow.text == b"<opening><closed>"


async def test_a_stream_that_was_closed_takes_no_more_pages() -> None:
    stream = make_stream()
    stream.close(b"<closed>")
    answer = await ask(stream)
    assert answer.status == 410
    assert json.loads(answer.body)["error"]["code"] == "closing"


async def test_a_page_that_opens_while_the_stream_closes_is_told() -> None:
    stream = make_stream()
    started = asyncio.Event()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.start":
            await started.wait()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    task = asyncio.create_task(stream(make_scope(), receive, send))
    await settle()
    stream.close(b"<closed>")
    started.set()
    await task
    assert [(m["body"], m["more_body"]) for m in sent[1:]] == [
        (b"<opening>", True),
        (b"<closed>", False),
    ]


async def test_only_so_many_pages_are_served() -> None:
    stream = make_stream(max_pages=2)
    async with readers_of(stream) as open_reader:
        first = await open_reader()
        await open_reader()
        answer = await ask(stream)
        assert answer.status == 503
        assert json.loads(answer.body)["error"]["code"] == "too_many_streams"
        first.hang_up()
        await settle()
        assert (await open_reader()).status == 200


async def test_asking_for_the_headers_opens_no_stream() -> None:
    stream = make_stream()
    answer = await ask(stream, "HEAD")
    assert (answer.status, answer.body, answer.complete) == (200, b"", True)
    assert stream.pages == 0


async def test_a_tick_sends_a_comment_down_every_line_that_is_not_busy() -> None:
    stream, ticker = make_stream(), Ticker()
    async with readers_of(stream) as open_reader:
        reader = await open_reader(state={TICKER: ticker})
        slow = await open_reader(state={TICKER: ticker})
        slow.stick()
        stream.publish(b"<1>")
        ticker.tick()
        ticker.tick()
        assert reader.text == b"<opening><1>: keep-alive\n\n: keep-alive\n\n"
        slow.free()
        await settle()
        assert slow.text == b"<opening><1>"
        stream.close(b"<closed>")
        ticker.tick()
        assert reader.text.endswith(b"<closed>")
        await settle()
        assert not ticker.running


async def test_a_reader_that_fails_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    stream = make_stream()
    failing = asyncio.Event()

    async def send(message: Message) -> None:
        if failing.is_set():
            raise OSError("the line broke")

    async def receive() -> Message:
        await failing.wait()
        return {"type": "http.disconnect"}

    async with readers_of(stream) as open_reader:
        task = asyncio.create_task(stream(make_scope(), receive, send))
        await settle()
        reader = await open_reader()
        failing.set()
        stream.publish(b"<1>")
        stream.publish(b"<2>")
        assert reader.text == b"<opening><1><2>"
        await task
    assert [record.message for record in caplog.records] == ["An event stream could not be written"]


async def test_a_slow_reader_that_fails_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    stream = make_stream()
    broken = asyncio.Event()
    left = asyncio.Event()

    async def send(message: Message) -> None:
        if message.get("body") == b"<1>":
            await broken.wait()
            raise OSError("the line broke")

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(stream(make_scope(), receive, send))
    await settle()
    stream.publish(b"<1>")
    stream.publish(b"<2>")
    broken.set()
    await settle()
    stream.publish(b"<3>")
    left.set()
    await task
    assert len(caplog.records) == 1


async def test_a_reader_that_leaves_while_it_is_slow_leaves_no_task_behind() -> None:
    stream = make_stream()
    before = asyncio.all_tasks()
    async with readers_of(stream) as open_reader:
        slow = await open_reader()
        slow.stick()
        stream.publish(b"<1>")
        await settle()
        assert len(asyncio.all_tasks() - before) == 2
        slow.hang_up()
        await settle()
        assert not asyncio.all_tasks() - before
