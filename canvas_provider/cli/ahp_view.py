"""What a terminal is shown of a chat's canvases: what has changed since it was looked at last.

Addresses of canvases are left out, because they are secrets. What a host says is written without
its control characters, which could move the cursor.
"""

from typing import Final

from canvas_provider.ahp.client import AHPClient
from canvas_provider.protocol.ahp_canvases import CanvasRegistry
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["ChatView", "describe", "plain", "to_line"]

KEYS: Final = ("title", "status", "instanceId", "extensionId", "extensionName", "canvasId")

MARKS: Final = {"opened": "+", "changed": "~", "unavailable": "!", "closed": "-"}


class ChatView:
    """The canvases of one chat, compared with what they were."""

    def __init__(self, client: AHPClient, chat: str) -> None:
        self._client = client
        self._chat = chat
        self._types: list[JSONValue] | None = None
        self._canvases: dict[str, JSONObject] = {}

    def update(self) -> list[JSONObject]:
        """Look again; return a row for each difference."""
        return [*self._types_changed(), *self._canvases_changed()]

    def _types_changed(self) -> list[JSONObject]:
        registry = self._client.registry(self._chat)
        types = None if registry is None else _types_of(registry)
        before, self._types = self._types, types
        return [] if types == before else [{"event": "types", "types": types}]

    def _canvases_changed(self) -> list[JSONObject]:
        states = self._client.canvases(self._chat)
        # The state of one that was just opened may be on its way.
        now = {uri: describe(uri, state) for uri, state in states.items() if state is not None}
        before, self._canvases = self._canvases, now
        closed: list[JSONObject] = [
            {"event": "closed", "canvas": uri} for uri in before if uri not in states
        ]
        return closed + [
            {"event": _event(before.get(uri), row), **row}
            for uri, row in now.items()
            if row != before.get(uri)
        ]


def describe(uri: str, state: JSONObject | None) -> JSONObject:
    """Return what may be shown of a canvas."""
    known = {key: value for key in KEYS if (value := (state or {}).get(key)) is not None}
    return {"canvas": uri, **known, "available": "url" in (state or {})}


def to_line(row: JSONObject) -> str:
    """Write a row for people."""
    if row["event"] == "types":
        return _types_line(row["types"])
    mark = MARKS[str(row["event"])]
    if row["event"] == "closed":
        return f"{mark} {plain(row['canvas'])}"
    words = [plain(row[key]) for key in ("title", "status") if key in row]
    kind = f"({plain(row.get('extensionId'))} {plain(row.get('canvasId'))})"
    gone = [] if row["available"] else ["its provider is gone"]
    return "  ".join([f"{mark} {plain(row['canvas'])}", *words, kind, *gone])


def plain(value: JSONValue) -> str:
    """Write a text of a host on one line of a terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(value))


def _types_of(registry: CanvasRegistry) -> list[JSONValue]:
    return [
        {
            "extensionId": extension.extension_id,
            "canvasId": type.canvas_id,
            "title": type.title,
            "requiresInput": type.requires_input,
        }
        for extension, type in registry
    ]


def _types_line(types: JSONValue) -> str:
    if not isinstance(types, list):
        return "  what can be opened is not known"
    names = [plain(each["canvasId"]) for each in types if isinstance(each, dict)]
    return f"  can be opened: {', '.join(names) or 'nothing'}"


def _event(before: JSONObject | None, row: JSONObject) -> str:
    if not row["available"]:
        return "unavailable"
    return "opened" if before is None else "changed"
