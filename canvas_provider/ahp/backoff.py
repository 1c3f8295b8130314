"""How long to wait before the next attempt to connect."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Backoff"]


@dataclass(slots=True)
class Backoff:
    """Waits twice as long each time, and never the same: a host's clients come back one by one."""

    first: float = 0.25
    """Seconds before the first new attempt, at most."""
    longest: float = 15.0
    """Seconds before any, at most."""
    attempts: int = 12
    """How many in a row; with the defaults they take about a minute and a half."""
    stable: float = 5.0
    """Seconds that a connection has to last, for the count to begin anew after it."""
    random: Callable[[], float] = random.random
    _made: int = field(default=0, init=False)

    def next(self, lasted: float = 0.0) -> float | None:
        """Return the seconds to wait now, or None to give up.

        Args:
            lasted: Seconds that the last connection worked.
        """
        if lasted >= self.stable:
            self._made = 0
        if self._made >= self.attempts:
            return None
        # 2.0**1024 is no number.
        delay = min(self.longest, self.first * 2.0 ** min(self._made, 64))
        self._made += 1
        return delay * (0.5 + self.random() / 2)
