"""Hooks: what a handler gets, and that its mistakes are no worse than no hook."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from canvas_provider import CanvasError, DeclarationError, Hooks, Session
from canvas_provider.errors import RemoteError
from canvas_provider.protocol.hooks import (
    AgentStopHookInput,
    PreToolUseHookInput,
    PreToolUseHookOutput,
)
from canvas_provider.session.contributions import Contributions
from canvas_provider.types import JSONObject
from tests.support.contributions import FakeRuntime, contributing

WIRE: JSONObject = {
    "sessionId": "s-1",
    "timestamp": 1_796_083_430_177,
    "cwd": "/project",
    "toolName": "bash",
    "toolArgs": {"command": "ls"},
}


async def invoke(runtime: FakeRuntime, name: str, input: Any) -> Any:
    return await runtime.ask("hooks.invoke", {"hookType": name, "input": input})


async def test_a_hook_gets_the_names_of_the_sdk_and_its_answer_goes_out() -> None:
    seen: list[Any] = []

    async def look(input: PreToolUseHookInput, session: Session) -> PreToolUseHookOutput:
        seen.append((input, session))
        return {"permissionDecision": "deny", "permissionDecisionReason": "not today"}

    async with contributing(hooks=Hooks(on_pre_tool_use=look)) as (runtime, session):
        assert runtime.declared["hooks"] is True
        answer = await invoke(runtime, "preToolUse", {**WIRE, "new": 1, "cwd": "/project"})
    assert answer == {
        "output": {"permissionDecision": "deny", "permissionDecisionReason": "not today"}
    }
    expected = {
        "sessionId": "s-1",
        "timestamp": datetime(2026, 12, 1, 0, 3, 50, 177000, tzinfo=UTC),
        "workingDirectory": "/project",
        "toolName": "bash",
        "toolArgs": {"command": "ls"},
        "new": 1,
    }
    assert seen == [(expected, session)]


async def test_renamed_and_optional_fields_are_read() -> None:
    seen: list[Any] = []

    def stop(input: AgentStopHookInput, session: Session) -> None:
        seen.append(input)

    async def wrong(input: Any, session: Session) -> None:
        seen.append(input)

    hooks = Hooks(on_agent_stop=stop, on_error_occurred=wrong)
    base = {"sessionId": "s-1", "timestamp": 0, "cwd": "/p"}
    async with contributing(hooks=hooks) as (runtime, _):
        stopped = {**base, "stop_hook_active": True, "transcriptPath": None}
        assert await invoke(runtime, "agentStop", stopped) == {}
        error = {"name": "Error", "message": "no model", "stack": "..."}
        failed = {**base, "error": error, "errorContext": "model_call", "recoverable": False}
        assert await invoke(runtime, "errorOccurred", failed) == {}
    assert seen[0]["stopHookActive"] is True
    assert "transcriptPath" not in seen[0]
    assert seen[1]["error"] == "no model"


@pytest.mark.parametrize(
    "outcome",
    [
        ValueError("password hunter"),
        CanvasError("no", "Not today."),
        SystemExit(1),
        {"permissionDecision": "perhaps"},
        {"additionalContext": 7},
        "deny",
        {"modifiedArgs": len},
        {"modifiedArgs": float("nan")},
    ],
    ids=repr,
)
async def test_a_hook_that_fails_is_logged_and_counts_as_none(
    outcome: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(input: PreToolUseHookInput, session: Session) -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async with contributing(hooks=Hooks(on_pre_tool_use=fail)) as (runtime, _):
        assert await invoke(runtime, "preToolUse", WIRE) == {}
    assert "hook preToolUse failed" in caplog.text


async def test_a_field_that_copilot_may_not_know_goes_out_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(input: PreToolUseHookInput, session: Session) -> Any:
        return {"permisionDecision": "deny"}

    async with contributing(hooks=Hooks(on_pre_tool_use=answer)) as (runtime, _):
        said = await invoke(runtime, "preToolUse", WIRE)
        assert said == {"output": {"permisionDecision": "deny"}}
    assert "may not know permisionDecision" in caplog.text


@pytest.mark.parametrize("name", ["preToolUse", "preCompact", 7])
async def test_a_hook_that_nobody_has_is_answered_with_nothing(name: Any) -> None:
    def stop(input: AgentStopHookInput, session: Session) -> None:
        pytest.fail("not asked")

    async with contributing(hooks=Hooks(on_agent_stop=stop)) as (runtime, _):
        assert await invoke(runtime, name, WIRE) == {}


async def test_without_hooks_nothing_is_declared_and_nothing_answers() -> None:
    async with contributing(hooks=Hooks(), on_event=lambda event: None) as (runtime, _):
        assert "hooks" not in runtime.declared
        assert await invoke(runtime, "preToolUse", WIRE) == {}
    async with contributing(on_event=lambda event: None) as (runtime, _):
        with pytest.raises(RemoteError, match="Unhandled"):
            await invoke(runtime, "preToolUse", WIRE)


async def test_inputs_reach_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def look(input: PreToolUseHookInput, session: Session) -> Any:
        return {"additionalContext": ["hush"]}

    async with contributing(hooks=Hooks(on_pre_tool_use=look)) as (runtime, _):
        await invoke(runtime, "preToolUse", {**WIRE, "toolArgs": "hush"})
        await invoke(runtime, "preToolUse", {**WIRE, "toolName": ["hush"]})
    assert "hush" not in caplog.text


def test_what_is_no_hook_is_refused_by_name() -> None:
    with pytest.raises(DeclarationError, match=r"'hooks.on_agent_stop'.*\(asked, session\)"):
        Hooks(on_agent_stop=lambda input: None)  # type: ignore[arg-type,misc]
    with pytest.raises(DeclarationError, match="'hooks.on_agent_stop'.*no function"):
        Hooks(on_agent_stop="stop")  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match=r"'hooks'.*Hooks\("):
        Contributions(hooks={"on_agent_stop": print})  # type: ignore[arg-type]
