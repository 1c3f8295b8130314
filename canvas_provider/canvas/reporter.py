"""Carries what `board` decides: to the pages as events, to the timeline as log lines.

No handler waits for it, and nothing that goes wrong on the way reaches one.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from canvas_provider.canvas.board import Board, Line
from canvas_provider.canvas.progress import Owner, Progress, ProgressFrame
from canvas_provider.types import Author

if TYPE_CHECKING:
    from canvas_provider.canvas.view import SessionView

__all__ = ["ProgressListener", "Reporter"]

logger = logging.getLogger("canvas_provider.canvas")

ProgressListener = Callable[[ProgressFrame], None]

_MAX_LINES: Final = 16
"""Lines that wait for a slow host; then the oldest is dropped."""
_LAST_LINES: Final = 0.25
"""Seconds that lines get to leave when the instance closes."""


class Reporter:
    """The works of one instance. Made in its loop's thread, where listeners are called.

    Args:
        clock: the time in seconds; by default the loop's.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        session: "SessionView",
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._session = session
        self._clock = loop.time if clock is None else clock
        self._board = Board()
        self._ids = count(1)
        self._listeners: list[ProgressListener] = []
        self._timer: asyncio.TimerHandle | None = None
        self._lines: deque[Line] = deque(maxlen=_MAX_LINES)
        self._logging: asyncio.Task[None] | None = None
        self._muted = False
        self._closed = False

    def create(
        self,
        title: str,
        total: float | None,
        *,
        author: Author,
        action: str | None,
        owner: Owner,
    ) -> Progress:
        """Make a work that reports here from the beginning of its block on."""
        return Progress(
            str(next(self._ids)),
            title,
            total,
            author=author,
            action=action,
            owner=owner,
            tell=self._on_news,
        )

    def subscribe(self, listener: ProgressListener) -> Callable[[], None]:
        """Call `listener(frame)` in the loop for each frame. Returns what ends it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def running(self) -> list[ProgressFrame]:
        """Return what runs now, for a page that comes now."""
        return self._board.running()

    def cancel(self, owner: Owner | None = None) -> None:
        """End what runs as cancelled: the works of one call, or all of them."""
        for work in self._board:
            if owner is None or work.owner is owner:
                work.end("cancelled")

    def mute(self) -> None:
        """Write no more lines: the session is ending."""
        self._muted = True
        self._lines.clear()

    async def aclose(self) -> None:
        """Cancel what runs, and let the last lines leave. Idempotent."""
        self.cancel()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._logging is not None:
            await asyncio.wait([self._logging], timeout=_LAST_LINES)
            self._logging.cancel()
            await asyncio.wait([self._logging])

    def _on_news(self, work: Progress) -> None:
        """Hear of a work, in any thread."""
        if threading.get_ident() == self._thread:
            self._look(work)
            return
        # RuntimeError: the loop is closed, and nobody listens any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._look, work)

    def _look(self, work: Progress) -> None:
        if self._closed or work.owner.ended:
            work.end("cancelled")
        if self._closed:
            return
        self._board.look(work, self._clock())
        self._report()

    def _report(self) -> None:
        now = self._clock()
        report = self._board.take(now)
        for frame in report.frames:
            for listener in tuple(self._listeners):
                listener(frame)
        if report.lines and not self._muted:
            self._lines.extend(report.lines)
            if self._logging is None:
                self._logging = self._loop.create_task(self._log())
        self._watch(now)

    def _watch(self, now: float) -> None:
        due = self._board.due(now)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if due is not None:
            self._timer = self._loop.call_later(max(0.0, due - now), self._report)

    async def _log(self) -> None:
        try:
            while self._lines:
                text, level = self._lines.popleft()
                try:
                    await self._session.log(text, level=level, ephemeral=True)
                except Exception:
                    logger.debug("a line of progress could not be written", exc_info=True)
        finally:
            self._logging = None
