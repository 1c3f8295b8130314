"""What a forked child process must not keep: our sockets.

A child that outlives us would hold every port, and every page's connection, open and silent.
`multiprocessing` forks by default on Linux before Python 3.14. A child that is started by
`subprocess` inherits none of them.
"""

import contextlib
import os
import socket
import stat
from collections.abc import Iterable

__all__ = ["drop_sockets"]


def drop_sockets(ports: Iterable[int]) -> None:
    """Let go of all sockets at these loopback ports, listening or connected; call it in the child.

    The descriptors stay valid, lest somebody who closes them closes another's.
    """
    ours = {("127.0.0.1", port) for port in ports}
    for fd in _descriptors():
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(fd).st_mode) and _address(fd) in ours:
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, fd, inheritable=False)
                os.close(null)


def _descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return list(range(3, 1024))


def _address(fd: int) -> object:
    duplicate = socket.socket(fileno=os.dup(fd))
    try:
        return duplicate.getsockname()
    finally:
        duplicate.close()
