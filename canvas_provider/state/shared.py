"""The shared state of a canvas: what authors change, and pages and agents follow."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Generic, TypeVar, overload

from canvas_provider.state.backoff import Backoff
from canvas_provider.state.bound import BoundState
from canvas_provider.state.change import ChangeContext
from canvas_provider.state.document import Change
from canvas_provider.state.history import Revision
from canvas_provider.state.hold import Hold
from canvas_provider.state.live import LiveDocument
from canvas_provider.state.shape import shape_of
from canvas_provider.state.store import Store
from canvas_provider.state.surroundings import Presence
from canvas_provider.state.undo import change_back
from canvas_provider.state.version import Version
from canvas_provider.types import Author, JSONValue

__all__ = ["Revision", "SharedState", "open_live"]

_BACKOFF: Final = Backoff()

S = TypeVar("S")
R = TypeVar("R")


class SharedState(Generic[S]):
    """One user's hold on a document: several may share it, and each closes its own.

    Made by `open`, or by a `StateRegistry`. Everything but the `with` form of `change()` belongs
    to the event loop that it was opened on.
    """

    def __init__(
        self,
        live: LiveDocument,
        release: Callable[[], Awaitable[None]] | None = None,
        *,
        backoff: Backoff = _BACKOFF,
    ) -> None:
        self._live = live
        self._hold = Hold(live, backoff)
        self._release = live.aclose if release is None else release
        self._unsubscribe: list[Callable[[], None]] = []

    @overload
    @classmethod
    async def open(
        cls, store: Store, key: str, *, initial: Callable[[], Any] | None = None
    ) -> "SharedState[Any]": ...

    @overload
    @classmethod
    async def open(
        cls,
        store: Store,
        key: str,
        state_type: type[S],
        *,
        initial: Callable[[], S] | None = None,
    ) -> "SharedState[S]": ...

    @classmethod
    async def open(
        cls,
        store: Store,
        key: str,
        state_type: Any = None,
        *,
        initial: Callable[[], Any] | None = None,
    ) -> "SharedState[Any]":
        """Load the document `key`, or begin with `initial()`, which the first commit stores.

        Raises:
            StateError: what is stored does not fit `state_type`; it stays as it is.
        """
        return SharedState(await open_live(store, key, state_type, initial))

    def __repr__(self) -> str:
        return f"<SharedState at revision {self.revision}{', closed' * self.closed}>"

    @property
    def revision(self) -> int:
        """How many commits made the document what it is. 0 is a seed that nobody stored yet."""
        return self._live.document.revision

    @property
    def version(self) -> Version:
        """The revision with its epoch, for those who come back: another document has another."""
        return Version(self.revision, self._live.epoch)

    @property
    def document(self) -> JSONValue:
        """The document as JSON. Revisions share its structure: read it, never write to it."""
        return self._live.document.value

    @property
    def value(self) -> S:
        """The document as its type: reading works, writing raises `DraftClosed`."""
        return self._live.document.view  # type: ignore[no-any-return]

    @property
    def damage(self) -> str | None:
        """What was found instead of a document, and was set aside, for people to read."""
        return self._live.damage

    @property
    def online(self) -> bool:
        """Whether the store can be reached. Reading goes on without it, and changes fail."""
        return self._live.surroundings.is_online

    @property
    def presence(self) -> Presence:
        """Who has the document open, as far as is known: how many panels, and whose."""
        return self._live.surroundings.presence

    def enter(self, name: str) -> None:
        """Say that somebody has the document open, until this is closed."""
        self._unsubscribe.append(self._live.surroundings.enter(name))

    def subscribe_surroundings(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when `online` or `presence` may be another. Returns the way out."""
        return self._keep(self._live.surroundings.subscribe(listener))

    @property
    def closed(self) -> bool:
        """Whether `aclose` was called."""
        return self._hold.closed

    def change(
        self,
        *,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> ChangeContext[S]:
        """Open a change: `async with state.change() as draft:`, or `with` in a worker thread.

        Leaving the block makes one revision, an exception in it none. Other changes wait until
        then, so wait for nothing slow in there.

        Raises, on entering:
            RevisionConflict: the document is not at `expected_revision`.
            ChangeInProgress: this is within a change of the same document, or another one waits
                for this to end while it changes the document.
            StateClosed: the state was closed.

        Raises, on leaving, with nothing changed:
            NotJSON, InvalidState: what was written cannot be stored.
            RevisionConflict: another process was first. `update` tries again by itself.
            StateClosed, StoreError: it could not be stored.
        """
        return ChangeContext(self._hold, author, action, expected_revision)

    @overload
    async def update(
        self,
        fn: Callable[[S], Coroutine[Any, Any, R]],
        *,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> R: ...

    @overload
    async def update(
        self,
        fn: Callable[[S], R],
        *,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> R: ...

    async def update(
        self,
        fn: Callable[[S], Any],
        *,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> Any:
        """Call `fn(draft)` within a change and return its result; `fn` may be `async`.

        When another process commits first, everything is done again, after a short pause, until
        it is first here: for 5 s, and at least five times, unless it is cancelled. `fn` must not
        do anything outside of the draft that it may not do twice. Others' changes wait meanwhile.

        Raises:
            RevisionConflict: the document is not at `expected_revision`, or others kept
                committing first.
            What else `change` raises on entering and leaving, and whatever `fn` raises.
        """
        result, _ = await self._hold.run_with_draft(fn, author, action, expected_revision)
        return result

    async def undo(
        self,
        revision: int | None = None,
        *,
        of: Author | None = None,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> Revision:
        """Take back one revision, by a new one that is returned.

        Without a number it is the newest edit that stands: neither an undo nor a redo, and not
        undone now. `of` looks at the edits of that author alone. A revision given by its number
        may be an undo, too.

        It works as long as nothing that the revision touched has changed since, nor the shape of
        a list on the way there. Others' commits in between are seen to as in `update`.

        Raises:
            NothingToUndo: there is no such revision, or it is undone already, or forgotten.
            RevisionConflict: a later revision is in the way, and is named.
            InvalidState: the state would not be of its type.
            What `change` raises on entering and leaving.
        """
        return await self._revert(revision, of, False, author, action, expected_revision)

    async def redo(
        self,
        *,
        of: Author | None = None,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> Revision:
        """Take back the newest undo that stands, of all or of one author: see `undo`."""
        return await self._revert(None, of, True, author, action, expected_revision)

    def bind(
        self, *, author: Author, action: str | None, expected_revision: int | None = None
    ) -> BoundState[S]:
        """Return this state as one call sees it; `expected_revision` is for its first change."""
        return BoundState(self, self._hold, author, action, expected_revision)

    def subscribe(self, listener: Callable[[Revision], None]) -> Callable[[], None]:
        """Call `listener`, in the loop, right after each commit. Returns the way out."""
        return self._keep(self._live.subscribe(listener))

    def _keep(self, unsubscribe: Callable[[], None]) -> Callable[[], None]:
        """Return the way out of a subscription, which ends with this hold at the latest."""
        self._unsubscribe.append(unsubscribe)

        def leave() -> None:
            if unsubscribe in self._unsubscribe:
                self._unsubscribe.remove(unsubscribe)
                unsubscribe()

        return leave

    def history(self) -> list[Revision]:
        """Return the latest revisions, oldest first: 256 of them, if they are small enough."""
        return self._live.history.after(0)

    def since(self, revision: int) -> list[Revision] | None:
        """Return the revisions after `revision`; `None` if that is too long ago, or never was.

        A `Version` of another epoch never was; a bare number is trusted to be of this document.
        """
        if isinstance(revision, Version) and revision.epoch not in (None, self._live.epoch):
            return None
        return self._live.history.since(revision, self.revision)

    async def aclose(self) -> None:
        """Close: changes that are open now will not be committed. May be called twice."""
        if self._hold.closed:
            return
        self._hold.closed = True
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        await self._release()

    async def _revert(
        self,
        number: int | None,
        of: Author | None,
        redo: bool,
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> Revision:
        def fill(change: Change) -> None:
            change_back(change, self.history(), number, of, redo=redo)

        _, revision = await self._hold.run(fill, author, action, expected_revision)
        assert revision is not None, "it changes something"
        return revision


async def open_live(
    store: Store, key: str, state_type: Any, initial: Callable[[], Any] | None
) -> LiveDocument:
    """Load a document for the handles that will share it."""
    shape = shape_of(state_type)

    def seed() -> JSONValue:
        return shape.seed(state_type if initial is None else initial)

    live = LiveDocument(store, key, shape, seed)
    await live.load()
    return live
