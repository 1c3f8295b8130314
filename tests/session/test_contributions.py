"""What a join takes besides canvases and callables."""

import asyncio
import json
import logging
import os
from typing import Any

import pytest

from canvas_provider import DeclarationError, Hooks, JoinError, Session, create_canvas, tool
from canvas_provider.config import Settings
from canvas_provider.errors import RemoteError
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.handshake import Handshake
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import Connection
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.contributions import SESSION, FakeRuntime, contributing
from tests.support.sessions import NoWeb, joined

SECRET = "CANVAS_TEST_SECRET"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of these tests are gone afterwards, whoever sets them."""
    for name in (SECRET, "CANVAS_TEST_OTHER"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


async def test_granted_variables_are_there_when_the_join_is_done(
    environment: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def grant(runtime: FakeRuntime) -> None:
        granted: Any = {SECRET: "hush", "CANVAS_TEST_OTHER": "not asked for"}
        runtime.joining = {"grantedEnvironmentVariables": granted}

    async with contributing(prepare=grant, requested_environment_variables=[SECRET, "NOT_SET"]) as (
        runtime,
        session,
    ):
        assert runtime.declared["requestedEnvironmentVariables"] == [SECRET, "NOT_SET"]
        assert os.environ[SECRET] == "hush"
        assert "CANVAS_TEST_OTHER" not in os.environ
        assert "hush" not in repr(vars(session)) + caplog.text


@pytest.mark.parametrize("granted", [None, [], "x", {SECRET: 7}, {SECRET: None}])
async def test_a_grant_of_another_shape_sets_nothing(environment: None, granted: Any) -> None:
    def grant(runtime: FakeRuntime) -> None:
        runtime.joining = {"grantedEnvironmentVariables": granted}

    async with contributing(prepare=grant, requested_environment_variables=[SECRET]):
        assert SECRET not in os.environ


@pytest.mark.parametrize("value", ["hush\0", "hush\ud800"])
async def test_a_value_that_no_environment_can_hold_is_a_join_error_that_names_it(
    environment: None, value: str
) -> None:
    def dumps(message: JSONValue) -> bytes:
        return json.dumps(message).encode()  # as JavaScript does, with half of a surrogate pair

    runtime = FakeRuntime()
    runtime.joining = {"grantedEnvironmentVariables": {SECRET: value}}
    contributions = Contributions(requested_environment_variables=[SECRET])
    handshake = Handshake.begin([], contributions, session_id=SESSION, settings=Settings())
    ours, theirs = memory_pair()
    runtime.peer = Peer(theirs, on_request=runtime.serve, connection=Connection(dumps=dumps))
    runtime.peer.start()
    session = Session(handshake, ours, NoWeb())
    with pytest.raises(JoinError, match=f"granted a value of {SECRET} that") as raised:
        await session.join()
    assert "hush" not in str(raised.value)
    assert raised.value.__suppress_context__
    assert session.closed
    assert SECRET not in os.environ
    await runtime.peer.aclose()


async def test_a_join_that_is_cancelled_leaves_no_session_open() -> None:
    async def never(method: str, params: JSONObject) -> JSONValue:
        await asyncio.Event().wait()
        return None

    contributions = Contributions(requested_environment_variables=[SECRET])
    handshake = Handshake.begin([], contributions, session_id=SESSION, settings=Settings())
    ours, theirs = memory_pair()
    peer = Peer(theirs, on_request=never)
    peer.start()
    session = Session(handshake, ours, NoWeb())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await session.join()
    assert session.closed
    await peer.aclose()


async def test_a_denial_is_a_join_error() -> None:
    def deny(runtime: FakeRuntime) -> None:
        runtime.refusal = RemoteError(-32603, "was denied environment access")

    with pytest.raises(JoinError, match="denied environment access"):
        async with contributing(prepare=deny, requested_environment_variables=[SECRET]):
            pytest.fail("it has joined")


@pytest.mark.parametrize("names", [SECRET, ["A=B"], [""], ["1A"], [7], 7, ["A" * 129]])
def test_names_of_variables_are_checked(names: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Contributions(requested_environment_variables=names)
    assert raised.value.field == "requested_environment_variables"


async def test_on_event_hears_every_event() -> None:
    seen: list[str] = []
    async with contributing(on_event=lambda event: seen.append(event["type"])) as (runtime, _):
        runtime.tell("session.idle", {})
        runtime.tell("something.new", None)
        with pytest.raises(RemoteError):
            await runtime.ask("no.such.method", {})
    assert seen == ["session.idle", "something.new"]


async def test_further_options_go_as_they_are() -> None:
    options = {"systemMessage": {"mode": "append", "content": "Be kind."}}
    async with contributing(options=options, disable_resume=False) as (runtime, _):
        assert runtime.declared == {
            "sessionId": "s-1",
            "canvases": [],
            "requestPermission": False,
            "disableResume": False,
            **options,
        }


@pytest.mark.parametrize("options", [{"tools": []}, {"sessionId": "x"}, {"a": object()}, []])
def test_an_option_that_has_an_argument_or_is_no_json_is_refused(options: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Contributions(options=options)
    assert raised.value.field == "options"


def test_a_listener_that_is_no_function_is_refused() -> None:
    with pytest.raises(DeclarationError, match="on_event"):
        Contributions(on_event="print")  # type: ignore[arg-type]


async def test_a_host_that_knows_canvases_only_takes_an_extension_with_more() -> None:
    """The development host: it declares nothing of it, and asks for nothing of it."""

    async def never(asked: Any, session: Session) -> None:
        pytest.fail("not asked")

    @tool
    async def greet() -> str:
        """Greet."""
        return "Hello."

    contributions = Contributions(
        tools=[greet],
        hooks=Hooks(on_agent_stop=never),
        on_mcp_auth_request=never,
        requested_environment_variables=[SECRET],
    )
    board = create_canvas(id="board", display_name="Board", description="A board.")
    async with joined(board, contributions=contributions) as it:
        opened = await it.runtime.open("board", "b1")
        assert opened["canvasId"] == "board"
        assert SECRET not in os.environ
    async with joined(contributions=contributions) as it:
        assert it.session.joined
        assert await it.session.canvas.list() == []


@pytest.mark.parametrize("given", [{}, {"tools": []}, {"disable_resume": False}])
def test_something_has_to_be_contributed(given: Any) -> None:
    with pytest.raises(DeclarationError, match="nothing to contribute"):
        Handshake.begin((), Contributions(**given), session_id="s-1", settings=Settings())
