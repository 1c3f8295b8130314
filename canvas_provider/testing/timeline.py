"""The person's timeline in the session, as a test reads it."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from canvas_provider.protocol.events import SessionEvent

__all__ = ["Timeline", "TimelineLine"]

Level = Literal["info", "warning", "error"]

_LEVELS: dict[str, Level] = {
    "session.info": "info",
    "session.warning": "warning",
    "session.error": "error",
}


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One line that was written by `ctx.session.log`, or for a progress."""

    text: str
    level: Level = "info"
    ephemeral: bool = False
    """Whether it is shown only, and not kept with the session."""


class Timeline(list[TimelineLine]):
    """Every line that was written since the canvas was opened, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def note(self, event: SessionEvent) -> None:
        """Take an event of the session; only those that are lines count."""
        level = _LEVELS.get(event["type"])
        if level is None:
            return
        data = event.get("data")
        text = data.get("message") if isinstance(data, dict) else None
        self.append(TimelineLine(str(text), level, event.get("ephemeral") is True))
        self._news.set()

    async def wait_for(
        self,
        part: str,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109  # each wait of a test needs one
    ) -> TimelineLine:
        """Return the first line that contains `part`, which may be here already.

        Args:
            timeout: Seconds.

        Raises:
            TimeoutError: it did not come; the text says what did.
        """
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for line in self:
                        if part in line.text:
                            return line
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            lines = ", ".join(repr(line.text) for line in self) or "nothing"
            raise TimeoutError(f"No {part!r} within {timeout} s, only: {lines}") from None
