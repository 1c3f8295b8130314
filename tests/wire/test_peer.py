"""Conversations between two peers, and between a peer and raw bytes."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from canvas_provider.errors import ConnectionClosed, MessageTooLarge, MethodNotFound, RemoteError
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Connection,
)
from canvas_provider.wire.framing import FrameDecoder, encode_frame
from canvas_provider.wire.peer import RESULT_TOO_LARGE, Peer
from canvas_provider.wire.transports import MemoryTransport, memory_pair


async def echo(method: str, params: JSONObject) -> JSONValue:
    return {"method": method, "params": params}


async def refuse(method: str, params: JSONObject) -> JSONValue:
    raise MethodNotFound(method)


@asynccontextmanager
async def conversation(
    on_request: Callable[[str, JSONObject], Awaitable[JSONValue]] = echo,
    on_notification: Callable[[str, JSONValue], None] | None = None,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """A client, and the server that has these handlers."""
    one, other = memory_pair()
    client = Peer(one, on_request=echo)
    server = Peer(other, on_request=on_request, on_notification=on_notification)
    client.start()
    server.start()
    async with asyncio.timeout(5):
        yield client, server
        await client.aclose()
        await server.aclose()


class Wire:
    """The far end, in bytes: for what no peer would send, and to see what one writes."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._decoder = FrameDecoder()
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self.writes: list[bytes] = []
        self.ended = asyncio.Event()
        transport.start(self._receive, lambda exception: self.ended.set())

    def _receive(self, data: bytes) -> None:
        self.writes.append(data)
        self._decoder.feed(data)
        for body in self._decoder.frames():
            self._messages.put_nowait(json.loads(body))

    def send(self, *messages: object) -> None:
        self.send_bytes(b"".join(encode_frame(json.dumps(each).encode()) for each in messages))

    def send_bytes(self, data: bytes) -> None:
        self._transport.write(data)

    async def next(self) -> Any:
        return await self._messages.get()

    async def hang_up(self) -> None:
        await self._transport.aclose()


@asynccontextmanager
async def wired(
    on_request: Callable[[str, JSONObject], Awaitable[JSONValue]] = echo, **options: Any
) -> AsyncIterator[tuple[Peer, Wire]]:
    one, other = memory_pair()
    peer = Peer(one, on_request=on_request, **options)
    wire = Wire(other)
    peer.start()
    async with asyncio.timeout(5):
        yield peer, wire
        await peer.aclose()


async def test_both_ends_ask_at_the_same_time() -> None:
    async with conversation() as (client, server):
        answers = await asyncio.gather(
            *(peer.request("m", {"n": n}) for n in range(100) for peer in (client, server))
        )
    assert answers == [
        {"method": "m", "params": {"n": n}} for n in range(100) for _ in ("client", "server")
    ]


async def test_answers_may_come_in_any_order() -> None:
    gates = {name: asyncio.Event() for name in ("a", "b", "c")}
    finished: list[str] = []

    async def wait(method: str, params: JSONObject) -> JSONValue:
        await gates[method].wait()
        return method

    async def ask(client: Peer, name: str) -> None:
        assert await client.request(name) == name
        finished.append(name)
        if name != "a":
            gates[chr(ord(name) - 1)].set()

    async with conversation(wait) as (client, _), asyncio.TaskGroup() as group:
        for name in gates:
            group.create_task(ask(client, name))
        gates["c"].set()
    assert finished == ["c", "b", "a"]


async def test_a_handler_may_ask_back() -> None:
    async def ask_back(method: str, params: JSONObject) -> JSONValue:
        return {"answer": await server.request("who")}

    async with conversation(ask_back) as (client, server):
        answer = await client.request("m")
    assert answer == {"answer": {"method": "who", "params": {}}}


async def test_notifications_arrive_in_order() -> None:
    seen: list[JSONValue] = []
    async with conversation(on_notification=lambda _, params: seen.append(params)) as (client, _):
        for n in range(50):
            client.notify("n", n)
        client.notify("n")
        await client.request("m")
    assert seen == [*range(50), None]


async def test_unwanted_notifications_are_ignored() -> None:
    async with conversation() as (client, _):
        client.notify("session.lifecycle", {})
        assert await client.request("m")


async def test_a_failing_notification_handler_is_logged_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(method: str, params: JSONValue) -> None:
        raise RuntimeError

    async with conversation(on_notification=fail) as (client, _):
        client.notify("n")
        assert await client.request("m")
    assert "notification n failed" in caplog.text


