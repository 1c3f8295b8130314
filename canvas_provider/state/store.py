"""Where documents live: the one seam between a shared state and its storage.

A store knows keys, JSON documents and the revisions that led to them. It knows no models or drafts,
and reads nothing in a revision. This module is light: an author names a store at declaration time,
before the handshake.

A store may be far away. It then owes what one on a disk does, and:

- A commit whose answer is lost is a `StoreError`, never a `RevisionConflict`, after which it would
  be tried again. It may have happened; so the store no longer says that anything of that key is
  current, and the next `load` tells. Sent again by the store itself, it must not count twice.
- A notice may be missed: nobody relies on it, because `commit` compares revisions where the
  document is. After a gap, as when the connection is back, all who watch are called.
- Without a connection nothing `is_current`. `load` and `commit` raise `StoreError` within a bounded
  time; the state is still read as it was.
- `aclose` lets what has begun end, or raises `StoreError` there. It never leaves a commit
  unanswered.
- Any text is a key, also one with lone surrogates or NUL, and no two keys are the same.
- A document of many megabytes is stored whole, or refused with `StoreError`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, runtime_checkable

from canvas_provider.state.history import Revision
from canvas_provider.types import JSONValue

__all__ = ["PUT_RIGHT", "RemoteStore", "Store", "Stored"]

PUT_RIGHT: Final = (
    "It stays as it is, and nothing was changed. Edit its file back, or move that away to begin "
    "anew."
)
"""What helps where a stored document does not fit the state's type."""


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
        """Say, without waiting, whether nobody else has visibly changed what was loaded.

        `False` where that cannot be told: the document is loaded again then.
        """

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
            StoreError: it is not known to be written. Nothing was, unless an answer was lost.
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


@runtime_checkable
class RemoteStore(Protocol):
    """What a store that is far away tells beside its documents; any store may have these."""

    def is_reachable(self) -> bool:
        """Say, without waiting, whether the store answers, as far as is known."""

    def attend(self, key: str, names: Sequence[str], listener: Callable[[], None]) -> None:
        """Tell other processes who has the document open in this one: a name for each panel.

        Until nobody has, `listener` is called, in the running loop, when `is_reachable` or
        `others` may answer differently.
        """

    def others(self, key: str) -> Sequence[str]:
        """Return a name for each panel of another process that has the document open."""
