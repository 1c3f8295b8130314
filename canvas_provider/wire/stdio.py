"""The process's stdin and stdout become the wire, and stop being what they were.

On a protocol's stdout one stray byte is fatal (observed with Copilot CLI 1.0.102: after a single
`print` the runtime closes the connection), and a child that reads an inherited stdin eats requests.
So the two descriptors are moved away, out of reach of `print()`, of C code and of child processes.
What these write then reaches stderr; what they read is empty.

Loads no asyncio, so that it costs next to nothing to be first.
"""

import _thread
import contextlib
import os
import select
import sys
from io import TextIOWrapper
from typing import Final, NamedTuple

__all__ = ["Pipes", "claim_stdio", "end_with_peer", "write_all"]

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2


class Pipes(NamedTuple):
    """The two descriptors of the wire. Child processes do not inherit them."""

    read_fd: int
    write_fd: int


# A process has one stdio, so this one piece of state is the process's, whoever claims.
_claimed: Pipes | None = None


def claim_stdio() -> Pipes:
    """Take descriptors 0 and 1 for the protocol; call it before any code that might print.

    Afterwards `sys.stdin` is at its end, and `sys.stdout` writes to stderr, line by line. A second
    call returns the same pipes. Whoever calls it has to look for the end of the wire.
    """
    global _claimed, _ends_with_peer
    _ends_with_peer = False
    if _claimed is None:
        _claimed = _claim()
    return _claimed


# Whether the end of the other side is the end of the process, at once.
_ends_with_peer = False


def end_with_peer() -> None:
    """End at once when the other side closes the wire, until somebody claims it.

    While an author's file is imported, which may take for ever, nobody else looks at the wire.
    """
    global _ends_with_peer
    pipes = claim_stdio()
    _ends_with_peer = True
    if hasattr(select, "poll"):  # not on Windows
        # Not by `threading`, which is not loaded yet.
        _thread.start_new_thread(_wait_for_hangup, (pipes.read_fd,))


def _wait_for_hangup(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLHUP)
    poll.poll()
    if _ends_with_peer:
        os._exit(1)


def write_all(fd: int, data: bytes) -> None:
    """Write all of it, whether the descriptor blocks or not.

    Raises:
        BrokenPipeError: the reader is gone.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            _wait_until_writable(fd)


def _claim() -> Pipes:
    for fd in (STDIN, STDOUT, STDERR):
        _ensure_open(fd)
        _ensure_blocking(fd)
    pipes = Pipes(os.dup(STDIN), os.dup(STDOUT))
    os.dup2(STDERR, STDOUT)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, STDIN)
    os.close(null)
    _rebuild_streams()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_leave_to_parent)
    return pipes


def _leave_to_parent() -> None:
    """Let go of the wire in a forked child: else it would not end when the parent does.

    The descriptors stay valid, lest somebody who closes them closes another's.
    """
    for fd in _claimed or ():
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, fd, inheritable=False)
        os.close(null)


def _ensure_open(fd: int) -> None:
    """Put the null device where a descriptor is missing, lest some file ends up there."""
    try:
        os.fstat(fd)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != fd:
            os.dup2(null, fd)
            os.close(null)
        os.set_inheritable(fd, True)


def _ensure_blocking(fd: int) -> None:
    """Undo O_NONBLOCK, which a Node process leaves behind when it replaces itself by us.

    With it a large print would be cut, ours and that of every child.
    """
    if os.name == "posix":
        os.set_blocking(fd, True)


def _rebuild_streams() -> None:
    """Replace the streams of `sys`, unless somebody put something else there on purpose.

    The old stdout was opened for a pipe, so it writes in blocks. And unbuffered streams
    (PYTHONUNBUFFERED) do not finish a write that a signal interrupts: some of it would be lost.
    """
    if sys.stdin is sys.__stdin__:
        stdin = open(STDIN, encoding="utf-8", closefd=False)  # noqa: SIM115  # the process's
        sys.stdin = sys.__stdin__ = stdin  # type: ignore[misc]
    if sys.stdout is sys.__stdout__:
        sys.stdout = sys.__stdout__ = _reopen(STDOUT, sys.__stdout__)  # type: ignore[misc]
    if sys.stderr is sys.__stderr__:
        sys.stderr = sys.__stderr__ = _reopen(STDERR, sys.__stderr__)  # type: ignore[misc]


def _reopen(fd: int, before: TextIOWrapper | None) -> TextIOWrapper:
    """Open a stream for writing line by line, as Python opens stderr."""
    encoding = "utf-8"
    if before is not None:
        encoding = before.encoding
        with contextlib.suppress(OSError):
            before.flush()
    # What the encoding cannot express is escaped, since a print must never raise.
    return open(fd, "w", buffering=1, encoding=encoding, errors="backslashreplace", closefd=False)


def _wait_until_writable(fd: int) -> None:
    # Not select.select(), which refuses descriptors beyond 1023.
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    poll.poll()
