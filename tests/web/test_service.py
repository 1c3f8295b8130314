"""An instance on the air: real sockets, from the address to the end."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from canvas_provider import Canvas, create_canvas
from canvas_provider.web.service import serve_instance
from tests.support.instances import open_instance, open_served


@pytest.fixture
def canvas() -> Canvas:
    canvas = create_canvas(
        id="board", display_name="Board", description="A board.", state=dict[str, Any], max_body=100
    )

    @canvas.action
    async def put(state: dict[str, Any], key: str) -> str:
        """Put a key."""
        state[key] = True
        return key

    return canvas


async def test_the_address_has_a_port_and_a_token_of_its_own(canvas: Canvas) -> None:
    async with open_served(canvas) as (one, _), open_served(canvas) as (other, _):
        pattern = r"http://127\.0\.0\.1:(\d+)/([\w-]{43})/"
        first, second = re.fullmatch(pattern, one.url), re.fullmatch(pattern, other.url)
        assert first is not None
        assert second is not None
        assert first[1] != second[1]
        assert first[2] != second[2]


async def test_the_whole_way_over_a_socket(canvas: Canvas) -> None:
    async with (
        open_served(canvas) as (served, instance),
        httpx.AsyncClient(base_url=served.url) as http,
        asyncio.timeout(5),
    ):
        assert (await http.get("")).status_code == 200
        answer = await http.post("actions/put", json={"key": "a"})
        assert answer.json() == {"result": "a", "revision": 1}
        async with http.stream("GET", "events?after=1") as stream:
            lines = stream.aiter_lines()
            await instance.invoke("put", {"key": "b"}, author="agent")
            assert (await anext(lines)).startswith("id: 2-")


@pytest.mark.parametrize("reason", ["closed", "shutdown"])
async def test_closing_ends_open_streams_with_their_reason_and_frees_the_port(
    canvas: Canvas, reason: Any
) -> None:
    """What hangs in extensions that wait for their server while a page listens."""
    async with (
        open_served(canvas) as (served, _),
        httpx.AsyncClient(base_url=served.url) as http,
        asyncio.timeout(5),
    ):
        async with http.stream("GET", "events") as one, http.stream("GET", "events") as other:
            lines = one.aiter_lines()
            await anext(lines)
            await served.aclose(reason, grace=60)
            for text in ("".join([line async for line in lines]), await read_all(other)):
                assert text.endswith(f'event: closeddata: {{"reason":"{reason}"}}')
        with pytest.raises(httpx.ConnectError):
            await http.get("state")
        await served.aclose()


async def read_all(response: httpx.Response) -> str:
    return "".join([line async for line in response.aiter_lines()])


async def test_closing_does_not_wait_for_a_page_that_does_not_read(canvas: Canvas) -> None:
    async with open_served(canvas) as (served, instance), asyncio.timeout(5):
        url = httpx.URL(served.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(
            f"GET {url.path}events HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\n\r\n".encode()
        )
        await reader.readuntil(b"snapshot")
        transport = writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        for number in range(200):
            instance.emit("bulk", "x" * 100_000 + str(number))
        await served.aclose("shutdown", grace=0.05)
        writer.close()


async def test_a_server_that_cannot_start_leaves_no_subscription(canvas: Canvas) -> None:
    class NoServers:
        async def serve(self, app: ASGIApp) -> Any:
            raise OSError("no port left")

    async with open_instance(canvas) as instance:
        with pytest.raises(OSError, match="no port left"):
            await serve_instance(instance, NoServers())
        assert instance._events._listeners == []


RAW: list[tuple[str, list[str], int]] = [
    ("GET {path} HTTP/1.1", ["Host: {host}"], 200),
    ("GET {path}state HTTP/1.1", ["Host: {host}"], 200),
    ("GET {path}state HTTP/1.1", ["HOST:{host}"], 200),
    ("GET {path}state HTTP/1.1", ["Host: 127.0.0.1"], 421),
    ("GET {path}state HTTP/1.1", ["Host: 127.0.0.1:1"], 421),
    ("GET {path}state HTTP/1.1", ["Host: localhost:{port}"], 421),
    ("GET {path}state HTTP/1.1", ["Host: LOCALHOST:{port}"], 421),
    ("GET {path}state HTTP/1.1", ["Host: [::1]:{port}"], 421),
    ("GET {path}state HTTP/1.1", ["Host: localhost.evil.test:{port}"], 421),
    ("GET {path}state HTTP/1.1", [], 421),
    ("GET {path}state HTTP/1.0", [], 421),
    ("GET {path}state HTTP/1.1", ["Host: {host}", "Host: {host}"], 421),
    ("GET {path}state HTTP/1.1", ["Host: {host}", "Host: evil.test"], 421),
    ("GET {path}state HTTP/1.1", ["Host: evil.test", "Host: {host}"], 421),
    ("GET {path}state HTTP/1.1", ["Host: {host}, evil.test"], 421),
    ("GET http://evil.test{path}state HTTP/1.1", ["Host: {host}"], 421),
    ("GET http://{host}{path}state HTTP/1.1", ["Host: evil.test"], 421),
    ("GET http://{host}{path}state HTTP/1.1", ["Host: {host}"], 421),
    ("GET http://evil.test{path}events HTTP/1.1", ["Host: {host}"], 421),
    ("POST http://evil.test{path}actions/put HTTP/1.1", ["Host: {host}", "{json}"], 421),
    ("OPTIONS * HTTP/1.1", ["Host: {host}"], 421),
    ("GET /state HTTP/1.1", ["Host: {host}"], 404),
    ("GET / HTTP/1.1", ["Host: {host}"], 404),
    ("GET /x/..{path}state HTTP/1.1", ["Host: {host}"], 404),
    ("GET /{path}state HTTP/1.1", ["Host: {host}"], 404),
    ("POST {path}actions/put HTTP/1.1", ["Host: {host}", "{json}", "Content-Length: 11"], 200),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "{json}", "Content-Length: 11", "Origin: http://{host}"],
        200,
    ),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "{json}", "Content-Length: 11", "Origin: null"],
        403,
    ),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "{json}", "Content-Length: 11", "Sec-Fetch-Site: cross-site"],
        403,
    ),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "Content-Type: text/plain", "Content-Length: 11"],
        415,
    ),
    ("POST {path}actions/put HTTP/1.1", ["Host: {host}", "Content-Length: 11"], 415),
    ("POST {path}actions/put HTTP/1.1", ["Host: {host}", "{json}", "Content-Length: 101"], 413),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "{json}", "Content-Length: 99999999999"],
        413,
    ),
    (
        "POST {path}actions/put HTTP/1.1",
        ["Host: {host}", "{json}", "Content-Length: 11", "Expect: 100-continue", "Origin: null"],
        403,
    ),
]


@pytest.mark.parametrize(("line", "headers", "status"), RAW)
async def test_raw_requests_meet_the_guards(
    canvas: Canvas, line: str, headers: list[str], status: int
) -> None:
    async with open_served(canvas) as (served, instance), asyncio.timeout(5):
        url = httpx.URL(served.url)
        assert url.port is not None
        names = {
            "host": f"127.0.0.1:{url.port}",
            "port": url.port,
            "path": url.path,
            "json": "Content-Type: application/json",
        }
        lines = [line.format(**names), *(header.format(**names) for header in headers)]
        body = '{"key":"a"}' if "Content-Length: 11" in headers else ""
        answer = await exchange(url.port, "\r\n".join([*lines, "", body]).encode())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert instance.state is not None
        assert instance.state.revision == (status == 200 and line.startswith("POST"))


async def exchange(port: int, request: bytes) -> bytes:
    """The first line and headers of what is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()


