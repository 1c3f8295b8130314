"""What a client may have the host ask for, on real sockets: a canvas, and nothing beside it."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator

import pytest

from canvas_provider.ahp.relay import Encoding, Relay
from canvas_provider.errors import RemoteError
from canvas_provider.protocol.ahp import ErrorCode
from tests.support.origins import Origin, open_origin, reply

TOKEN = "tZ3mXq-9_LkW0aVfYh2RbQ7cJd5uEg8nPs1iOxTy4Kw"
PNG = b"\x89PNG\r\n\x1a\n\x00"


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay(timeout=5) as relay:
        yield relay


@pytest.fixture
async def canvas() -> AsyncIterator[Origin]:
    """A canvas as ours are, with a secret in its path, and other people's files beside it."""
    async with open_origin() as origin:
        origin.pages = {
            f"/{TOKEN}/": reply(b"<h1>Board</h1>", "text/html; charset=utf-8"),
            f"/{TOKEN}/style/app.css": reply(b"h1{}", "text/css"),
            f"/{TOKEN}/state": reply(b'{"revision":1}', "application/json"),
            f"/{TOKEN}/state?after=3": reply(b'{"revision":4}', "application/json"),
            f"/{TOKEN}/logo.png": reply(PNG, "image/png"),
            "/": reply(b"all canvases"),
            "/secret": reply(b"not for you"),
            f"/{TOKEN}x/": reply(b"another canvas"),
        }
        yield origin


@pytest.fixture
async def other() -> AsyncIterator[Origin]:
    """Some other service of this machine: nobody may ever reach it."""
    async with open_origin({"/": reply(b"internal")}) as origin:
        yield origin
        assert origin.connected == 0, "a connection was made"


def source_of(canvas: Origin) -> str:
    return f"{canvas.url}/{TOKEN}/"


async def read(
    relay: Relay, uri: str, *sources: str, encoding: Encoding | None = None
) -> tuple[str, str, str | None]:
    result = await relay.read(uri, lambda: sources, encoding)
    return result["data"], result["encoding"], result.get("contentType")


async def refusal(relay: Relay, uri: str, *sources: str) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        await read(relay, uri, *sources)
    assert TOKEN not in str(caught.value) and "127.0.0.1" not in str(caught.value)
    return caught.value


async def assert_denied(relay: Relay, uri: str, *sources: str) -> None:
    assert (await refusal(relay, uri, *sources)).code == ErrorCode.PERMISSION_DENIED


# What is served.


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("", ("<h1>Board</h1>", "utf-8", "text/html; charset=utf-8")),
        ("style/app.css", ("h1{}", "utf-8", "text/css")),
        ("style/../style/./app.css", ("h1{}", "utf-8", "text/css")),
        ("state", ('{"revision":1}', "utf-8", "application/json")),
        ("state?after=3", ('{"revision":4}', "utf-8", "application/json")),
        ("state#top", ('{"revision":1}', "utf-8", "application/json")),
        ("logo.png", (base64.b64encode(PNG).decode(), "base64", "image/png")),
    ],
)
async def test_a_canvas_and_what_it_refers_to_are_read(
    relay: Relay, canvas: Origin, reference: str, expected: tuple[str, str, str]
) -> None:
    source = source_of(canvas)
    assert await read(relay, source + reference, source) == expected


@pytest.mark.parametrize(
    ("path", "sibling"),
    [("/", "/app.css"), ("/?t=s3cret", "/app.css"), ("/board/index.html", "/static/app.css")],
)
async def test_where_no_secret_comes_first_the_whole_origin_is_read(
    relay: Relay, path: str, sibling: str
) -> None:
    async with open_origin({path: reply(b"page"), sibling: reply(b"style")}) as origin:
        source = origin.url + path
        assert (await read(relay, source, source))[0] == "page"
        assert (await read(relay, origin.url + sibling, source))[0] == "style"


