"""How a change is made again while other processes keep committing first.

The first time at once, which nearly always is enough. Then after pauses that are drawn at random
from a range that grows: of many who lost the same race, few meet again in the next one.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

__all__ = ["ATTEMPTS", "LONGEST", "PATIENCE", "SHORTEST", "Backoff", "Race"]

PATIENCE: Final = 5.0
"""Seconds after the first lost race for which a change is made again."""

ATTEMPTS: Final = 5
"""How often it is made at least, however long that takes: a slow one gets a chance, too."""

SHORTEST: Final = 0.002
"""Seconds that the first pause takes at most: about what a commit takes."""

LONGEST: Final = 0.05
"""Seconds that any pause takes at most."""


class Backoff(NamedTuple):
    """Where the time and the chance come from. `draw` returns a number from 0 up to 1."""

    clock: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Race:
    """The tries of one change, from the first that was lost."""

    __slots__ = ("_backoff", "_began", "_seconds", "_tries")

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._began = backoff.clock()
        self._seconds = 0.0
        self._tries = 0

    def __str__(self) -> str:
        return f"{self._tries} tries in {self._seconds:.1f} s"

    async def lose(self) -> bool:
        """Note that a try was lost. Return when it is time for the next; `False`: for none."""
        self._tries += 1
        backoff = self._backoff
        self._seconds = backoff.clock() - self._began
        if self._seconds >= PATIENCE and self._tries >= ATTEMPTS:
            return False
        if self._tries > 1:
            # Far fewer doublings than this reach the longest pause.
            longest = min(LONGEST, SHORTEST * 2.0 ** min(self._tries - 2, 16))
            await backoff.sleep(longest * backoff.draw())
        return True
