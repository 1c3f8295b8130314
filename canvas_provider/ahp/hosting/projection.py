"""One chat as AHP clients see it, made from the events of its session. Sans-IO.

The order of what is published is that of the AHP host of Copilot CLI 1.0.102, as observed: opened:
the chat's list; opened again: the canvas's state; closed: the state without `url`, then the list;
provider gone: the state without `url`, while the list stays.
"""

from typing import Final, cast

from canvas_provider.ahp.hosting.canvases import Canvas, Canvases
from canvas_provider.ahp.hosting.channels import Channels
from canvas_provider.host.validation import Schema, UncompilableSchema
from canvas_provider.protocol.ahp import (
    ActionType,
    ChatSummary,
    Scheme,
    SessionStatus,
    SessionSummary,
)
from canvas_provider.protocol.ahp_canvases import (
    REGISTRY,
    CanvasExtensionDeclaration,
    CanvasRegistry,
    CanvasTypeDeclaration,
    registry_changed,
)
from canvas_provider.protocol.copilot import DiscoveredCanvas, OpenCanvas
from canvas_provider.types import JSONObject

__all__ = ["ChatProjection"]

SHOWN: Final = ("instanceId", "extensionId", "extensionName", "canvasId", "title", "status", "url")
"""The keys of a `CanvasState`. Inputs and icons stay here."""


class ChatProjection:
    """A session, its chat, and the channels of its canvases.

    Args:
        provider: The agent that it belongs to.
        created: When it was made; ISO 8601.
        has_registry: False: clients only watch.
    """

    def __init__(
        self,
        channels: Channels,
        canvases: Canvases,
        *,
        session_id: str,
        title: str,
        working_directory: str,
        provider: str,
        created: str,
        has_registry: bool,
    ) -> None:
        self.session_id = session_id
        self.session = f"{Scheme.SESSION}:/{session_id}"
        self.chat = f"{Scheme.CHAT}:/{session_id}"
        self.is_materializing = False
        self.has_backing = False
        """Whether there is anything that could be materialized."""
        self.registry: CanvasRegistry | None = None
        """None: not materialized, or unavailable."""
        self._channels = channels
        self._canvases = canvases
        self._title = title
        self._directory = working_directory
        self._provider = provider
        self._created = created
        self._has_registry = has_registry

    def begin(self) -> None:
        """Make the channels of the session and of its chat."""
        chat = self._chat_summary()
        status = SessionStatus.IDLE.value
        self._channels.create(
            self.session,
            {
                "provider": self._provider,
                "title": self._title,
                "status": status,
                "lifecycle": "ready",
                "activeClients": [],
                "chats": [cast(JSONObject, chat)],
                "defaultChat": self.chat,
            },
        )
        self._channels.create(self.chat, {**cast(JSONObject, chat), "turns": []})

    def end(self) -> None:
        """Remove every channel."""
        for canvas in self._canvases.live(self.session_id):
            self._forget(canvas)
        self._channels.remove(self.chat)
        self._channels.remove(self.session)

    def summary(self) -> SessionSummary:
        """Return what `listSessions` tells of it."""
        return {
            "resource": self.session,
            "provider": self._provider,
            "title": self._title,
            "status": SessionStatus.IDLE.value,
            "createdAt": self._created,
            "modifiedAt": self._created,
            "workingDirectories": [self._directory],
            "chats": [self._chat_summary()],
            "defaultChat": self.chat,
        }

    def show_registry(self, canvases: list[DiscoveredCanvas] | None) -> None:
        """Publish what can be opened now, if that is something else than before."""
        registry = None if canvases is None else _create_registry(canvases)
        self.registry = registry
        shown = self._channels.state(self.chat).get(REGISTRY)
        if self._has_registry and shown != (None if registry is None else registry.to_json()):
            self._channels.act(self.chat, registry_changed(registry))

    def show(self, instance: OpenCanvas) -> None:
        """Publish an instance that was opened, or opened again."""
        state = _create_state(instance)
        canvas = self._canvases.find(self.session_id, instance["instanceId"])
        identity = self.session_id, instance["extensionId"], instance["canvasId"]
        if canvas is not None and canvas.identity != identity:
            # A name that somebody else has taken since is the name of another canvas.
            self._drop(canvas)
            canvas = None
        if canvas is None:
            canvas = self._canvases.add(*identity, instance["instanceId"])
        if canvas.is_live:
            self._channels.act(canvas.uri, _change(state))
        else:
            self._canvases.make_live(canvas)
            self._channels.create_with(canvas.uri, _change(state))
            self._publish_list()

    def lose(self, instance_id: str) -> None:
        """Publish that the provider of an instance is gone; it may come back."""
        canvas = self._canvases.find(self.session_id, instance_id)
        if canvas is not None and canvas.is_live:
            self._clear_url(canvas)

    def remove(self, instance_id: str) -> None:
        """Publish that an instance was closed."""
        canvas = self._canvases.find(self.session_id, instance_id)
        if canvas is not None and canvas.is_live:
            self._drop(canvas)

    def _drop(self, canvas: Canvas) -> None:
        self._clear_url(canvas)
        canvas.is_live = False
        self._publish_list()
        self._forget(canvas)

    def _forget(self, canvas: Canvas) -> None:
        canvas.is_live = False
        self._canvases.discard_unused(canvas)
        self._channels.remove(canvas.uri)

    def _clear_url(self, canvas: Canvas) -> None:
        state = self._channels.state(canvas.uri)
        if "url" in state:
            without = {key: value for key, value in state.items() if key != "url"}
            self._channels.act(canvas.uri, _change(without))

    def _publish_list(self) -> None:
        """Publish every canvas that is live; without a list where there is none, as Copilot."""
        action: JSONObject = {"type": ActionType.CHAT_CANVASES_CHANGED.value}
        if live := self._canvases.live(self.session_id):
            action["canvases"] = [{"resource": canvas.uri} for canvas in live]
        self._channels.act(self.chat, action)

    def _chat_summary(self) -> ChatSummary:
        return {
            "resource": self.chat,
            "title": self._title,
            "status": SessionStatus.IDLE.value,
            "modifiedAt": self._created,
        }


def _change(state: JSONObject) -> JSONObject:
    return {"type": ActionType.CANVAS_STATE_CHANGED.value, "canvas": state}


def _create_state(instance: OpenCanvas) -> JSONObject:
    known = cast(JSONObject, instance)
    texts = ((key, known.get(key)) for key in SHOWN)
    return {key: text for key, text in texts if isinstance(text, str)}


def _create_registry(canvases: list[DiscoveredCanvas]) -> CanvasRegistry:
    """Collect the types by extension, both in the order in which they were declared."""
    names: dict[str, str | None] = {}
    types: dict[str, dict[str, CanvasTypeDeclaration]] = {}
    for each in canvases:
        extension_id = each["extensionId"]
        names.setdefault(extension_id, each.get("extensionName"))
        types.setdefault(extension_id, {})[each["canvasId"]] = CanvasTypeDeclaration(
            each["canvasId"], each["displayName"], each["description"], _requires_input(each)
        )
    return CanvasRegistry(
        tuple(
            CanvasExtensionDeclaration(extension_id, tuple(declared.values()), names[extension_id])
            for extension_id, declared in types.items()
        )
    )


def _requires_input(canvas: DiscoveredCanvas) -> bool:
    """Whether it cannot be opened without input, which the runtime takes for `{}`."""
    try:
        return Schema(canvas.get("inputSchema")).explain({}) is not None
    except UncompilableSchema:
        return True
