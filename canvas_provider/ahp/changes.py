"""The changes of a client, one after the other, for an `async for`."""

import asyncio
from collections.abc import AsyncIterator, Callable

from canvas_provider.ahp.change import Change, ChangeQueue
from canvas_provider.types import JSONObject

__all__ = ["Changes"]


class Changes(AsyncIterator[Change]):
    """One reader's view; begins when it is made. Never holds more than a few hundred changes."""

    def __init__(self, current: Callable[[str], JSONObject | None]) -> None:
        self._queue = ChangeQueue(current)
        self._news = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    async def __anext__(self) -> Change:
        """Wait for the next change.

        Raises:
            StopAsyncIteration: the client was closed.
            WireError: the connection is lost for good.
        """
        while (change := self._queue.take()) is None:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return change

    def put(self, change: Change) -> None:
        self._queue.put(change)
        self._news.set()

    def end(self, error: Exception | None) -> None:
        """Let nothing more come; what has come is still handed over."""
        self._ended, self._error = True, error
        self._news.set()
