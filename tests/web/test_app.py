"""Which address is what, and that every guard stands before each of them."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from canvas_provider import Canvas, create_canvas
from canvas_provider.web.app import InstanceApp
from tests.support.asgi import Answer, ask
from tests.support.instances import HOST, TOKEN, open_app, open_client

MAX_BODY = 1000

reached: list[str] = []
"""What of the author's was called; emptied before each request."""


def make_canvas(page: Path | None = None) -> Canvas:
    canvas = create_canvas(
        id="board",
        display_name="The Board <1>",
        description="A board.",
        state=dict,
        page=page,
        allowed_hosts=["board.example"],
        max_body=MAX_BODY,
    )

    @canvas.action
    async def add(state: dict, text: str = "x") -> str:  # type: ignore[type-arg]
        """Add a text."""
        reached.append("add")
        state["text"] = text
        return text

    @canvas.route("/export.csv")
    async def export(request: Request) -> Response:
        await request.body()
        reached.append("export")
        return PlainTextResponse("a,b")

    @canvas.route("/import", methods=["POST", "PUT"], content_types=["text/csv"])
    async def import_csv(request: Request) -> Response:
        await request.body()
        reached.append("import")
        return PlainTextResponse("imported")

    @canvas.route("/notes/{id:int}", methods=["GET", "DELETE", "PATCH"])
    async def note(request: Request) -> Response:
        await request.body()
        reached.append("note")
        return PlainTextResponse(f"note {request.path_params['id']}")

    return canvas


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<!doctype html><p>page")
    (tmp_path / "app.js").write_text("export {}")
    return tmp_path


@dataclass(frozen=True)
class Kind:
    """A kind of route: how it is asked, and what it takes."""

    method: str
    path: str
    content_type: str | None = None
    calls: str | None = None
    """What of the author's it reaches."""


KINDS = [
    Kind("GET", ""),
    Kind("HEAD", ""),
    Kind("GET", "app.js"),
    Kind("GET", "state"),
    Kind("GET", "events"),
    Kind("GET", "canvas.js"),
    Kind("GET", "canvas.css"),
    Kind("GET", "export.csv", calls="export"),
    Kind("GET", "notes/7", calls="note"),
    Kind("POST", "actions/add", "application/json", "add"),
    Kind("POST", "import", "text/csv", "import"),
    Kind("PUT", "import", "text/csv", "import"),
    Kind("PATCH", "notes/7", "application/json", "note"),
    Kind("DELETE", "notes/7", "application/json", "note"),
]

HOSTS = {
    "own": [HOST],
    "allowed": ["board.example:8443"],
    "rebound": ["evil.test:4100"],
    "other port": ["127.0.0.1:4101"],
    "none": [],
    "two": [HOST, "evil.test"],
}
TOKENS = {"right": f"/{TOKEN}/", "wrong": f"/{TOKEN[:-1]}x/", "none": "/"}
ORIGINS = {
    "none": None,
    "own": f"http://{HOST}",
    "allowed": "https://board.example",
    "other": "https://evil.test",
    "null": "null",
}
SITES = {"none": None, "own": "same-origin", "other": "cross-site", "same site": "same-site"}
BODIES = {"small": b'"x"', "announced": b"x" * (MAX_BODY + 1), "chunked": b"x" * (MAX_BODY + 1)}


def every_combination() -> Iterator[tuple[str, str, str, str, str | None, str]]:
    types = (None, "application/json", "text/csv", "text/plain")
    return itertools.product(HOSTS, TOKENS, ORIGINS, SITES, types, BODIES)


def refusal(
    kind: Kind, host: str, token: str, origin: str, site: str, content_type: str | None, body: str
) -> int | None:
    """What the design says, written again: the status of the first guard that refuses."""
    writes = kind.method in ("POST", "PUT", "PATCH", "DELETE")
    if host not in ("own", "allowed"):
        return 421
    if token != "right":
        return 404
    if writes and (origin in ("other", "null") or site in ("other", "same site")):
        return 403
    if writes and content_type != kind.content_type:
        return 415
    if body != "small" and (writes or kind.calls is not None):
        return 413
    return None


