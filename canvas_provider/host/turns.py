"""Who may go on: calls all at once, a declaration alone.

A declaration waits until every call under way has its answer, whichever extension was asked, and
what comes meanwhile waits for the declaration (measured with Copilot CLI 1.0.102). So a handler
that declares anew and waits for it waits for ever, and the session with it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

__all__ = ["Turns"]

logger = logging.getLogger("canvas_provider.host")


class Turns:
    """Call `note_change()` whenever a call may have ended.

    Args:
        is_busy: whether a call is under way.
    """

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._declaring = 0
        self._change = asyncio.Event()

    def note_change(self) -> None:
        """Have those who wait look again."""
        self._change.set()
        self._change = asyncio.Event()

    async def wait_for_declarations(self) -> None:
        """Wait until nobody declares or wants to; returns at once, most of the time."""
        while self._declaring:
            await self._change.wait()

    @asynccontextmanager
    async def alone(self, who: str) -> AsyncIterator[None]:
        """Wait until no call is under way, and let none begin in the block."""
        self._declaring += 1
        try:
            if self._is_busy():
                logger.warning(
                    "%s declares its canvases while calls are under way: this waits for their "
                    "answers, and later calls wait for it. A handler must not wait for that.",
                    who,
                )
            while self._is_busy():
                await self._change.wait()
            yield
        finally:
            self._declaring -= 1
            self.note_change()
