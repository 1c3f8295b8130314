"""Revisions, and the latest of them that one document remembers, bounded by count and size."""

from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from canvas_provider.types import Author, JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.difference import Operation

__all__ = ["MAX_REVISIONS", "MAX_SIZE", "History", "Revision"]

MAX_REVISIONS: Final = 256
"""How many are kept of one document."""

MAX_SIZE: Final = 1024 * 1024
"""Estimated bytes of all operations kept for one document, those that take them back included."""

OPERATION_SIZE: Final = 100
"""What an operation is taken to need beside its value."""

_SMALL: Final = frozenset({bool, float, int, type(None)})


class Revision(NamedTuple):
    """One step of a document: who made it, when, and what it changed."""

    number: int
    ops: "list[Operation]"
    author: Author
    action: str | None
    """The action that made it, if one did."""
    time: float
    """Seconds since the epoch."""
    previous: int
    """The revision that `ops` apply to: `number - 1`, unless others' commits came in at once. Not
    below `number` where the store was reset: whoever follows needs the whole document then."""
    inverse: "list[Operation]"
    """What takes `ops` back: applied to this revision, it gives the previous one."""
    reverts: int | None = None
    """The revision that this one undid. A redo is the undo of an undo."""
    is_redo: bool = False
    """Whether what it undid was an undo; noted, because that may be forgotten before this is."""

    def before(self, document: JSONValue) -> JSONValue:
        """Return what the document was before this revision, given what it was after it.

        From `state.document` back through `state.history()`, this tells what each one did. What a
        revision left alone is the same object before and after it.

        Raises:
            PatchError: `document` is not what this revision made.
        """
        from canvas_provider.state.patch import apply  # not for those who only keep revisions

        return apply(document, self.inverse)

    def __repr__(self) -> str:
        # What changed is the user's, and no business of a log.
        return f"Revision({self.number}, author={self.author!r}, action={self.action!r})"


class History:
    """The latest revisions of one document, each of which follows the one before."""

    __slots__ = ("_revisions", "_size", "_sizes")

    def __init__(self, revisions: Iterable[Revision] = ()) -> None:
        self._revisions: deque[Revision] = deque()
        self._sizes: deque[int] = deque()
        self._size = 0
        for revision in revisions:
            self.add(revision)

    def add(self, revision: Revision) -> None:
        """Keep `revision`, and let go of the oldest ones beyond the bounds."""
        size = 0
        for operation in (*revision.ops, *revision.inverse):
            size += OPERATION_SIZE
            value = operation.get("value")
            if type(value) is str:
                size += len(value)
            elif type(value) not in _SMALL:
                size += _size_of(value, MAX_SIZE - size)
        revisions, sizes = self._revisions, self._sizes
        revisions.append(revision)
        sizes.append(size)
        self._size += size
        while len(revisions) > MAX_REVISIONS or self._size > MAX_SIZE:
            revisions.popleft()
            self._size -= sizes.popleft()

    def clear(self) -> None:
        """Forget everything: what comes now does not follow from it."""
        self._revisions.clear()
        self._sizes.clear()
        self._size = 0

    def after(self, number: int) -> list[Revision]:
        """Return what is known of the revisions after `number`, oldest first."""
        if not number:
            return list(self._revisions)
        later = list(takewhile(lambda known: known.number > number, reversed(self._revisions)))
        later.reverse()
        return later

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