async def test_a_remote_error_keeps_its_code_message_and_data() -> None:
    async def fail(method: str, params: JSONObject) -> JSONValue:
        raise RemoteError(-32000, "no", {"code": "card_not_found"})

    async with conversation(fail) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("m")
    error = caught.value
    assert (error.code, error.message, error.data) == (-32000, "no", {"code": "card_not_found"})


async def test_an_unknown_method_is_said_to_be_one() -> None:
    async with conversation(refuse) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("nope")
    assert caught.value.code == METHOD_NOT_FOUND
    assert "nope" in caught.value.message


async def test_an_unexpected_exception_is_logged_and_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(method: str, params: JSONObject) -> JSONValue:
        raise RuntimeError("secret")

    async with conversation(fail) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("m")
    assert caught.value.code == INTERNAL_ERROR
    assert "secret" not in caught.value.message
    assert caught.value.data is None
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("value", [float("nan"), "\ud800secret", {1}], ids=["nan", "half", "set"])
async def test_a_result_that_is_not_json_becomes_an_error(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def give(method: str, params: JSONObject) -> JSONValue:
        return value if method == "bad" else "fine"

    async with conversation(give) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("bad")
        assert await client.request("good") == "fine"
    assert caught.value.code == INTERNAL_ERROR
    assert "secret" not in caplog.text


@pytest.mark.parametrize("data", [{1}, float("nan"), "\ud800"], ids=["set", "nan", "half"])
async def test_an_error_that_is_not_json_is_still_an_answer(data: Any) -> None:
    async def fail(method: str, params: JSONObject) -> JSONValue:
        raise RemoteError(-32000, "no", data)

    async with conversation(fail) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("m")
    assert (caught.value.code, caught.value.data) == (-32000, None)


async def test_what_is_too_large_to_be_sent_ends_its_call_and_not_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def give(method: str, params: JSONObject) -> JSONValue:
        if method == "fail":
            raise RemoteError(-32000, "secret" * 1000)
        return "secret" * 1000 if method == "large" else "fine"

    one, other = memory_pair()
    limited = Connection(max_sent_size=1000)
    client, server = Peer(one, on_request=echo), Peer(other, on_request=give, connection=limited)
    client.start()
    server.start()
    async with asyncio.timeout(5):
        with pytest.raises(RemoteError) as large:
            await client.request("large")
        with pytest.raises(RemoteError) as failed:
            await client.request("fail")
        with pytest.raises(MessageTooLarge) as asked:
            await server.request("m", {"text": "x" * 1000})
        with pytest.raises(MessageTooLarge):
            server.notify("m", {"text": "x" * 1000})
        assert await client.request("good") == "fine"
        assert await server.request("m", {"text": "x"}) is not None
        await client.aclose()
        await server.aclose()
    text = (
        "It was done, but its result is too large to be told: 6036 bytes, where at most 1000 fit "
        "into a message. Ask for less."
    )
    assert (large.value.message, large.value.data) == (
        text,
        {"code": RESULT_TOO_LARGE, "message": text},
    )
    assert (failed.value.code, failed.value.message) == (-32000, "The error is too large.")
    assert (asked.value.size, asked.value.limit) == (1058, 1000)
    assert "secret" not in caplog.text


async def test_a_method_that_cannot_be_written_is_still_answered() -> None:
    async with wired(refuse) as (_, wire):
        wire.send({"id": 1, "method": "\ud800"})
        answer = await wire.next()
    assert (answer["id"], answer["error"]["code"]) == (1, METHOD_NOT_FOUND)


async def test_a_handler_that_is_cancelled_still_answers() -> None:
    async def cancel_itself(method: str, params: JSONObject) -> JSONValue:
        raise asyncio.CancelledError

    async with conversation(cancel_itself) as (client, _):
        with pytest.raises(RemoteError) as caught:
            await client.request("m")
    assert caught.value.code == INTERNAL_ERROR


async def test_a_timeout_forgets_the_request_and_its_late_answer() -> None:
    async with wired() as (peer, wire):
        with pytest.raises(TimeoutError):
            await peer.request("slow", timeout=0)
        late = (await wire.next())["id"]
        wire.send({"id": late, "result": "late"})
        asking = asyncio.create_task(peer.request("quick"))
        wire.send({"id": (await wire.next())["id"], "result": "in time"})
        assert await asking == "in time"
        with pytest.raises(LookupError):
            peer.response_to(late)


async def test_a_cancelled_request_harms_no_other() -> None:
    async with wired() as (peer, wire):
        given_up = asyncio.create_task(peer.request("a"))
        first = await wire.next()
        given_up.cancel()
        asking = asyncio.create_task(peer.request("b"))
        second = await wire.next()
        wire.send({"id": first["id"], "result": 1}, {"id": second["id"], "result": 2})
        assert await asking == 2


async def test_answers_of_one_burst_are_written_together() -> None:
    async with wired() as (_, wire):
        wire.send(*({"id": n, "method": "m"} for n in range(32)))
        answers = [await wire.next() for _ in range(32)]
    assert [answer["id"] for answer in answers] == list(range(32))
    assert len(wire.writes) == 1


async def test_answers_do_not_wait_for_a_slow_one_of_their_burst() -> None:
    gate = asyncio.Event()

    async def wait(method: str, params: JSONObject) -> JSONValue:
        if method == "slow":
            await gate.wait()
        return method

    async with wired(wait) as (_, wire):
        wire.send(*({"id": m, "method": m} for m in ("quick", "slow", "also quick")))
        assert [(await wire.next())["id"] for _ in range(2)] == ["quick", "also quick"]
        assert len(wire.writes) == 1
        gate.set()
        assert (await wire.next())["id"] == "slow"


async def test_a_handler_that_ends_everything_is_answered_all_the_same() -> None:
    async def end(method: str, params: JSONObject) -> JSONValue:
        raise GeneratorExit

    async with wired(end) as (_, wire):
        wire.send({"id": 1, "method": "m"})
        assert (await wire.next())["error"]["message"] == "m failed."


async def test_invalid_json_is_answered_and_survived() -> None:
    async with wired() as (peer, wire):
        wire.send_bytes(encode_frame(b"{"))
        assert (await wire.next())["error"]["code"] == PARSE_ERROR
        wire.send({"id": 1, "method": "m"})
        assert (await wire.next())["id"] == 1
        assert not peer.closed


async def test_an_invalid_frame_is_answered_and_ends_the_conversation() -> None:
    async with wired() as (peer, wire):
        asking = asyncio.create_task(peer.request("m"))
        await wire.next()
        wire.send_bytes(b"hello\n")
        answer = await wire.next()
        assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)
        await peer.wait_closed()
        with pytest.raises(ConnectionClosed, match="LF alone"):
            await asking