@pytest.mark.parametrize(
    ("answer", "encoding", "expected"),
    [
        (reply(b"x", "text/plain"), "base64", ("eA==", "base64")),
        (reply(b"x", "image/png"), "utf-8", ("x", "utf-8")),
        (reply(PNG, "text/plain"), "utf-8", (base64.b64encode(PNG).decode(), "base64")),
        (reply(PNG, "text/plain"), None, (base64.b64encode(PNG).decode(), "base64")),
        (reply(b"\xe9t\xe9", "text/html; charset=latin-1"), None, ("6XTp", "base64")),
        # In ASCII, and yet another alphabet.
        (reply(b"+AOk-", 'text/html; charset="utf-7"'), "utf-8", ("K0FPay0=", "base64")),
        (reply("é".encode(), "text/html; charset=UTF-8"), None, ("é", "utf-8")),
        (reply("﻿é".encode(), "text/css"), None, ("﻿é", "utf-8")),
        (reply(b"<svg/>", "image/svg+xml"), None, ("<svg/>", "utf-8")),
        (reply(b"{}", "application/manifest+json"), None, ("{}", "utf-8")),
        (reply(b"x=1", "application/javascript"), None, ("x=1", "utf-8")),
        (reply(b"x", "application/octet-stream"), None, ("eA==", "base64")),
        (reply(b"x", None), None, ("eA==", "base64")),
        (reply(b"", "text/plain", status="204 No Content"), None, ("", "utf-8")),
    ],
)
async def test_what_is_no_text_comes_as_base64(
    relay: Relay, answer: bytes, encoding: Encoding | None, expected: tuple[str, str]
) -> None:
    async with open_origin({"/x": answer}) as origin:
        uri = f"{origin.url}/x"
        assert (await read(relay, uri, uri, encoding=encoding))[:2] == expected


async def test_nothing_of_the_environment_or_of_an_earlier_read_is_sent_along(
    canvas: Origin, other: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, other.url)
    source = source_of(canvas)
    canvas.pages[f"/{TOKEN}/"] = reply(b"page", headers={"Set-Cookie": "a=b; Path=/"})
    async with Relay() as relay:
        for _ in range(2):
            await read(relay, source, source)
    for head in canvas.requests:
        names = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:] if line}
        assert names <= {b"host", b"accept", b"accept-encoding", b"user-agent", b"connection"}
    assert canvas.connected == 2, "none is kept: the port may be somebody else's by then"


# What is refused, and reaches nobody.

HOSTS = [
    "localhost:{port}",
    "LOCALHOST:{port}",
    "localhost.:{port}",
    "127.0.0.1.nip.io:{port}",
    "[::1]:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[::ffff:7f00:1]:{port}",
    "[::]:{port}",
    "0.0.0.0:{port}",
    "0:{port}",
    "127.1:{port}",
    "127.0.1:{port}",
    "127.0.0.2:{port}",
    "127.0.0.1.:{port}",
    "127.0.0.01:{port}",
    "127.000.000.001:{port}",
    "2130706433:{port}",
    "017700000001:{port}",
    "0177.0.0.1:{port}",
    "0x7f000001:{port}",
    "0x7f.0.0.1:{port}",
    "%31%32%37.0.0.1:{port}",
    "127%2e0%2e0%2e1:{port}",
    "127。0。0。1:{port}",
    "①②⑦.0.0.1:{port}",
    "169.254.169.254",
    "169.254.169.254:80",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "100.100.100.200",
    "10.0.0.1",
    "192.168.0.1",
    "evil.test",
    "",
    "user@127.0.0.1:{port}",
    "user:password@127.0.0.1:{port}",
    "127.0.0.1:{port}@evil.test",
    "127.0.0.1:{port}%40evil.test",
    "evil.test#@127.0.0.1:{port}",
    "evil.test\\@127.0.0.1:{port}",
    "127.0.0.1:{port}\\@evil.test",
    "127.0.0.1:{port}\\.evil.test",
    "127.0.0.1:+{port}",
    "127.0.0.1:0{port}",
    "127.0.0.1:{port}0",
    "127.0.0.1:65536",
    "127.0.0.1:99999999999999999999",
    "127.0.0.1:",
    "127.0.0.1",
    " 127.0.0.1:{port}",
    "127.0.0.1 :{port}",
    "127.0.0.1:{port} ",
    "127.0.0.1\t:{port}",
    "127.0.0.1:{port}\r\nX: y",
    "127.0.0.1:{port}\x00",
    "127.0.0.1:{port};@evil.test",
]

