"""What a person is asked, answered by handlers; some of it comes as events."""

from typing import Any

import pytest

from canvas_provider import CanvasError, DeclarationError, Session
from canvas_provider.errors import RemoteError
from canvas_provider.protocol.questions import (
    ElicitationRequest,
    ExitPlanModeRequest,
    ExitPlanModeResult,
    McpAuthRequest,
    McpAuthToken,
    PermissionDecision,
    PermissionRequest,
    UserInputRequest,
    UserInputResponse,
)
from canvas_provider.protocol.requests import ElicitationResult
from canvas_provider.session.contributions import Contributions
from tests.support.contributions import contributing

PERMISSION = {
    "requestId": "p-1",
    "permissionRequest": {"kind": "shell", "fullCommandText": "ls", "toolCallId": None},
}
ANSWER_PERMISSION = "session.permissions.handlePendingPermissionRequest"


async def test_each_handler_is_declared_by_its_flag() -> None:
    def never(asked: Any, session: Session) -> Any:
        pytest.fail("not asked")

    async with contributing(
        on_permission_request=never,
        on_user_input_request=never,
        on_elicitation_request=never,
        on_exit_plan_mode_request=never,
        on_auto_mode_switch_request=never,
    ) as (runtime, _):
        flags = {name for name, value in runtime.declared.items() if value is True}
        assert flags == {
            *("requestPermission", "requestUserInput", "requestElicitation"),
            *("requestExitPlanMode", "requestAutoModeSwitch", "disableResume"),
        }


async def test_questions_are_answered() -> None:
    async def answer(asked: UserInputRequest, session: Session) -> UserInputResponse:
        return {"answer": asked["choices"][0], "wasFreeform": False}

    def leave(asked: ExitPlanModeRequest, session: Session) -> ExitPlanModeResult:
        return {"approved": True, "selectedAction": asked["recommendedAction"]}

    async def switch(asked: Any, session: Session) -> Any:
        return "yes" if asked["retryAfterSeconds"] > 60 else "no"

    async with contributing(
        on_user_input_request=answer,
        on_exit_plan_mode_request=leave,
        on_auto_mode_switch_request=switch,
    ) as (runtime, _):
        question: Any = {"question": "Which?", "choices": ["red", "blue"]}
        assert await runtime.ask("userInput.request", question) == {
            "answer": "red",
            "wasFreeform": False,
        }
        plan: Any = {"summary": "S", "actions": ["interactive"], "recommendedAction": "interactive"}
        assert await runtime.ask("exitPlanMode.request", plan) == {
            "approved": True,
            "selectedAction": "interactive",
        }
        limit: Any = {"errorCode": "limited", "retryAfterSeconds": 100}
        assert await runtime.ask("autoModeSwitch.request", limit) == {"response": "yes"}


async def test_a_failing_answer_is_an_error_that_leaks_nothing() -> None:
    outcomes: list[Any] = [
        CanvasError("busy", "Ask me later."),
        ValueError("it is hunter"),
        {"answer": 7, "wasFreeform": "hunter"},
        None,
    ]

    async def answer(asked: UserInputRequest, session: Session) -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async with contributing(on_user_input_request=answer) as (runtime, _):
        with pytest.raises(RemoteError, match=r"^Ask me later\.$"):
            await runtime.ask("userInput.request", {"question": "?"})
        while outcomes:
            with pytest.raises(RemoteError, match="failed unexpectedly") as raised:
                await runtime.ask("userInput.request", {"question": "?"})
            assert "hunter" not in str(raised.value)
        with pytest.raises(RemoteError, match="question"):
            await runtime.ask("userInput.request", {"question": 7})
        with pytest.raises(RemoteError, match="Unhandled"):
            await runtime.ask("exitPlanMode.request", {})


