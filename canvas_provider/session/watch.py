"""What is reported as "nothing happens": canvases that are not listed, pages that nobody fetches.

Each is looked at once. An idle session is woken up by neither: there is one timer after the join,
and one while a page that was opened lately is not fetched.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Protocol

from canvas_provider.errors import WireError

__all__ = ["Clock", "ListingWatch", "PageWatch"]

LISTED_AFTER: Final = 5.0
"""Seconds from the join until Copilot has to list our canvases. It takes 0.1 s."""

FETCHED_AFTER: Final = 10.0
"""Seconds from an open until its page has to be asked for."""

logger = logging.getLogger("canvas_provider.session")


class Timer(Protocol):
    def cancel(self) -> object: ...


class Clock(Protocol):
    """The part of an event loop that tells the time and calls back."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer: ...


class ListingWatch:
    """Looks once whether Copilot lists our canvases, and declares them again if it does not.

    Args:
        list_ids: the ids of every canvas that Copilot knows of.
        declare: sends `session.resume` again.
    """

    def __init__(
        self,
        ids: Collection[str],
        *,
        list_ids: Callable[[], Awaitable[Collection[str]]],
        declare: Callable[[], Awaitable[object]],
        clock: Clock,
    ) -> None:
        self._ids = ids
        self._list_ids = list_ids
        self._declare = declare
        self._task: asyncio.Task[None] | None = None
        self._timer = clock.call_later(LISTED_AFTER, self._begin) if ids else None

    def end(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        try:
            missing = sorted(set(self._ids) - set(await self._list_ids()))
            if not missing:
                return
            logger.warning(
                "Copilot does not list %s %g s after this extension joined: declaring again. If "
                "the agent still finds no canvas, reload the extensions",
                ", ".join(map(repr, missing)),
                LISTED_AFTER,
            )
            await self._declare()
        except WireError as error:
            logger.warning("the canvases could not be declared again: %s", error)


class Page(Protocol):
    """A page on the air."""

    @property
    def visited(self) -> bool: ...


class PageWatch:
    """Says once of a page that nobody has fetched it.

    Args:
        is_shown: whether there is a host that renders canvases at all.
    """

    def __init__(self, clock: Clock, is_shown: Callable[[], bool]) -> None:
        self._clock = clock
        self._is_shown = is_shown
        self._pages: deque[tuple[float, Page, str, str]] = deque()
        """Until when, what, and its canvas and instance; the oldest first."""
        self._timer: Timer | None = None

    def add(self, page: Page, canvas_id: str, instance_id: str) -> None:
        """Take a page that was put on the air now."""
        due = self._clock.time() + FETCHED_AFTER
        self._pages.append((due, page, canvas_id, instance_id))
        if self._timer is None:
            self._timer = self._clock.call_later(FETCHED_AFTER, self._sweep)

    def remove(self, page: Page) -> None:
        """Forget a page that is off the air again."""
        self._pages = deque(each for each in self._pages if each[1] is not page)

    def end(self) -> None:
        """Look no more."""
        self._pages.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _sweep(self) -> None:
        self._timer = None
        now = self._clock.time()
        while self._pages and (self._pages[0][1].visited or self._pages[0][0] <= now):
            _, page, canvas_id, instance_id = self._pages.popleft()
            if not page.visited and self._is_shown():
                logger.warning(_BLANK, canvas_id, instance_id, FETCHED_AFTER)
        if self._pages:
            self._timer = self._clock.call_later(self._pages[0][0] - now, self._sweep)


_BLANK: Final = (
    "nobody has fetched the page of canvas %r, instance %r, %g s after it was opened. If its panel "
    "is blank, see whether the program that shows it runs on this machine (another machine or "
    "container has a 127.0.0.1 of its own) and whether a proxy takes requests to 127.0.0.1"
)