SCHEMES = [
    *("HTTP://{host}/", "https://{host}/", "ftp://{host}/", "ws://{host}/", "gopher://{host}/"),
    *("file://{host}/", "file:///etc/passwd", "data:text/html,x", "javascript:alert(1)"),
    *("about:blank", "blob:http://{host}/x", "view-source:http://{host}/", "jar:http://{host}/!x"),
    *("//{host}/", "/{host}/", "{host}/", "http:{host}/", "http:/{host}/", "http:///{host}/"),
    *(
        "http:\\\\{host}/",
        "http://\\{host}/",
        " http://{host}/",
        "http://{host}/ ",
        "\x00http://{host}/",
    ),
    *("http\t://{host}/", "ht\ntp://{host}/", "http://{host}/\r\n\r\nGET /", "", "http://", "x"),
    "http://{host}/" + "a" * 9000,
]


def in_other_words(port: int) -> list[str]:
    """Addresses that are, or that somebody could take for, those of the canvas on this port."""
    hosts = [f"http://{host}/{TOKEN}/" for host in HOSTS]
    schemes = [uri.replace("}/", f"}}/{TOKEN}/", 1) for uri in SCHEMES]
    return [
        uri.replace("{host}", f"127.0.0.1:{port}").replace("{port}", str(port))
        for uri in hosts + schemes
    ]


each_spelling = pytest.mark.parametrize(
    "number",
    range(len(HOSTS) + len(SCHEMES)),
    ids=lambda number: ascii((HOSTS + SCHEMES)[number])[1:40],
)


@each_spelling
async def test_only_the_one_spelling_of_the_one_host_is_read(
    relay: Relay, canvas: Origin, number: int
) -> None:
    await assert_denied(relay, in_other_words(canvas.port)[number], source_of(canvas))
    assert canvas.connected == 0


@each_spelling
async def test_no_redirect_leads_anywhere_else(
    relay: Relay, canvas: Origin, other: Origin, number: int
) -> None:
    location = in_other_words(other.port)[number]
    canvas.pages[f"/{TOKEN}/"] = reply(status="302 Found", headers={"Location": location})
    await refusal(relay, source_of(canvas), source_of(canvas))
    # Some lead back to the canvas, or are names below it.
    assert all(target.startswith(f"/{TOKEN}/") for target in canvas.targets)


PATHS = [
    *(
        "",
        "/",
        "/secret",
        "/{token}",
        "/{token}x/",
        "/{token}/../secret",
        "/{token}/..",
        "//{token}/",
    ),
    *(
        "/{token}/../../secret",
        "/{token}/a/../../secret",
        "/x/../secret",
        "/../secret",
        "/./secret",
    ),
    *("/{token}/%2e%2e/secret", "/{token}/.%2e/secret", "/{token}/%2E./secret", "/%2e%2e/{token}/"),
    *(
        "/{token}/..%2fsecret",
        "/{token}/..%2Fsecret",
        "/{token}/%2e%2e%2fsecret",
        "/{token}%2fstate",
    ),
    *(
        "/{token}/..%5csecret",
        "/{token}/..\\secret",
        "/{token}\\..\\secret",
        "/{token}/%5c..%5csecret",
    ),
    *(
        "/{token}/%252e%252e/secret",
        "/{token}/..%252fsecret",
        "/{token}/%25252e%25252e%25252fsecret",
    ),
    *(
        "/{token}/..;/secret",
        "/{token}/..;x=1/secret",
        "/{token}/%2e%2e;/secret",
        "/{token}/.%3b/x",
    ),
    *(
        "/{token}/%c0%ae%c0%ae/secret",
        "/{token}/..%c0%afsecret",
        "/{token}/%ff",
        "/{token}/%ed%a0%80",
    ),
    *("/{token}/state%00", "/{token}/state%0d%0aX:%20y", "/{token}/state\r\nX: y", "/{token}/\x7f"),
    *(
        "/{token}/%",
        "/{token}/%zz",
        "/{token}/%2",
        "/{token}/état",
        "/{token}/a b",
        "/{token}/a\tb",
    ),
    *(
        "/%74Z3mXq-9_LkW0aVfYh2RbQ7cJd5uEg8nPs1iOxTy4Kw/",
        "/?/{token}/",
        "/#/{token}/",
        "/secret?{token}/",
    ),
    *("/{lower}/", "/{token}/%2e", "/{token}/%2e/state"),
]


@pytest.mark.parametrize("path", PATHS, ids=ascii)
async def test_nothing_is_read_beside_the_secret_of_a_canvas(
    relay: Relay, canvas: Origin, path: str
) -> None:
    uri = canvas.url + path.format(token=TOKEN, lower=TOKEN.lower())
    await assert_denied(relay, uri, source_of(canvas))
    assert canvas.connected == 0


