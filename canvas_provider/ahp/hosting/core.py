"""An AHP host without I/O: frames and session events in, effects out.

`connect` makes a connection, `receive` takes a frame of it, `note_*` what happened in a session.
`effects()` then hands over, in order, what is to be done; report the outcome of each `Open`,
`Close`, `Read` and `Materialize`, and ask again.

Never raises on what a client sent. Knows no sockets, no clock and no randomness; does not decide
how slow a client may be (`outbox`), nor who may connect (`AHPHost`).
"""

from collections.abc import Iterable
from typing import Final, cast

from canvas_provider.ahp.frames import (
    Invalid,
    Notification,
    Request,
    encode_error,
    encode_result,
    parse_frame,
)
from canvas_provider.ahp.hosting.base_services import BaseServices
from canvas_provider.ahp.hosting.commands import Commands
from canvas_provider.ahp.hosting.connections import Connection
from canvas_provider.ahp.hosting.effect import Cut, Effect, Materialize
from canvas_provider.ahp.hosting.host_state import HostState
from canvas_provider.ahp.hosting.journal import Journal
from canvas_provider.ahp.hosting.projection import ChatProjection
from canvas_provider.ahp.hosting.requests import refuse
from canvas_provider.errors import RemoteError
from canvas_provider.protocol.ahp import ROOT, ActionType, ClientInfo, ErrorCode, Method
from canvas_provider.protocol.ahp import RootNotification as Root
from canvas_provider.protocol.ahp_canvases import CanvasAction, CanvasMethod, capabilities
from canvas_provider.protocol.copilot import DiscoveredCanvas, OpenCanvas
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["HostCore"]

SERVER_ONLY: Final = frozenset(ActionType) | {CanvasAction.REGISTRY_CHANGED}


