"""Who has just lost a race for a file goes first, for a moment, before other processes.

A change is made from what was read, and stored only if that is still the latest. Where others write
all the time, it never is: they have the lock when it is read, and again when it is to be stored. So
who has lost a few times takes the right of way before it reads again, and others who have the lock
give it back. Not at the first loss, because everybody waits for who goes first.

That is a courtesy, not a condition: whoever has waited for `COURTESY` goes on, and who cannot take
the right of way does without. What keeps two from overwriting each other is the revision alone.
"""

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Final

from canvas_provider.state.kernel_lock import open_lock, try_lock

__all__ = ["COURTESY", "Precedence"]

COURTESY: Final = 0.5
"""Seconds that the right of way lasts, and that it is waited for."""

LOSSES: Final = 3
"""How often one loses, one time after the other, before it goes first."""

_PAUSE: Final = 0.0005
"""Seconds between two looks: a commit takes a few times as long."""


class Precedence:
    """The right of way at one file, held by a lock that the kernel frees when its holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._descriptor = -1
        self._losses = 0
        self._is_ignored = False
        """Whoever has it had it for too long: somebody stopped them, say."""

    def lose(self) -> None:
        """Note that a race was lost, and maybe go first from here on: `drop_later` is due.

        Waits while others go first, but not for long, and does without then.
        """
        with self._mutex:
            self._losses += 1
            if self._losses >= LOSSES and self._descriptor < 0:
                self._descriptor = self._take()

    def _take(self) -> int:
        try:
            descriptor = open_lock(self._path)
        except OSError:
            # A full disk, say. The commit will tell of it.
            return -1
        deadline = time.monotonic() + COURTESY
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                os.close(descriptor)
                return -1
            time.sleep(_PAUSE)
        return descriptor

    def win(self) -> None:
        """Note that a race was won; others go first again."""
        self._losses = 0
        self.drop()

    def drop(self) -> None:
        """Let others go first again, if they did not."""
        with self._mutex:
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def drop_later(self) -> None:
        """Let others go first again after `COURTESY`, whatever happens. In the loop."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().call_later(COURTESY, self.drop)

    def is_with_another(self) -> bool:
        """Say whether another process goes first now. Call it with the lock of the file only."""
        if self._descriptor >= 0:
            return False
        try:
            descriptor = open_lock(self._path, create=False)
        except OSError:
            return False
        try:
            is_free = try_lock(descriptor)
        finally:
            os.close(descriptor)
        if is_free:
            self._is_ignored = False
        return not is_free and not self._is_ignored

    def ignore(self) -> None:
        """Wait no more for who has it now."""
        self._is_ignored = True