async def send(
    app: InstanceApp,
    kind: Kind,
    host: str,
    token: str,
    origin: str,
    site: str,
    content_type: str | None,
    body: str,
) -> Answer:
    headers = [("host", name) for name in HOSTS[host]]
    if (sent_origin := ORIGINS[origin]) is not None:
        headers.append(("origin", sent_origin))
    if (sent_site := SITES[site]) is not None:
        headers.append(("sec-fetch-site", sent_site))
    if content_type is not None:
        headers.append(("content-type", content_type))
    content = BODIES[body]
    if body != "chunked":
        headers.append(("content-length", str(len(content))))
    chunks = [content[i : i + 300] for i in range(0, len(content), 300)]
    return await ask(app, kind.method, TOKENS[token] + kind.path, headers=headers, body=chunks)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.method} {kind.path}")
async def test_every_guard_stands_before_every_kind_of_route(kind: Kind, folder: Path) -> None:
    """Host x token x Origin x Sec-Fetch-Site x content type x body, 4,320 requests each."""
    wrong = []
    async with open_app(make_canvas(folder)) as (app, _):
        for combination in every_combination():
            reached.clear()
            answer = await send(app, kind, *combination)
            expected = refusal(kind, *combination)
            if not is_as_expected(kind, expected, answer):
                wrong.append((combination, expected, answer.status, reached[:]))
    assert wrong == []


def is_as_expected(kind: Kind, expected: int | None, answer: Answer) -> bool:
    if kind.path == "actions/add" and expected is None:
        # The body is no object, so the action's own check of its input is what refuses it.
        expected = 400
    if expected is not None:
        is_json = kind.method == "HEAD" or set(json.loads(answer.body)) == {"error"}
        return answer.status == expected and is_json and reached == []
    calls = [] if kind.calls is None else [kind.calls]
    return answer.status == 200 and reached == calls and (answer.complete or kind.path == "events")


async def test_a_good_request_reaches_the_action() -> None:
    kind = Kind("POST", "actions/add", "application/json", "add")
    headers = [
        ("host", HOST),
        ("origin", f"http://{HOST}"),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "application/json"),
    ]
    reached.clear()
    async with open_app(make_canvas()) as (app, _):
        path = TOKENS["right"] + kind.path
        answer = await ask(app, "POST", path, headers=headers, body=[b'{"text": ', b'"hi"}'])
    assert (answer.status, json.loads(answer.body)) == (200, {"result": "hi", "revision": 1})
    assert reached == ["add"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.method} {kind.path}")
@pytest.mark.parametrize("host", ["own", "rebound"])
@pytest.mark.parametrize("token", ["right", "wrong"])
async def test_every_answer_carries_the_security_headers(
    kind: Kind, host: str, token: str, folder: Path
) -> None:
    async with open_app(make_canvas(folder)) as (app, _):
        answer = await send(app, kind, host, token, "none", "none", kind.content_type, "small")
    assert answer["content-security-policy"].startswith("default-src 'self'; ")
    assert answer["referrer-policy"] == "no-referrer"
    assert answer["x-content-type-options"] == "nosniff"
    assert answer["cache-control"] == "no-store"
    names = {name for name, _ in answer.headers}
    assert not names & {b"x-frame-options", b"set-cookie", b"server"}


async def test_a_wrong_token_is_answered_exactly_like_a_wrong_path() -> None:
    async with open_app(make_canvas()) as (app, _):
        host = [("host", HOST)]
        wrong_token = await ask(app, path="/guess/state", headers=host)
        wrong_path = await ask(app, path=f"/{TOKEN}/nothing", headers=host)
    assert wrong_token == wrong_path
    assert json.loads(wrong_path.body) == {
        "error": {"code": "not_found", "message": "There is nothing here."}
    }


async def test_the_address_without_its_slash_leads_to_the_one_with_it() -> None:
    async with open_client(make_canvas()) as (http, _):
        address = str(http.base_url).rstrip("/")
        answer = await http.get(address)
        assert answer.status_code == 307
        assert answer.next_request is not None
        assert str(answer.next_request.url) == f"{address}/"
        assert not answer.headers["location"].startswith(("/", "http"))
        assert (await http.head(address)).status_code == 307
        assert (await http.post(address)).status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "", "GET, HEAD"),
        ("PUT", "app.js", "GET, HEAD"),
        ("POST", "state", "GET, HEAD"),
        ("DELETE", "events", "GET, HEAD"),
        ("POST", "canvas.js", "GET, HEAD"),
        ("GET", "actions/add", "POST"),
        ("HEAD", "actions/add", "POST"),
        ("OPTIONS", "actions/add", "POST"),
        ("PUT", "actions/add", "POST"),
        ("GET", "import", "POST, PUT"),
        ("POST", "notes/7", "DELETE, GET, HEAD, PATCH"),
        ("POST", "export.csv", "GET, HEAD"),
    ],
)
async def test_another_method_is_refused_with_those_that_would_do(
    method: str, path: str, allow: str, folder: Path
) -> None:
    reached.clear()
    async with open_client(make_canvas(folder)) as (http, _):
        answer = await http.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
    if method != "HEAD":
        assert answer.json()["error"]["code"] == "method_not_allowed"
    assert reached == []


