"""Where documents live: the one seam between a shared state and its storage.

A store knows keys, revisions and JSON documents. It knows no models, drafts or authors. This module
is light: an author names a store at declaration time, before the handshake.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.difference import Operation

__all__ = ["Store", "Stored"]


class Stored(NamedTuple):
    """A document as a store holds it. Shared, so never written to."""

    revision: int
    """Counts commits from 1; a key without a document is at 0."""
    document: JSONValue


class Store(Protocol):
    """A compare-and-set map of documents; safe between tasks, and, where durable, processes."""

    immediate: bool
    """Whether `commit` never waits. Others are shielded from the cancellation of their caller."""

    def resolve(self, default_directory: Path) -> "Store":
        """Return the store to use where nothing but files in `default_directory` was said."""

    async def load(self, key: str) -> Stored | None:
        """Return the document, or `None` where there is none.

        Raises:
            DamagedDocument: it could not be read and was set aside; the next call finds none.
            StoreError: it cannot be read now, and is left as it is.
        """

    def is_current(self, key: str, revision: int) -> bool:
        """Say, without waiting, whether nobody else has visibly changed what was loaded."""

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        operations: Sequence["Operation"],
    ) -> None:
        """Make `document` revision `expected_revision + 1`, entirely or not at all.

        `operations` lead to it from the expected revision; for stores that keep a log, which write
        the whole document when there are none. What returned from here survives `kill -9`, if the
        store is durable.

        Raises:
            RevisionConflict: the store is at another revision.
            StoreError: it cannot be written; nothing was.
        """

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, in the running loop, when the document is another: `load` it then.

        It may be called for commits of one's own, too. Returns the way out.
        """

    async def aclose(self) -> None:
        """Let go of files and threads. What was committed stays. May be called twice.

        The next use takes hold of them again: a canvas that is declared once may be opened in
        several sessions, one after the other. Who has closed a `SharedState` is refused there.
        """
