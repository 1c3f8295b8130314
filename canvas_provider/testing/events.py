"""The event stream of a page, read as a browser reads it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

__all__ = ["EventParser", "PageEvent", "PageEvents"]


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One event: `patch`, `snapshot`, `closed`, or what a handler emitted."""

    name: str
    data: Any
    """Parsed JSON."""
    id: str | None = None


class EventParser:
    """From the lines of an event stream to events (HTML Standard section 9.2.6)."""

    def __init__(self) -> None:
        self._name = ""
        self._id: str | None = None
        self._data: list[str] = []

    def feed(self, line: str) -> PageEvent | None:
        """Take one line without its end; an event is complete at an empty one."""
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match field:
                case "event":
                    self._name = value
                case "data":
                    self._data.append(value)
                case "id":
                    self._id = value
            return None
        name, data, event_id = self._name, self._data, self._id
        self._name, self._data, self._id = "", [], None
        if not data:
            return None
        return PageEvent(name or "message", json.loads("\n".join(data)), event_id)


class PageEvents(list[PageEvent]):
    """Every event that a page has received since it was opened, oldest first.

    An event that a handler causes arrives soon after the handler has answered, not before:
    `wait_for` it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waited_for = 0
        self._news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def wait_for(
        self,
        name: str,
        where: Callable[[PageEvent], bool] = lambda event: True,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109  # each wait of a test needs one
    ) -> PageEvent:
        """Return the next event of this name, which may be here already.

        Each call goes on after the event that the one before returned.

        Args:
            where: What else has to be true of it.
            timeout: Seconds.

        Raises:
            TimeoutError: it did not come; the text says what did.
        """
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for index in range(self._waited_for, len(self)):
                        event = self[index]
                        if event.name == name and where(event):
                            self._waited_for = index + 1
                            return event
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            came = ", ".join(event.name for event in self[self._waited_for :]) or "nothing"
            raise TimeoutError(f"No {name!r} came within {timeout} s, only: {came}") from None

    async def follow(self, http: httpx.AsyncClient) -> None:
        """Read the stream at `events` from now on, in place of an earlier one."""
        await self.unfollow()
        connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(http, connected), name="page events")
        await connected

    async def unfollow(self) -> None:
        """Stop reading, as a page that goes away does."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.wait({reader})

    async def _read(self, http: httpx.AsyncClient, connected: asyncio.Future[None]) -> None:
        parser = EventParser()
        try:
            accept = {"Accept": "text/event-stream"}
            async with http.stream("GET", "events", headers=accept, timeout=None) as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if (event := parser.feed(line)) is not None:
                        self.append(event)
                        self._news.set()
                        # The first event is what the page starts from, so now it is connected.
                        if not connected.done():
                            connected.set_result(None)
        except Exception as exc:
            if connected.done():
                raise
            connected.set_exception(exc)
