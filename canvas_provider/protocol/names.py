"""The names of what crosses the wire between Copilot and a canvas extension. Sources: `copilot`.

Apart from the shapes, because the first bytes of an extension need a name or two and no shape.
"""

from enum import StrEnum

__all__ = ["CanvasEvent", "ContributionEvent", "Method"]


class Method(StrEnum):
    """Every JSON-RPC method the canvas protocol uses, by direction."""

    # Extension to runtime.
    CONNECT = "connect"
    SESSION_RESUME = "session.resume"
    SESSION_CANVAS_LIST = "session.canvas.list"
    SESSION_CANVAS_LIST_OPEN = "session.canvas.listOpen"
    SESSION_CANVAS_OPEN = "session.canvas.open"
    SESSION_CANVAS_CLOSE = "session.canvas.close"
    SESSION_CANVAS_ACTION_INVOKE = "session.canvas.action.invoke"
    SESSION_LOG = "session.log"
    SESSION_SEND = "session.send"
    SESSION_TOOLS_ANSWER = "session.tools.handlePendingToolCall"
    SESSION_COMMANDS_ANSWER = "session.commands.handlePendingCommand"
    SESSION_ABORT = "session.abort"
    SESSION_GET_MESSAGES = "session.getMessages"
    SESSION_MODEL_SWITCH_TO = "session.model.switchTo"
    SESSION_MODEL_SWITCH_AUTO_TIER = "session.model.switchAutoTier"
    SESSION_UI_ELICITATION = "session.ui.elicitation"
    SESSION_EXTENSIONS_LIST = "session.extensions.list"
    SESSION_EXTENSIONS_ENABLE = "session.extensions.enable"
    SESSION_EXTENSIONS_DISABLE = "session.extensions.disable"
    SESSION_EXTENSIONS_RELOAD = "session.extensions.reload"
    SESSION_EXTENSIONS_SEND_ATTACHMENTS = "session.extensions.sendAttachmentsToMessage"
    SESSION_PERMISSIONS_ANSWER = "session.permissions.handlePendingPermissionRequest"
    SESSION_ELICITATION_ANSWER = "session.ui.handlePendingElicitation"
    SESSION_MCP_OAUTH_ANSWER = "session.mcp.oauth.handlePendingRequest"
    SESSION_EVENT_LOG_REGISTER_INTEREST = "session.eventLog.registerInterest"

    # Runtime to extension: requests.
    CANVAS_OPEN = "canvas.open"
    CANVAS_CLOSE = "canvas.close"
    CANVAS_ACTION_INVOKE = "canvas.action.invoke"
    HOOKS_INVOKE = "hooks.invoke"
    USER_INPUT_REQUEST = "userInput.request"
    EXIT_PLAN_MODE_REQUEST = "exitPlanMode.request"
    AUTO_MODE_SWITCH_REQUEST = "autoModeSwitch.request"

    # Runtime to extension: notifications.
    SESSION_EVENT = "session.event"
    SESSION_LIFECYCLE = "session.lifecycle"
    HOST_EVENT = "host.event"


class ContributionEvent(StrEnum):
    """The `type` of each event by which the runtime asks for something that was contributed."""

    TOOL_REQUESTED = "external_tool.requested"
    TOOL_COMPLETED = "external_tool.completed"
    COMMAND_EXECUTE = "command.execute"
    PERMISSION_REQUESTED = "permission.requested"
    ELICITATION_REQUESTED = "elicitation.requested"
    MCP_OAUTH_REQUIRED = "mcp.oauth_required"


class CanvasEvent(StrEnum):
    """The `type` of the six canvas events. `RECORDED` and `REMOVED` are persisted."""

    REGISTRY_CHANGED = "session.canvas.registry_changed"
    OPENED = "session.canvas.opened"
    CLOSED = "session.canvas.closed"
    UNAVAILABLE = "session.canvas.unavailable"
    RECORDED = "session.canvas.recorded"
    REMOVED = "session.canvas.removed"
