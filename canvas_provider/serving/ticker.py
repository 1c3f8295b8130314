"""One timer for everything that has to happen every few seconds.

A timer per open stream would cost as much as the streams themselves. This one runs only while
somebody is registered.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["TICKER", "Ticker"]

TICKER: Final = "canvas_provider.ticker"
"""The key in an ASGI scope's `state` under which a server offers its ticker."""


class Ticker:
    """Calls what is registered every `interval` seconds, in one loop."""

    def __init__(self, interval: float = 15.0) -> None:
        self._interval = interval
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next_key = 0

    @property
    def running(self) -> bool:
        return self._timer is not None

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` at every tick until the block ends. It must neither raise nor wait."""
        key, self._next_key = self._next_key, self._next_key + 1
        self._callbacks[key] = callback
        if self._timer is None:
            self._schedule()
        try:
            yield
        finally:
            del self._callbacks[key]
            if not self._callbacks and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def tick(self) -> None:
        """Call everything that is registered, now."""
        for callback in tuple(self._callbacks.values()):
            callback()

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._on_timer)

    def _on_timer(self) -> None:
        self._schedule()
        self.tick()