@pytest.mark.parametrize("path", [path for path in PATHS if path.isascii() and path.isprintable()])
async def test_no_redirect_leads_out_of_the_secret_of_a_canvas(
    relay: Relay, canvas: Origin, path: str
) -> None:
    source = source_of(canvas)
    location = canvas.url + path.format(token=TOKEN, lower=TOKEN.lower())
    away = reply(status="302 Found", headers={"Location": location})
    canvas.pages[f"/{TOKEN}/"] = away
    await assert_denied(relay, source, source)
    assert canvas.connected == 1


async def test_other_ports_are_closed_to_everybody(
    relay: Relay, canvas: Origin, other: Origin
) -> None:
    source = source_of(canvas)
    await assert_denied(relay, f"{other.url}/", source)
    await assert_denied(relay, f"{other.url}/{TOKEN}/", source)
    for status in ("301 x", "302 x", "303 x", "307 x", "308 x"):
        for location in (f"{other.url}/", f"//127.0.0.1:{other.port}/{TOKEN}/"):
            canvas.pages[f"/{TOKEN}/"] = reply(status=status, headers={"Location": location})
            await assert_denied(relay, source, source)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "http://localhost:{port}/",
            "http://[::1]:{port}/",
            "http://127.1:{port}/",
            "file:///tmp/",
        ),
        *("https://127.0.0.1:{port}/", "http://user@127.0.0.1:{port}/", "", "{port}", "\x00"),
    ],
)
async def test_a_provider_cannot_open_other_doors_by_what_it_calls_its_address(
    relay: Relay, other: Origin, source: str
) -> None:
    source = source.format(port=other.port)
    await assert_denied(relay, source, source)
    await assert_denied(relay, f"{other.url}/", source)


async def test_without_a_live_canvas_nothing_is_read(relay: Relay, canvas: Origin) -> None:
    await assert_denied(relay, source_of(canvas))
    assert canvas.connected == 0


async def test_each_reader_reaches_only_the_canvases_it_may_see(
    relay: Relay, canvas: Origin, other: Origin
) -> None:
    async with open_origin({"/": reply(b"second")}) as second:
        assert (await read(relay, second.url + "/", second.url))[0] == "second"
        await assert_denied(relay, source_of(canvas), second.url)
        await assert_denied(relay, second.url + "/", source_of(canvas))
        canvas.pages[f"/{TOKEN}/"] = reply(
            status="302 Found", headers={"Location": f"{second.url}/"}
        )
        await assert_denied(relay, source_of(canvas), source_of(canvas))
        both = source_of(canvas), second.url
        assert (await read(relay, source_of(canvas), *both))[0] == "second"


async def test_a_canvas_that_closes_while_it_is_read_is_not_handed_over(
    relay: Relay, canvas: Origin
) -> None:
    live = [source_of(canvas)]
    canvas.on_request = live.clear
    with pytest.raises(RemoteError) as caught:
        await relay.read(source_of(canvas), lambda: live)
    assert caught.value.code == ErrorCode.PERMISSION_DENIED
    assert canvas.connected == 1


async def test_a_canvas_that_closes_between_two_redirects_is_not_asked_again(
    relay: Relay, canvas: Origin
) -> None:
    live = [source_of(canvas)]
    canvas.pages[f"/{TOKEN}/"] = reply(status="302 Found", headers={"Location": "state"})
    canvas.on_request = live.clear
    with pytest.raises(RemoteError):
        await relay.read(source_of(canvas), lambda: live)
    assert canvas.connected == 1


async def test_a_canvas_that_has_gone_is_refused(relay: Relay) -> None:
    async with open_origin() as canvas:
        source = source_of(canvas)
    await assert_denied(relay, source, source)


# What comes back.


async def test_redirects_within_a_canvas_are_followed(relay: Relay, canvas: Origin) -> None:
    source = source_of(canvas)
    moved = {"Location": f"/{TOKEN}/a/b"}
    canvas.pages[f"/{TOKEN}/old"] = reply(status="301 Moved", headers=moved)
    canvas.pages[f"/{TOKEN}/a/b"] = reply(status="307 There", headers={"Location": "../state"})
    assert (await read(relay, f"{source}old", source))[0] == '{"revision":1}'
    assert canvas.targets == [f"/{TOKEN}/old", f"/{TOKEN}/a/b", f"/{TOKEN}/state"]


