"""What stores on a disk have in common: lasting renames, files set aside, and errors that help."""

import errno
import os
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from canvas_provider.state.filelock import patiently

__all__ = ["explain", "set_aside", "stamp", "sync_folder"]


def sync_folder(folder: Path) -> None:
    """Make a rename last. Windows has no such thing for folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def stamp() -> str:
    """Return the time for the name of what is set aside."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def set_aside(path: Path, companions: Iterable[str] = (), *, alone: bool = False) -> Path:
    """Rename a file that cannot be understood, to a name that nothing has.

    `companions` are the endings of files that belong to it. They go first: one that stayed behind
    would be taken for a new file's. With `alone` only they go.
    """
    endings = [*companions, *([] if alone else [""])]
    for number in range(1000):
        aside = path.with_name(f"{path.name}.damaged-{stamp()}{f'-{number}' if number else ''}")
        if not any(os.path.lexists(f"{aside}{ending}") for ending in endings):
            for ending in endings:
                if os.path.lexists(f"{path}{ending}"):
                    patiently(partial(os.rename, f"{path}{ending}", f"{aside}{ending}"))
            sync_folder(path.parent)
            return aside
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), f"{path.name}.damaged")


def explain(error: OSError, path: Path) -> str:
    """Tell what the system says of `path`, and what a person can do about it."""
    reason = error.strerror or type(error).__name__
    name = os.fsdecode(error.filename or path)
    if error.errno == errno.ELOOP:
        return f"{name} is a link, and is not followed: remove it"
    if error.errno in (errno.EISDIR, errno.ENXIO):
        return f"{name} is no file: remove it"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}; free some space on the disk of {path.parent}, then try again"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{reason}; make {path.parent} writable for you, or give the store another place"
    return reason
