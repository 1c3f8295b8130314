"""Real sockets on the loopback interface."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send

from canvas_provider.serving.responses import send_response
from canvas_provider.serving.server import LoopbackServers, Origin
from canvas_provider.serving.streams import EventStream
from canvas_provider.serving.ticker import TICKER


@pytest.fixture
async def servers() -> AsyncIterator[LoopbackServers]:
    async with asyncio.timeout(5):
        servers = LoopbackServers()
        yield servers
        await servers.aclose(grace=0.2)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path and the body."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    await send_response(send, 200, scope["path"].encode() + b" " + body, b"text/plain")


@contextlib.asynccontextmanager
async def connect(
    origin: Origin,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", origin.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(origin: Origin, request: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    async with connect(origin) as (reader, writer):
        writer.write(request)
        return await reader.read()


def get(origin: Origin, path: str = "/", *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {origin.host}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


async def is_refused(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        return False
    writer.close()
    return False


async def test_each_app_has_an_origin_of_its_own(servers: LoopbackServers) -> None:
    one, other = await servers.serve(echo), await servers.serve(echo)
    assert one.port != other.port
    assert one.base == f"http://127.0.0.1:{one.port}"
    assert one.host == f"127.0.0.1:{one.port}"
    for origin in (one, other):
        answer = await exchange(origin, get(origin, "/x"))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n/x ")


async def test_only_the_loopback_interface_is_listened_to(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    assert origin._server is not None
    names = [sock.getsockname() for sock in origin._server.sockets]
    assert names == [("127.0.0.1", origin.port)]


async def test_answers_are_not_held_back_by_nagles_algorithm(servers: LoopbackServers) -> None:
    """asyncio sets TCP_NODELAY on accepted sockets only if their protocol is named."""
    options: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for connection in origin._state.connections:
            sock = connection.transport.get_extra_info("socket")
            options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    await exchange(origin, get(origin))
    assert options and all(options)


async def test_nothing_says_what_software_answers(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    head = (await exchange(origin, get(origin))).partition(b"\r\n\r\n")[0].lower()
    assert b"uvicorn" not in head
    assert b"server:" not in head


async def test_a_given_port_is_used_and_a_taken_one_is_an_error(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    with pytest.raises(OSError):
        await servers.serve(echo, port=origin.port)
    await origin.aclose()
    assert (await servers.serve(echo, port=origin.port)).port == origin.port


async def test_closing_frees_the_port(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    await origin.aclose()
    await origin.aclose()
    assert await is_refused(origin.port)


async def test_closing_ends_connections_that_wait_for_a_request(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    async with connect(origin) as (reader, writer):
        writer.write(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"/1 ")
        await origin.aclose(grace=60)
        assert await reader.read() == b""


async def test_closing_lets_a_request_in_flight_finish(servers: LoopbackServers) -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await finish.wait()
        await send_response(send, 200, b"done", b"text/plain")

    origin = await servers.serve(app)
    answer = asyncio.create_task(exchange(origin, get(origin)))
    await begun.wait()
    closing = asyncio.create_task(origin.aclose(grace=60))
    while not await is_refused(origin.port):
        pass
    finish.set()
    assert (await answer).endswith(b"done")
    await closing


async def test_closing_cuts_off_what_does_not_end(
    servers: LoopbackServers, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.Event().wait()

    origin = await servers.serve(app)
    answer = asyncio.create_task(exchange(origin, get(origin)))
    await begun.wait()
    await origin.aclose(grace=0.01)
    assert await answer == b""
    assert not origin._state.tasks
    assert not origin._state.connections
    assert caplog.text == ""


async def test_closing_never_waits_for_open_event_streams(servers: LoopbackServers) -> None:
    stream = EventStream(opening=lambda scope: b"data: x\n\n", snapshot=lambda: b"")
    origin = await servers.serve(stream)
    connections = []
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", origin.port)
        writer.write(get(origin))
        await reader.readuntil(b"data: x\n\n")
        connections.append((reader, writer))
    assert stream.pages == 20
    assert servers.ticker.running
    stream.close(b"event: closed\ndata: {}\n\n")
    await origin.aclose(grace=60)
    for reader, writer in connections:
        assert b"event: closed" in await reader.read()
        writer.close()
    assert not servers.ticker.running


async def test_closing_the_servers_closes_every_origin() -> None:
    servers = LoopbackServers()
    origins = [await servers.serve(echo) for _ in range(5)]
    await servers.aclose()
    await servers.aclose()
    assert [await is_refused(origin.port) for origin in origins] == [True] * 5
    assert (await servers.serve(echo)).port
    await servers.aclose()


async def test_signals_stay_with_whoever_has_them(servers: LoopbackServers) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    origin = await servers.serve(echo)
    await exchange(origin, get(origin))
    await origin.aclose()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_an_app_sees_no_lifespan_and_no_websocket(servers: LoopbackServers) -> None:
    kinds: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        kinds.append(scope["type"])
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines = ["GET /x HTTP/1.1", f"Host: {origin.host}", *upgrade, "Sec-WebSocket-Key: eA=="]
    async with connect(origin) as (reader, writer):
        writer.write("\r\n".join([*lines, "", ""]).encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert kinds == ["http"]


async def test_the_servers_ticker_is_offered_to_every_app(servers: LoopbackServers) -> None:
    offered: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        offered.append(scope["state"][TICKER])
        await send_response(send, 200, b"", b"text/plain")

    for _ in range(2):
        origin = await servers.serve(app)
        await exchange(origin, get(origin))
    assert offered == [servers.ticker, servers.ticker]


@pytest.mark.parametrize(
    "target", ["http://evil.test/x", "http://127.0.0.1:{port}/x", "HTTP://evil.test/x"]
)
async def test_the_host_of_an_absolute_target_is_shown_to_the_guards(
    servers: LoopbackServers, target: str
) -> None:
    """RFC 9112 section 3.2.2: it counts, and the Host header does not."""
    hosts: list[list[bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        hosts.append([value for name, value in scope["headers"] if name == b"host"])
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    await exchange(origin, get(origin, target.format(port=origin.port)))
    assert len(hosts[0]) == 2


@pytest.mark.parametrize(
    "request_line",
    [
        b"CONNECT 127.0.0.1:1 HTTP/1.1",
        b"GET http://evil.test HTTP/1.1",
        b"GET  HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        b"GET / HTTP/1.1\r\nContent-Length: -1",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
        b"GET / HTTP/1.1\r\nHost : x",
        b"POST / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2",
        b"POST / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked",
    ],
)
async def test_what_is_no_request_for_a_path_never_reaches_an_app(
    servers: LoopbackServers, request_line: bytes
) -> None:
    reached: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope)
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    answer = await exchange(origin, request_line + b"\r\n\r\n")
    assert not reached
    assert answer.startswith(b"HTTP/1.1 400") or answer == b""


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "start",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nX: ",
        b"GET / HTTP/1.1\r\nX: y\r\n",
        CHUNKED + b"0\r\n",
        CHUNKED + b"0\r\nX: ",
        CHUNKED + b"5;",
    ],
)
async def test_a_head_without_end_is_cut_off(servers: LoopbackServers, start: bytes) -> None:
    """So are trailers and the extensions of a chunk: the parser holds on to all of them."""
    origin = await servers.serve(echo)
    async with connect(origin) as (reader, writer):
        writer.write(start)
        with contextlib.suppress(ConnectionError):
            while not writer.transport.is_closing():
                writer.write(b"x: y\r\n" * 1000 if start.endswith(b"\n") else b"x" * 6000)
                await writer.drain()
        with contextlib.suppress(ConnectionError):
            assert (await reader.read()).startswith(b"HTTP/1.1 400")
    assert (await exchange(origin, get(origin))).startswith(b"HTTP/1.1 200")


async def test_a_head_that_comes_right_after_a_large_body_passes(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    body = b"x" * 200_000
    first = b"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with connect(origin) as (reader, writer):
        writer.write(first + body + get(origin, "/2")[:20])
        await reader.readuntil(body)
        writer.write(get(origin, "/2")[20:])
        assert (await reader.read()).endswith(b"/2 ")


async def test_a_trailer_is_no_header(servers: LoopbackServers) -> None:
    """RFC 9110 section 6.5.1. It may come with the head, so before a guard has looked."""
    seen: list[list[bytes]] = []
    begun = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while (await receive()).get("more_body", False):
            pass
        seen.append([name for name, _ in scope["headers"]])
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    trailers = b"0\r\nHost: evil.test\r\nContent-Type: application/json\r\n\r\n"
    async with connect(origin) as (reader, writer):
        writer.write(CHUNKED + trailers)
        await reader.readuntil(b"\r\n\r\n")
        begun.clear()
        writer.write(CHUNKED)
        await begun.wait()
        writer.write(trailers)
        await reader.readline()
    assert seen == [[b"host", b"transfer-encoding"]] * 2


async def test_a_stream_with_a_request_behind_it_ends_with_its_reader(
    servers: LoopbackServers,
) -> None:
    stream = EventStream(opening=lambda scope: b": hello\n\n", snapshot=lambda: b"", max_pages=1)
    ended = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await stream(scope, receive, send)
        ended.set()

    origin = await servers.serve(app)
    request = b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n"
    async with connect(origin) as (reader, writer):
        writer.write(request + request)
        await reader.readuntil(b"hello")
        writer.transport.abort()
    await ended.wait()
    async with connect(origin) as (reader, writer):
        writer.write(request)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_a_reader_that_never_reads_its_answer_is_cut_off(
    servers: LoopbackServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_response(send, 200, bytes(50_000_000), b"text/plain")

    origin = await servers.serve(app)
    async with connect(origin) as (reader, writer):
        writer.write(get(origin))
        await reader.readline()
        [connection] = origin._state.connections
        gone = asyncio.Event()
        monkeypatch.setattr(connection, "connection_lost", lambda exc: gone.set())
        await origin.aclose(grace=0.1)
        await gone.wait()


async def test_a_head_of_many_headers_passes(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    headers = [f"X-{number}: {'y' * 600}" for number in range(100)]
    assert (await exchange(origin, get(origin, "/", *headers))).startswith(b"HTTP/1.1 200")


async def test_a_port_can_be_used_again_at_once(servers: LoopbackServers) -> None:
    """The kernel remembers connections that we closed first, for a minute."""
    origin = await servers.serve(echo)
    async with connect(origin) as (reader, writer):
        writer.write(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"/1 ")
        await origin.aclose()
        await reader.read()
    again = await servers.serve(echo, port=origin.port)
    assert again.port == origin.port


async def test_a_stranger_cannot_fill_the_log(
    servers: LoopbackServers, caplog: pytest.LogCaptureFixture
) -> None:
    origin = await servers.serve(echo)
    upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
    for request in (b"BAD\r\n\r\n", b"\x16\x03\x01", get(origin, "/", upgrade), get(origin, "*")):
        await exchange(origin, request + b"\r\n\r\n")
    assert not caplog.records


async def test_no_log_record_holds_a_path_a_query_or_a_header(
    servers: LoopbackServers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    caplog.set_level(1, "uvicorn.access")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/s3cret-fail":
            raise RuntimeError("the app's own")
        await send_response(send, 200, b"", b"text/plain")

    origin = await servers.serve(app)
    for request in (
        get(origin, "/s3cret-ok?s3cret"),
        get(origin, "/s3cret-fail", "X-Own: s3cret"),
        get(origin, "http://s3cret/"),
        b"BAD s3cret\r\n\r\n",
        get(origin, "/s3cret", "Upgrade: s3cret"),
    ):
        await exchange(origin, request)
    assert caplog.records
    assert "s3cret" not in caplog.text
    assert "s3cret" not in repr(origin)


async def test_a_body_larger_than_the_buffers_arrives_whole(servers: LoopbackServers) -> None:
    origin = await servers.serve(echo)
    body = b"0123456789abcdef" * 65536
    head = f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = await exchange(origin, head.encode() + body)
    assert answer.endswith(body)


async def test_a_page_that_does_not_read_is_moved_to_a_snapshot(servers: LoopbackServers) -> None:
    """The whole way down to the socket's own buffers."""
    frames = {"opening": b"O" * 64, "snapshot": b"SNAPSHOT"}
    stream = EventStream(
        opening=lambda scope: frames["opening"],
        snapshot=lambda: frames["snapshot"],
        max_backlog=1 << 20,
    )
    origin = await servers.serve(stream)
    async with connect(origin) as (reader, writer):
        writer.write(get(origin))
        await reader.readuntil(frames["opening"])
        transport = writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        for _ in range(512):
            stream.publish(b"f" * (64 * 1024))
        transport.resume_reading()
        seen = 0
        while b"SNAPSHOT" not in (chunk := await reader.read(1 << 20)):
            seen += len(chunk)
        assert seen < 512 * 64 * 1024
        stream.publish(b"AFTERWARDS")
        await reader.readuntil(b"AFTERWARDS")
