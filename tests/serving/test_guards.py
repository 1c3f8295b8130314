"""Each guard by itself: what it lets through, and that nothing behind it runs otherwise."""

import json
from collections.abc import Callable, Sequence

import pytest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from canvas_provider.serving.guards import (
    BodyLimit,
    ContentTypeGuard,
    HostGuard,
    Hosts,
    OriginGuard,
    TokenGuard,
)
from canvas_provider.serving.responses import NOT_FOUND, send_error, send_response
from canvas_provider.types import Token
from tests.support.asgi import Answer, ask

OWN = "127.0.0.1:4100"
TOKEN = Token("s3cret-Token_0123456789")

Headers = Sequence[tuple[str, str]]


class Handler:
    """The end of the line: remembers that it was reached, and reads the whole body."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.body = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        while (message := await receive())["type"] == "http.request":
            self.body += message["body"]
            if not message["more_body"]:
                break
        await send_response(send, 200, b"reached", b"text/plain")


async def put_before_handler(
    guard: Callable[[ASGIApp], ASGIApp],
    method: str = "GET",
    path: str = "/",
    *,
    headers: Headers = (),
    body: Sequence[bytes] = (),
) -> tuple[Answer, Handler]:
    handler = Handler()
    answer = await ask(guard(handler), method, path, headers=headers, body=body)
    assert bool(handler.scopes) == (answer.status == 200), "a refusal must not reach the handler"
    return answer, handler


def code_of(answer: Answer) -> str:
    code: str = json.loads(answer.body)["error"]["code"]
    return code


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("host", OWN)], 200),
        ([("host", "127.0.0.1")], 421),
        ([("host", "127.0.0.1:1")], 421),
        ([("host", "127.0.0.1:41000")], 421),
        ([("host", "localhost:4100")], 421),
        ([("host", "LOCALHOST:4100")], 421),
        ([("host", "localhost.evil.test:4100")], 421),
        ([("host", "evil.test")], 421),
        ([("host", f"{OWN}.evil.test")], 421),
        ([("host", "[::1]:4100")], 421),
        ([("host", "0.0.0.0:4100")], 421),
        ([("host", "127.1:4100")], 421),
        ([("host", "2130706433:4100")], 421),
        ([("host", f"user@{OWN}")], 421),
        ([("host", f"{OWN}.")], 421),
        ([("host", "")], 421),
        ([], 421),
        ([("host", OWN), ("host", OWN)], 421),
        ([("host", OWN), ("host", "evil.test")], 421),
        ([("host", "evil.test"), ("host", OWN)], 421),
        ([("host", "evil.test"), ("x-forwarded-host", OWN)], 421),
    ],
)
async def test_only_the_own_host_and_port_is_answered(headers: Headers, status: int) -> None:
    hosts = Hosts(own=OWN)
    answer, _ = await put_before_handler(lambda app: HostGuard(app, hosts), headers=headers)
    assert answer.status == status
    if status == 421:
        assert code_of(answer) == "misdirected_request"
        assert "`allowed_hosts`" in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("board.example", 200),
        ("board.example:443", 200),
        ("BOARD.example:8443", 200),
        ("exact.example:8443", 200),
        ("exact.example", 421),
        ("exact.example:443", 421),
        ("sub.board.example", 421),
        ("board.example.evil.test", 421),
        ("board.example:", 421),
        ("board.example:x", 421),
        (OWN, 200),
    ],
)
async def test_an_allowed_host_goes_with_any_port_or_with_the_one_it_names(
    host: str, status: int
) -> None:
    hosts = Hosts(["Board.example", "exact.example:8443"], own=OWN)
    answer, _ = await put_before_handler(
        lambda app: HostGuard(app, hosts), headers=[("host", host)]
    )
    assert answer.status == status


async def test_nothing_is_answered_before_the_port_is_known() -> None:
    hosts = Hosts()
    for host in ("", OWN):
        answer, _ = await put_before_handler(
            lambda app: HostGuard(app, hosts), headers=[("host", host)]
        )
        assert answer.status == 421
    hosts.bind(OWN)
    answer, _ = await put_before_handler(lambda app: HostGuard(app, hosts), headers=[("host", OWN)])
    assert answer.status == 200


async def test_the_refusal_names_the_setting_of_whoever_uses_the_guard() -> None:
    answer = await ask(HostGuard(Handler(), Hosts(), setting="--allow-host"))
    assert "`--allow-host`" in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/{TOKEN}/", 200),
        (f"/{TOKEN}", 200),
        (f"/{TOKEN}/state", 200),
        ("/", 404),
        ("", 404),
        ("//", 404),
        ("/state", 404),
        (f"/{TOKEN[:-1]}/", 404),
        (f"/{TOKEN}x/", 404),
        (f"/{TOKEN.lower()}/", 404),
        (f"//{TOKEN}/", 404),
        (f"/x/../{TOKEN}/", 404),
        (f"{TOKEN}/", 404),
        ("/sécret/", 404),
        ("/\udcff/", 404),
    ],
)
async def test_only_what_comes_below_the_token_is_answered(path: str, status: int) -> None:
    answer, handler = await put_before_handler(lambda app: TokenGuard(app, TOKEN), path=path)
    assert answer.status == status
    for scope in handler.scopes:
        assert (scope["root_path"], scope["path"]) == (f"/{TOKEN}", path)


async def test_a_wrong_token_is_answered_like_any_wrong_path() -> None:
    async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
        await send_error(send, *NOT_FOUND)

    guard = TokenGuard(nothing_here, TOKEN)
    assert await ask(guard, path="/wrong/state") == await ask(guard, path=f"/{TOKEN}/wrong")


async def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare_digest(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("canvas_provider.serving.guards.hmac.compare_digest", compare_digest)
    await ask(TokenGuard(Handler(), TOKEN), path="/guess/")
    assert compared == [(b"guess", TOKEN.encode())]


OTHER_ORIGINS = [
    "null",
    "",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    f"https://{OWN}",
    f"http://{OWN}.evil.test",
    f"http://{OWN}/",
    f"http://evil.test@{OWN}",
    f"http://{OWN}@evil.test",
    f"http://{OWN}#",
    f"http://{OWN}?x",
    "http://localhost:4100",
    "https://evil.test",
    "file://",
    OWN,
    f"//{OWN}",
    "http://[",
    f"http://{OWN} http://evil.test",
]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "post"])
@pytest.mark.parametrize("origin", OTHER_ORIGINS)
async def test_a_write_from_another_origin_is_refused(method: str, origin: str) -> None:
    hosts = Hosts(own=OWN)
    headers = [("host", OWN), ("origin", origin)]
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, hosts), method, headers=headers
    )
    assert (answer.status, code_of(answer)) == (403, "cross_origin")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "", "SAME-ORIGIN", "x"])
async def test_a_write_that_a_browser_calls_foreign_is_refused(site: str) -> None:
    hosts = Hosts(own=OWN)
    headers = [("origin", f"http://{OWN}"), ("sec-fetch-site", site)]
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, hosts), "POST", headers=headers
    )
    assert answer.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [("origin", f"http://{OWN}"), ("origin", "https://evil.test")],
        [("origin", "https://evil.test"), ("origin", f"http://{OWN}")],
        [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    ],
)
async def test_every_origin_that_was_sent_has_to_be_the_own(headers: Headers) -> None:
    hosts = Hosts(own=OWN)
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, hosts), "POST", headers=headers
    )
    assert answer.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("origin", f"http://{OWN}")],
        [("sec-fetch-site", "same-origin")],
        [("origin", f"http://{OWN}"), ("sec-fetch-site", "same-origin")],
        [("origin", "https://board.example")],
        [("origin", "http://board.example:8443")],
    ],
)
async def test_a_write_of_the_own_pages_and_of_programs_passes(headers: Headers) -> None:
    hosts = Hosts(["board.example"], own=OWN)
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, hosts), "POST", headers=headers
    )
    assert answer.status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_read_may_come_from_anywhere(method: str) -> None:
    hosts = Hosts(own=OWN)
    headers = [("origin", "null"), ("sec-fetch-site", "cross-site")]
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, hosts), method, headers=headers
    )
    assert answer.status == 200


async def test_no_origin_is_the_own_before_the_port_is_known() -> None:
    headers = [("origin", "http://")]
    answer, _ = await put_before_handler(
        lambda app: OriginGuard(app, Hosts()), "POST", headers=headers
    )
    assert answer.status == 403


@pytest.mark.parametrize(
    ("values", "status"),
    [
        (["application/json"], 200),
        (["application/json; charset=utf-8"], 200),
        (["Application/JSON"], 200),
        (["application/json;"], 200),
        ([], 415),
        ([""], 415),
        (["text/plain"], 415),
        (["text/plain; application/json"], 415),
        (["text/plain;charset=utf-8, application/json"], 415),
        (["application/json, text/plain"], 415),
        (["application/x-www-form-urlencoded"], 415),
        (["multipart/form-data; boundary=x"], 415),
        (["application/jsonp"], 415),
        (["application/json", "text/plain"], 415),
        (["application/json", "application/json"], 415),
    ],
)
async def test_a_write_has_to_be_declared_as_json(values: list[str], status: int) -> None:
    headers = [("content-type", value) for value in values]
    answer, _ = await put_before_handler(ContentTypeGuard, "POST", headers=headers)
    assert answer.status == status


@pytest.mark.parametrize(
    ("allowed", "value", "status"),
    [
        (("text/csv", "image/png"), "image/png", 200),
        (("text/csv",), "application/json", 415),
        (("Text/CSV",), "text/csv", 200),
        (("*/*",), "application/x-www-form-urlencoded", 200),
        (("*/*",), None, 200),
        ((), "application/json", 415),
    ],
)
async def test_a_route_may_take_other_content_types(
    allowed: tuple[str, ...], value: str | None, status: int
) -> None:
    headers = [] if value is None else [("content-type", value)]
    answer, _ = await put_before_handler(
        lambda app: ContentTypeGuard(app, allowed), "PUT", headers=headers
    )
    assert answer.status == status


async def test_a_read_needs_no_content_type() -> None:
    headers = [("content-type", "text/plain")]
    answer, _ = await put_before_handler(ContentTypeGuard, "GET", headers=headers)
    assert answer.status == 200


@pytest.mark.parametrize("length", ["11", "99999999999", "9" * 400, "-1", "abc", "+5", "1_0", ""])
async def test_a_body_that_is_announced_too_large_is_refused_unread(length: str) -> None:
    headers = [("content-length", length)]
    answer, handler = await put_before_handler(
        lambda app: BodyLimit(app, 10), "POST", headers=headers, body=[b"x"]
    )
    assert (answer.status, code_of(answer)) == (413, "content_too_large")
    assert handler.body == b""


@pytest.mark.parametrize("chunks", [[b"x" * 11], [b"x" * 10, b"x"], [b"x"] * 11])
async def test_a_body_that_grows_too_large_ends_the_reading(chunks: list[bytes]) -> None:
    handler = Handler()
    with pytest.raises(HTTPException) as caught:
        await ask(BodyLimit(handler, 10), "POST", body=chunks)
    assert caught.value.status_code == 413
    assert len(handler.body) <= 10


@pytest.mark.parametrize("chunks", [[], [b"x" * 10], [b"x"] * 10])
async def test_a_body_of_the_whole_limit_passes(chunks: list[bytes]) -> None:
    answer, handler = await put_before_handler(
        lambda app: BodyLimit(app, 10),
        "POST",
        headers=[("content-length", str(len(b"".join(chunks))))],
        body=chunks,
    )
    assert answer.status == 200
    assert handler.body == b"".join(chunks)


async def test_a_read_is_limited_too() -> None:
    answer, _ = await put_before_handler(
        lambda app: BodyLimit(app, 10), "GET", headers=[("content-length", "11")]
    )
    assert answer.status == 413