class HostCore:
    """Every session, connection and subscription of one host.

    Args:
        agent: The `provider` and `displayName` of the one agent there is.
        has_registry: Whether clients may see the types of canvases, open and dispose; they can
            watch in any case.
        journal: Numbers what happens, and decides how much of it can be replayed.
    """

    def __init__(
        self,
        *,
        server: ClientInfo,
        agent: tuple[str, str],
        has_registry: bool = True,
        journal: Journal | None = None,
    ) -> None:
        journal = Journal() if journal is None else journal
        self._state = HostState(journal, server=server, has_registry=has_registry)
        self._base = BaseServices(self._state)
        self._commands = Commands(self._state)
        self._agent, name = agent
        about: JSONObject = {
            "provider": self._agent,
            "displayName": name,
            "description": "Canvases, without a model.",
            "models": [],
        }
        if has_registry:
            about["capabilities"] = capabilities()
        self._state.channels.create(ROOT, {"agents": [about]})

    def effects(self) -> list[Effect]:
        """Hand over what is to be done, in order, and forget it."""
        effects, self._state.effects = self._state.effects, []
        return effects

    def urls(self) -> Iterable[str]:
        """Return the URLs of all canvases that are live now."""
        return list(self._state.channels.urls())

    # Sessions.

    def add_session(
        self, *, session_id: str, title: str, working_directory: str, created: str
    ) -> None:
        """Show one session more. The time is ISO 8601."""
        chat = self._state.chats[session_id] = ChatProjection(
            self._state.channels,
            self._state.canvases,
            session_id=session_id,
            title=title,
            working_directory=working_directory,
            provider=self._agent,
            created=created,
            has_registry=self._state.has_registry,
        )
        chat.begin()
        self._state.tell(Root.SESSION_ADDED, {"summary": cast(JSONObject, chat.summary())})

    def remove_session(self, session_id: str) -> None:
        """Show a session no longer."""
        chat = self._state.chats.pop(session_id)
        chat.end()
        self._state.tell(Root.SESSION_REMOVED, {"session": chat.session})

    def note_registry(
        self, session_id: str, canvases: list[DiscoveredCanvas] | None, *, has_backing: bool
    ) -> None:
        """Note what can be opened in a session; None: it is not known, or not available.

        Args:
            has_backing: False: it has not begun, so that there is nothing to be materialized.
        """
        if (chat := self._state.chats.get(session_id)) is not None:
            chat.has_backing = has_backing
            chat.show_registry(canvases)

    def note_opened(self, session_id: str, instance: OpenCanvas) -> None:
        """Note that an instance was opened, or opened again."""
        if (chat := self._state.chats.get(session_id)) is not None:
            chat.show(instance)

    def note_unavailable(self, session_id: str, instance_id: str) -> None:
        """Note that the provider of an instance is gone."""
        if (chat := self._state.chats.get(session_id)) is not None:
            chat.lose(instance_id)

    def note_closed(self, session_id: str, instance_id: str) -> None:
        """Note that an instance was closed. Idempotent."""
        if (chat := self._state.chats.get(session_id)) is not None:
            chat.remove(instance_id)

    # Outcomes.

    def materialized(self, session_id: str) -> None:
        """Report that a `Materialize` ended; `note_registry` has told before what came of it."""
        if (chat := self._state.chats.get(session_id)) is not None:
            chat.is_materializing = False

    def answered(self, ticket: int, value: JSONValue = None) -> None:
        """Report that an `Open`, `Close` or `Read` succeeded, after noting what it changed."""
        self._commands.answer(ticket, value)

    def refused(self, ticket: int, code: int, message: str) -> None:
        """Report that it failed. Addresses in the message are left out."""
        self._commands.refuse(ticket, code, message)

    # Connections.

    def connect(self) -> int:
        """Return the number of a new connection."""
        return self._state.connections.add().number

    def disconnect(self, number: int) -> None:
        """Note that a connection is gone: what is read for it need not be reported. Idempotent."""
        if (connection := self._state.connections.get(number)) is not None:
            self._commands.forget(connection)
            self._state.connections.remove(number)

    def receive(self, number: int, text: str) -> None:
        """Take a text frame."""
        connection = self._state.connections.get(number)
        if connection is None:
            return
        match parse_frame(text):
            case Request() as request:
                self._serve(connection, request)
            case Notification(method, params):
                self._note(connection, method, params)
            case Invalid(id, code, message):
                self._state.send(connection, encode_error(id, code, message))
            # Nobody was asked anything, so answers mean nothing.

    def receive_binary(self, number: int) -> None:
        """Take a binary frame, of which there are none."""
        if (connection := self._state.connections.get(number)) is not None:
            text = "a message is one text frame"
            frame = encode_error(None, ErrorCode.INVALID_REQUEST, text)
            self._state.send(connection, frame)

    def _serve(self, connection: Connection, request: Request) -> None:
        try:
            if self._begin(connection, request):
                return
            value = self._answer(connection, request.method, request.params)
        except RemoteError as error:
            frame = encode_error(request.id, error.code, error.message, error.data)
            self._state.send(connection, frame)
            if error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
                self._state.effects.append(Cut(connection.number, flush=True))
        else:
            self._state.send(connection, encode_result(request.id, value))

    def _answer(self, connection: Connection, method: str, params: JSONObject) -> JSONValue:
        """Answer at once."""
        match method:
            case Method.PING:
                return None
            case Method.INITIALIZE:
                return self._base.initialize(connection, params)
            case Method.RECONNECT:
                return self._base.reconnect(connection, params)
            case Method.SUBSCRIBE if connection.version is not None:
                return self._base.subscribe(connection, params)
            case Method.LIST_SESSIONS if connection.version is not None:
                return self._base.list_sessions(connection, params)
        if connection.version is None:
            refuse(ErrorCode.INVALID_REQUEST, "initialize comes first")
        refuse(ErrorCode.METHOD_NOT_FOUND, "there is no such method")

    def _begin(self, connection: Connection, request: Request) -> bool:
        """Begin what is answered later; False: it is not such a request."""
        match request.method:
            case Method.RESOURCE_READ if connection.version is not None:
                begin = self._commands.read
            case CanvasMethod.OPEN_CANVAS if self._may_command(connection):
                begin = self._commands.open
            case CanvasMethod.DISPOSE_CANVAS if self._may_command(connection):
                begin = self._commands.dispose
            case _:
                return False
        if connection.is_full:
            refuse(ErrorCode.INTERNAL_ERROR, "too many requests at once")
        begin(connection, request.id, request.params)
        return True

    def _may_command(self, connection: Connection) -> bool:
        """Whether this client was shown the capability."""
        version = connection.version
        return self._state.has_registry and version is not None and version.has_registry

    def _note(self, connection: Connection, method: str, params: JSONObject) -> None:
        if connection.version is None:
            return
        match method, params:
            case Method.UNSUBSCRIBE, {"channel": str(uri)}:
                connection.subscriptions.discard(uri)
            case Method.DISPATCH_ACTION, {
                "channel": str(uri),
                "clientSeq": int(seq),
                "action": dict() as action,
            } if uri in self._state.channels and not isinstance(seq, bool):
                self._dispatch(connection, uri, seq, action)

    def _dispatch(self, connection: Connection, uri: str, seq: int, action: JSONObject) -> None:
        origin: JSONObject = {"clientId": connection.client_id, "clientSeq": seq}
        chat = next((each for each in self._state.chats.values() if each.chat == uri), None)
        reason = self._explain_refusal(connection, chat, action)
        if reason is not None:
            self._state.channels.reject(uri, action, origin, reason)
            return
        assert chat is not None
        self._state.channels.act(uri, action, origin)
        if chat.registry is None and not chat.is_materializing:
            chat.is_materializing = True
            self._state.effects.append(Materialize(chat.session_id))

    def _explain_refusal(
        self, connection: Connection, chat: ChatProjection | None, action: JSONObject
    ) -> str | None:
        type = action.get("type")
        if not isinstance(type, str):
            return "an action has a type"
        if type in SERVER_ONLY:
            return f"{type} is server-only and cannot be dispatched by a client"
        if type != CanvasAction.REGISTRY_REQUESTED or chat is None:
            return "this host does not know such an action here"
        if not self._may_command(connection):
            return "this host has no canvas registry for this client"
        return None if chat.has_backing else "the chat has not begun: there is nothing to resume"
