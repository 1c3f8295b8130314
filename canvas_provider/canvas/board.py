"""When pages and the person's timeline are told of works, and what.

Sans-IO: `Board` decides, with the time as an argument, which frames the pages get and which lines
the timeline gets. Who carries them is `reporter`.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from canvas_provider.canvas.progress import Progress, ProgressFrame

__all__ = ["Board", "Line", "Report"]

FRAME_EVERY: Final = 0.1
"""Seconds between two frames of one work, and of all together beyond a short burst."""
BURST: Final = 5
"""Frames that may go out at once, so that a few short works are seen from start to end."""
REFRESH: Final = 10.0
"""Seconds after which a work is told again, changed or not: a page forgets what is silent."""
LINE_AFTER: Final = 1.0
"""Seconds a work takes before the timeline hears of it."""
LINE_EVERY: Final = 3.0
"""Seconds between two lines in the timeline."""


class Line(NamedTuple):
    """One line for the timeline."""

    text: str
    level: Literal["info", "warning"]


class Report(NamedTuple):
    """What is to be told now."""

    frames: list[ProgressFrame]
    lines: list[Line]


class _Entry:
    """What has been told of one work. Times are the clock's, in seconds."""

    __slots__ = ("frame_at", "said", "said_at", "shown", "started", "work")

    def __init__(self, work: Progress, now: float) -> None:
        self.work = work
        self.started = now
        self.shown = False
        self.frame_at = now
        """The earliest time of its next frame, if there is news."""
        self.said = ""
        self.said_at = now

    def frame_due(self) -> float:
        if self.work.changed or not self.shown:
            return self.frame_at
        return self.frame_at - FRAME_EVERY + REFRESH


class Board:
    """The works that run in one instance. Call `look` when one has news, then `take` when due."""

    def __init__(self) -> None:
        self._entries: dict[Progress, _Entry] = {}
        self._spent_until = float("-inf")
        """When the frames sent so far would have been sent one by one (a leaky bucket)."""
        self._line_at = float("-inf")

    def __iter__(self) -> Iterator[Progress]:
        return iter(tuple(self._entries))

    def look(self, work: Progress, now: float) -> None:
        """Take notice of a work that has begun, goes on or has ended."""
        if work not in self._entries and not work.is_over:
            self._entries[work] = _Entry(work, now)

    def running(self) -> list[ProgressFrame]:
        """Return what a page has to know that comes now."""
        frames = []
        for entry in self._entries.values():
            if entry.work.status == "running":
                entry.shown = True
                frames.append(entry.work.frame())
        return frames

    def due(self, now: float) -> float | None:
        """Return when to call `take` next; None while nothing runs."""
        if not self._entries:
            return None
        frame = min(entry.frame_due() for entry in self._entries.values())
        started = min(entry.started for entry in self._entries.values())
        return min(max(frame, self._next_free()), max(self._line_at, started + LINE_AFTER))

    def take(self, now: float) -> Report:
        """Return what has to be told now, and take it as told."""
        report = Report([], [])
        for entry in tuple(self._entries.values()):
            if entry.work.status != "running":
                del self._entries[entry.work]
                self._take_end(entry, now, report)
        entries = sorted(self._entries.values(), key=_Entry.frame_due)
        for entry in entries:
            if entry.frame_due() > now or not self._is_free(now):
                break
            self._spend(now)
            entry.shown, entry.frame_at = True, now + FRAME_EVERY
            report.frames.append(entry.work.take())
        self._take_line(now, report)
        return report

    def _take_end(self, entry: _Entry, now: float, report: Report) -> None:
        """The last frame is always sent, but not of a work so short that nobody heard of it."""
        frame = entry.work.take()
        is_failed = frame["status"] == "failed"
        if entry.shown or frame["status"] != "done" or self._is_free(now):
            self._spend(now)
            report.frames.append(frame)
        if entry.said or is_failed:
            self._line_at = now + LINE_EVERY
            text = f"{frame['title']}: {frame['status']}"
            report.lines.append(Line(text, "warning" if is_failed else "info"))

    def _take_line(self, now: float, report: Report) -> None:
        """At most one line for all, of the work that the timeline has not heard of for longest."""
        if now < self._line_at:
            return
        old = [entry for entry in self._entries.values() if entry.started + LINE_AFTER <= now]
        for entry in sorted(old, key=lambda entry: entry.said_at):
            self._line_at = now + LINE_EVERY
            text = _describe(entry.work.frame())
            if text != entry.said:
                entry.said, entry.said_at = text, now
                report.lines.append(Line(text, "info"))
                return

    def _next_free(self) -> float:
        return self._spent_until - (BURST - 1) * FRAME_EVERY

    def _is_free(self, now: float) -> bool:
        # The rounding of a timer's delay must not cost another turn.
        return self._next_free() <= now + 1e-6

    def _spend(self, now: float) -> None:
        spent = max(self._spent_until, now) + FRAME_EVERY
        self._spent_until = min(spent, now + BURST * FRAME_EVERY)


def _describe(frame: ProgressFrame) -> str:
    done, total = frame["done"], frame["total"]
    if total:
        count = f"{max(0, min(100, int(100 * done / total)))}%"
    else:
        count = f"{done:,}" if done else ""
    parts = [part for part in (count, frame["message"]) if part]
    return f"{frame['title']}: {' · '.join(parts)}" if parts else f"{frame['title']}…"
