"""What the parts of a host's core share: who is there, what there is to see, what is to be done."""

from typing import Final

from canvas_provider.ahp.frames import encode_notification
from canvas_provider.ahp.hosting.canvases import Canvases
from canvas_provider.ahp.hosting.channels import Channels
from canvas_provider.ahp.hosting.connections import Connection, Connections
from canvas_provider.ahp.hosting.effect import Effect, Send
from canvas_provider.ahp.hosting.journal import Entry, Journal
from canvas_provider.ahp.hosting.projection import ChatProjection
from canvas_provider.protocol.ahp import ROOT, ActionType, ClientInfo, RootNotification
from canvas_provider.protocol.ahp_canvases import CanvasAction
from canvas_provider.types import JSONObject

__all__ = ["HostState", "may_see"]

WHOLE: Final = frozenset(
    {
        ActionType.CHAT_CANVASES_CHANGED,
        ActionType.CANVAS_STATE_CHANGED,
        CanvasAction.REGISTRY_CHANGED,
    }
)
"""Actions that carry everything, so that the newest one does without those before it."""


class HostState:
    """Every session, connection and channel of one host."""

    def __init__(self, journal: Journal, *, server: ClientInfo, has_registry: bool) -> None:
        self.journal = journal
        self.server = server
        self.has_registry = has_registry
        self.connections = Connections()
        self.channels = Channels(journal, self._publish)
        self.canvases = Canvases()
        self.chats: dict[str, ChatProjection] = {}
        """By session id."""
        self.effects: list[Effect] = []

    def send(self, connection: Connection, frame: str) -> None:
        """Send an answer."""
        self.effects.append(Send(connection.number, frame))

    def tell(self, notification: RootNotification, params: JSONObject) -> None:
        """Tell everybody who listens to the root, once and for all: it is not replayed."""
        frame = encode_notification(notification, {"channel": ROOT, **params})
        for connection in self.connections:
            if ROOT in connection.subscriptions:
                self.send(connection, frame)

    def _publish(self, entry: Entry) -> None:
        is_whole = entry.type in WHOLE and entry.origin is None
        key = (entry.channel, str(entry.type)) if is_whole else None
        for connection in self.connections:
            if entry.channel in connection.subscriptions and may_see(connection, entry):
                self.effects.append(Send(connection.number, entry.frame, key))


def may_see(connection: Connection, entry: Entry) -> bool:
    """Whether it has the version for it; what a client said itself it knows."""
    origin = entry.origin
    is_own = origin is not None and origin.get("clientId") == connection.client_id
    return is_own or (connection.version is not None and connection.version.knows(entry.type))
