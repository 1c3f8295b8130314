"""The provider process: why it ends, and that it ends in time.

Four things end it: EOF on stdin, SIGTERM, SIGINT, and a parent that is gone. Copilot sends SIGTERM
to its direct child and kills it 1.0 s later on disconnect; a child of the shim gets EOF and no
signal; a killed CLI leaves both of them behind (all observed with Copilot CLI 1.0.102).

What watches for them is a thread, and it keeps the deadline, too: the event loop may be the very
thing that hangs, in an author's `time.sleep` or endless computation.
"""

import asyncio
import contextlib
import faulthandler
import os
import select
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Final

__all__ = ["Lifeline", "end_program"]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

POLL: Final = 1.0
"""Seconds between two looks at a parent that the system cannot report."""

HANGUP: Final = getattr(select, "POLLHUP", 0) | getattr(select, "POLLRDHUP", 0)


class Lifeline:
    """Says once when the process has to go, and sees to it that it does.

    Signal handlers are set by `attach` and restored by `detach`.
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._undo: list[Callable[[], object]] = []
        self._before: dict[signal.Signals, Any] = {}
        self._mask = _Mask()
        self._ending = False
        self._wake_fd = -1

    def attach(self, end: Callable[[], object], stdin: int) -> None:
        """Start the clock and call `end`, in this loop, as soon as there is a reason to go.

        Args:
            stdin: the descriptor whose end is a reason to go. The loop sees that by itself, unless
                it hangs; so for this one only the clock is started.
        """
        loop = asyncio.get_running_loop()
        wake, self._wake_fd = os.pipe()
        os.set_blocking(self._wake_fd, False)
        self._undo.append(self._release)
        watch = _Watch(wake, os.dup(stdin), {os.getppid(), _announced_parent()} - {0, 1})
        threading.Thread(
            target=self._keep, args=(watch, loop, end), name="canvas_provider end", daemon=True
        ).start()
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._watch_signal(loop, number, end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._mask.block,
                after_in_parent=self._mask.restore,
                after_in_child=_call_weakly(self._forget_in_child),
            )
            os.register_at_fork(after_in_child=self._mask.restore)

    def detach(self) -> None:
        """Watch no longer, and let the process live: it is the program's own again."""
        while self._undo:
            self._undo.pop()()

    @property
    def is_ending(self) -> bool:
        """True once the clock runs."""
        return self._ending

    def start_clock(self) -> None:
        """Whatever hangs from now on, the process is gone when the deadline is over.

        A signal handler may call it: it takes no lock.
        """
        self._ending = True
        if self._wake_fd >= 0:
            with contextlib.suppress(OSError):
                os.write(self._wake_fd, b"!")

    def _release(self) -> None:
        fd, self._wake_fd = self._wake_fd, -1
        os.close(fd)

    def _keep(
        self, watch: "_Watch", loop: asyncio.AbstractEventLoop, end: Callable[[], object]
    ) -> None:
        reason = watch.wait()
        watch.close()
        if reason == "detached":
            return
        self._ending = True
        if reason == "parent":
            # RuntimeError: the loop is closed already.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(end)
        # The interpreter may hang at its own end, where no thread of Python runs any more: when it
        # flushes a stderr that nobody reads. This clock is in C, and needs no lock.
        with open(os.devnull, "w", encoding="utf-8") as null:
            faulthandler.dump_traceback_later(self._deadline, exit=True, file=null)
            threading.Event().wait()

    def _watch_signal(
        self, loop: asyncio.AbstractEventLoop, number: signal.Signals, end: Callable[[], object]
    ) -> None:
        before = signal.getsignal(number)
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:  # Windows

            def go(*_: object) -> None:
                self.start_clock()
                loop.call_soon_threadsafe(end)

            signal.signal(number, go)
        else:
            self._undo.append(partial(loop.remove_signal_handler, number))
            # The loop is woken by a descriptor and calls `end`, unless it hangs. What Python calls
            # runs even in the middle of a sleep; the loop has only a dummy there.
            signal.signal(number, lambda *_: self.start_clock())
        self._before[number] = before
        self._undo.insert(1, partial(signal.signal, number, before))

    def _forget_in_child(self) -> None:
        """Give a forked child its signals back.

        Else it would not end by a SIGTERM (`multiprocessing.Process.terminate`), but tell our loop
        of one: they share the descriptor that wakes it.
        """
        if not self._undo:
            return
        if self._before:
            signal.set_wakeup_fd(-1)
        for number, before in self._before.items():
            signal.signal(number, before)
        self._release()
        self._undo.clear()


class _Mask(threading.local):
    """Keeps signals from a forked child until it has forgotten our handlers."""

    def __init__(self) -> None:
        self._before: set[int] = set()

    def block(self) -> None:
        self._before = set(signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS))

    def restore(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def _call_weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls a method, if its object still lives."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        if (method := reference()) is not None:
            method()

    return call


class _Watch:
    """Waits, in a thread, for the first reason to go; owns its descriptors."""

    def __init__(self, wake: int, stdin: int, parents: set[int]) -> None:
        self._wake = wake
        self._stdin = stdin
        self._parents: list[int] = []
        self._parent = os.getppid()
        if hasattr(os, "pidfd_open"):
            for pid in parents:
                # OSError: another namespace, or no such system call.
                with contextlib.suppress(OSError):
                    self._parents.append(os.pidfd_open(pid))
        self._timeout = None if self._parents else POLL * 1000

    def wait(self) -> str:
        """Return what it was: `clock`, `detached`, `stdin` or `parent`."""
        if not hasattr(select, "poll"):  # Windows
            return "clock" if os.read(self._wake, 1) else "detached"
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._stdin, HANGUP)
        for fd in self._parents:
            poll.register(fd, select.POLLIN)
        while True:
            found = {fd for fd, _ in poll.poll(self._timeout)}
            if self._wake in found:
                return "clock" if os.read(self._wake, 1) else "detached"
            if self._stdin in found:
                return "stdin"
            if found or os.getppid() != self._parent:
                return "parent"

    def close(self) -> None:
        for fd in (self._wake, self._stdin, *self._parents):
            os.close(fd)


def end_program() -> None:
    """Leave the running loop by `SystemExit`: every task is cancelled, each `finally` runs."""
    asyncio.get_running_loop().call_soon(sys.exit, 0)


def _announced_parent() -> int:
    """The pid of the CLI, which is our parent's parent when the shim could not replace itself."""
    text = os.environ.get("COPILOT_EXTENSION_PARENT_PID", "")
    return int(text) if text.isdecimal() else 0
