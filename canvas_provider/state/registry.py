"""The documents of one store that are open in this process, each of them once."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from canvas_provider.errors import StateClosed, StateError
from canvas_provider.state.live import LiveDocument
from canvas_provider.state.shared import SharedState, open_live
from canvas_provider.state.store import Store

__all__ = ["StateRegistry"]

S = TypeVar("S")


class StateRegistry:
    """Opens documents, so that all who open the same key share one document and its turns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, _Entry] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<StateRegistry of {len(self._open)} documents>"

    @overload
    async def open(
        self, key: str, *, initial: Callable[[], Any] | None = None
    ) -> SharedState[Any]: ...

    @overload
    async def open(
        self, key: str, state_type: type[S], *, initial: Callable[[], S] | None = None
    ) -> SharedState[S]: ...

    async def open(
        self, key: str, state_type: Any = None, *, initial: Callable[[], Any] | None = None
    ) -> SharedState[Any]:
        """Return a hold on the document `key`. Its `aclose` lets go; the last one closes it.

        Raises:
            StateClosed: the registry was closed.
            StateError: the document is open as another type, or does not fit this one.
        """
        if self._closed:
            raise StateClosed("the states of this store were closed")
        entry = self._open.get(key)
        if entry is None:
            opening = asyncio.ensure_future(open_live(self._store, key, state_type, initial))
            entry = self._open[key] = _Entry(state_type, opening)
        elif entry.state_type is not state_type:
            raise StateError(
                f"the document {key!r} is open as {_name(entry.state_type)},"
                f" so it cannot be opened as {_name(state_type)}"
            )
        entry.holds += 1
        try:
            # Shielded: another opener may wait for the same document.
            live = await asyncio.shield(entry.opening)
        except BaseException:
            await self._release(key, entry)
            raise
        return SharedState(live, partial(self._release, key, entry))

    async def _release(self, key: str, entry: "_Entry") -> None:
        entry.holds -= 1
        if entry.holds == 0:
            if self._open.get(key) is entry:
                del self._open[key]
            if not entry.opening.done():
                entry.opening.cancel()
            elif not entry.opening.cancelled() and entry.opening.exception() is None:
                await entry.opening.result().aclose()

    async def aclose(self) -> None:
        """Open nothing more, and close the store. Close what was opened first."""
        self._closed = True
        await self._store.aclose()


class _Entry:
    """One open document."""

    __slots__ = ("holds", "opening", "state_type")

    def __init__(self, state_type: Any, opening: "asyncio.Future[LiveDocument]") -> None:
        self.state_type = state_type
        self.opening = opening
        self.holds = 0


def _name(state_type: Any) -> str:
    return getattr(state_type, "__name__", None) or str(state_type)
