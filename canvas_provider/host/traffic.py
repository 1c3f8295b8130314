"""The JSON-RPC traffic of a session, remembered for whoever wants to look at it.

Each answer is paired with its request, which gives it a method and a duration. Sans-IO: the time
is an argument. Bounded in messages and in bytes; what is oldest goes first. What only the
development host asks is left out: Copilot says nothing of it.
"""

import json
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from canvas_provider.host.link import Message
from canvas_provider.protocol.development import PREFIX
from canvas_provider.types import JSONObject

__all__ = ["Entry", "TrafficLog"]

MAX_ENTRIES: Final = 10_000

MAX_BYTES: Final = 16 * 1024 * 1024

MAX_TEXT: Final = 300
"""Characters of a method, an id or a summary: each is shown in one line."""

Kind = Literal["request", "notification", "result", "error", "invalid"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message."""

    number: int
    time: float
    """Unix seconds."""
    extension_id: str
    direction: Literal["in", "out"]
    kind: Kind
    method: str
    """Of the request, for an answer; empty if there was none."""
    id: int | str | None
    duration: float | None
    """Seconds since the request, for an answer."""
    instance_id: str
    """The instance it is about, empty if none."""
    pair: int | None
    """The number of the request, for an answer to one that is known."""
    summary: str
    """What it is about, in a few words: an instance, an action, an event, an error's text."""
    body: bytes

    def describe(self) -> JSONObject:
        """Return everything but the body."""
        return {
            "number": self.number,
            "time": self.time,
            "extensionId": self.extension_id,
            "direction": self.direction,
            "kind": self.kind,
            "method": self.method,
            "id": self.id,
            "duration": self.duration,
            "instanceId": self.instance_id,
            "pair": self.pair,
            "summary": self.summary,
            "size": len(self.body),
        }


class _Asked(NamedTuple):
    """A request without answer yet."""

    number: int
    method: str
    instance_id: str
    time: float


class TrafficLog:
    """The last messages, in order."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._entries: deque[Entry] = deque()
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._size = 0
        self._last_number = 0
        # Requests without answer yet, by who asked: each side has ids of its own.
        self._pending: dict[tuple[str, str, int | str], _Asked] = {}

    @property
    def entries(self) -> list[Entry]:
        return list(self._entries)

    def find(self, number: int) -> Entry | None:
        """Find an entry by its number, if it is still remembered."""
        return next((entry for entry in self._entries if entry.number == number), None)

    def record(self, message: Message, now: float) -> Entry | None:
        """Remember a message that passed at `now` (Unix seconds); None: it is the host's own."""
        fields = _parse(message.body)
        kind = _classify(fields)
        request_id = fields.get("id") if isinstance(fields.get("id"), int | str) else None
        method, instance_id = str(fields.get("method", "")), _find_instance(fields)
        number = self._last_number + 1
        asked: _Asked | None = None
        if kind == "request" and request_id is not None:
            key = (message.extension_id, message.direction, request_id)
            self._pending[key] = _Asked(number, method, instance_id, now)
        elif kind in ("result", "error") and request_id is not None:
            asker = "out" if message.direction == "in" else "in"
            asked = self._pending.pop((message.extension_id, asker, request_id), None)
            if asked is not None:
                method, instance_id = asked.method, asked.instance_id
        if method.startswith(PREFIX):
            return None
        self._last_number = number
        entry = Entry(
            number=number,
            time=now,
            extension_id=message.extension_id,
            direction=message.direction,
            kind=kind,
            method=method[:MAX_TEXT],
            id=request_id[:MAX_TEXT] if isinstance(request_id, str) else request_id,
            duration=None if asked is None else now - asked.time,
            instance_id=instance_id[:MAX_TEXT],
            pair=None if asked is None else asked.number,
            summary=_summarise(kind, fields)[:MAX_TEXT],
            body=message.body,
        )
        self._append(entry)
        return entry

    def forget_pending(self, extension_id: str) -> None:
        """Pair nothing of this connection any more: the next one counts from 0 again."""
        for key in [key for key in self._pending if key[0] == extension_id]:
            del self._pending[key]

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._size += len(entry.body)
        while len(self._entries) > 1 and (
            len(self._entries) > self._max_entries or self._size > self._max_bytes
        ):
            self._size -= len(self._entries.popleft().body)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _classify(fields: dict[str, Any]) -> Kind:
    if isinstance(fields.get("method"), str):
        return "request" if "id" in fields else "notification"
    if "error" in fields:
        return "error"
    return "result" if "result" in fields else "invalid"


def _find_instance(fields: dict[str, Any]) -> str:
    params = fields.get("params")
    if not isinstance(params, dict):
        return ""
    event = params.get("event")
    if isinstance(event, dict) and isinstance(event.get("data"), dict):
        params = event["data"]
    instance_id = params.get("instanceId")
    return instance_id if isinstance(instance_id, str) else ""


def _summarise(kind: Kind, fields: dict[str, Any]) -> str:
    if kind == "error":
        error = fields["error"]
        return str(error.get("message", "")) if isinstance(error, dict) else ""
    params = fields.get("params")
    if not isinstance(params, dict):
        return ""
    event = params.get("event")
    if isinstance(event, dict):
        return str(event.get("type", ""))
    words = (params.get(name) for name in ("canvasId", "instanceId", "actionName", "message"))
    return " · ".join(word for word in words if isinstance(word, str))
