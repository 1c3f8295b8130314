"""A lock between processes that cannot go stale: the kernel frees it when its holder ends.

No process id is ever read or believed; the lock file stays where it is, for to remove it would be a
race. Closing the file frees the lock.
"""

import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["free_lock", "open_lock", "try_lock"]


def open_lock(path: Path, *, create: bool = True) -> int:
    """Open a lock file, and return its descriptor.

    Raises:
        OSError: that cannot be done.
    """
    # A link is not followed: whoever put it there chose the file that would be made.
    flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags | os.O_CREAT if create else flags, 0o600)


def try_lock(descriptor: int) -> bool:
    """Take the lock if nobody has it, and say whether that worked."""
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


def free_lock(descriptor: int) -> None:
    """Give the lock back, and keep the file open."""
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