async def test_redirects_come_to_an_end(relay: Relay, canvas: Origin) -> None:
    source = source_of(canvas)
    canvas.pages[f"/{TOKEN}/"] = reply(status="302 Found", headers={"Location": "./"})
    await assert_denied(relay, source, source)
    assert canvas.connected == 6


@pytest.mark.parametrize("status", ["302 Found", "300 Choose", "304 Same", "305 Proxy", "101 Up"])
async def test_a_redirect_to_nowhere_is_refused(relay: Relay, canvas: Origin, status: str) -> None:
    source = source_of(canvas)
    canvas.pages[f"/{TOKEN}/"] = reply(status=status)
    await assert_denied(relay, source, source)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("404 Not Found", ErrorCode.NOT_FOUND),
        ("410 Gone", ErrorCode.NOT_FOUND),
        ("401 Who", ErrorCode.PERMISSION_DENIED),
        ("500 Oh", ErrorCode.PERMISSION_DENIED),
    ],
)
async def test_what_the_canvas_does_not_have_is_not_found(
    relay: Relay, canvas: Origin, status: str, code: ErrorCode
) -> None:
    source = source_of(canvas)
    canvas.pages[f"/{TOKEN}/"] = reply(b"its reasons", status=status)
    error = await refusal(relay, source, source)
    assert error.code == code
    assert "reasons" not in str(error)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * 101),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        CHUNKED + b"64\r\n" + b"x" * 100 + b"\r\n1\r\nx\r\n",
    ],
    ids=["announced", "only announced", "chunked"],
)
async def test_what_is_too_large_is_refused_before_it_is_complete(answer: bytes) -> None:
    async with open_origin({"/": answer}) as origin, Relay(max_size=100) as relay:
        error = await refusal(relay, origin.url, origin.url)
        assert (error.code, "100 bytes" in str(error)) == (ErrorCode.PERMISSION_DENIED, True)


async def test_what_is_just_not_too_large_is_read() -> None:
    pages = {"/": reply(b"x" * 100), "/c": CHUNKED + b"64\r\n" + b"x" * 100 + b"\r\n0\r\n\r\n"}
    async with open_origin(pages) as origin, Relay(max_size=100) as relay:
        assert await read(relay, origin.url, origin.url)
        assert await read(relay, f"{origin.url}/c", origin.url)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx"]
)
async def test_what_takes_too_long_is_refused(answer: bytes) -> None:
    async with open_origin({"/": answer}) as origin, Relay(timeout=0.05) as relay:
        error = await refusal(relay, origin.url, origin.url)
        assert (error.code, "too long" in str(error)) == (ErrorCode.PERMISSION_DENIED, True)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"-ERR unknown command\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}),
        reply(b"data: x\n\n", "text/event-stream"),
        CHUNKED.replace(b"text/plain", b"Text/Event-Stream; charset=utf-8"),
    ],
)
async def test_what_is_no_complete_answer_of_a_page_is_refused(relay: Relay, answer: bytes) -> None:
    async with open_origin({"/": answer}) as origin:
        await assert_denied(relay, origin.url, origin.url)


async def test_a_content_type_that_is_none_is_left_out(relay: Relay) -> None:
    async with open_origin({"/": reply(b"x", "t\xe9xt/html")}) as origin:
        assert await read(relay, origin.url, origin.url) == ("eA==", "base64", None)


async def test_closing_breaks_off_what_is_read() -> None:
    asked = asyncio.Event()
    async with open_origin({"/": b""}) as origin:
        origin.on_request = asked.set
        relay = Relay()
        reading = asyncio.create_task(refusal(relay, origin.url, origin.url))
        async with asyncio.timeout(5):
            await asked.wait()
            await relay.aclose()
            assert (await reading).code == ErrorCode.PERMISSION_DENIED
        await relay.aclose()


async def test_no_address_is_logged(
    relay: Relay, canvas: Origin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    source = source_of(canvas)
    await read(relay, source, source)
    await refusal(relay, f"{source}nothing", source)
    await assert_denied(relay, canvas.url, source)
    canvas.pages[f"/{TOKEN}/"] = b"nonsense\r\n\r\n"
    with pytest.raises(RemoteError) as caught:
        await read(relay, source, source)
    assert caught.value.__suppress_context__
    assert TOKEN not in caplog.text