@pytest.mark.parametrize(
    "path", ["nothing", "state/", "events/x", "canvas.js/", "notes/x", "actions", "%00", "a//b"]
)
async def test_a_path_that_is_nothing_is_not_found(path: str, folder: Path) -> None:
    async with open_client(make_canvas(folder)) as (http, _):
        for method in ("GET", "POST"):
            answer = await http.request(method, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_an_action_that_is_none_is_unknown() -> None:
    async with open_client(make_canvas()) as (http, _):
        for name in ("nothing", "", "add/", "add/x", "..%2fadd"):
            answer = await http.post(f"actions/{name}", json={})
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_action")


async def test_the_state_is_answered_with_its_revision() -> None:
    async with open_client(make_canvas()) as (http, instance):
        answer = await http.get("state")
        assert answer.json() == {"revision": 0, "state": {}}
        assert re.fullmatch(r'"0-[0-9a-f]{8}"', answer.headers["etag"])
        assert answer.headers["content-type"] == "application/json"
        await instance.invoke("add", {"text": "ä"}, author="agent")
        answer = await http.get("state")
        assert answer.json() == {"revision": 1, "state": {"text": "ä"}}
        assert answer.headers["etag"].startswith('"1-')


async def test_a_canvas_without_state_answers_null() -> None:
    canvas = create_canvas(id="plain", display_name="Plain", description="No state.")
    async with open_client(canvas) as (http, _):
        assert (await http.get("state")).json() == {"revision": 0, "state": None}


async def test_without_a_page_the_state_is_shown() -> None:
    async with open_client(make_canvas()) as (http, _):
        answer = await http.get("")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "<title>The Board &lt;1&gt;</title>" in answer.text
        assert "'sha256-" in answer.headers["content-security-policy"]
        assert (await http.get("index.html")).status_code == 404


async def test_the_pages_own_half_is_served() -> None:
    async with open_client(make_canvas()) as (http, _):
        script, style = await http.get("canvas.js"), await http.get("canvas.css")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "export function connect" in script.text
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "access-control-allow-origin" not in style.headers


async def test_only_the_development_host_is_listened_to() -> None:
    """Its theme and its questions are for nobody else: in Copilot nothing of them is served."""
    async with open_app(make_canvas()) as (app, instance):
        development = InstanceApp(instance, token=TOKEN, development=True)
        development.bind(HOST)
        for each, status in ((app, 404), (development, 200)):
            answer = await ask(each, path=f"/{TOKEN}/development.js", headers=[("host", HOST)])
            assert answer.status == status
            script = await ask(each, path=f"/{TOKEN}/canvas.js", headers=[("host", HOST)])
            assert (b"development.js" in script.body) is (status == 200)
        development.close("closed")


async def test_only_so_many_event_streams_are_open_at_once() -> None:
    canvas = make_canvas()
    canvas.max_streams = 1
    async with open_client(canvas) as (http, _), http.stream("GET", "events") as stream:
        assert stream.status_code == 200
        answer = await http.get("events")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_many_streams")


async def test_nothing_is_answered_before_the_app_knows_its_host() -> None:
    async with open_app(make_canvas()) as (_, instance):
        app = InstanceApp(instance, token=TOKEN)
        answer = await ask(app, path=f"/{TOKEN}/", headers=[("host", HOST)])
        assert answer.status == 421
        app.close("closed")


async def test_a_scope_that_is_no_request_is_left_alone() -> None:
    async with open_app(make_canvas()) as (app, _):

        async def receive() -> dict[str, object]:
            raise AssertionError

        async def send(message: object) -> None:
            raise AssertionError

        await app({"type": "lifespan"}, receive, send)
