"""Who goes first where several processes write one file: here each store stands for a process."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canvas_provider.errors import RevisionConflict
from canvas_provider.state import filelock, precedence
from canvas_provider.state.precedence import Precedence
from canvas_provider.state.store import Store
from tests.support.stores import ON_DISK, StoreKind, commit, held

PATHS = {"json_file": ".board.json.first", "sqlite": ".state.sqlite3.first"}


@pytest.fixture(params=ON_DISK, ids=str)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture
async def loser(kind: StoreKind, tmp_path: Path) -> AsyncIterator[Store]:
    store = kind.make(tmp_path)
    yield store
    await store.aclose()


@pytest.fixture
async def rival(kind: StoreKind, tmp_path: Path) -> AsyncIterator[Store]:
    store = kind.make(tmp_path)
    yield store
    await store.aclose()


def last_for(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(precedence, "COURTESY", seconds)
    monkeypatch.setattr(filelock, "COURTESY", seconds)


def tell_of_waiting(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return what is set when somebody sees that another goes first."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    before = Precedence.is_with_another

    def look(self: Precedence) -> bool:
        found = before(self)
        if found:
            loop.call_soon_threadsafe(event.set)
        return found

    monkeypatch.setattr(Precedence, "is_with_another", look)
    return event


async def lose(store: Store, times: int) -> None:
    for _ in range(times):
        with pytest.raises(RevisionConflict):
            await commit(store, "board", 0, {"n": "late"})


async def test_who_has_lost_three_times_commits_before_who_wants_to_now(
    loser: Store, rival: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_for(monkeypatch, 60)
    waiting = tell_of_waiting(monkeypatch)
    await commit(rival, "board", 0, {"n": 1})
    await lose(loser, 3)
    task = asyncio.create_task(commit(rival, "board", 1, {"n": "rival"}))
    async with asyncio.timeout(5):
        await waiting.wait()
        assert await held(loser, "board") == (1, {"n": 1})
        await commit(loser, "board", 1, {"n": "loser"})
        with pytest.raises(RevisionConflict):
            await task
        # It is over then: the next ones wait for nobody.
        await commit(rival, "board", 2, {"n": "rival"})
    assert await held(loser, "board") == (3, {"n": "rival"})


async def test_nobody_waits_for_who_has_lost_twice(
    loser: Store, rival: Store, kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_for(monkeypatch, 60)
    await commit(rival, "board", 0, {"n": 1})
    await lose(loser, 2)
    async with asyncio.timeout(5):
        await commit(rival, "board", 1, {"n": 2})
    assert not (tmp_path / PATHS[kind.name]).exists()


async def test_a_process_that_is_stopped_while_it_goes_first_is_waited_for_once(
    loser: Store,
    rival: Store,
    kind: StoreKind,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last_for(monkeypatch, 0.05)
    stopped = Precedence(tmp_path / PATHS[kind.name])
    for _ in range(3):
        stopped.lose()
    waiting = tell_of_waiting(monkeypatch)
    async with asyncio.timeout(5):
        await commit(rival, "board", 0, {"n": 1})
        assert waiting.is_set()
        waiting.clear()
        await commit(rival, "board", 1, {"n": 2})
        assert not waiting.is_set()
        # Who loses now cannot go first, and goes on without.
        await lose(loser, 3)
        await commit(loser, "board", 2, {"n": 3})
        stopped.win()
        await commit(rival, "board", 3, {"n": 4})
        for _ in range(3):
            stopped.lose()
        await commit(rival, "board", 4, {"n": 5})
        assert waiting.is_set()
    stopped.drop()


async def test_who_does_not_try_again_holds_nobody_up(
    loser: Store, rival: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_for(monkeypatch, 0.02)
    dropped = asyncio.Event()
    before = Precedence.drop

    def drop(self: Precedence) -> None:
        before(self)
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            dropped.set()

    monkeypatch.setattr(Precedence, "drop", drop)
    await commit(rival, "board", 0, {"n": 1})
    await lose(loser, 3)
    async with asyncio.timeout(5):
        await dropped.wait()
        waiting = tell_of_waiting(monkeypatch)
        await commit(rival, "board", 1, {"n": 2})
    assert not waiting.is_set()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
async def test_who_cannot_go_first_goes_on_without(
    loser: Store, rival: Store, kind: StoreKind, tmp_path: Path
) -> None:
    """A link is not followed: whoever put it there chose the file that would be made."""
    (tmp_path / PATHS[kind.name]).symlink_to(tmp_path / "chosen")
    await commit(rival, "board", 0, {"n": 1})
    await lose(loser, 3)
    await commit(loser, "board", 1, {"n": 2})
    assert not (tmp_path / "chosen").exists()
