"""The provider process: why it ends, and that it ends in time.

Four things end it: EOF on stdin, SIGTERM, SIGINT, and a parent that is gone. Copilot sends SIGTERM
to its direct child and kills it 1.0 s later on disconnect; a child of the shim gets EOF and no
signal; a killed CLI leaves both of them behind (all observed with Copilot CLI 1.0.102).
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

__all__ = ["Lifeline", "end_program"]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

POLL: Final = 1.0
"""Seconds between two looks at a parent that the system cannot report."""


class Lifeline:
    """Says once when the process has to go, and sees to it that it does.

    Signal handlers are set by `attach` and restored by `detach`.
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._undo: list[Callable[[], object]] = []
        self._clock: threading.Timer | None = None

    def attach(self, end: Callable[[], object]) -> None:
        """Start the clock and call `end`, in this loop, as soon as there is a reason to go."""
        loop = asyncio.get_running_loop()

        def go() -> None:
            self.start_clock()
            end()

        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._watch_signal(loop, number, go)
        for pid in {os.getppid(), _announced_parent()} - {0, 1}:
            self._watch_process(loop, pid, go)

    def detach(self) -> None:
        """Watch no longer, and let the process live: it is the program's own again."""
        while self._undo:
            self._undo.pop()()

    @property
    def is_ending(self) -> bool:
        """True once the clock runs."""
        return self._clock is not None

    def start_clock(self) -> None:
        """Whatever hangs from now on, the process is gone when the deadline is over.

        A daemon thread counts, because what hangs may be the event loop.
        """
        if self._clock is None:
            self._clock = threading.Timer(self._deadline, os._exit, (1,))
            self._clock.daemon = True
            self._clock.start()

    def _watch_signal(
        self, loop: asyncio.AbstractEventLoop, number: signal.Signals, go: Callable[[], None]
    ) -> None:
        before = signal.getsignal(number)
        try:
            loop.add_signal_handler(number, go)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(go))
        else:
            self._undo.append(partial(loop.remove_signal_handler, number))
        self._undo.insert(0, partial(signal.signal, number, before))

    def _watch_process(
        self, loop: asyncio.AbstractEventLoop, pid: int, go: Callable[[], None]
    ) -> None:
        """Prefer an event of the system to looking again and again."""
        if not hasattr(os, "pidfd_open"):
            self._poll(loop, os.getppid(), go)
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:  # another namespace, or no such system call
            return

        def gone() -> None:
            loop.remove_reader(fd)
            go()

        loop.add_reader(fd, gone)
        self._undo += (partial(os.close, fd), partial(loop.remove_reader, fd))

    def _poll(
        self, loop: asyncio.AbstractEventLoop, parent: int, go: Callable[[], None]
    ) -> None:
        handle: list[asyncio.TimerHandle] = []

        def look() -> None:
            if os.getppid() != parent:
                go()
            else:
                handle[:] = [loop.call_later(POLL, look)]

        look()
        self._undo.append(lambda: handle[0].cancel() if handle else None)


def end_program() -> None:
    """Leave the running loop by `SystemExit`: every task is cancelled, each `finally` runs."""
    asyncio.get_running_loop().call_soon(sys.exit, 0)


def _announced_parent() -> int:
    """The pid of the CLI, which is our parent's parent when the shim could not replace itself."""
    text = os.environ.get("COPILOT_EXTENSION_PARENT_PID", "")
    return int(text) if text.isdecimal() else 0
