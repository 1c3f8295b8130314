"""What crosses the wire between an Agent Host Protocol host and its clients, as far as canvases go.

The base that a host or client of canvases needs, and the released canvas part: `CanvasReference`,
`CanvasState`, `chat/canvasesChanged`, `canvas/stateChanged`. Plain TypedDicts, as in
`protocol.copilot`: a parsed message *is* its type, what nobody here knows is kept, and what was
absent stays absent. Nothing is validated here. The registry of canvas types and the commands that
open and dispose are in `protocol.ahp_canvases`, because not each of their names is confirmed.

Sources: microsoft/agent-host-protocol, `types/` and `docs/specification/` at 34627952, 0383429738
and 47503039 (1.0.0 and 1.1.0 in development); the reference page of the Canvas channel; the AHP
host of Copilot CLI 1.0.102 as observed.
"""

from enum import IntEnum, StrEnum
from typing import Final, Literal, NotRequired, TypedDict

from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "ROOT",
    "SUPPORTED_VERSIONS",
    "Action",
    "ActionEnvelope",
    "ActionOrigin",
    "ActionType",
    "AgentInfo",
    "CanvasReference",
    "CanvasState",
    "ChannelParams",
    "ChatState",
    "ChatSummary",
    "ClientInfo",
    "DispatchActionParams",
    "ErrorCode",
    "InitializeParams",
    "InitializeResult",
    "ListSessionsParams",
    "ListSessionsResult",
    "Method",
    "ReconnectParams",
    "ReconnectReplay",
    "ReconnectResult",
    "ReconnectSnapshots",
    "ResourceReadParams",
    "ResourceReadResult",
    "RootNotification",
    "RootState",
    "Scheme",
    "SessionState",
    "SessionNotificationParams",
    "SessionStatus",
    "SessionSummary",
    "Snapshot",
    "SubscribeResult",
]

ROOT: Final = "ahp-root://"
"""The channel that every host has. Requests that concern no other one carry it."""

SUPPORTED_VERSIONS: Final = ("1.1.0", "1.0.0")
"""What we speak, most preferred first. 0.9 has no canvases and is refused."""


class Scheme(StrEnum):
    """How the URIs of channels begin. The rest of a URI is opaque."""

    ROOT = "ahp-root"
    SESSION = "ahp-session"
    CHAT = "ahp-chat"
    CANVAS = "ahp-canvas"


class Method(StrEnum):
    """Every method of the base, by direction. Of canvases: `ahp_canvases.CanvasMethod`."""

    # Client to host: requests.
    PING = "ping"
    INITIALIZE = "initialize"
    RECONNECT = "reconnect"
    SUBSCRIBE = "subscribe"
    LIST_SESSIONS = "listSessions"

    # Requests in both directions.
    RESOURCE_READ = "resourceRead"

    # Client to host: notifications.
    UNSUBSCRIBE = "unsubscribe"
    DISPATCH_ACTION = "dispatchAction"

    # Host to client: notifications.
    ACTION = "action"


class RootNotification(StrEnum):
    """Host to client, on the root channel. They are never replayed."""

    SESSION_ADDED = "root/sessionAdded"
    SESSION_REMOVED = "root/sessionRemoved"
    SESSION_SUMMARY_CHANGED = "root/sessionSummaryChanged"


class ActionType(StrEnum):
    """The `type` of the actions that our reducers know. Of the registry: `ahp_canvases`."""

    SESSION_READY = "session/ready"
    SESSION_CHAT_ADDED = "session/chatAdded"
    SESSION_CHAT_REMOVED = "session/chatRemoved"
    SESSION_CHAT_UPDATED = "session/chatUpdated"
    CHAT_CANVASES_CHANGED = "chat/canvasesChanged"
    """Server only: the complete list of live canvases."""
    CANVAS_STATE_CHANGED = "canvas/stateChanged"
    """Server only: the complete state of the canvas."""


