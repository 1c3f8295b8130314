"""What the runtime asks a person, and an extension may answer instead.

Names and fields are those of copilot-sdk (`nodejs/src/types.ts`). Unknown fields are kept.
"""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "AutoModeSwitchRequest",
    "AutoModeSwitchResponse",
    "ElicitationRequest",
    "ExitPlanModeRequest",
    "ExitPlanModeResult",
    "McpAuthRequest",
    "McpAuthToken",
    "PermissionDecision",
    "PermissionRequest",
    "UserInputRequest",
    "UserInputResponse",
]


class PermissionRequest(TypedDict):
    """What the agent wants to do. `kind` says which of the other fields there are."""

    kind: str
    """`shell`, `write`, `read`, `mcp`, `url`, `memory`, `custom-tool`, `hook` and others."""
    toolCallId: NotRequired[str]
    intention: NotRequired[str]
    fullCommandText: NotRequired[str]
    commands: NotRequired[list[Any]]
    fileName: NotRequired[str]
    diff: NotRequired[str]
    path: NotRequired[str]
    url: NotRequired[str]
    serverName: NotRequired[str]
    toolName: NotRequired[str]
    toolTitle: NotRequired[str]
    toolDescription: NotRequired[str]
    args: NotRequired[Any]
    readOnly: NotRequired[bool]
    managedApprovalRequired: NotRequired[bool]
    """True: policy wants a person to decide."""


class PermissionDecision(TypedDict):
    """The first answer counts, whoever gives it: an extension, or the host's user."""

    kind: Literal[
        "approve-once",
        "approve-for-session",
        "approve-for-location",
        "approve-permanently",
        "reject",
        "user-not-available",
        "no-result",
    ]
    """`no-result` leaves it to others."""
    feedback: NotRequired[str]
    """With `reject`, for the model."""
    approval: NotRequired[dict[str, Any]]
    """With `approve-for-session` and `approve-for-location`: what is to be remembered."""
    locationKey: NotRequired[str]
    domain: NotRequired[str]


class UserInputRequest(TypedDict):
    """A question of the agent (its tool `ask_user`)."""

    question: str
    choices: NotRequired[list[str]]
    allowFreeform: NotRequired[bool]
    """Whether another text than a choice is welcome; absent: it is."""


class UserInputResponse(TypedDict):
    answer: str
    wasFreeform: bool
    """Whether it is none of the choices."""


class ElicitationRequest(TypedDict):
    """A form to be filled in, or a page to be visited."""

    message: str
    requestedSchema: NotRequired[dict[str, Any]]
    mode: NotRequired[str]
    """`form` (also when absent) or `url`."""
    elicitationSource: NotRequired[str]
    """Who asks, such as the name of an MCP server."""
    url: NotRequired[str]


class ExitPlanModeRequest(TypedDict):
    summary: str
    planContent: NotRequired[str]
    actions: list[str]
    """What can be chosen: `autopilot`, `interactive`, `exit_only` and others."""
    recommendedAction: str


class ExitPlanModeResult(TypedDict):
    approved: bool
    selectedAction: NotRequired[str]
    feedback: NotRequired[str]


class AutoModeSwitchRequest(TypedDict):
    errorCode: NotRequired[str]
    retryAfterSeconds: NotRequired[float]


AutoModeSwitchResponse = Literal["yes", "yes_always", "no"]


class McpAuthRequest(TypedDict):
    """An MCP server wants a token."""

    requestId: str
    serverName: str
    serverUrl: str
    reason: str
    """`initial`, `refresh`, `reauth` or `upscope`."""
    wwwAuthenticateParams: NotRequired[dict[str, Any]]
    resourceMetadata: NotRequired[str]
    staticClientConfig: NotRequired[dict[str, Any]]


class McpAuthToken(TypedDict):
    accessToken: str
    tokenType: NotRequired[str]
    expiresIn: NotRequired[int]
    """Seconds."""
