"""The examples in a headless Chromium."""

import copy
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page

from canvas_provider import JSONFileStore, MemoryStore
from examples.focus_board.extension import diary, focus_board
from examples.kanban import extension
from examples.kanban.extension import kanban
from tests.support.browser import Visit, anyio_backend, browser, visit
from tests.support.live import Live, open_live

__all__ = ["anyio_backend", "browser", "visit"]


@pytest.fixture
async def board(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Live]:
    """A kanban with one card in its first column, kept in memory. Ids are card-1, card-2, …"""
    numbers = itertools.count(1)
    monkeypatch.setattr(extension, "new_card_id", lambda: f"card-{next(numbers)}")
    canvas = copy.copy(kanban)
    canvas.store = MemoryStore()
    async with open_live(canvas) as live:
        await live.agent("add_card", title="Ship it", notes="To everybody", assignee="Ana Lopez")
        yield live


@pytest.fixture
def look(visit: Visit) -> Callable[..., Awaitable[Page]]:
    """Open a board; whatever its page complains about fails the test."""
    # Chromium says so of every answer that is no success, also of a refusal that is shown.
    visit.expected.append("Failed to load resource")

    async def look(
        live: Live, *, width: int = 1000, touch: bool = False, calm: bool = True
    ) -> Page:
        page = await visit(
            live.url,
            viewport={"width": width, "height": 640},
            reduced_motion="reduce" if calm else "no-preference",
            has_touch=touch,
        )
        await page.wait_for_selector(".columns, #sheet:not([aria-busy])")
        return page

    return look


@pytest.fixture
async def focus_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Live]:
    """Today's focus board with two tasks, in a folder of the test's own."""
    monkeypatch.setattr(diary, "folder", tmp_path)
    monkeypatch.setattr(diary, "shown", {})
    canvas = copy.copy(focus_board)
    canvas.store = JSONFileStore(tmp_path)
    async with open_live(canvas) as live:
        await live.agent("add_task", title="Write the guide")
        await live.agent("add_task", title="Call Ben")
        yield live
