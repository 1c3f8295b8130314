"""A session over memory: what the runtime asks and what an extension may ask back."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider import CanvasContext, CanvasError, JoinError, Opened, create_canvas
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.config import Settings
from canvas_provider.errors import RemoteError
from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.runtime import Runtime
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import EXTENSION, joined, make_session


def make_canvas(id: str = "board", **options: Any) -> Canvas:
    return create_canvas(id=id, display_name="Board", description="A board.", **options)


async def test_a_declared_canvas_is_listed_by_the_runtime() -> None:
    board = make_canvas()
    async with joined(board) as it:
        (listed,) = await it.session.canvas.list()
        assert listed["canvasId"] == "board"
        assert listed["extensionId"] == EXTENSION


async def test_open_answers_with_url_title_and_status() -> None:
    board = make_canvas(state=dict)

    @board.on_open
    async def opened(ctx: CanvasContext, project: str = "default") -> Opened:
        return Opened(title=f"Board of {project}", status="ready")

    async with joined(board) as it:
        opened_canvas = await it.runtime.open("board", "b1", {"project": "x"})
        assert opened_canvas["title"] == "Board of x"
        assert opened_canvas["status"] == "ready"
        assert opened_canvas["url"] == it.web.served["b1"].url


async def test_reopening_keeps_the_instance_and_its_url() -> None:
    seen: list[bool] = []
    board = make_canvas(state=dict)

    @board.on_open
    async def opened(ctx: CanvasContext) -> None:
        seen.append(ctx.reopened)

    async with joined(board) as it:
        first = await it.runtime.open("board", "b1")
        second = await it.runtime.open("board", "b1")
        assert first["url"] == second["url"]
        assert seen == [False, True]


async def test_an_instance_that_an_earlier_process_had_open_counts_as_reopened() -> None:
    """Observed with Copilot CLI 1.0.102: restored opens come before the reply to the join."""
    seen: list[bool] = []

    def make() -> Canvas:
        board = make_canvas(state=dict)

        @board.on_open
        async def opened(ctx: CanvasContext) -> None:
            seen.append(ctx.reopened)

        return board

    async with Runtime(working_directory="/p", workspace_path="/w") as runtime:
        async with joined(make(), runtime=runtime):
            await runtime.open("board", "b1")
        restored = asyncio.Event()
        runtime.subscribe(
            lambda event: restored.set() if event["type"] == "session.canvas.opened" else None
        )
        async with joined(make(), runtime=runtime), asyncio.timeout(5):
            await restored.wait()
    assert seen == [False, True]


async def test_a_failed_first_open_leaves_nothing_behind() -> None:
    fail = True
    board = make_canvas(state=dict)

    @board.on_open
    async def opened(ctx: CanvasContext) -> None:
        if fail:
            raise CanvasError("no_project", "There is no project here.")

    async with joined(board) as it:
        with pytest.raises(HostRefusal, match=r"There is no project here\."):
            await it.runtime.open("board", "b1")
        assert it.web.served == {}
        fail = False
        assert "url" in await it.runtime.open("board", "b1")


async def test_a_failed_reopen_leaves_the_panel_as_it_was() -> None:
    board = make_canvas(state=dict)

    @board.on_open
    async def opened(ctx: CanvasContext) -> None:
        if ctx.reopened:
            raise CanvasError("busy", "Not now.")

    @board.action
    async def ping(ctx: CanvasContext) -> str:
        return "pong"

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        with pytest.raises(HostRefusal, match="Not now"):
            await it.runtime.open("board", "b1")
        assert await it.runtime.invoke("b1", "ping") == "pong"
        assert it.web.served["b1"].ended == []


async def test_if_open_returns_a_url_no_server_of_ours_starts() -> None:
    async def open_it(ctx: CanvasContext) -> JSONObject:
        return {"url": "http://127.0.0.1:9/elsewhere", "title": "Theirs"}

    board = make_canvas(open=open_it)
    async with joined(board) as it:
        opened = await it.runtime.open("board", "b1")
        assert opened["url"] == "http://127.0.0.1:9/elsewhere"
        assert it.web.served == {}


@pytest.mark.parametrize(
    ("raised", "code", "text"),
    [
        (CanvasError("card_not_found", "There is no card '7'."), "card_not_found", "card '7'"),
        (RuntimeError("/home/me/secret"), "canvas_handler_error", "unexpected"),
    ],
)
async def test_errors_carry_message_code_and_nothing_of_the_cause(
    raised: Exception, code: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    board = make_canvas()

    @board.action
    async def boom(ctx: CanvasContext) -> None:
        raise raised

    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=_welcome)
    runtime.start()
    session = make_session([board], ours)
    await session.join()
    await runtime.request("canvas.open", _call(canvasId="board", instanceId="b1"))
    with pytest.raises(RemoteError) as caught:
        await runtime.request(
            "canvas.action.invoke",
            _call(canvasId="board", instanceId="b1", actionName="boom"),
        )
    assert caught.value.code == -32603
    assert caught.value.data == {"code": code, "message": caught.value.message}
    assert "secret" not in caught.value.message
    if code == "card_not_found":
        assert text in caught.value.message
    await session.aclose()
    await runtime.aclose()


async def test_an_action_for_an_instance_nobody_opened_gets_a_clear_error() -> None:
    """Observed with Copilot CLI 1.0.102: after a failed restore, actions are still delivered."""
    board = make_canvas()
    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=_welcome)
    runtime.start()
    session = make_session([board], ours)
    await session.join()
    with pytest.raises(RemoteError, match="'b9' is not open"):
        await runtime.request(
            "canvas.action.invoke",
            _call(canvasId="board", instanceId="b9", actionName="x"),
        )
    await session.aclose()
    await runtime.aclose()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("canvas.open", {"instanceId": 5}, -32602),
        ("canvas.open", {}, -32602),
        ("canvas.close", {"instanceId": None}, -32602),
        ("canvas.action.invoke", {"instanceId": "b1"}, -32602),
        ("canvas.nope", {}, -32601),
    ],
)
async def test_calls_that_make_no_sense_are_refused(
    method: str, params: JSONObject, code: int
) -> None:
    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=_welcome)
    runtime.start()
    session = make_session([make_canvas()], ours)
    await session.join()
    with pytest.raises(RemoteError) as caught:
        await runtime.request(method, params)
    assert caught.value.code == code
    await session.aclose()
    await runtime.aclose()


async def test_a_refused_join_is_a_join_error_with_the_runtimes_reason() -> None:
    async def refuse(method: str, params: JSONObject) -> JSONValue:
        if method == "session.resume":
            raise RemoteError(-32603, "was denied permission access")
        return {"ok": True}

    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=refuse)
    runtime.start()
    session = make_session([make_canvas()], ours)
    with pytest.raises(JoinError, match="was denied permission access"):
        await session.join()
    assert session.closed
    await runtime.aclose()


async def test_a_connection_that_closes_during_the_join_is_a_join_error() -> None:
    async def never(method: str, params: JSONObject) -> JSONValue:
        await asyncio.Event().wait()
        return None

    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=never)
    runtime.start()
    session = make_session([make_canvas()], ours)
    joining = asyncio.ensure_future(session.join())
    await runtime.aclose()
    async with asyncio.timeout(5):
        with pytest.raises(JoinError, match="closed before the join"):
            await joining


async def test_close_runs_on_close_and_ends_the_page() -> None:
    closed: list[str] = []
    board = make_canvas(state=dict)

    @board.on_close
    async def gone(ctx: CanvasContext) -> None:
        closed.append(ctx.instance_id)

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        await it.runtime.close("b1")
        assert closed == ["b1"]
        assert it.web.served["b1"].ended == ["closed"]
        await it.runtime.open("board", "b1")


async def test_the_end_of_the_session_is_no_close_of_its_instances() -> None:
    closed: list[str] = []
    left: list[str] = []
    board = make_canvas(state=dict, lifespan=_lifespan(left))

    @board.on_close
    async def gone(ctx: CanvasContext) -> None:
        closed.append(ctx.instance_id)

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        await it.session.aclose()
        assert closed == []
        assert left == ["b1"]
        assert it.web.served["b1"].ended == ["shutdown"]
        assert it.web.closed


async def test_update_opens_again_with_the_latest_input_and_runs_no_handler() -> None:
    inputs: list[object] = []
    board = make_canvas()

    @board.on_open
    async def opened(ctx: CanvasContext, project: str = "none") -> Opened:
        inputs.append(project)
        return Opened(title="Start")

    @board.action
    async def rename(ctx: CanvasContext, title: str) -> None:
        await ctx.instance.update(title=title)

    async with joined(board) as it:
        await it.runtime.open("board", "b1", {"project": "x"})
        await it.runtime.invoke("b1", "rename", {"title": "Renamed"})
        (shown,) = it.runtime.list_open()
        assert shown["title"] == "Renamed"
        assert shown["input"] == {"project": "x"}
        assert inputs == ["x"]


async def test_an_update_that_changes_nothing_sends_nothing() -> None:
    board = make_canvas()

    @board.on_open
    async def opened(ctx: CanvasContext) -> Opened:
        return Opened(title="Same")

    @board.action
    async def rename(ctx: CanvasContext) -> None:
        await ctx.instance.update(title="Same")

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        events: list[SessionEvent] = []
        it.runtime.subscribe(events.append)
        await it.runtime.invoke("b1", "rename")
        assert events == []


async def test_handlers_see_where_their_own_instance_works() -> None:
    """Two instances in two directories must not see each other's (A32 of the reports)."""
    board = make_canvas()

    @board.action
    async def where(ctx: CanvasContext) -> str | None:
        return ctx.session.working_directory

    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=_welcome)
    runtime.start()
    session = make_session([board], ours)
    await session.join()
    for name in ("one", "two"):
        await runtime.request(
            "canvas.open",
            _call(canvasId="board", instanceId=name, session={"workingDirectory": f"/{name}"}),
        )
    for name in ("one", "two", "one"):
        answer = await runtime.request(
            "canvas.action.invoke",
            _call(canvasId="board", instanceId=name, actionName="where"),
        )
        assert answer == f"/{name}"
    await session.aclose()
    await runtime.aclose()


