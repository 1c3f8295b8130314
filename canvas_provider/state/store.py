"""Where documents live: the one seam between a shared state and its storage.

A store knows keys, JSON documents and the revisions that led to them. It knows no models or drafts,
and reads nothing in a revision. This module is light: an author names a store at declaration time,
before the handshake.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from canvas_provider.state.history import Revision
from canvas_provider.types import JSONValue

__all__ = ["Store", "Stored"]


class Stored(NamedTuple):
    """A document as a store holds it. Shared, so never written to."""

    revision: int
    """Counts commits from 1; a key without a document is at 0."""
    document: JSONValue
    history: Sequence[Revision] = ()
    """What is still known of how it came about: the latest revisions, each from the one before,
    oldest first. If there are any, the last one is `revision`."""


class Store(Protocol):
    """A compare-and-set map of documents; safe between tasks, and, where durable, processes."""

    immediate: bool
    """Whether `commit` never waits. Others are shielded from the cancellation of their caller."""

    def resolve(self, default_directory: Path) -> "Store":
        """Return the store to use where nothing but files in `default_directory` was said."""

    async def load(self, key: str, since: int = 0) -> Stored | None:
        """Return the document and its history after the revision `since`, read at one moment.

        `None` where there is no document.

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
        revision: Revision,
    ) -> None:
        """Make `document` revision `expected_revision + 1`, entirely or not at all.

        `revision` is that number, and tells what led there from the expected one. A store keeps
        the latest of them as long as it keeps the document, as far as it can. One with a log may
        write `revision.ops` alone; where there are none, it writes the whole document, and what
        led there is not known. What returned from here survives `kill -9`, if the store is
        durable.

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