async def test_eof_fails_what_was_asked_and_ends_the_conversation() -> None:
    async with wired() as (peer, wire):
        asking = [asyncio.create_task(peer.request("m")) for _ in range(3)]
        for _ in asking:
            await wire.next()
        await wire.hang_up()
        await peer.wait_closed()
        assert peer.closed
        for each in asking:
            with pytest.raises(ConnectionClosed):
                await each
        with pytest.raises(ConnectionClosed):
            await peer.request("m")
        peer.notify("n")


async def test_answers_that_came_just_before_eof_count() -> None:
    async with wired() as (peer, wire):
        asking = asyncio.create_task(peer.request("m"))
        wire.send({"id": (await wire.next())["id"], "result": 1})
        await wire.hang_up()
        assert await asking == 1


async def test_handlers_go_on_after_eof_until_the_peer_is_closed() -> None:
    """How a provider that is told to go may still save what it was doing."""
    gate, done = asyncio.Event(), asyncio.Event()

    async def work(method: str, params: JSONObject) -> JSONValue:
        await gate.wait()
        done.set()
        return None

    async with wired(work) as (peer, wire):
        wire.send({"id": 1, "method": "m"})
        await wire.hang_up()
        await peer.wait_closed()
        gate.set()
        await done.wait()


async def test_closing_cancels_handlers_and_writes_every_answer_first() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work(method: str, params: JSONObject) -> JSONValue:
        if method == "quick":
            return "done"
        started.set()
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with wired(work) as (peer, wire):
        wire.send({"id": 1, "method": "slow"}, {"id": 2, "method": "quick"})
        await started.wait()
        await asyncio.gather(peer.aclose(), peer.aclose())
        assert cancelled.is_set()
        await wire.ended.wait()
        assert (await wire.next())["result"] == "done"
        assert (await wire.next())["error"]["code"] == INTERNAL_ERROR
        await peer.aclose()


async def test_closing_takes_no_more_requests() -> None:
    methods: list[str] = []
    started, cancelled, second_sent = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def tidy_up_slowly(method: str, params: JSONObject) -> JSONValue:
        methods.append(method)
        started.set()
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.set()
            await second_sent.wait()

    def note(method: str, params: JSONValue) -> None:
        methods.append(method)

    async with wired(tidy_up_slowly, on_notification=note) as (peer, wire):
        wire.send({"id": 1, "method": "first"})
        await started.wait()
        closing = asyncio.create_task(peer.aclose())
        await cancelled.wait()
        wire.send({"method": "a notification"}, {"id": 2, "method": "second"})
        asyncio.get_running_loop().call_soon(second_sent.set)
        await closing
    assert methods == ["first"]