async def test_session_facts_log_send_and_events() -> None:
    async with joined(make_canvas()) as it:
        assert it.session.workspace_path == "/workspace"
        assert it.session.capabilities["ui"]["canvases"] is True
        heard: list[str] = []
        told = asyncio.Event()

        async def hear(event: SessionEvent) -> None:
            heard.append(event["type"])
            told.set()

        stop = it.session.on("session.info", hear)
        assert await it.session.log("hello")
        assert await it.session.send("move the card")
        async with asyncio.timeout(5):
            await told.wait()
        stop()
        stop()
        await it.session.log("nobody hears this")
        assert heard == ["session.info"]


async def test_a_listener_that_fails_is_logged_and_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with joined(make_canvas()) as it:

        def fail(event: SessionEvent) -> None:
            raise ValueError("mine")

        heard: list[str] = []
        it.session.on("session.info", fail)
        it.session.on("*", lambda event: heard.append(event["type"]))
        with caplog.at_level(logging.ERROR, "canvas_provider.session"):
            await it.session.log("hello")
        assert "session.info" in heard
        assert "a listener for session.info failed" in caplog.text


async def test_the_canvas_api_reaches_the_runtime_from_inside_a_handler() -> None:
    board = make_canvas()

    @board.action
    async def second(ctx: CanvasContext) -> JSONValue:
        await ctx.session.canvas.open("board", "b2")
        answer: JSONValue = await ctx.session.canvas.invoke("b2", "ping")
        await ctx.session.canvas.close("b2")
        return answer

    @board.action
    async def ping(ctx: CanvasContext) -> str:
        return f"pong of {ctx.instance_id}"

    async with joined(board) as it:
        await it.runtime.open("board", "b1")
        async with asyncio.timeout(5):
            assert await it.runtime.invoke("b1", "second") == "pong of b2"
        assert [each["instanceId"] for each in it.runtime.list_open()] == ["b1"]


async def test_a_lifespan_that_hangs_does_not_hold_up_the_end() -> None:
    board = make_canvas(lifespan=_hanging)
    ours, theirs = memory_pair()
    runtime = Peer(theirs, on_request=_welcome)
    runtime.start()
    session = make_session([board], ours, settings=Settings(shutdown_deadline=0.1))
    await session.join()
    await runtime.request("canvas.open", _call(canvasId="board", instanceId="b1"))
    async with asyncio.timeout(5):
        await session.aclose()
        await runtime.wait_closed()
    await runtime.aclose()


async def _welcome(method: str, params: JSONObject) -> JSONValue:
    return {"sessionId": "s-1"}


def _call(**fields: JSONValue) -> JSONObject:
    return {"sessionId": "s-1", "extensionId": EXTENSION, **fields}


def _lifespan(left: list[str]) -> Any:
    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        yield
        left.append(ctx.instance_id)

    return lifespan


@asynccontextmanager
async def _hanging(ctx: CanvasContext) -> AsyncIterator[None]:
    yield
    await asyncio.Event().wait()
