"""The requests that something has to be done for: open, dispose, read. Sans-IO.

Each gets a ticket; the outcome of the effect with that ticket is the answer. Nothing of what a
client sent reaches a provider but the ids of a type of canvas that is in the registry.
"""

import re
from typing import Final

from canvas_provider.ahp.frames import RequestId, encode_error, encode_result
from canvas_provider.ahp.hosting.canvases import Canvas, name_instance
from canvas_provider.ahp.hosting.connections import Connection
from canvas_provider.ahp.hosting.effect import Close, Open, Read
from canvas_provider.ahp.hosting.host_state import HostState
from canvas_provider.ahp.hosting.requests import refuse, take_encoding, take_root, take_text
from canvas_provider.ahp.reducers import scheme_of
from canvas_provider.protocol.ahp import ErrorCode, Scheme
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Commands"]

ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:/\S+", re.I)
"""What a provider's message may hold, and no client is to log."""


class Commands:
    """Each method begins what is answered later, or raises RemoteError."""

    def __init__(self, state: HostState) -> None:
        self._state = state
        self._tickets: dict[int, tuple[Connection, Canvas | None]] = {}
        self._last_ticket = 0

    def open(self, connection: Connection, id: RequestId, params: JSONObject) -> None:
        """Open a canvas at a URI of the client's choice, or focus the one that is there."""
        uri = _take_canvas_uri(params)
        chat_uri, extension_id, canvas_id = (
            take_text(params, key) for key in ("chat", "extensionId", "canvasId")
        )
        state = self._state
        chat = next((each for each in state.chats.values() if each.chat == chat_uri), None)
        if chat is None:
            refuse(ErrorCode.NOT_FOUND, "there is no such chat")
        identity = chat.session_id, extension_id, canvas_id
        canvas = state.canvases.get(uri)
        if canvas is not None and canvas.identity != identity:
            refuse(ErrorCode.CONFLICT, "this URI belongs to another canvas")
        declared = chat.registry and chat.registry.find(extension_id, canvas_id)
        if not declared:
            refuse(ErrorCode.NOT_FOUND, "the chat has no such type of canvas")
        if canvas is None:
            if declared.requires_input:
                refuse(ErrorCode.INVALID_PARAMS, "this type of canvas requires input")
            instance_id = name_instance(uri)
            if state.canvases.find(chat.session_id, instance_id) is not None:
                # It was opened here once, and by the agent since.
                refuse(ErrorCode.CONFLICT, "this canvas has got another URI")
            canvas = state.canvases.add(*identity, instance_id, uri)
        canvas.openings += 1
        ticket = self._take_ticket(connection, id, canvas)
        state.effects.append(
            Open(ticket, chat.session_id, canvas_id, canvas.instance_id, extension_id)
        )

    def dispose(self, connection: Connection, id: RequestId, params: JSONObject) -> None:
        """Close the canvas at a URI, whoever has opened it."""
        canvas = self._state.canvases.get(_take_canvas_uri(params))
        if canvas is None:
            refuse(ErrorCode.NOT_FOUND, "there is no such canvas")
        if not canvas.is_live:
            refuse(ErrorCode.CONFLICT, "the canvas is being opened")
        ticket = self._take_ticket(connection, id)
        self._state.effects.append(Close(ticket, canvas.session_id, canvas.instance_id))

    def read(self, connection: Connection, id: RequestId, params: JSONObject) -> None:
        """Read what lies at the origin of a live canvas."""
        take_root(params)
        uri, encoding = take_text(params, "uri"), take_encoding(params)
        ticket = self._take_ticket(connection, id)
        self._state.effects.append(Read(ticket, connection.number, uri, encoding))

    def answer(self, ticket: int, value: JSONValue) -> None:
        """Report that an effect succeeded."""
        if (waiting := self._settle(ticket)) is not None:
            self._state.send(waiting[0], encode_result(waiting[1], value))

    def refuse(self, ticket: int, code: int, message: str) -> None:
        """Report that an effect failed."""
        if (waiting := self._settle(ticket)) is not None:
            text = ADDRESS.sub("[address]", message)
            self._state.send(waiting[0], encode_error(waiting[1], code, text))

    def forget(self, connection: Connection) -> None:
        """Forget what a connection waits for that is gone; what is being opened goes on."""
        for ticket in [*connection.pending]:
            if self._tickets[ticket][1] is None:
                del self._tickets[ticket], connection.pending[ticket]

    def _take_ticket(
        self, connection: Connection, id: RequestId, canvas: Canvas | None = None
    ) -> int:
        self._last_ticket += 1
        connection.pending[self._last_ticket] = id
        self._tickets[self._last_ticket] = connection, canvas
        return self._last_ticket

    def _settle(self, ticket: int) -> tuple[Connection, RequestId] | None:
        """Return who waits for the outcome, if they still do."""
        if ticket not in self._tickets:
            return None
        connection, canvas = self._tickets.pop(ticket)
        if canvas is not None:
            canvas.openings -= 1
            self._state.canvases.discard_unused(canvas)
        id = connection.pending.pop(ticket)
        is_there = self._state.connections.get(connection.number) is connection
        return (connection, id) if is_there else None


def _take_canvas_uri(params: JSONObject) -> str:
    uri = take_text(params, "channel")
    if scheme_of(uri) != Scheme.CANVAS or not uri.partition(":")[2].strip("/"):
        refuse(ErrorCode.INVALID_PARAMS, f"channel is a URI that begins with {Scheme.CANVAS}:/")
    return uri
