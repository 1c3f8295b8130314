"""The shared state of a canvas: what authors change, and pages and agents follow."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, overload

from canvas_provider.errors import (
    NothingToUndo,
    RevisionConflict,
    StateClosed,
    StateError,
)
from canvas_provider.state import nesting
from canvas_provider.state.document import Change
from canvas_provider.state.history import Revision
from canvas_provider.state.live import LiveDocument
from canvas_provider.state.shape import shape_of
from canvas_provider.state.store import Store
from canvas_provider.state.undo import candidates, ensure_free
from canvas_provider.state.version import Version
from canvas_provider.types import Author, JSONValue

__all__ = ["BoundState", "ChangeContext", "Revision", "SharedState"]

S = TypeVar("S")
R = TypeVar("R")

ATTEMPTS: Final = 5
"""How often an `update` runs when other processes keep committing first."""

ENDED: Final = "the call was ended; it changes nothing any more"


class SharedState(Generic[S]):
    """One user's hold on a document: several may share it, and each closes its own.

    Made by `open`, or by a `StateRegistry`. Everything but the `with` form of `change()` belongs
    to the event loop that it was opened on.
    """

    def __init__(
        self, live: LiveDocument, release: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._live = live
        self._release = live.aclose if release is None else release
        self._closed = False
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
        return f"<SharedState at revision {self.revision}{', closed' * self._closed}>"

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
    def closed(self) -> bool:
        """Whether `aclose` was called."""
        return self._closed

    def change(
        self,
        *,
        author: Author = "system",
        action: str | None = None,
        expected_revision: int | None = None,
    ) -> "ChangeContext[S]":
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
        return ChangeContext(self, author, action, expected_revision)

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

        When another process commits first, everything is done again, up to five times: `fn` must
        not do anything outside of the draft that it may not do twice.

        Raises:
            What `change` raises on entering and leaving, and whatever `fn` raises.
        """
        live = self._live
        nesting.refuse_nested(live.document)
        for attempt in range(1, ATTEMPTS + 1):
            change = await self._begin(expected_revision)
            try:
                result: Any = fn(change.draft)
                if hasattr(result, "__await__"):
                    nesting.enter(change)
                    try:
                        result = await result
                    finally:
                        nesting.leave(change)
            except BaseException:
                live.cancel(change)
                raise
            try:
                await self._commit(change, author, action)
            except RevisionConflict:
                if attempt == ATTEMPTS or expected_revision is not None:
                    raise
            else:
                return result
        raise AssertionError("the last attempt returns or raises")

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
    ) -> "BoundState[S]":
        """Return this state as one call sees it; `expected_revision` is for its first change."""
        return BoundState(self, author, action, expected_revision)

    def subscribe(self, listener: Callable[[Revision], None]) -> Callable[[], None]:
        """Call `listener`, in the loop, right after each commit. Returns the way out."""
        unsubscribe = self._live.subscribe(listener)
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
        if self._closed:
            return
        self._closed = True
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        await self._release()

    # The loop's side of a change, for `update` and `ChangeContext`.

    async def _begin(self, expected_revision: int | None) -> Change:
        self._check_open()
        live = self._live
        # Nearly always nobody is in the way, and nothing has to be waited for.
        change = live.begin_nowait(expected_revision)
        if change is None:
            with nesting.waiting(live.document):
                change = await live.begin(expected_revision)
            if self._closed:
                live.cancel(change)
                self._check_open()
        return change

    async def _commit(
        self, change: Change, author: Author, action: str | None, reverts: int | None = None
    ) -> Revision | None:
        if self._closed:
            self._live.cancel(change)
            self._check_open()
        return await self._live.commit(change, author, action, reverts)

    async def _revert(
        self,
        number: int | None,
        of: Author | None,
        redo: bool,
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> Revision:
        live = self._live
        nesting.refuse_nested(live.document)
        for attempt in range(1, ATTEMPTS + 1):
            change = await self._begin(expected_revision)
            try:
                reverts = self._change_back(change, number, of, redo)
            except BaseException:
                live.cancel(change)
                raise
            try:
                revision = await self._commit(change, author, action, reverts)
            except RevisionConflict:
                if attempt == ATTEMPTS or expected_revision is not None:
                    raise
            else:
                assert revision is not None, "it changes something"
                return revision
        raise AssertionError("the last attempt returns or raises")

    def _change_back(
        self, change: Change, number: int | None, of: Author | None, redo: bool
    ) -> int:
        """Write the undo into `change`, and return which revision it reverts."""
        known = self._live.history.after(0)
        for target in candidates(known, number, of, redo=redo):
            ensure_free(self.document, known, target)
            # What only filled in a field that the type has is filled in again.
            if change.patch(target.inverse):
                return target.number
        whose = "" if of is None else f" by the {of}"
        what = f"revision {number}" if number is not None else ("redo" if redo else "undo")
        if number is not None:
            raise NothingToUndo(f"To undo {what} would change nothing.")
        raise NothingToUndo(f"There is nothing{whose} to {what}.")

    def _check_open(self) -> None:
        if self._closed:
            raise StateClosed("the state was closed; nothing was changed")


class ChangeContext(Generic[S]):
    """One change as a block: see `SharedState.change`."""

    __slots__ = (
        "_action",
        "_author",
        "_bound",
        "_change",
        "_expected_revision",
        "_entered",
        "_state",
    )

    def __init__(
        self,
        state: SharedState[S],
        author: Author,
        action: str | None,
        expected_revision: int | None,
        bound: "BoundState[S] | None" = None,
    ) -> None:
        self._state = state
        self._bound = bound
        self._author: Author = author
        self._action = action
        self._expected_revision = expected_revision
        self._change: Change | None = None
        self._entered: Change | None = None

    async def __aenter__(self) -> S:
        self._check_enter()
        return self._enter(await self._begin())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()
        await self._finish(kind)

    def __enter__(self) -> S:
        if _running_loop() is self._state._live.loop:
            raise StateError("write `async with` here: `with` is for worker threads")
        self._check_enter()
        return self._enter(self._in_loop(self._begin()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()
        self._in_loop(self._finish(kind))

    def _check_enter(self) -> None:
        if self._change is not None:
            raise StateError("a change can be entered once; call `change()` again")
        nesting.refuse_nested(self._state._live.document)

    def _enter(self, change: Change) -> S:
        self._entered = change
        nesting.enter(change)
        return change.draft  # type: ignore[no-any-return]

    def _leave(self) -> None:
        assert self._entered is not None, "it was entered"
        nesting.leave(self._entered)

    # In the loop of the state, also for a thread: there nothing comes in between.

    async def _begin(self) -> Change:
        change = self._change = await self._state._begin(self._expected_revision)
        if self._bound is not None:
            self._bound.open_changes.add(self)
            if self._bound.ended:
                self.end()
                raise StateClosed(ENDED)
        return change

    async def _finish(self, kind: type[BaseException] | None) -> None:
        change = self._take()
        if change is None:
            # It was rolled back from outside. An error of the block goes on.
            if kind is None:
                raise StateClosed(ENDED)
        elif kind is None:
            await self._state._commit(change, self._author, self._action)
        else:
            self._state._live.cancel(change)

    def end(self) -> None:
        """Roll back from outside of the block."""
        if (change := self._take()) is not None:
            self._state._live.cancel(change)

    def _take(self) -> Change | None:
        if self._bound is not None:
            self._bound.open_changes.discard(self)
        change, self._change = self._change, None
        return change

    def _in_loop(self, work: Coroutine[Any, Any, R]) -> R:
        """Do `work` in the loop of the state, from another thread."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._state._live.loop).result()
        except RuntimeError as error:
            if not self._state._live.loop.is_closed():
                raise
            work.close()
            raise StateClosed("the state's event loop has ended; nothing was changed") from error


class BoundState(Generic[S]):
    """The state as one call sees it: every change carries the call's author and action."""

    __slots__ = (
        "_action", "_author", "_expected_revision", "_state", "_view", "_viewed", "ended",
        "open_changes",
    )  # fmt: skip

    def __init__(
        self,
        state: SharedState[S],
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> None:
        self._state = state
        self._author: Author = author
        self._action = action
        self._expected_revision = expected_revision
        self._view: Any = None
        self._viewed: JSONValue = None
        """The document that `_view` shows."""
        self.ended = False
        self.open_changes: set[ChangeContext[S]] = set()

    @property
    def revision(self) -> int:
        """See `SharedState.revision`."""
        return self._state.revision

    @property
    def document(self) -> JSONValue:
        """See `SharedState.document`."""
        return self._state.document

    @property
    def value(self) -> S:
        """See `SharedState.value`. No other call gets the same object."""
        document = self._state._live.document
        if self._viewed is not document.value:
            self._viewed, self._view = document.value, document.look()
        return self._view  # type: ignore[no-any-return]

    def change(self) -> ChangeContext[S]:
        """Open a change: see `SharedState.change`."""
        self._check_running()
        expected = self._take_expected()
        return ChangeContext(self._state, self._author, self._action, expected, self)

    @overload
    async def update(self, fn: Callable[[S], Coroutine[Any, Any, R]]) -> R: ...

    @overload
    async def update(self, fn: Callable[[S], R]) -> R: ...

    async def update(self, fn: Callable[[S], Any]) -> Any:
        """Call `fn(draft)` within a change: see `SharedState.update`."""
        self._check_running()
        return await self._state.update(
            fn,
            author=self._author,
            action=self._action,
            expected_revision=self._take_expected(),
        )

    def history(self) -> list[Revision]:
        """See `SharedState.history`."""
        return self._state.history()

    async def undo(self, revision: int | None = None, *, of: Author | None = None) -> Revision:
        """Take back one revision: see `SharedState.undo`."""
        self._check_running()
        return await self._state.undo(
            revision,
            of=of,
            author=self._author,
            action=self._action,
            expected_revision=self._take_expected(),
        )

    async def redo(self, *, of: Author | None = None) -> Revision:
        """Take back the newest undo that stands: see `SharedState.undo`."""
        self._check_running()
        return await self._state.redo(
            of=of,
            author=self._author,
            action=self._action,
            expected_revision=self._take_expected(),
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"ctx.state is not the state itself: read ctx.state.value.{name}, and write within "
                "ctx.state.change()",
                name=name,
                obj=self,
            )

    def end(self) -> None:
        """Roll back what is open, and change nothing any more: the call's time is up.

        A thread cannot be stopped, but its writes are refused from here on.
        """
        self.ended = True
        for context in tuple(self.open_changes):
            context.end()

    def _check_running(self) -> None:
        if self.ended:
            raise StateClosed(ENDED)

    def _take_expected(self) -> int | None:
        expected, self._expected_revision = self._expected_revision, None
        return expected


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


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
