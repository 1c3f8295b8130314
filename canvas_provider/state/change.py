"""A change as a block: `async with` in the event loop, `with` in a worker thread."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from canvas_provider.errors import StateClosed, StateError
from canvas_provider.state import nesting
from canvas_provider.state.document import Change
from canvas_provider.state.hold import Hold
from canvas_provider.types import Author

if TYPE_CHECKING:
    from canvas_provider.state.bound import BoundState

__all__ = ["ENDED", "ChangeContext"]

S = TypeVar("S")
R = TypeVar("R")

ENDED: Final = "the call was ended; it changes nothing any more"


class ChangeContext(Generic[S]):
    """One change as a block: see `SharedState.change`."""

    __slots__ = (
        "_action",
        "_author",
        "_bound",
        "_change",
        "_entered",
        "_expected_revision",
        "_hold",
    )

    def __init__(
        self,
        hold: Hold,
        author: Author,
        action: str | None,
        expected_revision: int | None,
        bound: "BoundState[S] | None" = None,
    ) -> None:
        self._hold = hold
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
        if _running_loop() is self._hold.live.loop:
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
        nesting.refuse_nested(self._hold.live.document)

    def _enter(self, change: Change) -> S:
        self._entered = change
        nesting.enter(change)
        return change.draft  # type: ignore[no-any-return]

    def _leave(self) -> None:
        assert self._entered is not None, "it was entered"
        nesting.leave(self._entered)

    # In the loop of the state, also for a thread: there nothing comes in between.

    async def _begin(self) -> Change:
        change = self._change = await self._hold.begin(self._expected_revision)
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
            await self._hold.commit(change, self._author, self._action)
        else:
            self._hold.live.cancel(change)

    def end(self) -> None:
        """Roll back from outside of the block."""
        if (change := self._take()) is not None:
            self._hold.live.cancel(change)

    def _take(self) -> Change | None:
        if self._bound is not None:
            self._bound.open_changes.discard(self)
        change, self._change = self._change, None
        return change

    def _in_loop(self, work: Coroutine[Any, Any, R]) -> R:
        """Do `work` in the loop of the state, from another thread."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._hold.live.loop).result()
        except RuntimeError as error:
            if not self._hold.live.loop.is_closed():
                raise
            work.close()
            raise StateClosed("the state's event loop has ended; nothing was changed") from error


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