async def test_a_chunked_body_is_cut_off_at_the_limit(canvas: Canvas) -> None:
    async with open_served(canvas) as (served, instance), asyncio.timeout(5):
        url = httpx.URL(served.url)
        assert url.port is not None
        head = (
            f"POST {url.path}actions/put HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"40\r\n" + b" " * 64 + b"\r\n"
        answer = await exchange(url.port, head.encode() + chunk * 2)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert instance.state is not None
        assert instance.state.revision == 0


async def test_neither_token_nor_input_nor_state_reaches_a_log_or_a_repr(
    canvas: Canvas, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    for name in ("asyncio", "uvicorn.error", "uvicorn.access", "canvas_provider"):
        caplog.set_level(1, name)

    @canvas.action
    async def fail(secret: str) -> None:
        """Fail."""
        raise RuntimeError("on purpose")

    async with open_served(canvas) as (served, instance):
        token = httpx.URL(served.url).path.strip("/")
        async with httpx.AsyncClient(base_url=served.url) as http, asyncio.timeout(5):
            caplog.clear()
            async with http.stream("GET", "events"):
                for path in ("", "state", "nothing", "canvas.js"):
                    await http.get(path)
                await http.post("actions/put", json={"key": "s3cret"})
                await http.post("actions/fail", json={"secret": "s3cret"})
                await http.post("actions/put", json={"s3cret": "s3cret"})
                await http.post("actions/put", content=b"s3cret")
                await served.aclose("shutdown")
        ours = [record for record in caplog.records if not record.name.startswith("http")]
        text = "\n".join(caplog.handler.format(record) for record in ours)
        assert "on purpose" in text
        for thing in (served, served._app, served._origin, instance):
            text += repr(thing)
        assert token not in text
        assert "s3cret" not in text
