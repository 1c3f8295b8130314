"""What crosses the wire between Copilot and a canvas extension: method names (`names`), and shapes.

Both directions, as plain TypedDicts: a parsed message *is* its type, so a field nobody here
knows is kept, and one that was absent stays absent. Nothing is validated here.

Sources: the JSON Schemas that ship with the Copilot SDK (`api.schema.json`,
`session-events.schema.json`), copilot-sdk `nodejs/src/{canvas,extension,session}.ts`, and the wire
as observed with Copilot CLI 1.0.102. The runtime marks all of it as experimental.
"""

from typing import Final, Literal, NotRequired, TypedDict

from canvas_provider.protocol.names import CanvasEvent, ContributionEvent, Method
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "PROTOCOL_VERSION",
    "ActionDeclaration",
    "CallParams",
    "CanvasActionInvokeParams",
    "CanvasClosed",
    "CanvasCloseParams",
    "CanvasDeclaration",
    "CanvasEvent",
    "CanvasOpenParams",
    "CanvasOpenResult",
    "CanvasRecorded",
    "CanvasRef",
    "CanvasRegistryChanged",
    "CommandDeclaration",
    "ConnectParams",
    "ConnectResult",
    "ContributionEvent",
    "DiscoveredCanvas",
    "ErrorData",
    "HostCapabilities",
    "HostContext",
    "Method",
    "OpenCanvas",
    "SessionCanvasActionInvokeParams",
    "SessionCanvasCloseParams",
    "SessionCanvasOpenParams",
    "SessionCapabilities",
    "SessionContext",
    "SessionLogParams",
    "SessionResumeParams",
    "SessionResumeResult",
    "SessionSendParams",
    "ToolDeclaration",
    "ToolResultObject",
    "UICapabilities",
]

PROTOCOL_VERSION: Final = 3
"""What `connect` answers with Copilot CLI 1.0.102."""


# --- Declarations


class ActionDeclaration(TypedDict):
    name: str
    description: NotRequired[str]
    inputSchema: NotRequired[JSONValue]
    """JSON Schema; the runtime reads it as draft-07 whatever `$schema` says."""


class CanvasDeclaration(TypedDict):
    id: str
    displayName: str
    description: str
    """One sentence; all the model is told of a canvas before it asks for capabilities."""
    inputSchema: NotRequired[JSONValue]
    icon: NotRequired[str]
    """A `.png`, relative to the folder of `extension.mjs`."""
    actions: NotRequired[list[ActionDeclaration]]


class ToolDeclaration(TypedDict):
    name: str
    """Letters, digits, `_` and `-`."""
    description: NotRequired[str]
    parameters: NotRequired[JSONValue]
    overridesBuiltInTool: NotRequired[bool]
    skipPermission: NotRequired[bool]
    defer: NotRequired[Literal["auto", "never"]]
    metadata: NotRequired[JSONObject]
    namespace: NotRequired[JSONObject]
    isTerminal: NotRequired[bool]


class CommandDeclaration(TypedDict):
    name: str
    """Without the slash."""
    description: str


# --- Handshake


class ConnectParams(TypedDict, total=False):
    supportedTaskKinds: list[str]


class ConnectResult(TypedDict):
    ok: bool
    protocolVersion: int
    version: NotRequired[str]
    taskKinds: NotRequired[list[str]]


class SessionResumeParams(TypedDict):
    """What a joining extension declares. Sent again, it replaces this connection's canvases."""

    sessionId: str
    canvases: NotRequired[list[CanvasDeclaration]]
    tools: NotRequired[list[ToolDeclaration]]
    commands: NotRequired[list[CommandDeclaration]]
    requestPermission: NotRequired[bool]
    requestUserInput: NotRequired[bool]
    requestElicitation: NotRequired[bool]
    requestExitPlanMode: NotRequired[bool]
    requestAutoModeSwitch: NotRequired[bool]
    hooks: NotRequired[bool]
    requestedEnvironmentVariables: NotRequired[list[str]]
    toolFilterPrecedence: NotRequired[str]
    includeSubAgentStreamingEvents: NotRequired[bool]
    envValueMode: NotRequired[str]
    disableResume: NotRequired[bool]
    """True: joining emits no `session.resume` event."""


