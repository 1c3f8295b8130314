"""The revisions that a page may have missed: the latest ones, bounded by count and size."""

from collections import deque
from typing import Final, NamedTuple

from canvas_provider.state.difference import Operation
from canvas_provider.types import Author, JSONValue

__all__ = ["History", "Revision"]

MAX_REVISIONS: Final = 256
MAX_SIZE: Final = 1024 * 1024
"""Estimated bytes of all operations kept for one document."""

OPERATION_SIZE: Final = 100
"""What an operation is taken to need beside its value."""


class Revision(NamedTuple):
    """One step of a document: who made it, when, and what it changed."""

    number: int
    ops: list[Operation]
    author: Author
    action: str | None
    """The action that made it, if one did."""
    time: float
    """Seconds since the epoch."""
    previous: int
    """The revision that `ops` apply to: `number - 1`, unless others' commits came in at once. Not
    below `number` where the store was reset: whoever follows needs the whole document then."""

    def __repr__(self) -> str:
        # What changed is the user's, and no business of a log.
        return f"Revision({self.number}, author={self.author!r}, action={self.action!r})"


class History:
    """The latest revisions of one document."""

    __slots__ = ("_revisions", "_size", "_sizes")

    def __init__(self) -> None:
        self._revisions: deque[Revision] = deque()
        self._sizes: deque[int] = deque()
        self._size = 0

    def add(self, revision: Revision) -> None:
        """Keep `revision`, and let go of the oldest ones beyond the bounds."""
        size = 0
        for operation in revision.ops:
            size += OPERATION_SIZE
            value = operation.get("value")
            if type(value) is str or type(value) is dict or type(value) is list:
                size += _size_of(value, MAX_SIZE - size)
        self._revisions.append(revision)
        self._sizes.append(size)
        self._size += size
        while len(self._revisions) > MAX_REVISIONS or self._size > MAX_SIZE:
            self._revisions.popleft()
            self._size -= self._sizes.popleft()

    def clear(self) -> None:
        """Forget everything, for the document went back."""
        self._revisions.clear()
        self._sizes.clear()
        self._size = 0

    def since(self, revision: int, current: int) -> list[Revision] | None:
        """Return what leads from `revision` to `current`; `None` if that is not known."""
        if revision == current:
            return []
        missed: list[Revision] = []
        for known in reversed(self._revisions):
            missed.append(known)
            if known.previous == revision:
                missed.reverse()
                return missed
        return None


def _size_of(value: JSONValue, limit: int) -> int:
    """Estimate the bytes of `value` as JSON; the estimate stops counting at `limit`."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        size = 2
        for key, item in value.items():
            size += len(key) + 4 + _size_of(item, limit - size)
            if size >= limit:
                break
        return size
    if isinstance(value, list):
        size = 2
        for item in value:
            size += 1 + _size_of(item, limit - size)
            if size >= limit:
                break
        return size
    return 8