class ErrorCode(IntEnum):
    """JSON-RPC error codes: the protocol's own (`types/common/errors.ts`), and the standard's."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603

    SESSION_NOT_FOUND = -32001
    PROVIDER_NOT_FOUND = -32002
    SESSION_ALREADY_EXISTS = -32003
    TURN_IN_PROGRESS = -32004
    UNSUPPORTED_PROTOCOL_VERSION = -32005
    """`data.supportedVersions` names those that would do."""
    AUTH_REQUIRED = -32007
    """`data.resources` names what to authenticate for."""
    NOT_FOUND = -32008
    PERMISSION_DENIED = -32009
    ALREADY_EXISTS = -32010
    CONFLICT = -32011
    TCP_CONNECTION_OPEN_FAILED = -32012


# --- State


class CanvasReference(TypedDict):
    """All that a chat says of a canvas: the channel that tells the rest."""

    resource: str
    """An `ahp-canvas:` URI. This, not `instanceId`, is the identity of a canvas in AHP."""


class CanvasState(TypedDict):
    """The state of an `ahp-canvas:` channel."""

    instanceId: str
    """What the provider calls it."""
    extensionId: str
    """Opaque."""
    extensionName: NotRequired[str]
    canvasId: str
    title: NotRequired[str]
    status: NotRequired[str]
    url: NotRequired[str]
    """Absent while the source is unavailable. A secret: never logged, never persisted."""


class ChatSummary(TypedDict):
    """A chat as its session lists it."""

    resource: str
    title: str
    status: int
    modifiedAt: str
    origin: NotRequired[JSONObject]


class ChatState(TypedDict):
    """The state of an `ahp-chat:` channel, as far as canvases need it."""

    resource: str
    title: str
    status: int
    modifiedAt: str
    turns: list[JSONObject]
    canvases: NotRequired[list[CanvasReference]]
    """The live ones, in the order in which they were opened; absent when there are none."""
    canvasRegistry: NotRequired[JSONObject]
    """`ahp_canvases.CanvasRegistry`; absent: not materialized, or unavailable now."""


class SessionStatus(IntEnum):
    """Bits of `status`, of sessions and chats."""

    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24
    READ = 32
    ARCHIVED = 64


class SessionSummary(TypedDict):
    """A session as `listSessions` and the root's notifications tell of it."""

    resource: str
    provider: str
    title: str
    status: int
    createdAt: str
    """ISO 8601, as are all times."""
    modifiedAt: str
    workingDirectories: NotRequired[list[str]]
    chats: NotRequired[list[ChatSummary]]
    defaultChat: NotRequired[str]


class SessionState(TypedDict):
    """The state of a session's channel."""

    provider: str
    title: str
    status: int
    lifecycle: Literal["creating", "ready", "failed"]
    activeClients: list[JSONObject]
    chats: list[ChatSummary]
    defaultChat: NotRequired[str]


class AgentInfo(TypedDict):
    provider: str
    displayName: str
    description: str
    models: list[JSONObject]
    capabilities: NotRequired[JSONObject]
    """What is present is supported, whatever it holds (`{}`)."""


class RootState(TypedDict):
    """The state of the root channel."""

    agents: list[AgentInfo]


class Snapshot(TypedDict):
    """The state of a channel. Every later action of it has a greater `serverSeq`."""

    resource: str
    state: JSONObject
    fromSeq: int


# --- Messages. Each params object carries the channel that it is about.


class ChannelParams(TypedDict):
    """Of `ping`, `subscribe` and `unsubscribe`."""

    channel: str


class ClientInfo(TypedDict):
    """For readers; nothing may depend on it. `serverInfo` has the same shape."""

    name: str
    version: NotRequired[str]
    title: NotRequired[str]


class InitializeParams(ChannelParams):
    """The first request of a connection."""

    protocolVersions: list[str]
    """Most preferred first."""
    clientId: str
    clientInfo: NotRequired[ClientInfo]
    initialSubscriptions: NotRequired[list[str]]
    locale: NotRequired[str]
    capabilities: NotRequired[JSONObject]
    _meta: NotRequired[JSONObject]


class InitializeResult(TypedDict):
    protocolVersion: str
    """One of those that were offered, verbatim."""
    serverSeq: int
    snapshots: list[Snapshot]
    serverInfo: NotRequired[ClientInfo]
    _meta: NotRequired[JSONObject]


class SubscribeResult(TypedDict):
    snapshot: NotRequired[Snapshot]


class Action(TypedDict):
    """What a reducer takes. The rest of its keys depend on its type."""

    type: str


class ActionOrigin(TypedDict):
    """Whose dispatch it answers; absent where the host itself is the origin."""

    clientId: str
    clientSeq: int


class ActionEnvelope(ChannelParams):
    """Params of `action`."""

    action: JSONObject
    serverSeq: int
    origin: NotRequired[ActionOrigin]
    rejectionReason: NotRequired[str]
    """Present: the action changes nothing."""


class DispatchActionParams(ChannelParams):
    clientSeq: int
    action: JSONObject


class ReconnectParams(ChannelParams):
    clientId: str
    lastSeenServerSeq: int
    subscriptions: list[str]


class ReconnectReplay(TypedDict):
    """What was missed, in order."""

    type: Literal["replay"]
    actions: list[ActionEnvelope]
    missing: list[str]
    """Channels that cannot be resumed."""


class ReconnectSnapshots(TypedDict):
    """Too much was missed: this is how things are now."""

    type: Literal["snapshot"]
    snapshots: list[Snapshot]


ReconnectResult = ReconnectReplay | ReconnectSnapshots


class ListSessionsParams(ChannelParams):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListSessionsResult(TypedDict):
    items: list[SessionSummary]
    """The most recent first."""
    nextCursor: NotRequired[str]


class ResourceReadParams(ChannelParams):
    uri: str
    encoding: NotRequired[Literal["utf-8", "base64"]]


class ResourceReadResult(TypedDict):
    data: str
    encoding: Literal["utf-8", "base64"]
    """What is no text has to be base64."""
    contentType: NotRequired[str]


class SessionNotificationParams(ChannelParams):
    """Of the root's notifications: each has one or two of these keys."""

    summary: NotRequired[SessionSummary]
    session: NotRequired[str]
    changes: NotRequired[JSONValue]
