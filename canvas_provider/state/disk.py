"""What stores on a disk have in common: lasting renames, files set aside, and errors that help."""

import errno
import os
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from canvas_provider.errors import StoreError
from canvas_provider.state.filelock import patiently

__all__ = ["set_aside", "stamp", "store_error", "sync_folder", "tell"]


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


def store_error(what: str, verb: str, error: OSError, path: Path) -> StoreError:
    """Return the error that tells of a failed use of `path`, with what a person can do about it.

    Args:
        what: what it is for the log: `the state of 'board'`.
        verb: `saved` or `read`.
    """
    number = error.errno or 0
    reason = f"[{errno.errorcode.get(number, number)}] {error.strerror or type(error).__name__}"
    name = os.fsdecode(error.filename or path)
    return StoreError(
        f"{what} cannot be {verb}: {_logged(number, reason, name, path)}",
        told=tell(verb, _TOLD.get(number) or f"the system reports an error. {_SEE_LOG}"),
    )


def tell(verb: str, why: str) -> str:
    """Return what an agent and a page are told: `why` says what is wrong, and then what helps."""
    return f"The state could not be {verb}; nothing was changed. The reason: {why}"


def _logged(number: int, reason: str, name: str, path: Path) -> str:
    if number == errno.ELOOP:
        return f"{reason}; {name} is a link, and is not followed: remove it"
    if number in (errno.EISDIR, errno.ENXIO):
        return f"{reason}; {name} is no file: remove it"
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}; free some space on the disk of {path.parent}, then try again"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{reason}; make {path.parent} writable for you, or give the store another place"
    return f"{reason}: {name}"


_SEE_LOG: Final = "The log of the extension has the details."

_FULL: Final = "the disk is full. Free some space, then try again."
_FORBIDDEN: Final = (
    "there is no permission for the place where it is kept. Make that folder, and what is in it, "
    "readable and writable for this user, then try again."
)
_OCCUPIED: Final = (
    "something else is where its file or folder belongs. Move that away, then try again. "
    f"{_SEE_LOG}"
)
_TOO_MANY: Final = "too many files are open. Close some programs, then try again."

_TOLD: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.ENOENT: (
        "the folder that it is kept in is not there and cannot be made. Make it, or give the store "
        "another place."
    ),
    errno.EEXIST: _OCCUPIED,
    errno.ENOTDIR: _OCCUPIED,
    errno.EISDIR: _OCCUPIED,
    errno.ENXIO: _OCCUPIED,
    errno.ELOOP: _OCCUPIED,
    errno.EMFILE: _TOO_MANY,
    errno.ENFILE: _TOO_MANY,
    errno.EIO: f"the disk has a fault. Look after it before anything else. {_SEE_LOG}",
}
"""What is wrong and what helps, by the system's number of the error."""
