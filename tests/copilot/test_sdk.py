"""An app that embeds the official Python SDK, with our canvases in its own process."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from canvas_provider import (
    Canvas,
    CanvasContext,
    CanvasError,
    DeclarationError,
    JSONFileStore,
    Opened,
    create_canvas,
)
from canvas_provider.errors import MethodNotFound, RemoteError
from canvas_provider.testing import ScriptedModel, ToolCall
from examples.focus_board.extension import focus_board
from examples.kanban.extension import kanban
from tests.support.extension import is_listening

pytest.importorskip("copilot")

from copilot.canvas import CanvasError as SDKCanvasError
from copilot.rpc import (
    CanvasActionInvokeRequest,
    CanvasCloseRequest,
    CanvasOpenRequest,
    CanvasProviderInvokeActionRequest,
    CanvasProviderOpenRequest,
)
from copilot.session import CopilotSession

from canvas_provider.sdk import CanvasHost
from canvas_provider.sdk.rpc import request
from tests.support.sdk import create_client, options

pytestmark = [pytest.mark.copilot, pytest.mark.process]


def kept_in(folder: Path, canvas: Canvas) -> Canvas:
    """The canvas, with its state in a folder of the test."""
    canvas = copy.copy(canvas)
    canvas.store = JSONFileStore(folder / canvas.id)
    return canvas


async def open_instance(session: CopilotSession, canvas_id: str, instance_id: str) -> Any:
    return await session.rpc.canvas.open(CanvasOpenRequest(canvas_id, instance_id))


async def invoke(session: CopilotSession, instance_id: str, action: str, **input: Any) -> Any:
    request = CanvasActionInvokeRequest(action, instance_id, input=input or None)
    return (await session.rpc.canvas.action.invoke(request))["result"]


async def test_an_app_opens_drives_and_closes_both_examples(tmp_path: Path) -> None:
    def note(request: Any) -> ToolCall:
        task = json.loads(request.tool_results[-1])["result"]
        return ToolCall.invoke("day", "add_note", {"task_id": task["id"], "text": "Begun."})

    model = ScriptedModel(
        [ToolCall.open("agentic-kanban", "board"), ToolCall.open("focus-board", "day")],
        ToolCall.invoke("board", "add_card", {"title": "Ship it"}),
        ToolCall.invoke("board", "move_card", {"cardId": "card-1", "columnId": "done"}),
        ToolCall.invoke("board", "move_card", {"cardId": "card-9", "columnId": "done"}),
        ToolCall.invoke("day", "add_task", {"title": "Write the notes"}),
        note,
        "Both are up to date.",
    )
    canvases = [kept_in(tmp_path, kanban), kept_in(tmp_path, focus_board)]
    async with model, create_client(tmp_path) as client:
        async with CanvasHost(canvases, id="app:test") as host:
            session = await client.create_session(**options(model), **host.options)
            host.attach(session)
            answer = await session.send_and_wait("Keep both boards.", timeout=30)
            assert answer is not None and answer.to_dict()["data"]["content"]
            assert "There is no card 'card-9'" in model.tool_results[4]

            shown = {canvas.instance_id: canvas for canvas in session.open_canvases}
            assert shown["board"].extension_id == "app:test"
            ports = {name: httpx.URL(str(canvas.url)).port for name, canvas in shown.items()}
            async with httpx.AsyncClient() as http:
                board = (await http.get(f"{shown['board'].url}state")).json()["state"]
                assert "Ship it" in json.dumps(board)
                day = (await http.get(f"{shown['day'].url}state")).json()["state"]
                assert "Begun." in json.dumps(day)
                # The guards are the same: without the token there is nothing.
                port = ports["board"]
                assert (await http.get(f"http://127.0.0.1:{port}/state")).status_code == 404

            await session.rpc.canvas.close(CanvasCloseRequest("board"))
            assert not await is_listening(ports["board"] or 0)
            assert await is_listening(ports["day"] or 0)
        assert not await is_listening(ports["day"] or 0)
    assert "Ship it" in stored(tmp_path / "agentic-kanban")
    assert "Begun." in stored(tmp_path / "focus-board")


def stored(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.json"))


def create_probe(told: list[str]) -> Canvas:
    """A canvas that tells what happens to it."""

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        told.append(f"begin {ctx.instance_id}")
        yield
        told.append(f"end {ctx.instance_id}")

    canvas = create_canvas(
        id="probe",
        display_name="Probe",
        description="Tells what happens.",
        state=dict[str, str],
        lifespan=lifespan,
    )

    @canvas.on_open
    async def opened(ctx: CanvasContext) -> Opened:
        told.append(f"{'restored' if ctx.reopened else 'opened'} {ctx.instance_id}")
        return Opened(title=f"Of {ctx.session_id}")

    @canvas.on_close
    async def closed(ctx: CanvasContext) -> None:
        told.append(f"closed {ctx.instance_id}")

    @canvas.action
    async def put(state: dict[str, str], text: str) -> list[str]:
        """Keep a text, and say what is kept."""
        state[text] = text
        return list(state)

    @canvas.action
    async def fail(kindly: bool) -> None:
        """Fail."""
        if kindly:
            raise CanvasError("not_today", "Not today: try tomorrow.")
        raise ZeroDivisionError("the secret is hunter2")

    @canvas.action
    async def ask(ctx: CanvasContext) -> list[str]:
        """Use the session from a handler."""
        heard = asyncio.Event()
        stop = ctx.session.on("session.info", lambda event: heard.set())
        await ctx.session.log("hello")
        async with asyncio.timeout(5):
            await heard.wait()
        stop()
        open_instances = await ctx.session.canvas.list_open()
        return [ctx.session_id, *(each["instanceId"] for each in open_instances)]

    return canvas


async def test_sessions_are_apart_and_each_ends_by_itself(tmp_path: Path) -> None:
    told: list[str] = []
    host = CanvasHost([create_probe(told)])
    async with ScriptedModel() as model, create_client(tmp_path) as client, host:
        one = await client.create_session(**options(model), **host.options)
        host.attach(one)
        two = await client.create_session(**options(model), **host.options)
        host.attach(two)
        opened = await open_instance(one, "probe", "first")
        await open_instance(two, "probe", "second")
        assert opened.title == f"Of {one.session_id}"
        assert await invoke(one, "first", "put", text="one") == ["one"]
        assert await invoke(two, "second", "put", text="two") == ["two"]
        assert await invoke(one, "first", "ask") == [one.session_id, "first"]
        assert await invoke(two, "second", "ask") == [two.session_id, "second"]

        kind = await refusal(one, kindly=True)
        assert kind == FAILED + "Not today: try tomorrow."
        accident = await refusal(one, kindly=False)
        assert accident.startswith(FAILED) and "hunter2" not in accident

        await one.disconnect()
        await invoke(two, "second", "put", text="more")
        assert "end first" in told and "end second" not in told
        await two.rpc.canvas.close(CanvasCloseRequest("second"))
    assert told == [
        *("begin first", "opened first", "begin second", "opened second"),
        *("end first", "closed second", "end second"),
    ]


FAILED = "Request session.canvas.action.invoke failed with message: "


async def refusal(session: CopilotSession, *, kindly: bool) -> str:
    with pytest.raises(Exception) as caught:
        await invoke(session, "first", "fail", kindly=kindly)
    return str(getattr(caught.value, "message", caught.value))


async def test_a_session_that_is_resumed_gets_its_canvases_back(tmp_path: Path) -> None:
    told: list[str] = []
    async with ScriptedModel(ToolCall.open("probe", "kept"), "Open.") as model:
        async with create_client(tmp_path) as client, CanvasHost([create_probe(told)]) as host:
            session = await client.create_session(**options(model), **host.options)
            host.attach(session)
            await session.send_and_wait("Open it.", timeout=30)
        async with create_client(tmp_path) as client, CanvasHost([create_probe(told)]) as host:
            resumed = await client.resume_session(
                session.session_id, **options(model), **host.options
            )
            host.attach(resumed)
            # The answer of the action comes after the open that restores the instance.
            assert await invoke(resumed, "kept", "put", text="again") == ["again"]
    assert told == [
        *("begin kept", "opened kept", "end kept"),
        *("begin kept", "restored kept", "end kept"),
    ]


async def test_what_the_sdk_has_no_method_for_is_refused_by_name(tmp_path: Path) -> None:
    async with ScriptedModel() as model, create_client(tmp_path) as client:
        session = await client.create_session(**options(model))
        assert await request(session, "session.mode.get", {}) == "interactive"
        kept: Any = await request(session, "session.getMessages", {})
        assert "session.start" in [event["type"] for event in kept["events"]]
        with pytest.raises(MethodNotFound):
            await request(session, "session.nothing.here", {})
        with pytest.raises(RemoteError, match=r"session\.canvas\.open takes other params"):
            await request(session, "session.canvas.open", {"canvasId": 7})
        with pytest.raises(RemoteError, match='No canvas "no" is registered'):
            await request(session, "session.canvas.open", {"canvasId": "no", "instanceId": "i"})


async def test_a_host_that_has_closed_says_so() -> None:
    with pytest.raises(DeclarationError):
        CanvasHost([])
    host = CanvasHost([create_probe([])])
    await host.aclose()
    with pytest.raises(SDKCanvasError, match="closing its canvases"):
        await host.handler.on_open(CanvasProviderOpenRequest("probe", "app:x", "one", "s"))


async def test_a_host_ends_although_its_app_never_attached_a_session() -> None:
    told: list[str] = []
    async with asyncio.timeout(5), CanvasHost([create_probe(told)]) as host:
        request = CanvasProviderOpenRequest("probe", "app:x", "one", "s")
        opened = await host.handler.on_open(request)
        assert opened.url is not None
    assert told == ["begin one", "restored one", "end one"]


async def test_an_app_that_forgets_to_attach_a_session_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    board = create_canvas(id="board", display_name="Board", description="A board.")

    @board.action
    async def tell(ctx: CanvasContext) -> str:
        try:
            return await ctx.session.log("Here.")
        except RemoteError as error:
            return error.message

    monkeypatch.setattr("canvas_provider.sdk.host.WARNED_AFTER", 0.0)
    monkeypatch.setattr("canvas_provider.sdk.host.REFUSED_AFTER", 0.01)
    async with asyncio.timeout(5), CanvasHost([board]) as host:
        await host.handler.on_open(CanvasProviderOpenRequest("board", "app:x", "one", "s-7"))
        said = await host.handler.on_action(
            CanvasProviderInvokeActionRequest("tell", "board", "app:x", "one", "s-7")
        )
    assert said.startswith("the app has not called host.attach(session)")
    (record,) = caplog.records
    assert record.getMessage() == f"session s-7 has canvases, but {said}"
