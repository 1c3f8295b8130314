"""The in-process transport: what an app and a client can see of each other through it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from canvas_provider.testing.asgi import BUFFER_SIZE, ASGIApp, StreamingASGITransport

START = {"type": "http.response.start", "status": 200, "headers": [(b"x-test", b"1")]}


def client(app: ASGIApp, *, raising: bool = True, timeout: float | None = 5) -> httpx.AsyncClient:
    transport = StreamingASGITransport(app, raise_app_exceptions=raising)
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8123/token/", timeout=timeout
    )


async def read_body(receive: Any) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        assert message["type"] == "http.request"
        body += message["body"]
        if not message["more_body"]:
            return bytes(body)


async def test_the_app_sees_the_request_as_uvicorn_would_show_it() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope, body=await read_body(receive))
        await send(START)
        await send({"type": "http.response.body", "body": b"hello"})

    async with client(app) as http:
        response = await http.post("a%20b/é?q=%2F", content=b"body", headers={"X-Mixed": "Yes"})

    assert (response.status_code, response.text, response.headers["x-test"]) == (200, "hello", "1")
    assert seen["method"] == "POST"
    assert seen["path"] == "/token/a b/é"
    assert seen["raw_path"] == b"/token/a%20b/%C3%A9"
    assert seen["query_string"] == b"q=%2F"
    assert seen["server"] == ("127.0.0.1", 8123)
    assert (b"host", b"127.0.0.1:8123") in seen["headers"]
    assert (b"x-mixed", b"Yes") in seen["headers"]
    assert seen["body"] == b"body"


async def test_a_body_that_is_sent_in_pieces_arrives_in_pieces() -> None:
    got = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            got.append(message["body"])
            if not message["more_body"]:
                break
        await send(START)
        await send({"type": "http.response.body", "body": b""})

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async with client(app) as http:
        await http.post("x", content=pieces())
    assert got == [b"one", b"two", b""]


async def test_an_endless_stream_is_delivered_while_the_app_runs() -> None:
    """Red with `httpx.ASGITransport`, which waits for the end of the body."""
    go_on = asyncio.Event()
    disconnected = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await read_body(receive)
        await send(START)
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"second", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        disconnected.set()

    async with asyncio.timeout(5), client(app) as http:
        async with http.stream("GET", "events") as response:
            chunks = response.aiter_raw()
            assert await anext(chunks) == b"first"
            go_on.set()
            assert await anext(chunks) == b"second"
            assert not disconnected.is_set()
        assert disconnected.is_set()


async def test_a_reader_that_stops_reading_makes_the_app_wait() -> None:
    sent = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        for number in range(4):
            chunk = bytes(BUFFER_SIZE)
            await send({"type": "http.response.body", "body": chunk, "more_body": number < 3})
            sent.append(number)

    async with asyncio.timeout(5), client(app) as http, http.stream("GET", "x") as response:
        for _ in range(10):
            await asyncio.sleep(0)  # noqa: TID251  # lets the app run as far as it can
        assert sent == [0]
        assert len(await response.aread()) == 4 * BUFFER_SIZE
    assert sent == [0, 1, 2, 3]


async def test_sending_to_a_client_that_is_gone_does_nothing() -> None:
    results = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.body", "body": b"x" * BUFFER_SIZE * 2})
        results.append("sent")

    async with asyncio.timeout(5), client(app) as http, http.stream("GET", "x"):
        pass
    assert results == ["sent"]


async def test_an_app_that_ignores_the_disconnect_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("canvas_provider.testing.asgi.GRACE", 0.01)
    cancelled = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with asyncio.timeout(5), client(app) as http, http.stream("GET", "x"):
        pass
    assert cancelled == [True]


async def test_what_the_app_raises_reaches_the_client() -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("early")

    async def halfway(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise LookupError("halfway")

    async def afterwards(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x"})
        raise LookupError("afterwards")

    for app, text in ((early, "early"), (halfway, "halfway"), (afterwards, "afterwards")):
        async with client(app) as http:
            with pytest.raises(LookupError, match=text):
                await http.get("x")


async def test_a_failing_app_can_be_seen_as_a_browser_sees_it() -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("early")

    async def halfway(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        raise LookupError("halfway")

    async def afterwards(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x"})
        raise LookupError("afterwards")

    async with client(early, raising=False) as http:
        assert (await http.get("x")).status_code == 500
    async with client(halfway, raising=False) as http:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get("x")
    async with client(afterwards, raising=False) as http:
        assert (await http.get("x")).content == b"x"


async def test_an_app_without_a_whole_response_is_an_error() -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        return

    async def partial(scope: Any, receive: Any, send: Any) -> None:
        await send(START)

    async with client(silent) as http:
        with pytest.raises(RuntimeError, match="without a response"):
            await http.get("x")
    async with client(partial) as http:
        with pytest.raises(httpx.RemoteProtocolError, match="before the end"):
            await http.get("x")


async def test_messages_out_of_order_are_the_apps_error() -> None:
    async def body_first(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.body", "body": b"x"})

    async def unknown(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async with client(body_first) as http:
        with pytest.raises(RuntimeError, match="before http.response.start"):
            await http.get("x")
    async with client(unknown) as http:
        with pytest.raises(RuntimeError, match="websocket.accept"):
            await http.get("x")


async def test_the_clients_read_timeout_holds() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        await read_body(receive)
        await receive()

    async def half(scope: Any, receive: Any, send: Any) -> None:
        await read_body(receive)
        await send(START)
        await receive()

    for app in (never, half):
        async with client(app, timeout=0.01) as http:
            with pytest.raises(httpx.ReadTimeout):
                await http.get("x")


async def test_a_head_request_has_no_body() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x"})

    async with client(app) as http:
        assert (await http.head("x")).content == b""


async def test_work_after_the_response_goes_on_until_the_transport_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("canvas_provider.testing.asgi.GRACE", 0.01)
    ends = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"x"})
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("ended")

    async with asyncio.timeout(5):
        async with client(app) as http:
            await http.get("x")
            assert ends == []
        assert ends == ["ended"]


async def test_a_request_that_is_cancelled_ends_the_app_too() -> None:
    reached = asyncio.Event()
    ended = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await read_body(receive)
        reached.set()
        ended.append((await receive())["type"])

    async with asyncio.timeout(5), client(app) as http:
        task = asyncio.create_task(http.get("x"))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["http.disconnect"]
