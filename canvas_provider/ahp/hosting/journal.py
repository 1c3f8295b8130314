"""The one sequence of everything that happened, and as much of it as is kept for a reconnect."""

from collections import deque
from typing import Final, NamedTuple

from canvas_provider.ahp.frames import encode_notification
from canvas_provider.protocol.ahp import Method
from canvas_provider.types import JSONObject

__all__ = ["Entry", "Journal"]

MAX_ENTRIES: Final = 4096

MAX_SIZE: Final = 8 * 1024 * 1024
"""Characters of all frames that are kept. They hold URLs, so they are never anywhere but here."""


class Entry(NamedTuple):
    """One `action`: the envelope, and the frame that everybody gets who wants it."""

    seq: int
    channel: str
    envelope: JSONObject
    frame: str

    def __repr__(self) -> str:
        return f"Entry(seq={self.seq}, channel={self.channel!r})"

    @property
    def type(self) -> object:
        action = self.envelope["action"]
        return action.get("type") if isinstance(action, dict) else None

    @property
    def origin(self) -> JSONObject | None:
        origin = self.envelope.get("origin")
        return origin if isinstance(origin, dict) else None


class Journal:
    """Numbers envelopes from 1 on and remembers the newest of them."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_size: int = MAX_SIZE) -> None:
        self.seq = 0
        """The newest number."""
        self._entries: deque[Entry] = deque()
        self._size = 0
        self._max_entries = max_entries
        self._max_size = max_size
        self._forgotten = 0  # the number of the newest entry that is not kept any more

    def skip(self) -> int:
        """Spend a number on something that nobody is told."""
        self.seq += 1
        return self.seq

    def append(
        self,
        channel: str,
        action: JSONObject,
        origin: JSONObject | None = None,
        rejection: str | None = None,
    ) -> Entry:
        """Give an action its number."""
        envelope: JSONObject = {"channel": channel, "action": action, "serverSeq": self.skip()}
        if origin is not None:
            envelope["origin"] = origin
        if rejection is not None:
            envelope["rejectionReason"] = rejection
        entry = Entry(self.seq, channel, envelope, encode_notification(Method.ACTION, envelope))
        self._entries.append(entry)
        self._size += len(entry.frame)
        while len(self._entries) > self._max_entries or self._size > self._max_size:
            oldest = self._entries.popleft()
            self._size -= len(oldest.frame)
            self._forgotten = oldest.seq
        return entry

    def since(self, seq: int) -> list[Entry] | None:
        """Return what came after `seq`; None if that is not all there any more, or never was."""
        if not self._forgotten <= seq <= self.seq:
            return None
        return [entry for entry in self._entries if entry.seq > seq]
