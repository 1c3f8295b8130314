"""Which canvases a client subscribes to because the chats that it follows refer to them. Pure."""

from typing import Final, NamedTuple

from canvas_provider.ahp.reducers import scheme_of
from canvas_provider.protocol.ahp import Scheme
from canvas_provider.types import JSONObject

__all__ = ["Following", "Turnover", "canvases_of"]

MAX_CANVASES: Final = 200
"""Canvases of one chat; those that come later are left out."""


class Turnover(NamedTuple):
    """What a change of a chat means for our subscriptions."""

    gone: list[str]
    listed: list[str]


class Following:
    """Chats, and the canvases that each had when it was last looked at."""

    def __init__(self) -> None:
        self._chats: dict[str, list[str]] = {}

    def __contains__(self, chat: object) -> bool:
        return chat in self._chats

    @property
    def chats(self) -> list[str]:
        return list(self._chats)

    def add(self, chat: str) -> None:
        self._chats.setdefault(chat, [])

    def update(self, chat: str, state: JSONObject | None) -> Turnover:
        """Take a chat's state, and return what it refers to now, and what nobody does any more."""
        before, self._chats[chat] = self._chats[chat], canvases_of(state)
        return Turnover(self._unlisted(before), self._chats[chat])

    def remove(self, chat: str) -> list[str]:
        """Follow a chat no longer; return the canvases that only it referred to."""
        return self._unlisted(self._chats.pop(chat, []))

    def _unlisted(self, before: list[str]) -> list[str]:
        return [uri for uri in before if not any(uri in listed for listed in self._chats.values())]


def canvases_of(state: JSONObject | None) -> list[str]:
    """Return the canvases in a chat's state, in order; schemes that we do not know are left out."""
    listed = (state or {}).get("canvases")
    found = [
        uri
        for reference in (listed if isinstance(listed, list) else ())
        if isinstance(reference, dict)
        and isinstance(uri := reference.get("resource"), str)
        and scheme_of(uri) == Scheme.CANVAS
    ]
    return list(dict.fromkeys(found))[:MAX_CANVASES]
