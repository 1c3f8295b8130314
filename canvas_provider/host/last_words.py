"""What a program wrote to stderr before it failed: the part that says why."""

from collections import deque
from collections.abc import Sequence
from typing import Final

__all__ = ["LastWords"]

MAX_LINES: Final = 400

HEADER: Final = "Traceback (most recent call last):"
PLACE: Final = '  File "'
"""Begins the report of a syntax error, which has no header."""

LINKS: Final = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
"""What Python writes between the tracebacks of a chain."""


class LastWords:
    """The last lines of one run, as they come."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)

    def add(self, line: str) -> None:
        """Remember a line."""
        self._lines.append(line)

    def find_traceback(self) -> str:
        """Return the last traceback, with those that led to it and what follows; empty if none."""
        lines = tuple(self._lines)
        start = _find_last(lines)
        return "" if start is None else "\n".join(lines[start:])


def _find_last(lines: Sequence[str]) -> int | None:
    headers = [number for number, line in enumerate(lines) if line == HEADER]
    if not headers:
        places = (number for number, line in enumerate(lines) if line.startswith(PLACE))
        return next(places, None)
    start = headers.pop()
    while headers and any(line in LINKS for line in lines[max(0, start - 2) : start]):
        start = headers.pop()
    return start
