"""The panel's app: what it shows, what its buttons do, and whom it answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.host.link import Message
from canvas_provider.host.panel.app import ASSETS, PanelApp
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.testing.asgi import StreamingASGITransport
from canvas_provider.testing.events import EventParser, PageEvent
from canvas_provider.types import JSONObject, JSONValue, Token
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.asgi import ask

TOKEN = Token("t" * 43)
HOST = "127.0.0.1:4000"
JSON = ("content-type", "application/json")
HOST_HEADER = ("host", HOST)

COMMANDS = [
    *("open", "invoke", "close", "reload", "kill", "hold", "release", "resume-cold"),
    *("add-panel", "remove-panel", "drop-streams", "undo", "redo", "call-tool", "run-command"),
]

BOARD: JSONValue = {
    "id": "board",
    "displayName": "Board",
    "description": "Tasks.",
    "inputSchema": {"properties": {"k": {"type": "integer"}}},
    "actions": [{"name": "move"}, {"name": "fail"}, {"name": "crash"}],
}


async def serve(method: str, params: JSONObject) -> JSONValue:
    if method == "canvas.open":
        return {"url": "http://127.0.0.1:1/x/"}
    if params.get("actionName") == "fail":
        raise RemoteError(-32603, "There is no card 7.")
    if params.get("actionName") == "crash":
        raise RemoteError(-32603, "It failed.", {"code": "canvas_handler_error"})
    return {"did": params.get("input", "nothing")}


class Panel:
    def __init__(self, bench: Workbench, app: PanelApp, http: httpx.AsyncClient) -> None:
        self.bench = bench
        self.app = app
        self.http = http

    async def send(self, command: str, body: JSONValue) -> tuple[int, JSONValue]:
        response = await self.http.post(command, json=body)
        return response.status_code, response.json()


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[Panel]:
    """A panel on a session whose extension is in memory."""
    extension = Extension(tmp_path / "extension.py", "demo")
    bench = Workbench(extension, working_directory="/work", workspace_path=str(tmp_path))
    app = PanelApp(bench, token=TOKEN)
    app.bind(HOST)
    near, far = memory_pair()
    await bench.runtime.attach(near, extension_id="project:demo", extension_name="demo")
    peer = Peer(far, on_request=serve)
    peer.start()
    session: JSONObject = {"sessionId": bench.runtime.session_id}
    await peer.request("session.resume", {**session, "canvases": [BOARD]})
    async with httpx.AsyncClient(
        transport=StreamingASGITransport(app), base_url=f"http://{HOST}/{TOKEN}/"
    ) as http:
        yield Panel(bench, app, http)
    await peer.aclose()
    await bench.aclose(0)


@asynccontextmanager
async def events(panel: Panel) -> AsyncIterator[AsyncIterator[PageEvent]]:
    async with panel.http.stream("GET", "events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")

        async def read() -> AsyncIterator[PageEvent]:
            parser = EventParser()
            async for line in response.aiter_lines():
                if (event := parser.feed(line)) is not None:
                    yield event

        yield read()


async def test_the_page_and_its_files_are_served(panel: Panel) -> None:
    page = await panel.http.get("")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    files = [each.name for each in ASSETS.iterdir() if each.suffix in (".js", ".css")]
    assert "panel.js" in files
    for name in files:
        response = await panel.http.get(name)
        assert response.status_code == 200
        kind = "css" if name.endswith("css") else "javascript"
        assert kind in response.headers["content-type"]
        assert "http://" not in response.text.replace("http://www.w3.org/2000/svg", "")


async def test_the_policy_lets_canvases_in_and_nothing_else(panel: Panel) -> None:
    headers = (await panel.http.get("")).headers
    policy = headers["content-security-policy"]
    assert "frame-src 'self' http://127.0.0.1:* http://localhost:*" in policy
    assert "default-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"


async def test_opening_invoking_and_closing(panel: Panel) -> None:
    status, answer = await panel.send(
        "open", {"canvasId": "board", "instanceId": "one", "input": {"k": 1}}
    )
    assert status == 200
    assert isinstance(answer, dict)
    assert isinstance(answer["result"], dict)
    assert answer["result"]["url"] == "http://127.0.0.1:1/x/"
    assert await panel.send("invoke", {"instanceId": "one", "actionName": "move"}) == (
        200,
        {"result": {"did": "nothing"}},
    )
    assert await panel.send(
        "invoke", {"instanceId": "one", "actionName": "move", "input": None}
    ) == (200, {"result": {"did": None}})
    assert await panel.send("close", {"instanceId": "one"}) == (200, {"result": None})
    assert panel.bench.runtime.list_open() == []


async def test_an_extension_may_be_named_where_several_have_the_canvas(panel: Panel) -> None:
    body: JSONObject = {"canvasId": "board", "instanceId": "one", "extensionId": "project:zz"}
    assert await panel.send("open", body) == (
        409,
        {"error": {"code": "refused", "message": 'Canvas "project:zz/board" is not registered.'}},
    )


async def test_a_refusal_comes_with_its_text_and_without_the_wrapping(panel: Panel) -> None:
    await panel.send("open", {"canvasId": "board", "instanceId": "one"})
    assert await panel.send("invoke", {"instanceId": "one", "actionName": "fail"}) == (
        409,
        {"error": {"code": "refused", "message": "There is no card 7."}},
    )


async def test_the_guards_are_tried_with_every_command(panel: Panel) -> None:
    assert set(COMMANDS) == set(panel.bench.commands)


async def test_what_the_extension_calls_its_error_is_told(panel: Panel) -> None:
    await panel.send("open", {"canvasId": "board", "instanceId": "one"})
    status, answer = await panel.send("invoke", {"instanceId": "one", "actionName": "crash"})
    assert status == 409
    assert answer == {"error": {"code": "canvas_handler_error", "message": "It failed."}}


@pytest.mark.parametrize("command", ["kill", "hold", "undo", "redo", "drop-streams"])
async def test_what_needs_a_process_is_refused_without_one(panel: Panel, command: str) -> None:
    await panel.send("open", {"canvasId": "board", "instanceId": "one"})
    status, answer = await panel.send(command, {"instanceId": "one"})
    assert (status, isinstance(answer, dict) and "error" in answer) == (409, True)


async def test_an_instance_is_shown_in_as_many_panels_as_wished(panel: Panel) -> None:
    await panel.send("open", {"canvasId": "board", "instanceId": "one"})
    for command, panels in (("add-panel", 2), ("remove-panel", 1), ("remove-panel", 1)):
        assert (await panel.send(command, {"instanceId": "one"}))[0] == 200
        [instance] = panel.bench.journal.instances.values()
        assert instance["panels"] == panels


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"k": NaN}', b"\xff", b"[" * 9999])
async def test_a_body_that_is_no_json_object_is_refused(panel: Panel, body: bytes) -> None:
    response = await panel.http.post(
        "open", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_json"


async def test_a_missing_field_is_named(panel: Panel) -> None:
    status, answer = await panel.send("open", {"canvasId": "board"})
    assert status == 400
    assert answer == {"error": {"code": "http_error", "message": "Send instanceId as a string."}}


async def test_the_stream_begins_with_everything_and_goes_on_with_what_happens(
    panel: Panel,
) -> None:
    await panel.send("open", {"canvasId": "board", "instanceId": "one"})
    async with asyncio.timeout(5), events(panel) as stream:
        snapshot = await anext(stream)
        assert snapshot.name == "snapshot"
        assert snapshot.data["extension"]["id"] == "project:demo"
        assert [each["instanceId"] for each in snapshot.data["instances"]] == ["one"]
        assert [each["canvasId"] for each in snapshot.data["canvases"]] == ["board"]
        known = {each["number"] for each in snapshot.data["traffic"]}
        panel.bench.add_log("stderr", "info", "hello\nthere")
        line = await anext(stream)
        assert (line.name, line.data["text"]) == ("log", "hello\nthere")
        await panel.send("close", {"instanceId": "one"})
        names = []
        while (event := await anext(stream)).name != "canvases":
            names.append(event.name)
            assert event.data["number"] not in known
        assert event.data["instances"] == []
        assert set(names) == {"traffic"}
        panel.app.close()
        while event.name != "closed":
            event = await anext(stream)
        assert [event async for event in stream] == []


async def test_a_message_is_read_in_full_on_demand(panel: Panel) -> None:
    entry = panel.bench.traffic.entries[0]
    response = await panel.http.get(f"traffic/{entry.number}")
    assert response.json()["method"] == "session.resume"
    assert (await panel.http.get("traffic/9999")).status_code == 404


@pytest.mark.parametrize(
    "path", ["", "events", "traffic/1", "state/one", "open", "panel.js", "nope"]
)
@pytest.mark.parametrize(
    ("given", "host", "status"),
    [("x" * 43, HOST, 404), ("", HOST, 404), (TOKEN, "evil.test:4000", 421)],
)
async def test_without_the_token_or_under_another_name_there_is_nothing(
    panel: Panel, path: str, given: str, host: str, status: int
) -> None:
    for method in ("GET", "POST"):
        answer = await ask(
            panel.app, method, f"/{given}/{path}", headers=[("host", host), JSON], body=[b"{}"]
        )
        assert answer.status == status


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (("origin", "http://127.0.0.1:5000"), 403),
        (("origin", "null"), 403),
        (("origin", "https://evil.test"), 403),
        (("sec-fetch-site", "cross-site"), 403),
        (("sec-fetch-site", "same-site"), 403),
        (("content-type", "text/plain"), 415),
    ],
)
async def test_another_page_can_do_nothing(
    panel: Panel, command: str, header: tuple[str, str], status: int
) -> None:
    """Also not a canvas in one of its own frames: that is another origin of the same site."""
    headers = [HOST_HEADER, header, *([] if header[0] == "content-type" else [JSON])]
    answer = await ask(panel.app, "POST", f"/{TOKEN}/{command}", headers=headers, body=[b"{}"])
    assert answer.status == status
    assert panel.bench.status.phase == "stopped"


async def test_errors_are_json_without_anything_of_the_request(panel: Panel) -> None:
    answer = await ask(panel.app, "GET", f"/{TOKEN}/secret", headers=[HOST_HEADER])
    assert answer.status == 404
    assert "secret" not in answer.body.decode()
    assert set(json.loads(answer.body)) == {"error"}


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "assets"])
async def test_no_file_outside_the_assets_is_served(panel: Panel, path: str) -> None:
    answer = await ask(panel.app, "GET", f"/{TOKEN}/{path}", headers=[HOST_HEADER])
    assert answer.status == 404


async def test_whatever_is_said_can_be_shown(panel: Panel) -> None:
    """Lone surrogates, which UTF-8 cannot carry, and lines and names without end."""
    strange = 'a"\ud800\u2028\0é😀'
    async with events(panel) as stream:
        await anext(stream)
        panel.bench.add_log("stderr", "info", strange)
        assert (await anext(stream)).data["text"] == strange
        for field in ("method", "id"):
            body = json.dumps({"jsonrpc": "2.0", "method": "m", "id": 1, field: "x" * 9999})
            panel.bench.journal.note_message(Message("project:demo", "in", body.encode()))
            assert (await anext(stream)).data[field] == "x" * 300
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"message": "y" * 9999}})
        panel.bench.journal.note_message(Message("project:demo", "in", body.encode()))
        assert (await anext(stream)).data["summary"] == "y" * 300
    async with events(panel) as stream:
        assert (await anext(stream)).data["log"][-1]["text"] == strange
    body = json.dumps({"instanceId": strange})
    response = await panel.http.post("close", content=body, headers=dict([JSON]))
    assert response.status_code == 409
    assert strange in response.json()["error"]["message"]


@pytest.mark.parametrize("levels", [500, 900])
async def test_a_deep_result_is_shown_or_refused(panel: Panel, levels: int) -> None:
    value: JSONValue = None
    for _ in range(levels):
        value = [value]

    async def invoke(*_: object) -> JSONValue:
        return value

    panel.bench.runtime.invoke = invoke  # type: ignore[method-assign, assignment]
    status, _ = await panel.send("invoke", {"instanceId": "one", "actionName": "move"})
    assert status in (200, 409)
