"""The calls of a client that wait for an answer."""

import asyncio

from canvas_provider.errors import WireError
from canvas_provider.types import JSONValue

__all__ = ["Calls"]


class Calls:
    """One future for each request."""

    def __init__(self) -> None:
        self._futures: dict[int, asyncio.Future[JSONValue]] = {}

    def begin(self, id: int) -> asyncio.Future[JSONValue]:
        future: asyncio.Future[JSONValue] = asyncio.get_running_loop().create_future()
        self._futures[id] = future
        return future

    def end(self, id: int) -> None:
        """Wait no longer."""
        del self._futures[id]

    def answer(self, id: int, outcome: JSONValue | WireError) -> None:
        future = self._futures.get(id)
        if future is None or future.done():
            return
        if isinstance(outcome, WireError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def fail(self, error: WireError) -> None:
        """Answer all of them."""
        for id in list(self._futures):
            self.answer(id, error)
