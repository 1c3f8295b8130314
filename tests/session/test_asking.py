"""What an extension may ask of its session, against the embedded runtime and a bare peer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider import (
    CanvasContext,
    CanvasProviderError,
    CommandContext,
    ToolContext,
    create_canvas,
)
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.errors import ConnectionClosed, InvalidAnswer, RemoteError, Unsupported
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.session import Session
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import joined, make_session

DIALOGS: JSONObject = {"ui": {"elicitation": True, "canvases": True}}


def make_canvas() -> Canvas:
    return create_canvas(id="board", display_name="Board", description="A board.")


@asynccontextmanager
async def host(
    answer: Callable[[str, JSONObject], Awaitable[JSONValue]],
    capabilities: JSONValue = DIALOGS,
) -> AsyncIterator[tuple[Session, Peer]]:
    """A session whose host answers as a test says."""

    async def serve(method: str, params: JSONObject) -> JSONValue:
        if method in ("connect", "session.resume"):
            return {"sessionId": "s-1", "capabilities": capabilities}
        return await answer(method, params)

    ours, theirs = memory_pair()
    peer = Peer(theirs, on_request=serve)
    peer.start()
    session = make_session([make_canvas()], ours)
    await session.join()
    try:
        yield session, peer
    finally:
        await session.aclose()
        await peer.aclose()


async def test_each_method_says_on_the_wire_what_the_schema_wants() -> None:
    asked: list[tuple[str, JSONObject]] = []

    async def answer(method: str, params: JSONObject) -> JSONValue:
        asked.append((method, params))
        return {"modelId": "m", "events": [{"type": "x"}, 3, {"type": 4}], "extensions": []}

    async with host(answer) as (session, _):
        await session.log("See.", level="warning", ephemeral=True, url="https://example.com")
        assert await session.messages() == [{"type": "x", "data": {}}]
        await session.abort()
        switched = await session.set_model("m", reasoning_effort="high", auto_tier=None)
        assert switched["modelId"] == "m"
        await session.set_auto_tier("balance")
        await session.send_attachments([{"type": "extension_context", "title": "t", "payload": 1}])
        assert await session.extensions.list() == []
        await session.extensions.enable("project:a")
        await session.extensions.disable("project:a")
        await session.extensions.reload()
        await session.rpc("plan.read")
        await session.rpc("session.name.set", {"name": "n", "sessionId": "another"})
    see = {"message": "See.", "level": "warning", "ephemeral": True, "url": "https://example.com"}
    context = {"type": "extension_context", "title": "t", "payload": 1}
    of_session = {"sessionId": "s-1"}
    assert asked == [
        ("session.log", see | of_session),
        ("session.getMessages", of_session),
        ("session.abort", of_session),
        (
            "session.model.switchTo",
            {"modelId": "m", "reasoningEffort": "high", "autoTier": None} | of_session,
        ),
        ("session.model.switchAutoTier", {"autoTier": "balance"} | of_session),
        ("session.extensions.sendAttachmentsToMessage", {"attachments": [context]} | of_session),
        ("session.extensions.list", of_session),
        ("session.extensions.enable", {"id": "project:a"} | of_session),
        ("session.extensions.disable", {"id": "project:a"} | of_session),
        ("session.extensions.reload", of_session),
        ("session.plan.read", of_session),
        ("session.name.set", {"name": "n"} | of_session),
    ]


async def test_answers_that_make_no_sense_become_empty_ones() -> None:
    async def answer(method: str, params: JSONObject) -> JSONValue:
        return 5

    async with host(answer) as (session, _):
        assert await session.log("x") == ""
        assert await session.send("x") == ""
        assert await session.messages() == []
        assert await session.extensions.list() == []
        assert await session.set_auto_tier(None) == {}
        assert await session.ui.elicitation("x", {}) == {"action": "cancel"}


@pytest.mark.parametrize(
    "answered",
    [None, 5, {}, [], {"canvases": 5, "openCanvases": {}, "canvasId": 7},
     {"canvases": [5], "openCanvases": [{"canvasId": "c"}], "canvasId": "c"}],
)  # fmt: skip
async def test_an_answer_that_names_no_canvas_is_an_error_that_says_so(answered: JSONValue) -> None:
    async def answer(method: str, params: JSONObject) -> JSONValue:
        return answered

    async with host(answer) as (session, _):
        with pytest.raises(InvalidAnswer, match=r"^session\.canvas\.list answered"):
            await session.canvas.list()
        with pytest.raises(InvalidAnswer, match=r"^session\.canvas\.listOpen answered"):
            await session.canvas.list_open()
        with pytest.raises(InvalidAnswer, match=r"^session\.canvas\.open answered"):
            await session.canvas.open("c", "p")
        if not isinstance(answered, dict):
            with pytest.raises(InvalidAnswer, match="invoke answered no object"):
                await session.canvas.invoke("p", "act")


# --- Dialogs


async def test_dialogs_ask_with_a_schema_and_understand_every_answer() -> None:
    schemas: list[JSONValue] = []
    answers: list[JSONValue] = [
        {"action": "accept", "content": {"confirmed": True}},
        {"action": "accept", "content": {"confirmed": "yes"}},
        {"action": "decline"},
        {"action": "accept", "content": {"selection": "b"}},
        {"action": "cancel"},
        {"action": "accept", "content": {"value": "Ada"}},
        {"action": "accept", "content": 7},
    ]

    async def answer(method: str, params: JSONObject) -> JSONValue:
        assert method == "session.ui.elicitation"
        schemas.append(params["requestedSchema"])
        return answers[len(schemas) - 1]

    async with host(answer) as (session, _):
        ui = session.ui
        assert [await ui.confirm("Sure?") for _ in range(3)] == [True, False, False]
        assert [await ui.select("Which?", ["a", "b"]) for _ in range(2)] == ["b", None]
        assert await ui.input("Name?", title="Name", min_length=1, format="email") == "Ada"
        assert await ui.input("Name?") is None
    assert schemas[0] == {
        "type": "object",
        "properties": {"confirmed": {"type": "boolean", "default": True}},
        "required": ["confirmed"],
    }
    assert schemas[3] == {
        "type": "object",
        "properties": {"selection": {"type": "string", "enum": ["a", "b"]}},
        "required": ["selection"],
    }
    field = {"type": "string", "title": "Name", "minLength": 1, "format": "email"}
    assert schemas[5] == {"type": "object", "properties": {"value": field}, "required": ["value"]}


@pytest.mark.parametrize("capabilities", [None, {}, {"ui": 3}, {"ui": {"elicitation": "yes"}}])
async def test_a_host_without_dialogs_is_asked_for_none(capabilities: JSONValue) -> None:
    async def answer(method: str, params: JSONObject) -> JSONValue:
        raise AssertionError(method)

    async with host(answer, capabilities) as (session, _):
        with pytest.raises(Unsupported, match="shows no dialogs"):
            await session.ui.confirm("Sure?")


async def test_a_dialog_ends_when_the_host_loses_its_dialogs_and_others_go_when_it_gains_them() -> (
    None
):
    asked = asyncio.Event()

    async def answer(method: str, params: JSONObject) -> JSONValue:
        asked.set()
        await asyncio.Event().wait()
        return None

    def change(peer: Peer, elicitation: bool) -> None:
        event: JSONObject = {
            "type": "capabilities.changed",
            "data": {"ui": {"elicitation": elicitation}},
        }
        peer.notify("session.event", {"sessionId": "s-1", "event": event})

    async with host(answer) as (session, peer), asyncio.timeout(5):
        waiting = asyncio.ensure_future(session.ui.confirm("Sure?"))
        await asked.wait()
        change(peer, True)
        change(peer, False)
        with pytest.raises(Unsupported, match="nobody answered"):
            await waiting
        assert session.capabilities == {"ui": {"elicitation": False, "canvases": True}}
        with pytest.raises(Unsupported):
            await session.ui.confirm("Sure?")
        heard = asyncio.Event()
        session.on("capabilities.changed", lambda event: heard.set())
        change(peer, True)
        await heard.wait()
        waiting = asyncio.ensure_future(session.ui.confirm("Sure?"))
        asked.clear()
        await asked.wait()
        await session.aclose()
        with pytest.raises(ConnectionClosed):
            await waiting


# --- From handlers


async def test_a_def_handler_reaches_the_session_from_its_thread() -> None:
    board = make_canvas()

    @board.action
    def tell(ctx: CanvasContext, text: str) -> str:
        return ctx.run(ctx.session.log(text))

    @board.action
    def fail(ctx: CanvasContext) -> str:
        try:
            ctx.run(ctx.session.rpc("nope"))
        except RemoteError as error:
            return error.message
        return "no error"

    @board.action
    async def run_in_the_loop(ctx: CanvasContext) -> str:
        try:
            ctx.run(ctx.session.log("never"))
        except Exception as error:
            return str(error)
        return "no error"

    async with joined(board) as it, asyncio.timeout(5):
        await it.runtime.open("board", "b1")
        heard: list[SessionEvent] = []
        it.runtime.subscribe(heard.append)
        event_id = await it.runtime.invoke("b1", "tell", {"text": "From a thread."})
        assert [(event["id"], event["data"]["message"]) for event in heard] == [
            (event_id, "From a thread.")
        ]
        assert await it.runtime.invoke("b1", "fail") == "Unhandled method session.nope"
        said = await it.runtime.invoke("b1", "run_in_the_loop")
        assert isinstance(said, str)
        assert "write `await`" in said
        assert len(heard) == 1


async def test_a_thread_of_its_own_reaches_the_session_by_run() -> None:
    async with joined(make_canvas()) as it, asyncio.timeout(5):
        heard: list[SessionEvent] = []
        it.runtime.subscribe(heard.append)
        contexts = (
            it.session,
            ToolContext(it.session, "1", "tool", {}),
            CommandContext(it.session, "/command", "command", ""),
        )
        for context in contexts:
            await asyncio.to_thread(context.run, it.session.log("From a thread."))
        assert [event["type"] for event in heard] == ["session.info"] * 3
        with pytest.raises(CanvasProviderError, match="write `await`"):
            it.session.run(it.session.log("never"))


async def test_a_thread_that_is_out_of_time_stops_waiting_and_does_no_more() -> None:
    board = make_canvas()
    outcomes: list[str] = []
    told = asyncio.Event()
    loop = asyncio.get_running_loop()

    @board.action(timeout=0.05)
    def wait(ctx: CanvasContext) -> None:
        for work in (asyncio.Event().wait(), ctx.session.log("late")):
            try:
                ctx.run(work)
            except BaseException as error:
                outcomes.append(type(error).__name__)
        loop.call_soon_threadsafe(told.set)

    async with joined(board) as it, asyncio.timeout(5):
        await it.runtime.open("board", "b1")
        with pytest.raises(Exception, match="took longer"):
            await it.runtime.invoke("b1", "wait")
        await told.wait()
    assert outcomes == ["CancelledError", "Closing"]


async def test_attachments_of_a_panel_name_it() -> None:
    board = make_canvas()

    @board.action
    async def offer(ctx: CanvasContext) -> None:
        file: Any = {"type": "file", "path": "/a"}
        data: Any = {"type": "extension_context", "title": "t", "payload": {"x": 1}}
        await ctx.session.send_attachments([data, file])

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        heard: list[SessionEvent] = []
        it.runtime.subscribe(heard.append)
        await it.runtime.invoke("b1", "offer")
        stamp = {"extensionId": "project:board", "canvasId": "board", "instanceId": "b1"}
        context = {"type": "extension_context", "title": "t", "payload": {"x": 1}} | stamp
        attachments = [context, {"type": "file", "path": "/a"}]
        assert [event["data"] for event in heard] == [{"attachments": attachments}]
        with pytest.raises(RemoteError, match='"nope" is not open'):
            await it.session.send_attachments([], instance_id="nope")


@pytest.mark.parametrize(
    ("prompt", "options", "text"),
    [
        (None, {}, "says something"),
        ("  ", {}, "says something"),
        ("Go.", {"mode": "now"}, "enqueue, immediate"),
        ("Go.", {"attachments": [{"tipe": "file"}]}, "has to have a type"),
    ],
)
async def test_a_prompt_that_would_come_to_nothing_is_refused(
    prompt: Any, options: Any, text: str
) -> None:
    async with joined(make_canvas()) as it:
        with pytest.raises(ValueError, match=text):
            await it.session.send(prompt, **options)


# --- The development host


async def test_the_embedded_runtime_answers_in_its_agents_place() -> None:
    async with joined(make_canvas()) as it, asyncio.timeout(5):
        assert await it.session.send_and_wait("Anybody there?") is None
        await it.session.log("kept")
        await it.session.log("not kept", ephemeral=True)
        kinds = [event["type"] for event in await it.session.messages()]
        assert kinds == ["user.message", "session.info"]
        await it.session.abort()
        assert (await it.session.set_model("gpt"))["modelId"] == "gpt"
        (extension,) = await it.session.extensions.list()
        assert (extension["id"], extension["status"]) == ("project:board", "running")
        with pytest.raises(RemoteError, match="cannot start an extension again"):
            await it.session.extensions.reload()
        with pytest.raises(Unsupported):
            await it.session.ui.confirm("Sure?")
        with pytest.raises(RemoteError, match="has no dialogs"):
            await it.session.rpc("ui.elicitation", {"message": "x", "requestedSchema": {}})
        with pytest.raises(RemoteError, match=r"session\.nope"):
            await it.session.rpc("nope")
