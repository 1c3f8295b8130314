"""The session as handlers see it. The package `session` provides what is described here."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypedDict

from canvas_provider.types import JSONObject, JSONValue, Missing

if TYPE_CHECKING:
    from typing import Unpack

    from canvas_provider.protocol.copilot import (
        DiscoveredCanvas,
        OpenCanvas,
        SessionCapabilities,
    )
    from canvas_provider.protocol.events import AssistantMessage, EventName, SessionEvent
    from canvas_provider.protocol.requests import (
        Attachment,
        ElicitationResult,
        ExtensionInfo,
        ModelSwitched,
    )

__all__ = [
    "CanvasesView",
    "EventsView",
    "ExtensionsView",
    "ModelOptions",
    "SendOptions",
    "SessionView",
    "UIView",
]


class SendOptions(TypedDict, total=False):
    """What `session.send` takes beside the prompt."""

    mode: Literal["enqueue", "immediate"]
    """During a turn, `enqueue` (the default) makes the prompt the next turn; `immediate` steers
    the running one. With no turn under way both start one."""
    attachments: "Sequence[Attachment]"
    """Files, directories, selections, blobs, or `extension_context` data of ours."""
    dedupe: str
    """While a prompt of this key waits or is worked on, further ones are not sent."""
    display_prompt: str
    """What the timeline shows instead of the prompt."""
    agent_mode: Literal["interactive", "plan", "autopilot", "shell"]
    source: str
    """Whose words these are: `system` or `agent-NAME`; left out, the user's."""
    request_headers: Mapping[str, str]
    """More HTTP headers for the model's provider, for this turn."""


class ModelOptions(TypedDict, total=False):
    """What `session.set_model` takes beside the model."""

    reasoning_effort: str
    """Such as `low`, `medium`, `high`; which there are depends on the model."""
    reasoning_summary: Literal["none", "concise", "detailed"]
    context_tier: Literal["default", "long_context"]
    auto_tier: str | None
    """For the model `auto` only; None is the provider's default routing."""
    model_capabilities: JSONObject


class CanvasesView(Protocol):
    """`session.canvas.*` of the runtime. Each raises `RemoteError` where the runtime refuses."""

    async def list_open(self) -> "list[OpenCanvas]":
        """Return the open instances whose provider is connected."""

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = ...,
        *,
        extension_id: str | None = ...,
    ) -> "OpenCanvas":
        """Open an instance, or open it again."""

    async def close(self, instance_id: str) -> None:
        """Close an instance for good."""

    async def invoke(
        self, instance_id: str, action_name: str, input: JSONValue | Missing = ...
    ) -> JSONValue:
        """Invoke an action of an open instance and return its result."""

    async def list(self) -> "list[DiscoveredCanvas]":
        """Return what is declared, by us and by others."""


class UIView(Protocol):
    """Dialogs at the host. Each raises `Unsupported` at once if the host has none."""

    async def elicitation(self, message: str, schema: JSONObject) -> "ElicitationResult":
        """Show a form made from a schema, and return what the person did."""

    async def confirm(self, message: str) -> bool:
        """Ask yes or no."""

    async def select(self, message: str, options: Sequence[str]) -> str | None:
        """Ask for one of the options; None if the person declines."""

    async def input(
        self,
        message: str,
        *,
        title: str | None = ...,
        description: str | None = ...,
        min_length: int | None = ...,
        max_length: int | None = ...,
        format: Literal["email", "uri", "date", "date-time"] | None = ...,
        default: str | None = ...,
    ) -> str | None:
        """Ask for a text; None if the person declines."""


class ExtensionsView(Protocol):
    """The extensions of the session, ours among them."""

    async def enable(self, extension_id: str) -> None:
        """Start an extension that is disabled."""

    async def disable(self, extension_id: str) -> None:
        """Stop an extension."""

    async def reload(self) -> None:
        """Start every extension again, and with it this process."""

    async def list(self) -> "list[ExtensionInfo]":
        """Return every extension, with its status."""


class EventsView(Protocol):
    """Session events, one after the other."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> "SessionEvent":
        """Wait for the next one."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def close(self) -> None:
        """Keep no more events."""


class SessionView(Protocol):
    """The session, as it is to one instance."""

    working_directory: str | None
    """The user's project, absolute. May differ from call to call."""

    @property
    def session_id(self) -> str: ...

    @property
    def workspace_path(self) -> str | None:
        """A folder of the session's own, absolute."""

    @property
    def capabilities(self) -> "SessionCapabilities":
        """What the host can do."""

    @property
    def canvas(self) -> CanvasesView:
        """The runtime's canvases, ours and those of other extensions."""

    @property
    def ui(self) -> UIView:
        """Dialogs."""

    @property
    def extensions(self) -> ExtensionsView:
        """The session's extensions."""

    async def log(
        self,
        message: str,
        *,
        level: Literal["info", "warning", "error"] = ...,
        ephemeral: bool = ...,
        url: str | None = ...,
    ) -> str:
        """Write to the person's timeline. Returns the event's id."""

    async def send(self, prompt: str, **options: "Unpack[SendOptions]") -> str:
        """Send the agent a prompt. Returns the message's id."""

    async def send_and_wait(
        self,
        prompt: str,
        *,
        timeout: float | None = ...,  # noqa: ASYNC109
        **options: "Unpack[SendOptions]",
    ) -> "AssistantMessage | None":
        """Send a prompt and return the agent's last message; not from inside a handler."""

    async def send_attachments(
        self, attachments: "Sequence[Attachment]", *, instance_id: str | None = ...
    ) -> None:
        """Offer the person attachments for their next message."""

    async def abort(self) -> None:
        """End the agent's turn."""

    async def messages(self) -> "list[SessionEvent]":
        """Return the session's history, as events."""

    def on(
        self, event: "EventName | Literal['*']", listener: "Callable[[SessionEvent], object]"
    ) -> Callable[[], None]:
        """Call `listener` for each session event of that type. Returns what ends it."""

    def events(self, *names: "EventName") -> EventsView:
        """Return the session's events of these types as an async iterator."""

    async def set_model(self, model: str, **options: "Unpack[ModelOptions]") -> "ModelSwitched":
        """Change the session's model."""

    async def set_auto_tier(self, auto_tier: str | None) -> JSONObject:
        """Change how the model `auto` picks one."""

    async def rpc(self, method: str, params: JSONObject | None = ...) -> JSONValue:
        """Call any other method of the session."""
