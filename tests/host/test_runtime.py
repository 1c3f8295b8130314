"""The embedded runtime, driven over memory by a provider written in the test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from canvas_provider.errors import ConnectionClosed, RemoteError
from canvas_provider.host.link import Message, ProviderLink
from canvas_provider.host.runtime import HostRefusal, Runtime
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair

Answer = Callable[[str, JSONObject], Awaitable[JSONValue]]

BOARD: JSONValue = {
    "id": "board",
    "displayName": "Board",
    "description": "Tasks.",
    "actions": [{"name": "move"}, {"name": "wait"}],
}


class Provider:
    """The far end: records what it is told and answers with `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[tuple[str, JSONObject]] = []
        self.notices: list[tuple[str, JSONObject]] = []

    async def serve(self, method: str, params: JSONObject) -> JSONValue:
        self.calls.append((method, params))
        return await self.answer(method, params)

    def notice(self, method: str, params: JSONValue) -> None:
        self.notices.append((method, cast(JSONObject, params)))

    def events(self) -> list[str]:
        return [cast(str, cast(JSONObject, params["event"])["type"]) for _, params in self.notices]


async def answer_plainly(method: str, params: JSONObject) -> JSONValue:
    if method == "canvas.open":
        return {"url": "http://127.0.0.1:1/t/", "title": "My board"}
    return {"did": params.get("actionName")}


@pytest.fixture
async def runtime() -> AsyncIterator[Runtime]:
    async with Runtime(
        working_directory="/work", workspace_path="/space", session_id="s1"
    ) as runtime:
        yield runtime


@asynccontextmanager
async def connected(
    runtime: Runtime, provider: Provider, extension_id: str = "project:demo"
) -> AsyncIterator[tuple[Peer, ProviderLink]]:
    near, far = memory_pair()
    link = await runtime.attach(near, extension_id=extension_id, extension_name="demo")
    peer = Peer(far, on_request=provider.serve, on_notification=provider.notice)
    peer.start()
    try:
        yield peer, link
    finally:
        await peer.aclose()
        await link.wait_closed()


@asynccontextmanager
async def joined(
    runtime: Runtime, provider: Provider, canvas: JSONValue = BOARD, id: str = "project:demo"
) -> AsyncIterator[Peer]:
    async with connected(runtime, provider, id) as (peer, link):
        await peer.request("session.resume", {"sessionId": "s1", "canvases": [canvas]})
        await link.wait_joined()
        yield peer


async def test_joining_answers_with_the_session_and_makes_the_canvas_known(
    runtime: Runtime,
) -> None:
    """Specification: facts 1.1."""
    async with asyncio.timeout(5), connected(runtime, Provider(answer_plainly)) as (peer, link):
        assert await peer.request("connect", {}) == {"ok": True, "protocolVersion": 3}
        params: JSONObject = {"sessionId": "s1", "canvases": [BOARD], "disableResume": True}
        reply = await peer.request("session.resume", params)
        await link.wait_joined()
        assert isinstance(reply, dict)
        assert reply["sessionId"] == "s1"
        assert reply["workspacePath"] == "/space"
        assert reply["capabilities"] == {
            "ui": {"elicitation": False, "mcpApps": False, "canvases": True},
            "extensions": False,
        }
        assert [canvas["canvasId"] for canvas in runtime.list()] == ["board"]


async def test_opening_invoking_and_closing_reach_the_provider(runtime: Runtime) -> None:
    provider = Provider(answer_plainly)
    async with asyncio.timeout(5), joined(runtime, provider):
        opened = await runtime.open("board", "one", {"k": 1})
        assert opened == {
            "instanceId": "one",
            "extensionId": "project:demo",
            "extensionName": "demo",
            "canvasId": "board",
            "title": "My board",
            "url": "http://127.0.0.1:1/t/",
            "input": {"k": 1},
        }
        assert await runtime.invoke("one", "move", {"to": 2}) == {"did": "move"}
        await runtime.close("one")
        assert runtime.list_open() == []
    session: JSONObject = {"session": {"workingDirectory": "/work"}, "sessionId": "s1"}
    reference: JSONObject = {
        "extensionId": "project:demo",
        "canvasId": "board",
        "instanceId": "one",
    }
    assert provider.calls == [
        ("canvas.open", {**reference, **session, "input": {"k": 1}}),
        (
            "canvas.action.invoke",
            {**reference, **session, "actionName": "move", "input": {"to": 2}},
        ),
        ("canvas.close", {**reference, **session}),
    ]


async def test_the_provider_hears_of_every_event_after_it_has_joined(runtime: Runtime) -> None:
    """Specification: facts section 7, "the extension receives every session event"."""
    provider = Provider(answer_plainly)
    async with asyncio.timeout(5), joined(runtime, provider) as peer:
        await runtime.open("board", "one")
        await runtime.close("one")
        await peer.request("session.canvas.list", {"sessionId": "s1"})
    assert provider.events() == [
        "session.canvas.registry_changed",
        "session.canvas.opened",
        "session.canvas.recorded",
        "session.canvas.closed",
        "session.canvas.removed",
    ]


async def test_who_has_not_joined_hears_of_nothing(runtime: Runtime) -> None:
    early = Provider(answer_plainly)
    async with (
        asyncio.timeout(5),
        connected(runtime, early, "project:early") as (peer, _),
        joined(runtime, Provider(answer_plainly)),
    ):
        await runtime.open("board", "one")
        await peer.request("connect", {})
    assert early.notices == []


async def test_an_event_names_the_last_one_that_stays_as_its_parent(runtime: Runtime) -> None:
    """Specification: recorded from Copilot CLI 1.0.102: ephemeral events are no parents."""
    events: list[SessionEvent] = []
    runtime.subscribe(events.append)
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)):
        await runtime.open("board", "one")
        await runtime.close("one")
    _, opened, recorded, closed, removed, *_ = events
    assert [event.get("ephemeral") for event in (opened, recorded, closed, removed)] == [
        True,
        None,
        True,
        None,
    ]
    assert (opened["parentId"], recorded["parentId"]) == (None, None)
    assert (closed["parentId"], removed["parentId"]) == (recorded["id"], recorded["id"])


async def test_only_the_message_of_an_error_reaches_the_caller(runtime: Runtime) -> None:
    """Specification: facts 4.1."""

    async def fail(method: str, params: JSONObject) -> JSONValue:
        raise RemoteError(-32000, "There is no card 'é'.\nReally.", {"code": "card_not_found"})

    async with asyncio.timeout(5), joined(runtime, Provider(fail)):
        with pytest.raises(HostRefusal) as refusal:
            await runtime.open("board", "one")
    assert str(refusal.value) == (
        "Request session.canvas.open failed with message: There is no card 'é'.\nReally."
    )
    assert refusal.value.message == "There is no card 'é'.\nReally."
    assert refusal.value.data == {"code": "card_not_found"}


async def test_a_provider_that_dies_during_a_call_fails_it(runtime: Runtime) -> None:
    """Specification: facts 4.2."""
    asked = asyncio.Event()

    async def hang(method: str, params: JSONObject) -> JSONValue:
        if method == "canvas.open":
            return None
        asked.set()
        await asyncio.Event().wait()
        return None

    async with asyncio.timeout(5), joined(runtime, Provider(hang)) as peer:
        await runtime.open("board", "one")
        invoking = asyncio.create_task(runtime.invoke("one", "move"))
        await asked.wait()
        closing = asyncio.create_task(peer.aclose())
        with pytest.raises(HostRefusal, match=r"failed with message: .+"):
            await invoking
        await closing


async def test_instances_open_again_before_the_returning_provider_has_its_answer(
    runtime: Runtime,
) -> None:
    """Specification: facts 5.4, and the latest input is sent."""
    async with asyncio.timeout(5):
        async with joined(runtime, Provider(answer_plainly)):
            await runtime.open("board", "one", {"k": 1})
            await runtime.open("board", "one", {"k": 99})
        assert runtime.list_open() == []
        with pytest.raises(HostRefusal, match="cannot be reached"):
            await runtime.invoke("one", "move")

        order: list[str] = []

        async def note(method: str, params: JSONObject) -> JSONValue:
            order.append(f"{method} {params.get('input')}")
            return None

        returned = Provider(note)
        async with joined(runtime, returned) as peer:
            order.append("resumed")
            await peer.request("session.canvas.list", {"sessionId": "s1"})
            assert order == ["canvas.open {'k': 99}", "resumed"]
            assert [each["instanceId"] for each in runtime.list_open()] == ["one"]


async def test_a_rejected_declaration_answers_the_provider_and_those_who_wait(
    runtime: Runtime,
) -> None:
    async with asyncio.timeout(5), connected(runtime, Provider(answer_plainly)) as (peer, link):
        with pytest.raises(RemoteError, match="missing field `description`") as error:
            await peer.request(
                "session.resume",
                {"sessionId": "s1", "canvases": [{"id": "a", "displayName": "A"}]},
            )
        assert error.value.code == -32603
        with pytest.raises(HostRefusal, match="missing field `description`"):
            await link.wait_joined()


async def test_a_provider_that_ends_before_it_joins_is_reported(runtime: Runtime) -> None:
    async with asyncio.timeout(5):
        async with connected(runtime, Provider(answer_plainly)) as (_, link):
            pass
        with pytest.raises(ConnectionClosed):
            await link.wait_joined()


async def test_a_provider_can_use_the_session_from_inside_a_handler(runtime: Runtime) -> None:
    """Specification: facts 3.8 and section 7: no deadlock."""

    async def reopen(method: str, params: JSONObject) -> JSONValue:
        if method == "canvas.open":
            return {"title": "Again"}
        base: JSONObject = {"sessionId": "s1", "instanceId": params["instanceId"]}
        opened = await peer.request("session.canvas.open", {**base, "canvasId": "board"})
        listed = await peer.request("session.canvas.listOpen", {"sessionId": "s1"})
        assert isinstance(listed, dict)
        assert listed["openCanvases"] == [opened]
        moved = (
            await peer.request("session.canvas.action.invoke", {**base, "actionName": "wait"})
            if params["actionName"] == "move"
            else None
        )
        return moved

    provider = Provider(reopen)
    async with asyncio.timeout(5), joined(runtime, provider) as peer:
        await runtime.open("board", "one")
        assert await runtime.invoke("one", "move") == {"result": None}
        assert (
            await peer.request("session.canvas.close", {"sessionId": "s1", "instanceId": "one"})
            is None
        )


async def test_log_and_send_become_events(runtime: Runtime) -> None:
    """Specification: facts section 7. Ours: no model answers a prompt."""
    seen: list[tuple[str, JSONValue]] = []
    unsubscribe = runtime.subscribe(lambda event: seen.append((event["type"], event["data"])))
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)) as peer:
        seen.clear()
        logged = await peer.request(
            "session.log", {"sessionId": "s1", "message": "careful", "level": "warning"}
        )
        sent = await peer.request("session.send", {"sessionId": "s1", "prompt": "Go on."})
        unsubscribe()
        await peer.request("session.log", {"sessionId": "s1", "message": "unseen"})
    assert isinstance(logged, dict)
    assert isinstance(sent, dict)
    assert set(logged) == {"eventId"}
    assert set(sent) == {"messageId"}
    assert seen == [
        ("session.warning", {"warningType": "notification", "message": "careful"}),
        ("user.message", {"content": "Go on.", "messageId": sent["messageId"]}),
        ("session.idle", {"mode": "interactive"}),
    ]


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("session.nope", {"sessionId": "s1"}, -32601, "Unhandled method session.nope"),
        (
            "session.log",
            {"message": "x"},
            -32603,
            "Request session.log failed with message: Missing sessionId in session.log request",
        ),
        (
            "session.canvas.list",
            {"sessionId": "zz"},
            -32603,
            "Request session.canvas.list failed with message: Session not found for sessionId: zz",
        ),
        (
            "session.canvas.open",
            {"sessionId": "s1"},
            -32603,
            (
                "Request session.canvas.open failed with message: "
                "invalid canvas.open params: missing field `canvasId`"
            ),
        ),
        (
            "session.canvas.open",
            {"sessionId": "s1", "canvasId": "board", "instanceId": "a", "extensionId": 5},
            -32603,
            (
                "Request session.canvas.open failed with message: "
                "invalid canvas.open params: invalid type: integer `5`, expected a string"
            ),
        ),
        (
            "session.canvas.close",
            {"sessionId": "s1", "instanceId": 5},
            -32603,
            (
                "Request session.canvas.close failed with message: "
                "missing or non-string parameter 'instanceId'"
            ),
        ),
        (
            "session.canvas.action.invoke",
            {"sessionId": "s1", "instanceId": "q"},
            -32603,
            (
                "Request session.canvas.action.invoke failed with message: "
                "invalid canvas.action.invoke params: missing field `actionName`"
            ),
        ),
        (
            "session.log",
            {"sessionId": "s1", "message": 5},
            -32603,
            "Request session.log failed with message: missing parameter 'message'",
        ),
        (
            "session.log",
            {"sessionId": "s1", "message": "x", "level": "bad"},
            -32603,
            "Request session.log failed with message: unsupported session log level: bad",
        ),
    ],
)
async def test_a_request_the_session_cannot_serve_is_refused_in_the_runtimes_words(
    runtime: Runtime, method: str, params: JSONObject, code: int, message: str
) -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)) as peer:
        with pytest.raises(RemoteError) as error:
            await peer.request(method, params)
    assert error.value.code == code
    assert error.value.message == message


async def test_the_tap_sees_both_directions_as_they_were_on_the_wire(runtime: Runtime) -> None:
    tapped: list[Message] = []
    unsubscribe = runtime.subscribe_messages(tapped.append)
    async with asyncio.timeout(5), connected(runtime, Provider(answer_plainly)) as (peer, _):
        await peer.request("connect", {})
        unsubscribe()
        await peer.request("connect", {})
    assert [(each.extension_id, each.direction) for each in tapped] == [
        ("project:demo", "in"),
        ("project:demo", "out"),
    ]
    assert b'"connect"' in tapped[0].body


async def test_input_that_json_cannot_carry_is_refused_and_nothing_breaks(
    runtime: Runtime,
) -> None:
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)):
        with pytest.raises(HostRefusal, match="JSON"):
            await runtime.open("board", "one", {"x": float("nan")})
        await runtime.open("board", "one")


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
async def test_an_answer_that_cannot_be_passed_on_is_an_error(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """JSON may hold half a character; our own peer never writes one, others may."""

    async def half(method: str, params: JSONValue = None) -> JSONValue:
        return {"title": text}

    async with connected(runtime, Provider(answer_plainly)) as (peer, link):
        await peer.request("session.resume", {"sessionId": "s1", "canvases": [BOARD]})
        await runtime.open("board", "one")
        monkeypatch.setattr(link.peer, "request", half)
        with pytest.raises(HostRefusal, match="not valid JSON"):
            await runtime.invoke("one", "move")
        with pytest.raises(HostRefusal, match="not valid JSON"):
            await runtime.open("board", "two")
        assert [each["instanceId"] for each in runtime.list_open()] == ["one"]


async def test_two_connections_cannot_have_one_extension_id(runtime: Runtime) -> None:
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)):
        near, _ = memory_pair()
        with pytest.raises(HostRefusal, match="already connected"):
            await runtime.attach(near, extension_id="project:demo", extension_name="demo")


async def test_a_caller_who_gives_up_leaves_the_provider_undisturbed(runtime: Runtime) -> None:
    """Specification: facts section 8: a host that drops its request sends nothing."""
    asked, release = asyncio.Event(), asyncio.Event()

    async def slow(method: str, params: JSONObject) -> JSONValue:
        asked.set()
        await release.wait()
        return None

    provider = Provider(slow)
    async with asyncio.timeout(5), joined(runtime, provider):
        opening = asyncio.create_task(runtime.open("board", "one"))
        await asked.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        again = asyncio.create_task(runtime.open("board", "one"))
        release.set()
        await again
        assert [method for method, _ in provider.calls] == ["canvas.open"]


async def test_a_caller_may_give_up_in_the_moment_of_the_answer(runtime: Runtime) -> None:
    async with asyncio.timeout(5), joined(runtime, Provider(answer_plainly)):
        opening = asyncio.create_task(runtime.open("board", "one"))

        def give_up(event: SessionEvent) -> None:
            """Events are told right before the answer is given."""
            opening.cancel()

        runtime.subscribe(give_up)
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert len(runtime.list_open()) == 1
