"""Calls of our hooks: from the names of the wire to those of the SDKs, and back."""

import logging
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from canvas_provider.errors import CanvasError, HandlerError
from canvas_provider.protocol import hooks as wire
from canvas_provider.session.hooks import Hooks
from canvas_provider.session.runner import Runner
from canvas_provider.session.shape import Shape
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["HookCalls"]

logger = logging.getLogger("canvas_provider.session")


class _Kind(NamedTuple):
    option: str
    input: Any
    output: Any


_KINDS: Final = {
    "preToolUse": _Kind("on_pre_tool_use", wire.PreToolUseHookInput, wire.PreToolUseHookOutput),
    "preMcpToolCall": _Kind(
        "on_pre_mcp_tool_call", wire.PreMcpToolCallHookInput, wire.PreMcpToolCallHookOutput
    ),
    "postToolUse": _Kind("on_post_tool_use", wire.PostToolUseHookInput, wire.PostToolUseHookOutput),
    "postToolUseFailure": _Kind(
        "on_post_tool_use_failure",
        wire.PostToolUseFailureHookInput,
        wire.PostToolUseFailureHookOutput,
    ),
    "userPromptSubmitted": _Kind(
        "on_user_prompt_submitted",
        wire.UserPromptSubmittedHookInput,
        wire.UserPromptSubmittedHookOutput,
    ),
    "userPromptTransformed": _Kind(
        "on_user_prompt_transformed",
        wire.UserPromptTransformedHookInput,
        wire.UserPromptTransformedHookOutput,
    ),
    "sessionStart": _Kind(
        "on_session_start", wire.SessionStartHookInput, wire.SessionStartHookOutput
    ),
    "sessionEnd": _Kind("on_session_end", wire.SessionEndHookInput, wire.SessionEndHookOutput),
    "errorOccurred": _Kind(
        "on_error_occurred", wire.ErrorOccurredHookInput, wire.ErrorOccurredHookOutput
    ),
    "subagentStart": _Kind(
        "on_subagent_start", wire.SubagentStartHookInput, wire.SubagentStartHookOutput
    ),
    "subagentStop": _Kind(
        "on_subagent_stop", wire.SubagentStopHookInput, wire.SubagentStopHookOutput
    ),
    "agentStop": _Kind("on_agent_stop", wire.AgentStopHookInput, wire.AgentStopHookOutput),
}
"""Each hook's name on the wire."""


class HookCalls:
    """The hooks of one session."""

    def __init__(self, hooks: Hooks, runner: Runner) -> None:
        self._hooks = hooks
        self._runner = runner
        self._shapes: dict[str, tuple[Shape, Shape]] = {}

    async def invoke(self, params: JSONObject) -> JSONValue:
        """Answer `hooks.invoke`. Whatever goes wrong, the answer is that of no hook."""
        name, given = params.get("hookType"), params.get("input")
        kind = _KINDS.get(name) if isinstance(name, str) else None
        handler = None if kind is None else getattr(self._hooks, kind.option)
        if kind is None or handler is None or not isinstance(given, dict):
            return {}
        taken, said = self._shapes.setdefault(str(name), (Shape(kind.input), Shape(kind.output)))
        asked = taken.drop_nulls(_translate(given))
        if (misfit := taken.find_misfit(asked)) is not None:
            logger.warning("hook %s was not called: %s", name, misfit)
            return {}
        try:
            output = await self._runner.ask(f"hook {name}", handler, asked, said, optional=True)
        except HandlerError:
            return {}  # it is logged
        except CanvasError as error:
            logger.error("hook %s failed: %s", name, error)
            return {}
        return {} if output is None else {"output": output}


def _translate(given: JSONObject) -> JSONObject:
    """From the wire's names to those of the SDKs."""
    translated: dict[str, Any] = dict(given)
    for ours, theirs in (("workingDirectory", "cwd"), ("stopHookActive", "stop_hook_active")):
        if theirs in translated:
            translated[ours] = translated.pop(theirs)
    milliseconds = translated.get("timestamp")
    try:
        translated["timestamp"] = datetime.fromtimestamp(cast(float, milliseconds) / 1000, tz=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        translated["timestamp"] = datetime.now(UTC)
    error = translated.get("error")
    if isinstance(error, dict):  # the types of the SDKs say text
        message = error.get("message")
        translated["error"] = message if isinstance(message, str) else ""
    return translated
