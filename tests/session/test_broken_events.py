"""Events with any key missing, unknown or of a wrong type: a runtime may be newer, or mistaken.

Whatever comes, no handler sees what its type does not promise, and the session goes on.
"""

from typing import Any, Final

import pytest

from canvas_provider import Hooks, Session, command, tool
from canvas_provider.errors import RemoteError
from canvas_provider.session.command import CommandContext
from canvas_provider.session.tool import ToolContext
from tests.support.broken import mutations
from tests.support.contributions import FakeRuntime, contributing, request_of

EVENTS: Final[dict[str, Any]] = {
    "external_tool.requested": {**request_of("echo", {"text": "a"}), "traceparent": "00-1-2-01"},
    "external_tool.completed": {"requestId": "r-1"},
    "command.execute": {
        "requestId": "r-1",
        "command": "/note it",
        "commandName": "note",
        "args": "it",
    },
    "permission.requested": {
        "requestId": "r-1",
        "permissionRequest": {"kind": "shell", "fullCommandText": "ls", "commands": [{}]},
        "resolvedByHook": False,
    },
    "elicitation.requested": {
        "requestId": "r-1",
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {}},
        "mode": "form",
    },
    "mcp.oauth_required": {
        "requestId": "r-1",
        "serverName": "s",
        "serverUrl": "http://x",
        "reason": "initial",
        "wwwAuthenticateParams": {"scope": "all"},
    },
    "session.idle": {},
}

BASE: Final = {"sessionId": "s-1", "timestamp": 0, "cwd": "/p"}

REQUESTS: Final[dict[str, Any]] = {
    "hooks.invoke": {
        "hookType": "preToolUse",
        "input": {**BASE, "toolName": "x", "toolArgs": {"a": 1}},
    },
    "userInput.request": {"question": "?", "choices": ["a"], "allowFreeform": True},
    "exitPlanMode.request": {"summary": "s", "actions": ["a"], "recommendedAction": "a"},
    "autoModeSwitch.request": {"errorCode": "e", "retryAfterSeconds": 1.5},
}


class Author:
    """Handlers that take their types at their word."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def check(self, holds: bool, what: object) -> None:
        if not holds:
            self.broken.append(repr(what))

    def options(self) -> Any:
        def echo(ctx: ToolContext, text: str) -> str:
            self.check(isinstance(text, str) and isinstance(ctx.tool_call_id, str), ctx)
            self.check(isinstance(ctx.working_directory, str | None), ctx)
            self.check(isinstance(ctx.traceparent, str | None), ctx)
            return text

        def note(ctx: CommandContext) -> None:
            self.check(isinstance(ctx.args, str) and isinstance(ctx.command, str), ctx)

        def permit(asked: Any, session: Session) -> Any:
            self.check(isinstance(asked["kind"], str), asked)
            self.check(isinstance(asked.get("commands", []), list), asked)
            return {"kind": "approve-once"}

        def fill(asked: Any, session: Session) -> Any:
            self.check(isinstance(asked["message"], str), asked)
            self.check(isinstance(asked.get("requestedSchema", {}), dict), asked)
            return {"action": "decline"}

        def authorise(asked: Any, session: Session) -> None:
            self.check(isinstance(asked["serverUrl"], str), asked)

        def answer(asked: Any, session: Session) -> Any:
            self.check(isinstance(asked["question"], str), asked)
            self.check(all(isinstance(one, str) for one in asked.get("choices", [])), asked)
            return {"answer": "x", "wasFreeform": True}

        def leave(asked: Any, session: Session) -> Any:
            self.check(all(isinstance(one, str) for one in asked["actions"]), asked)
            return {"approved": False}

        def switch(asked: Any, session: Session) -> str:
            self.check(isinstance(asked.get("retryAfterSeconds", 0), int | float), asked)
            return "no"

        def before(input: Any, session: Session) -> None:
            self.check(isinstance(input["toolName"], str) and "toolArgs" in input, input)
            self.check(input["timestamp"].tzinfo is not None, input)
            self.check(isinstance(input["workingDirectory"], str), input)

        return {
            "tools": [tool(description="Echo.")(echo)],
            "commands": [command(note)],
            "hooks": Hooks(on_pre_tool_use=before),
            "on_permission_request": permit,
            "on_elicitation_request": fill,
            "on_mcp_auth_request": authorise,
            "on_user_input_request": answer,
            "on_exit_plan_mode_request": leave,
            "on_auto_mode_switch_request": switch,
            "on_event": lambda event: self.check(isinstance(event["type"], str), event),
        }


async def is_alive(runtime: FakeRuntime) -> None:
    """A tool still runs; answers to what came before are passed over."""
    runtime.tell("external_tool.requested", request_of("echo", {"text": "alive"}, "last"))
    while (await runtime.asked())[1].get("result") != "alive":
        pass


@pytest.mark.parametrize("kind", EVENTS)
async def test_no_broken_event_reaches_a_handler_or_ends_the_session(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    author = Author()
    async with contributing(**author.options()) as (runtime, session):
        for number, data in enumerate(mutations(EVENTS[kind])):
            if isinstance(data, dict) and data.get("requestId") == "r-1":
                data["requestId"] = f"r-{number}"  # or it would count as one that runs already
            runtime.tell(kind, data)
        for params in mutations({"sessionId": "s-1", "event": {"type": kind, "data": {}}}):
            runtime.peer.notify("session.event", params)
        await is_alive(runtime)
        assert not session.closed
    assert author.broken == []
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_broken_request_is_refused_or_answered(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    author = Author()
    async with contributing(**author.options()) as (runtime, session):
        for params in mutations(REQUESTS[method]):
            if isinstance(params, dict):
                try:
                    answer = await runtime.ask(method, params)
                except RemoteError as error:
                    assert method != "hooks.invoke"
                    assert error.code == -32602
                else:
                    assert isinstance(answer, dict)
        await is_alive(runtime)
        assert not session.closed
    assert author.broken == []
    assert "Traceback" not in caplog.text
