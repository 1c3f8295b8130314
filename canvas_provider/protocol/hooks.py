"""What crosses the wire for hooks, as an author's handler sees it.

Names and fields are those of copilot-sdk (`nodejs/src/types.ts`): where the wire of Copilot CLI
1.0.102 says `cwd`, `stop_hook_active`, milliseconds or an error object, the SDKs say
`workingDirectory`, `stopHookActive`, a time and a text, and so do we. Unknown fields are kept.
"""

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "AgentStopHookInput",
    "AgentStopHookOutput",
    "BaseHookInput",
    "ErrorOccurredHookInput",
    "ErrorOccurredHookOutput",
    "PostToolUseFailureHookInput",
    "PostToolUseFailureHookOutput",
    "PostToolUseHookInput",
    "PostToolUseHookOutput",
    "PreMcpToolCallHookInput",
    "PreMcpToolCallHookOutput",
    "PreToolUseHookInput",
    "PreToolUseHookOutput",
    "SessionEndHookInput",
    "SessionEndHookOutput",
    "SessionStartHookInput",
    "SessionStartHookOutput",
    "SubagentStartHookInput",
    "SubagentStartHookOutput",
    "SubagentStopHookInput",
    "SubagentStopHookOutput",
    "UserPromptSubmittedHookInput",
    "UserPromptSubmittedHookOutput",
    "UserPromptTransformedHookInput",
    "UserPromptTransformedHookOutput",
]


class BaseHookInput(TypedDict):
    sessionId: str
    """The session in which it happened; for a sub-agent it is another than ours."""
    timestamp: datetime
    """Aware, in UTC."""
    workingDirectory: str
    agentId: NotRequired[str]
    """Of the sub-agent; absent for the main one."""
    agentType: NotRequired[str]
    parentAgentId: NotRequired[str]


class PreToolUseHookInput(BaseHookInput):
    toolName: str
    toolArgs: Any


class PreToolUseHookOutput(TypedDict, total=False):
    permissionDecision: Literal["allow", "deny", "ask"]
    permissionDecisionReason: str
    """The model reads it of a denial."""
    modifiedArgs: Any
    additionalContext: str
    suppressOutput: bool


class PreMcpToolCallHookInput(BaseHookInput):
    toolCallId: NotRequired[str]
    serverName: str
    toolName: str
    arguments: Any
    _meta: NotRequired[dict[str, Any]]


class PreMcpToolCallHookOutput(TypedDict, total=False):
    metaToUse: dict[str, Any] | None
    """Replaces the request's `_meta`; None leaves it out."""


class PostToolUseHookInput(BaseHookInput):
    toolName: str
    toolArgs: Any
    toolResult: Any
    """A `ToolResultObject`: `textResultForLlm`, `resultType` and more."""


class PostToolUseHookOutput(TypedDict, total=False):
    modifiedResult: dict[str, Any]
    """A `ToolResultObject`."""
    additionalContext: str
    suppressOutput: bool


class PostToolUseFailureHookInput(BaseHookInput):
    toolName: str
    toolArgs: Any
    error: str


class PostToolUseFailureHookOutput(TypedDict, total=False):
    additionalContext: str


class UserPromptSubmittedHookInput(BaseHookInput):
    prompt: str


class UserPromptSubmittedHookOutput(TypedDict, total=False):
    modifiedPrompt: str
    additionalContext: str
    suppressOutput: bool


class UserPromptTransformedHookInput(BaseHookInput):
    prompt: str
    transformedPrompt: str
    """With what the runtime has added, before the model and the history get it."""


class UserPromptTransformedHookOutput(TypedDict, total=False):
    modifiedTransformedPrompt: str


class SessionStartHookInput(BaseHookInput):
    source: str
    """`startup`, `resume` or `new`."""
    initialPrompt: NotRequired[str]


class SessionStartHookOutput(TypedDict, total=False):
    additionalContext: str
    modifiedConfig: dict[str, Any]


class SessionEndHookInput(BaseHookInput):
    reason: str
    """`complete`, `error`, `abort`, `timeout` or `user_exit`."""
    finalMessage: NotRequired[str]
    error: NotRequired[str]


class SessionEndHookOutput(TypedDict, total=False):
    suppressOutput: bool
    cleanupActions: list[str]
    sessionSummary: str


class ErrorOccurredHookInput(BaseHookInput):
    error: str
    errorContext: str
    """`model_call`, `tool_execution`, `system` or `user_input`."""
    recoverable: bool


class ErrorOccurredHookOutput(TypedDict, total=False):
    suppressOutput: bool
    errorHandling: Literal["retry", "skip", "abort"]
    retryCount: int
    userNotification: str


class AgentStopHookInput(BaseHookInput):
    stopReason: NotRequired[str]
    transcriptPath: NotRequired[str]
    stopHookActive: NotRequired[bool]
    """True: the agent goes on because of a `block`. Do not block forever."""


class AgentStopHookOutput(TypedDict, total=False):
    decision: Literal["block"]
    """The agent goes on, with `reason` as its next prompt."""
    reason: str


class SubagentStartHookInput(BaseHookInput):
    transcriptPath: NotRequired[str]
    agentName: str
    agentDisplayName: NotRequired[str]
    agentDescription: NotRequired[str]


class SubagentStartHookOutput(TypedDict, total=False):
    additionalContext: str
    """Stands before the sub-agent's first prompt."""


class SubagentStopHookInput(SubagentStartHookInput):
    stopReason: NotRequired[str]
    response: NotRequired[str]
    """The sub-agent's last message."""


class SubagentStopHookOutput(TypedDict, total=False):
    decision: Literal["block", "allow"]
    """`block`: the sub-agent goes on, with `reason` as its next prompt."""
    reason: str
    modifiedResponse: str
    """What the main agent is told instead."""
