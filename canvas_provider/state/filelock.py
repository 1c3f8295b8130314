"""A lock between processes that cannot go stale, and patience with files that others hold.

The kernel frees the lock when its holder ends, however it ends. No process id is ever read or
believed; the lock file stays where it is, for to remove it would be a race.
"""

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

from canvas_provider.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock", "patiently"]

Result = TypeVar("Result")

PATIENCE: Final = 10.0
"""Seconds to wait for a lock: its holders need milliseconds, so longer means one is stopped."""

SHARING_PATIENCE: Final = 2.0
"""Seconds to wait for a file that a virus scanner or an editor holds open on Windows."""


class FileLock:
    """Holds the lock file `lock` as a context, which gives `path`, what it guards."""

    def __init__(self, lock: Path, path: Path) -> None:
        self._lock = lock
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Path:
        # A link is not followed: whoever put it there chose the file that would be made.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._descriptor = os.open(self._lock, flags, 0o600)
        try:
            self._wait()
        except BaseException:
            os.close(self._descriptor)
            raise
        return self._path

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        pause = 0.0005
        while not _try_lock(self._descriptor):
            if time.monotonic() > deadline:
                raise StoreError(f"{self._path.name} stays locked by another process")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Closing frees the lock.
        os.close(self._descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            return False
        raise
    return True


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
