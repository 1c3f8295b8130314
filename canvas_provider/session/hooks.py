"""`Hooks`: an author's functions at fixed points of a session, each by its name in the Node SDK."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from canvas_provider.protocol import hooks as wire
from canvas_provider.session.requests import check_handler

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

__all__ = ["Hooks"]

Asked = TypeVar("Asked")
Said = TypeVar("Said")

Hook: TypeAlias = Callable[[Asked, "Session"], Said | None | Awaitable[Said | None]]
"""Called with the input and the session; `def` in a thread. None: nothing to say."""


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What is called when. Copilot asks its user for approval while the extension loads.

    Each is `async def` or `def` of the input, a dict, and the `Session`. It answers with a dict, or
    with nothing. The types are in `canvas_provider.protocol.hooks`. What a hook raises is logged,
    and so is an answer that is none; Copilot goes on as if there were no hook.

    Copilot waits for a hook as long as it takes (150 s, observed with Copilot CLI 1.0.102).
    """

    on_pre_tool_use: Hook[wire.PreToolUseHookInput, wire.PreToolUseHookOutput] | None = None
    """Before a tool runs; can deny it, or change its arguments."""

    on_pre_mcp_tool_call: (
        Hook[wire.PreMcpToolCallHookInput, wire.PreMcpToolCallHookOutput] | None
    ) = None
    """Before a tool of an MCP server is called; can change the metadata of the request."""

    on_post_tool_use: Hook[wire.PostToolUseHookInput, wire.PostToolUseHookOutput] | None = None
    """After a tool has succeeded; can change what the model reads."""

    on_post_tool_use_failure: (
        Hook[wire.PostToolUseFailureHookInput, wire.PostToolUseFailureHookOutput] | None
    ) = None
    """After a tool has failed."""

    on_user_prompt_submitted: (
        Hook[wire.UserPromptSubmittedHookInput, wire.UserPromptSubmittedHookOutput] | None
    ) = None
    """After a prompt was sent; can change it."""

    on_user_prompt_transformed: (
        Hook[wire.UserPromptTransformedHookInput, wire.UserPromptTransformedHookOutput] | None
    ) = None
    """After Copilot has added to a prompt what the model is to know."""

    on_session_start: Hook[wire.SessionStartHookInput, wire.SessionStartHookOutput] | None = None
    """With the first prompt of a session."""

    on_session_end: Hook[wire.SessionEndHookInput, wire.SessionEndHookOutput] | None = None
    """Before Copilot ends; it kills the process 1 s later."""

    on_error_occurred: Hook[wire.ErrorOccurredHookInput, wire.ErrorOccurredHookOutput] | None = None
    """After a failure, such as of the model."""

    on_agent_stop: Hook[wire.AgentStopHookInput, wire.AgentStopHookOutput] | None = None
    """When the agent has come to its end; can make it go on. Comes for sub-agents, too, with an
    `agentId`."""

    on_subagent_start: Hook[wire.SubagentStartHookInput, wire.SubagentStartHookOutput] | None = None
    """Before a sub-agent begins; can tell it more."""

    on_subagent_stop: Hook[wire.SubagentStopHookInput, wire.SubagentStopHookOutput] | None = None
    """When a sub-agent is done; can make it go on, or change what it reports."""

    def __post_init__(self) -> None:
        for field in fields(self):
            handler = getattr(self, field.name)
            if handler is not None:
                check_handler(handler, f"hooks.{field.name}")

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))
