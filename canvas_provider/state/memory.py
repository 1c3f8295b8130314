"""A store that lives as long as the process, and is shared by all instances in it."""

from collections.abc import Callable
from pathlib import Path

from canvas_provider.errors import RevisionConflict
from canvas_provider.state.history import History, Revision
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

__all__ = ["MemoryStore"]


class _Kept:
    """A document and its history."""

    __slots__ = ("document", "history", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self.document: JSONValue = None
        self.history = History()


class MemoryStore:
    """Keeps documents in this process; a reload or an exit loses them.

    Use it from one event loop.
    """

    immediate = True

    def __init__(self) -> None:
        self._documents: dict[str, _Kept] = {}
        self._listeners: dict[str, list[Callable[[], None]]] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._documents)} documents)"

    def resolve(self, default_directory: Path) -> "MemoryStore":
        """Return this store: it needs no folder."""
        return self

    async def load(self, key: str, since: int = 0) -> Stored | None:
        """Return the document and its history after `since`, or `None` where there is none."""
        kept = self._documents.get(key)
        if kept is None:
            return None
        return Stored(kept.revision, kept.document, kept.history.after(since))

    def is_current(self, key: str, revision: int) -> bool:
        """Say whether `revision` is the latest."""
        kept = self._documents.get(key)
        return revision == (0 if kept is None else kept.revision)

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        """Make `document` the next revision, and tell those who watch.

        Raises:
            RevisionConflict: the store is at another revision.
        """
        kept = self._documents.get(key)
        if kept is None:
            kept = _Kept()
        if kept.revision != expected_revision:
            raise RevisionConflict(expected_revision, kept.revision)
        self._documents[key] = kept
        kept.revision = expected_revision + 1
        kept.document = document
        if revision.ops:
            kept.history.add(revision)
        else:
            kept.history.clear()
        if self._listeners:
            for listener in self._listeners.get(key, ()):
                listener()

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` within each commit of `key`, the caller's own included."""
        listeners = self._listeners.get(key, [])
        self._listeners[key] = [*listeners, listener]

        def unwatch() -> None:
            remaining = [known for known in self._listeners.get(key, ()) if known is not listener]
            if remaining:
                self._listeners[key] = remaining
            else:
                self._listeners.pop(key, None)

        return unwatch

    async def aclose(self) -> None:
        """Do nothing: another session of this process may use the documents."""