async def test_a_handler_may_close_its_own_peer() -> None:
    async def close(method: str, params: JSONObject) -> JSONValue:
        await server.aclose()
        went_on.set()
        return None

    went_on = asyncio.Event()
    async with conversation(close) as (client, server):
        with pytest.raises(ConnectionClosed):
            await client.request("m")
        await went_on.wait()


async def test_a_close_that_is_cancelled_closes_at_once() -> None:
    async def refuse_to_stop(method: str, params: JSONObject) -> JSONValue:
        started.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                stubborn.set()
        return None

    started, stubborn, released = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with wired(refuse_to_stop) as (peer, wire):
        wire.send({"id": 1, "method": "m"})
        await started.wait()
        closing = asyncio.create_task(peer.aclose())
        try:
            await stubborn.wait()
            closing.cancel()
            await wire.ended.wait()
        finally:
            released.set()


async def test_what_the_connection_has_sent_and_received_before_counts() -> None:
    """How `run` writes its handshake before asyncio is there."""
    connection, runtime = Connection(), Connection()
    connect = connection.send_request("connect")
    resume = connection.send_request("session.resume")
    late = connection.send_request("late")
    runtime.receive_data(connection.data_to_send())
    runtime.send_request("canvas.open", {"n": 1})
    runtime.send_result(connect, {"ok": True})
    runtime.send_error(resume, 5, "no")
    connection.receive_data(runtime.data_to_send())

    async with wired(connection=connection) as (peer, wire):
        assert await wire.next() == {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {"method": "canvas.open", "params": {"n": 1}},
        }
        wire.send({"id": late, "result": "at last"})
        assert await peer.response_to(late) == "at last"
        assert await peer.response_to(connect) == {"ok": True}
        with pytest.raises(RemoteError, match="no"):
            await peer.response_to(resume)
        for consumed in (connect, resume, late, 99):
            with pytest.raises(LookupError):
                peer.response_to(consumed)


async def test_waiting_for_a_response_ends_with_the_connection() -> None:
    connection = Connection()
    early, late, unwanted = (connection.send_request(method) for method in "abc")
    async with wired(connection=connection) as (peer, wire):
        waiting = peer.response_to(early)
        peer.response_to(unwanted).cancel()
        await wire.hang_up()
        with pytest.raises(ConnectionClosed):
            await waiting
        with pytest.raises(ConnectionClosed):
            await peer.response_to(late)


async def test_a_response_that_nobody_waits_for_any_more_is_dropped() -> None:
    connection = Connection()
    request_id = connection.send_request("a")
    async with wired(connection=connection) as (peer, wire):
        peer.response_to(request_id).cancel()
        wire.send({"id": request_id, "result": 1}, {"id": 5, "method": "m"})
        assert (await wire.next())["id"] == request_id
        assert (await wire.next())["id"] == 5


async def test_a_tap_sees_the_traffic_of_both_directions() -> None:
    seen: list[tuple[Literal["in", "out"], bytes]] = []
    async with wired(on_message=lambda *message: seen.append(message)) as (_, wire):
        wire.send({"id": 1, "method": "m"})
        await wire.next()
    assert seen == [
        ("in", b'{"id": 1, "method": "m"}'),
        ("out", b'{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":{}}}'),
    ]


async def test_the_debug_log_shows_method_id_and_size_and_no_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "canvas_provider.wire")
    async with wired() as (_, wire):
        wire.send({"id": 17, "method": "canvas.open", "params": {"token": "secret"}})
        wire.send_bytes(encode_frame(b"{secret"))
        await wire.next()
        await wire.next()
    assert "in: canvas.open, id 17, 66 bytes" in caplog.text
    assert "secret" not in caplog.text


async def test_drain_waits_for_a_reader_that_is_far_behind() -> None:
    one, other = memory_pair()
    peer = Peer(one, on_request=echo)
    peer.start()
    async with asyncio.timeout(5):
        await peer.drain()
        peer.notify("n", "x" * 200_000)
        draining = asyncio.ensure_future(peer.drain())
        done, _ = await asyncio.wait({draining}, timeout=0)
        assert not done
        Wire(other)
        await draining
        await peer.aclose()
