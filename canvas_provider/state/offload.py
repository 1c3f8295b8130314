"""Threads for what blocks, and a ticker for what must be looked at.

The one place where stores on a disk meet asyncio; it is imported at the first use of such a store,
so that declaring one costs nothing before the handshake.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

__all__ = ["Offload", "Ticker"]

Result = TypeVar("Result")

THREADS: Final = 4
"""Commits of different documents wait for their disks side by side."""


class Offload:
    """Runs blocking calls in own threads, so that an author's slow threads never delay a commit."""

    def __init__(self, threads: int = THREADS) -> None:
        self._executor = ThreadPoolExecutor(threads, "canvas-provider-store")
        self._running: list[Future[Any]] = []

    @property
    def is_idle(self) -> bool:
        """Whether no call runs or waits for a thread."""
        self._running = [future for future in self._running if not future.done()]
        return not self._running

    def begin(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Run `call` in a thread, and return its future in the running loop."""
        future = self._executor.submit(call)
        self._running = [*(known for known in self._running if not known.done()), future]
        return asyncio.wrap_future(future)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run `call` in a thread. It runs to its end even when the waiting task is cancelled."""
        return await self.begin(call)

    def close(self) -> None:
        """Let running calls finish and take no more."""
        self._executor.shutdown(wait=False)


class Ticker:
    """Calls `look` every `interval()` seconds in the running loop, until stopped."""

    def __init__(self, look: Callable[[], None], interval: Callable[[], float]) -> None:
        self._look = look
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(interval(), self._tick)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval(), self._tick)
        self._look()

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()
