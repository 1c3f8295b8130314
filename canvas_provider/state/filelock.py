"""Patience with what others hold: the lock of a file, and on Windows the file itself."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from canvas_provider.errors import StoreError
from canvas_provider.state.kernel_lock import free_lock, open_lock, try_lock
from canvas_provider.state.precedence import COURTESY, Precedence

__all__ = ["FileLock", "patiently"]

Result = TypeVar("Result")

PATIENCE: Final = 10.0
"""Seconds to wait for a lock: its holders need milliseconds, so longer means one is stopped."""

SHARING_PATIENCE: Final = 2.0
"""Seconds to wait for a file that a virus scanner or an editor holds open on Windows."""


_YIELDING: Final = 0.0005
"""Seconds for which the lock is given back at a time, and between two looks at first."""


class FileLock:
    """Holds the lock file `lock` as a context, which gives `path`, what it guards.

    With `precedence` it is given back for a moment to who goes first: see there.
    """

    def __init__(self, lock: Path, path: Path, precedence: Precedence | None = None) -> None:
        self._lock = lock
        self._path = path
        self._precedence = precedence
        self._descriptor = -1

    def __enter__(self) -> Path:
        self._descriptor = open_lock(self._lock)
        try:
            self._wait()
            if self._precedence is not None:
                self._give_way(self._precedence)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self._path

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        pause = _YIELDING
        while not try_lock(self._descriptor):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{self._path} stays locked by another process, for {PATIENCE:g} s by now",
                    told=f"The state could not be reached: another process has kept it locked for "
                    f"{PATIENCE:g} s. Nothing was changed; end that process, then try again.",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def _give_way(self, precedence: Precedence) -> None:
        deadline = time.monotonic() + COURTESY
        while precedence.is_with_another():
            if time.monotonic() > deadline:
                precedence.ignore()
                return
            free_lock(self._descriptor)
            time.sleep(_YIELDING)
            self._wait()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Closing frees the lock.
        os.close(self._descriptor)


def patiently(call: Callable[[], Result]) -> Result:
    """Call `call`, and again for a while when another process holds the file (Windows)."""
    deadline = time.monotonic() + SHARING_PATIENCE
    pause = 0.001
    while True:
        try:
            return call()
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(pause)
            pause = min(pause * 2, 0.1)
