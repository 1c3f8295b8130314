"""What the runtime asks a person and a handler of ours may answer: the kinds, and their types."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from canvas_provider.errors import DeclarationError
from canvas_provider.protocol import questions as wire
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.protocol.requests import ElicitationResult
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

    PermissionHandler: TypeAlias = Callable[
        [wire.PermissionRequest, Session],
        wire.PermissionDecision | Awaitable[wire.PermissionDecision],
    ]
    UserInputHandler: TypeAlias = Callable[
        [wire.UserInputRequest, Session], wire.UserInputResponse | Awaitable[wire.UserInputResponse]
    ]
    ElicitationHandler: TypeAlias = Callable[
        [wire.ElicitationRequest, Session],
        ElicitationResult | Awaitable[ElicitationResult],
    ]
    ExitPlanModeHandler: TypeAlias = Callable[
        [wire.ExitPlanModeRequest, Session],
        wire.ExitPlanModeResult | Awaitable[wire.ExitPlanModeResult],
    ]
    AutoModeSwitchHandler: TypeAlias = Callable[
        [wire.AutoModeSwitchRequest, Session],
        wire.AutoModeSwitchResponse | Awaitable[wire.AutoModeSwitchResponse],
    ]
    McpAuthHandler: TypeAlias = Callable[
        [wire.McpAuthRequest, Session],
        wire.McpAuthToken | None | Awaitable[wire.McpAuthToken | None],
    ]

__all__ = ["HANDLERS", "RequestKind", "check_handler"]


class RequestKind(NamedTuple):
    """One kind of request."""

    flag: str | None
    """What `session.resume` says of it."""
    asks: Method | ContributionEvent
    """The request, or the event, that asks."""
    asked: Any
    said: Any
    reply: Method | None = None
    """The request that answers an event."""
    failed: Mapping[str, JSONValue] = {}
    """What an event is answered with when the handler fails."""


HANDLERS: Final[Mapping[str, RequestKind]] = {
    "on_permission_request": RequestKind(
        "requestPermission",
        ContributionEvent.PERMISSION_REQUESTED,
        wire.PermissionRequest,
        wire.PermissionDecision,
        Method.SESSION_PERMISSIONS_ANSWER,
        {"kind": "user-not-available"},
    ),
    "on_user_input_request": RequestKind(
        "requestUserInput", Method.USER_INPUT_REQUEST, wire.UserInputRequest, wire.UserInputResponse
    ),
    "on_elicitation_request": RequestKind(
        "requestElicitation",
        ContributionEvent.ELICITATION_REQUESTED,
        wire.ElicitationRequest,
        ElicitationResult,
        Method.SESSION_ELICITATION_ANSWER,
        {"action": "cancel"},
    ),
    "on_exit_plan_mode_request": RequestKind(
        "requestExitPlanMode",
        Method.EXIT_PLAN_MODE_REQUEST,
        wire.ExitPlanModeRequest,
        wire.ExitPlanModeResult,
    ),
    "on_auto_mode_switch_request": RequestKind(
        "requestAutoModeSwitch",
        Method.AUTO_MODE_SWITCH_REQUEST,
        wire.AutoModeSwitchRequest,
        wire.AutoModeSwitchResponse,
    ),
    "on_mcp_auth_request": RequestKind(
        None,
        ContributionEvent.MCP_OAUTH_REQUIRED,
        wire.McpAuthRequest,
        wire.McpAuthToken,
        Method.SESSION_MCP_OAUTH_ANSWER,
        {"kind": "cancelled"},
    ),
}
"""By option of `join_session`."""


def check_handler(handler: object, field: str) -> None:
    """Refuse what cannot be called with what is asked and the session.

    Raises:
        DeclarationError: naming `field`.
    """
    wanted = f"write `async def {field.rpartition('.')[2]}(asked, session)`"
    if not callable(handler) or inspect.isclass(handler):
        raise DeclarationError(f"is no function: {wanted}", field=field)
    try:
        inspect.signature(handler).bind(object(), object())
    except TypeError:
        raise DeclarationError(
            f"is called with two arguments, what is asked and the session: {wanted}", field=field
        ) from None
    except ValueError:
        pass  # some built-in callables have no signature
