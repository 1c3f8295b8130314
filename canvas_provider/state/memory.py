"""A store that lives as long as the process, and is shared by all instances in it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canvas_provider.errors import RevisionConflict
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.difference import Operation

__all__ = ["MemoryStore"]

_NOTHING: Final = Stored(0, None)


class MemoryStore:
    """Keeps documents in this process; a reload or an exit loses them.

    Use it from one event loop.
    """

    immediate = True

    def __init__(self) -> None:
        self._documents: dict[str, Stored] = {}
        self._listeners: dict[str, list[Callable[[], None]]] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._documents)} documents)"

    def resolve(self, default_directory: Path) -> "MemoryStore":
        """Return this store: it needs no folder."""
        return self

    async def load(self, key: str) -> Stored | None:
        """Return the document, or `None` where there is none."""
        return self._documents.get(key)

    def is_current(self, key: str, revision: int) -> bool:
        """Say whether `revision` is the latest."""
        return self._documents.get(key, _NOTHING)[0] == revision

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        operations: Sequence["Operation"],
    ) -> None:
        """Make `document` the next revision, and tell those who watch.

        Raises:
            RevisionConflict: the store is at another revision.
        """
        actual = self._documents.get(key, _NOTHING)[0]
        if actual != expected_revision:
            raise RevisionConflict(expected_revision, actual)
        self._documents[key] = Stored(expected_revision + 1, document)
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