async def test_permission_is_decided_or_left_to_others() -> None:
    decisions: list[Any] = [
        {"kind": "approve-once"},
        {"kind": "no-result"},
        {"kind": "reject", "feedback": "Not on a Monday."},
        {"kind": "perhaps"},
        CanvasError("x", "X."),
    ]

    def decide(asked: PermissionRequest, session: Session) -> PermissionDecision:
        assert asked == {"kind": "shell", "fullCommandText": "ls"}
        decision = decisions.pop(0)
        if isinstance(decision, Exception):
            raise decision
        return decision  # type: ignore[no-any-return]

    async with contributing(on_permission_request=decide) as (runtime, _):
        results = []
        while decisions:
            ignored = decisions[0] == {"kind": "no-result"}
            runtime.tell("permission.requested", PERMISSION)
            if ignored:
                runtime.tell("permission.requested", PERMISSION)
            method, params = await runtime.asked()
            assert (method, params["requestId"]) == (ANSWER_PERMISSION, "p-1")
            results.append(params["result"])
    assert results == [
        {"kind": "approve-once"},
        {"kind": "reject", "feedback": "Not on a Monday."},
        {"kind": "user-not-available"},
        {"kind": "user-not-available"},
    ]


async def test_permission_that_a_hook_has_decided_is_not_asked_for_again() -> None:
    asked_for: list[str] = []

    def decide(asked: PermissionRequest, session: Session) -> PermissionDecision:
        asked_for.append(asked["kind"])
        return {"kind": "approve-once"}

    async with contributing(on_permission_request=decide) as (runtime, _):
        decided = {"requestId": "p-0", "permissionRequest": {"kind": "write"}}
        runtime.tell("permission.requested", {**decided, "resolvedByHook": True})
        runtime.tell("permission.requested", PERMISSION)
        assert (await runtime.asked())[1]["requestId"] == "p-1"
    assert asked_for == ["shell"]


async def test_forms_are_filled_in_or_cancelled() -> None:
    async def fill(asked: ElicitationRequest, session: Session) -> ElicitationResult:
        if asked["message"] == "broken":
            raise ValueError
        return {"action": "accept", "content": {"hue": "green"}}

    async with contributing(on_elicitation_request=fill) as (runtime, _):
        for message in ("hue", "broken"):
            runtime.tell("elicitation.requested", {"requestId": "e-1", "message": message})
        answers = [await runtime.asked() for _ in range(2)]
    assert {method for method, _ in answers} == {"session.ui.handlePendingElicitation"}
    assert [params["result"] for _, params in answers] == [
        {"action": "accept", "content": {"hue": "green"}},
        {"action": "cancel"},
    ]


async def test_tokens_are_given_or_not() -> None:
    outcomes: list[Any] = [{"accessToken": "t", "expiresIn": 60}, None, {"token": "t"}]

    async def authorise(asked: McpAuthRequest, session: Session) -> McpAuthToken | None:
        return outcomes.pop(0)  # type: ignore[no-any-return]

    asked = {"requestId": "m-1", "serverName": "s", "serverUrl": "http://x", "reason": "initial"}
    async with contributing(on_mcp_auth_request=authorise) as (runtime, _):
        method, params = await runtime.asked()
        assert method == "session.eventLog.registerInterest"
        assert params["eventType"] == "mcp.oauth_required"
        results = []
        for _ in range(3):
            runtime.tell("mcp.oauth_required", asked)
            method, params = await runtime.asked()
            assert method == "session.mcp.oauth.handlePendingRequest"
            results.append(params["result"])
    assert results == [
        {"kind": "token", "accessToken": "t", "expiresIn": 60},
        {"kind": "cancelled"},
        {"kind": "cancelled"},
    ]


@pytest.mark.parametrize(
    "option", ["on_permission_request", "on_user_input_request", "on_mcp_auth_request"]
)
def test_what_is_no_handler_is_refused_by_name(option: Any) -> None:
    handlers: list[Any] = ["yes", lambda asked: None, dict]
    for handler in handlers:
        given: dict[str, Any] = {option: handler}
        with pytest.raises(DeclarationError) as raised:
            Contributions(**given)
        assert raised.value.field == option
