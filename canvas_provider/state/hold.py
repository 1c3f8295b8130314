"""One user's hold on a live document, which may end while others go on: its way to change it."""

from collections.abc import Callable, Coroutine
from typing import Any

from canvas_provider.errors import RevisionConflict, StateClosed
from canvas_provider.state import nesting
from canvas_provider.state.backoff import Backoff, Race
from canvas_provider.state.document import Change
from canvas_provider.state.history import Revision
from canvas_provider.state.live import LiveDocument
from canvas_provider.types import Author

__all__ = ["Hold"]


class Hold:
    """What begins and commits changes, until it is closed. In the loop of the document only."""

    __slots__ = ("_backoff", "closed", "live")

    def __init__(self, live: LiveDocument, backoff: Backoff) -> None:
        self._backoff = backoff
        self.live = live
        self.closed = False

    async def begin(self, expected_revision: int | None) -> Change:
        """Begin a change, once it is its turn: end it with `commit`, or `live.cancel`.

        Raises:
            ChangeInProgress: the turn would never come.
            StateClosed: it was closed, maybe meanwhile.
            What `LiveDocument.begin` raises.
        """
        change = self._begin_nowait(expected_revision)
        if change is None:
            live = self.live
            with nesting.waiting(live.document):
                change = await live.begin(expected_revision)
            if self.closed:
                live.cancel(change)
                raise _closed()
        return change

    def _begin_nowait(self, expected_revision: int | None) -> Change | None:
        """Begin a change, if nobody is in the way and nothing has to be waited for.

        That is nearly always so.
        """
        if self.closed:
            raise _closed()
        return self.live.begin_nowait(expected_revision)

    def commit(
        self, change: Change, author: Author, action: str | None, *, keep_turn: bool = False
    ) -> Coroutine[Any, Any, Revision | None]:
        """Commit a change: see `LiveDocument.commit`. Once closed, it is rolled back instead."""
        if self.closed:
            self.live.cancel(change)
            raise _closed()
        return self.live.commit(change, author, action, keep_turn=keep_turn)

    async def run(
        self,
        fill: Callable[[Change], Any],
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> tuple[Any, Revision | None]:
        """Make a change by `fill`, sync or async, again as long as others commit first.

        It has its turn until it is made: those who wait here for theirs are not in the race.
        Returns the result of `fill`, and the revision, if it wrote anything.

        Raises:
            RevisionConflict: others kept committing first, for longer than `backoff.PATIENCE`.
        """
        nesting.refuse_nested(self.live.document)
        change = self._begin_nowait(expected_revision)
        if change is None:
            change = await self.begin(expected_revision)
        race: Race | None = None
        while True:
            result = await self._fill(change, fill)
            try:
                revision = await self.commit(
                    change, author, action, keep_turn=expected_revision is None
                )
            except RevisionConflict as conflict:
                if expected_revision is not None:
                    raise
                lost = conflict
            else:
                return result, revision
            race = race or Race(self._backoff)
            change = await self._begin_again(race, lost)

    def run_with_draft(
        self,
        fn: Callable[[Any], Any],
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> Coroutine[Any, Any, tuple[Any, Revision | None]]:
        """Do what `run` does, with a function of the draft."""
        return self.run(lambda change: fn(change.draft), author, action, expected_revision)

    async def _fill(self, change: Change, fill: Callable[[Change], Any]) -> Any:
        try:
            result: Any = fill(change)
            if hasattr(result, "__await__"):
                nesting.enter(change)
                try:
                    result = await result
                finally:
                    nesting.leave(change)
        except BaseException:
            self.live.cancel(change)
            raise
        return result

    async def _begin_again(self, race: Race, lost: RevisionConflict) -> Change:
        """Begin another change in the turn that a lost one has kept, after a pause."""
        try:
            if not await race.lose():
                raise RevisionConflict(
                    lost.expected,
                    lost.actual,
                    f"Nothing was changed: another process kept committing first ({race}). "
                    "Try again when less is going on.",
                )
            if self.closed:
                raise _closed()
        except BaseException:
            self.live.give_turn()
            raise
        return await self.live.begin_in_turn(None)


def _closed() -> StateClosed:
    return StateClosed("the state was closed; nothing was changed")
