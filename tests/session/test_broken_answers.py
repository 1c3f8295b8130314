"""Answers, events and callbacks with any key missing or of a wrong type, and who asked or listens.

Whatever comes: what an author gets is what its type promises, or an error of this package.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from canvas_provider import CanvasContext, Session, create_canvas
from canvas_provider.errors import InvalidAnswer, JoinError, RemoteError, TurnFailed, Unsupported
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.broken import mutations
from tests.support.sessions import EXTENSION, make_session

DIALOGS: Final = {"ui": {"elicitation": True, "canvases": True}}

OPEN: Final[JSONObject] = {
    "instanceId": "p",
    "extensionId": "project:x",
    "canvasId": "c",
    "title": "T",
}


class Host:
    """A runtime that answers whatever a test puts in `answers`."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.canvas = create_canvas(id="c", display_name="C", description="A canvas.")
        self.seen: list[CanvasContext] = []
        self.canvas.action(self.look)

    async def look(self, ctx: CanvasContext) -> str:
        """Look."""
        directory = ctx.session.working_directory
        assert directory is None or isinstance(directory, str)
        assert isinstance(ctx.host, dict)
        return "seen"

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        resumed = {"sessionId": "s-1", "capabilities": DIALOGS}
        answer: JSONValue = self.answers.get(method, resumed if method == "session.resume" else {})
        return answer

    async def __aenter__(self) -> "Host":
        ours, theirs = memory_pair()
        self.peer = Peer(theirs, on_request=self.answer)
        self.peer.start()
        self.session = make_session([self.canvas], ours)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.session.aclose()
        await self.peer.aclose()

    def tell(self, kind: Any, data: Any) -> None:
        event = {"type": kind, "data": data}
        self.peer.notify("session.event", {"sessionId": "s-1", "event": event})

    async def settle(self) -> None:
        """Wait until the session has heard everything."""
        async with asyncio.timeout(5):
            await self.session.rpc("mode.get")


def is_capabilities(value: Any) -> bool:
    ui = value.get("ui", {})
    flags = (ui.get("elicitation", False), ui.get("canvases", False))
    return isinstance(value, dict) and all(isinstance(flag, bool) for flag in flags)


def is_open(value: Any) -> bool:
    return all(isinstance(value[name], str) for name in ("instanceId", "extensionId", "canvasId"))


def is_extension(value: Any) -> bool:
    return all(isinstance(value[name], str) for name in ("id", "name", "source", "status"))


Ask = Callable[[Session], Awaitable[Any]]

