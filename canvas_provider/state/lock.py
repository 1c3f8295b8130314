"""The order of the changes of one document: one at a time, first come first served.

Not an `asyncio.Lock`: taking it when it is free must not wait, for that is what nearly every
action does.
"""

import asyncio
from collections import deque

__all__ = ["TurnLock"]


class TurnLock:
    """A fair lock of one event loop."""

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_nowait(self) -> bool:
        """Take the lock if nobody has it, and say whether that worked."""
        if self._held:
            return False
        self._held = True
        return True

    async def take(self) -> None:
        """Wait for the lock, and take it."""
        if self.take_nowait():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The lock may have been handed over just before the cancellation.
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Hand the lock to whoever waits longest, or leave it free."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._held = False
