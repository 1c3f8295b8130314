"""What `join_session` and `run` take besides canvases: one list of names for both."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from canvas_provider.protocol.events import SessionEvent
    from canvas_provider.session.command import Command
    from canvas_provider.session.hooks import Hooks
    from canvas_provider.session.requests import (
        AutoModeSwitchHandler,
        ElicitationHandler,
        ExitPlanModeHandler,
        McpAuthHandler,
        PermissionHandler,
        UserInputHandler,
    )
    from canvas_provider.session.tool import Tool

__all__ = ["JoinOptions"]


class JoinOptions(TypedDict, total=False):
    """Field by field as in the Node SDK's `JoinSessionConfig`.

    What is marked with **approval** makes Copilot ask the user while the extension loads; refused,
    the join raises `JoinError`, and nothing of the extension is there.
    """

    tools: "Sequence[Tool]"
    """Functions for the agent: `@tool`. **Approval** for those with `skip_permission`."""

    hooks: "Hooks"
    """Called at fixed points of a session. **Approval.**"""

    commands: "Sequence[Command]"
    """Slash commands for the person: `@command`."""

    on_permission_request: "PermissionHandler"
    """Decides about what the agent asks permission for; the host's user is asked at the same time,
    and the first answer counts. **Approval.**"""

    on_user_input_request: "UserInputHandler"
    """Answers the agent's questions (`ask_user`)."""

    on_elicitation_request: "ElicitationHandler"
    """Answers forms: those of MCP servers, of the agent and of extensions, our own included."""

    on_exit_plan_mode_request: "ExitPlanModeHandler"
    """Decides whether a plan is carried out."""

    on_auto_mode_switch_request: "AutoModeSwitchHandler"
    """Decides whether to go on with another model after a rate limit."""

    on_mcp_auth_request: "McpAuthHandler"
    """Gives tokens for MCP servers."""

    requested_environment_variables: Sequence[str]
    """Names of variables that Copilot keeps from extensions, such as `OPENAI_API_KEY`; granted
    ones are in `os.environ` when the join is done. **Approval**, for this very set of names."""

    disable_resume: bool
    """True (the default): joining sends no `session.resume` event to the session. It is the Node
    SDK's `suppressResumeEvent`."""

    on_event: "Callable[[SessionEvent], object]"
    """Called with each event of the session from the first byte on; see `Session.on`."""

    options: Mapping[str, Any]
    """Further parameters of `session.resume`, by their wire names, sent as they are."""
