"""One user's hold on a live document, which may end while others go on: its way to change it."""

from collections.abc import Callable
from typing import Any, Final

from canvas_provider.errors import RevisionConflict, StateClosed
from canvas_provider.state import nesting
from canvas_provider.state.document import Change
from canvas_provider.state.history import Revision
from canvas_provider.state.live import LiveDocument
from canvas_provider.types import Author

__all__ = ["Hold"]

ATTEMPTS: Final = 5
"""How often a change is made when other processes keep committing first."""


class Hold:
    """What begins and commits changes, until it is closed. In the loop of the document only."""

    __slots__ = ("closed", "live")

    def __init__(self, live: LiveDocument) -> None:
        self.live = live
        self.closed = False

    async def begin(self, expected_revision: int | None) -> Change:
        """Begin a change, once it is its turn: end it with `commit`, or `live.cancel`.

        Raises:
            ChangeInProgress: the turn would never come.
            StateClosed: it was closed, maybe meanwhile.
            What `LiveDocument.begin` raises.
        """
        if self.closed:
            raise _closed()
        live = self.live
        # Nearly always nobody is in the way, and nothing has to be waited for.
        change = live.begin_nowait(expected_revision)
        if change is None:
            with nesting.waiting(live.document):
                change = await live.begin(expected_revision)
            if self.closed:
                live.cancel(change)
                raise _closed()
        return change

    async def commit(self, change: Change, author: Author, action: str | None) -> Revision | None:
        """Commit a change: see `LiveDocument.commit`. Once closed, it is rolled back instead."""
        if self.closed:
            self.live.cancel(change)
            raise _closed()
        return await self.live.commit(change, author, action)

    async def run(
        self,
        fill: Callable[[Change], Any],
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> tuple[Any, Revision | None]:
        """Make a change by `fill`, sync or async, again as long as others commit first.

        Returns the result of `fill`, and the revision, if it wrote anything.
        """
        live = self.live
        nesting.refuse_nested(live.document)
        for attempt in range(1, ATTEMPTS + 1):
            change = await self.begin(expected_revision)
            try:
                result: Any = fill(change)
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
                return result, await self.commit(change, author, action)
            except RevisionConflict:
                if attempt == ATTEMPTS or expected_revision is not None:
                    raise
        raise AssertionError("the last attempt returns or raises")


def _closed() -> StateClosed:
    return StateClosed("the state was closed; nothing was changed")