ASKED: Final[dict[str, tuple[JSONValue, Ask, Callable[[Any], bool]]]] = {
    "session.log": ({"eventId": "e"}, lambda s: s.log("x"), lambda said: isinstance(said, str)),
    "session.send": ({"messageId": "m"}, lambda s: s.send("x"), lambda said: isinstance(said, str)),
    "session.getMessages": (
        {"events": [{"type": "x", "data": {}, "id": "i", "parentId": None, "ephemeral": True}]},
        lambda s: s.messages(),
        lambda said: all(isinstance(each["data"], dict) and each["type"] for each in said),
    ),
    "session.model.switchTo": (
        {"modelId": "m"}, lambda s: s.set_model("m"), lambda said: isinstance(said, dict),
    ),
    "session.model.switchAutoTier": (
        {"x": 1}, lambda s: s.set_auto_tier("a"), lambda said: isinstance(said, dict),
    ),
    "session.extensions.list": (
        {"extensions": [{"id": "i", "name": "n", "source": "s", "status": "running"}]},
        lambda s: s.extensions.list(),
        lambda said: all(map(is_extension, said)),
    ),
    "session.ui.elicitation": (
        {"action": "accept", "content": {"confirmed": True, "selection": "a", "value": "b"}},
        lambda s: asyncio.gather(
            s.ui.confirm("?"), s.ui.select("?", ["a"]), s.ui.input("?"), s.ui.elicitation("?", {})
        ),
        lambda said: isinstance(said[0], bool)
        and all(isinstance(each, str | None) for each in said[1:3])
        and isinstance(said[3].get("content", {}), dict),
    ),
    "session.canvas.list": (
        {"canvases": [{"extensionId": "project:x", "canvasId": "c"}]},
        lambda s: s.canvas.list(),
        lambda said: all(isinstance(each["canvasId"], str) for each in said),
    ),
    "session.canvas.listOpen": (
        {"openCanvases": [OPEN]}, lambda s: s.canvas.list_open(), lambda s: all(map(is_open, s)),
    ),
    "session.canvas.open": (OPEN, lambda s: s.canvas.open("c", "p"), is_open),
    "session.canvas.action.invoke": (
        {"result": 1}, lambda s: s.canvas.invoke("p", "act"), lambda said: True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ASKED)
async def test_what_was_asked_is_what_its_type_promises_or_an_error_of_ours(method: str) -> None:
    answer, ask, is_promised = ASKED[method]
    async with Host() as host, asyncio.timeout(20):
        await host.session.join()
        host.answers[method] = answer
        assert is_promised(await ask(host.session))
        for broken in mutations(answer):
            host.answers[method] = broken
            try:
                said = await ask(host.session)
            except InvalidAnswer:
                assert method.startswith("session.canvas.")
            else:
                assert is_promised(said), broken


async def test_a_join_stands_whatever_its_answer_says() -> None:
    resumed = {
        "sessionId": "s-1",
        "workspacePath": "/w",
        "capabilities": DIALOGS,
        "grantedEnvironmentVariables": {"CANVAS_TEST": "x"},
    }
    for broken in mutations(resumed):
        async with Host() as host, asyncio.timeout(5):
            host.answers["session.resume"] = broken
            await host.session.join()
            assert isinstance(host.session.workspace_path, str | None)
            assert is_capabilities(host.session.capabilities)


async def test_what_the_host_can_do_is_what_its_type_promises_after_any_event() -> None:
    async with Host() as host, asyncio.timeout(20):
        await host.session.join()
        host.answers["session.ui.elicitation"] = {"action": "accept", "content": {}}
        for data in mutations(DIALOGS):
            host.tell("capabilities.changed", data)
            await host.settle()
            assert is_capabilities(host.session.capabilities)
            try:
                assert await host.session.ui.confirm("?") is False
            except Unsupported:
                assert host.session.capabilities["ui"]["elicitation"] is False
                host.tell("capabilities.changed", DIALOGS)


TURN: Final[dict[str, JSONObject]] = {
    "user.message": {"messageId": "m1", "delivery": "idle"},
    "assistant.message": {"content": "Done.", "originatingMessageId": "m1"},
    "session.idle": {"mode": "interactive", "aborted": False},
    "session.error": {"errorType": "quota", "message": "No.", "originatingMessageId": "m1"},
}


@pytest.mark.parametrize("kind", TURN)
async def test_a_turn_that_is_waited_for_ends_as_promised_after_any_event(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Host() as host, asyncio.timeout(30):
        await host.session.join()
        host.answers["session.send"] = {"messageId": "m1"}
        heard: list[Any] = []
        host.session.on("*", heard.append)
        with host.session.events(kind) as stream:  # type: ignore[arg-type]
            for data in mutations(TURN[kind]):
                waiting = asyncio.ensure_future(host.session.send_and_wait("Go."))
                await host.settle()
                host.tell("user.message", TURN["user.message"])
                host.tell(kind, data)
                host.tell("assistant.message", TURN["assistant.message"])
                host.tell("session.idle", {})
                try:
                    reply = await waiting
                except TurnFailed as failure:
                    assert kind == "session.error"
                    assert isinstance(failure.kind, str)
                    assert isinstance(failure.message, str)
                else:
                    assert reply is None or isinstance(reply["data"]["content"], str)
                assert isinstance((await anext(stream))["data"], dict)
        assert all(isinstance(event["data"], dict) for event in heard)
    assert caplog.text == ""


@pytest.mark.parametrize("method", ["canvas.open", "canvas.action.invoke", "canvas.close"])
async def test_a_callback_of_the_runtime_is_answered_or_refused(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    call: JSONObject = {
        "sessionId": "s-1",
        "extensionId": EXTENSION,
        "canvasId": "c",
        "instanceId": "p",
        "session": {"workingDirectory": "/w"},
        "host": {"capabilities": {"canvases": True}},
    }
    asked = {**call, "actionName": "look"} if method == "canvas.action.invoke" else call
    async with Host() as host, asyncio.timeout(20):
        await host.session.join()
        for broken in mutations(asked):
            if not isinstance(broken, dict):
                continue  # refused by JSON-RPC itself
            await host.peer.request("canvas.open", call)
            try:
                await host.peer.request(method, broken)
            except RemoteError as refusal:
                assert "failed" not in refusal.message, broken
    assert "Traceback" not in caplog.text


async def test_a_refusal_of_any_shape_is_one_error() -> None:
    """What a runtime says in its refusals is text, whatever it sends."""
    async with Host() as host, asyncio.timeout(5):

        async def refuse(method: str, params: JSONObject) -> JSONValue:
            raise RemoteError(-32603, "", {"x": [None]})

        host.peer._on_request = refuse
        with pytest.raises(JoinError, match="refused this extension"):
            await host.session.join()