class UICapabilities(TypedDict, total=False):
    elicitation: bool
    mcpApps: bool
    canvases: bool
    """True if and only if the host asked for a canvas renderer."""


class SessionCapabilities(TypedDict, total=False):
    ui: UICapabilities
    extensions: bool


class SessionResumeResult(TypedDict):
    sessionId: str
    workspacePath: NotRequired[str]
    """A folder of the session's own, absolute."""
    capabilities: NotRequired[SessionCapabilities]
    grantedEnvironmentVariables: NotRequired[dict[str, str]]
    nativeSessionId: NotRequired[str]
    startTime: NotRequired[str]
    isRemote: NotRequired[bool]
    mode: NotRequired[str]
    modelState: NotRequired[JSONObject]


# --- Runtime to provider


class SessionContext(TypedDict, total=False):
    workingDirectory: str


class HostCapabilities(TypedDict, total=False):
    canvases: bool


class HostContext(TypedDict, total=False):
    capabilities: HostCapabilities


class CallParams(TypedDict):
    """What every callback of the runtime carries."""

    sessionId: str
    extensionId: str
    canvasId: str
    instanceId: str
    session: NotRequired[SessionContext]
    host: NotRequired[HostContext]
    """In the schema; never sent by Copilot CLI 1.0.102."""


class CanvasOpenParams(CallParams):
    input: NotRequired[JSONValue]
    """Absent if the caller gave none; an explicit null arrives as null."""


class CanvasCloseParams(CallParams):
    """Sent only for an explicit close: not for reload, disconnect or exit."""


class CanvasActionInvokeParams(CallParams):
    actionName: str
    input: NotRequired[JSONValue]


class CanvasOpenResult(TypedDict, total=False):
    url: str
    title: str
    status: str


class ErrorData(TypedDict):
    """`error.data` of a provider's answer. The CLI drops it; other hosts may keep it."""

    code: str
    message: str


class ToolResultObject(TypedDict):
    """A result the runtime shows the model as bare text, if both required keys are there."""

    textResultForLlm: str
    resultType: Literal["success", "failure"]
    error: NotRequired[str]
    sessionLog: NotRequired[str]
    binaryResultsForLlm: NotRequired[list[JSONObject]]


# --- session.canvas.*


class DiscoveredCanvas(TypedDict):
    extensionId: str
    canvasId: str
    displayName: str
    description: str
    extensionName: NotRequired[str]
    icon: NotRequired[str]
    """An absolute path here, relative in the declaration."""
    inputSchema: NotRequired[JSONValue]
    actions: NotRequired[list[ActionDeclaration]]


class OpenCanvas(TypedDict):
    instanceId: str
    extensionId: str
    canvasId: str
    extensionName: NotRequired[str]
    icon: NotRequired[str]
    title: NotRequired[str]
    status: NotRequired[str]
    url: NotRequired[str]
    input: NotRequired[JSONValue]


class SessionCanvasOpenParams(TypedDict):
    sessionId: str
    canvasId: str
    instanceId: str
    extensionId: NotRequired[str]
    """Needed only where several providers declare the same `canvasId`."""
    input: NotRequired[JSONValue]


class SessionCanvasCloseParams(TypedDict):
    sessionId: str
    instanceId: str


class SessionCanvasActionInvokeParams(TypedDict):
    sessionId: str
    instanceId: str
    actionName: str
    input: NotRequired[JSONValue]


class SessionLogParams(TypedDict):
    sessionId: str
    message: str
    level: NotRequired[Literal["info", "warning", "error"]]
    ephemeral: NotRequired[bool]


class SessionSendParams(TypedDict):
    sessionId: str
    prompt: str
    mode: NotRequired[Literal["enqueue", "immediate"]]
    attachments: NotRequired[list[JSONObject]]


# --- Events


class CanvasRegistryChanged(TypedDict):
    canvases: list[DiscoveredCanvas]


class CanvasRef(TypedDict):
    """Data of `unavailable` and `removed`."""

    instanceId: str
    extensionId: str
    canvasId: str


class CanvasClosed(CanvasRef):
    """Data of `closed`."""


class CanvasRecorded(CanvasRef):
    """Data of `recorded`: enough to open the instance again, without its URL."""

    title: NotRequired[str]
    input: NotRequired[JSONValue]
