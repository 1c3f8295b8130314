"""A state over a store that is far away: answers get lost, notices too, and the connection goes.

Each kind of store stands at the other end of a line that fails as it is told to. What holds here is
what `state.store` asks of a store on a network, and what a state makes of it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.errors import StoreError
from canvas_provider.state.history import Revision
from canvas_provider.state.shared import SharedState
from canvas_provider.state.store import Store, Stored
from canvas_provider.types import JSONValue
from tests.support.stores import KINDS, StoreKind, commit, held


class FarStore:
    """Reaches `store` by a line that can fail."""

    immediate = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, int] = {}
        """At which revisions the documents are, as far as this end was told."""
        self._listeners: list[Callable[[], None]] = []
        self.is_down = False
        self.loses_answer = False
        """Whether the next commit is done, and its answer lost."""

    def resolve(self, default_directory: Path) -> "FarStore":
        return self

    def _reach(self) -> None:
        if self.is_down:
            self._known.clear()
            raise StoreError("the connection is gone")

    async def load(self, key: str, since: int = 0) -> Stored | None:
        self._reach()
        found = await self._store.load(key, since)
        self._known[key] = 0 if found is None else found.revision
        return found

    def is_current(self, key: str, revision: int) -> bool:
        return not self.is_down and self._known.get(key) == revision

    async def commit(
        self, key: str, expected_revision: int, document: JSONValue, revision: Revision
    ) -> None:
        self._reach()
        self._known.pop(key, None)
        await self._store.commit(key, expected_revision, document, revision)
        if self.loses_answer:
            self.loses_answer = False
            raise StoreError("the answer was lost; whether it was saved is not known")
        self._known[key] = revision.number

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self) -> None:
        """Have those who watch told that something may have changed, as after a reconnection."""
        self._known.clear()
        for listener in list(self._listeners):
            listener()

    async def aclose(self) -> None:
        await self._store.aclose()


@pytest.fixture(params=KINDS.values(), ids=str)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture
async def near(kind: StoreKind, tmp_path: Path) -> AsyncIterator[Store]:
    """The store itself, as others use it."""
    made = kind.make(tmp_path)
    async with asyncio.timeout(10):
        yield made
    await made.aclose()


@pytest.fixture
def far(near: Store) -> FarStore:
    return FarStore(near)


def count(draft: Any) -> None:
    draft["n"] = draft.get("n", 0) + 1


async def test_a_commit_whose_answer_is_lost_failed_here_and_is_found_at_the_next_change(
    far: FarStore, near: Store
) -> None:
    state = await SharedState.open(far, "board")
    await state.update(count)
    far.loses_answer = True
    with pytest.raises(StoreError, match="not known"):
        await state.update(count)
    # Nobody is told of what is not known to have happened.
    assert (state.revision, state.document) == (1, {"n": 1})
    assert not far.is_current("board", 1)
    assert await held(near, "board") == (2, {"n": 2})
    await state.update(count)
    assert [known.number for known in state.history()] == [1, 2, 3]
    assert await held(near, "board") == (3, {"n": 3})


async def test_a_lost_answer_does_not_repeat_an_update(far: FarStore, near: Store) -> None:
    """Only a conflict does, after which it is known that nothing was stored."""
    state = await SharedState.open(far, "board")
    calls = 0

    def counted(draft: Any) -> None:
        nonlocal calls
        calls += 1
        count(draft)

    far.loses_answer = True
    with pytest.raises(StoreError):
        await state.update(counted)
    assert calls == 1
    assert await held(near, "board") == (1, {"n": 1})


async def test_a_notice_that_was_missed_costs_no_update(far: FarStore, near: Store) -> None:
    state = await SharedState.open(far, "board")
    state.subscribe(lambda revision: None)
    await state.update(count)
    await commit(near, "board", 1, {"n": 10}, [{"op": "replace", "path": "/n", "value": 10}])
    # Nobody told: what is known here is old, and taken for current.
    assert far.is_current("board", 1)
    await state.update(count)
    assert (state.revision, state.document) == (3, {"n": 11})


async def test_who_is_told_after_a_gap_takes_all_that_was_missed(
    far: FarStore, near: Store
) -> None:
    state = await SharedState.open(far, "board")
    await state.update(count)
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    state.subscribe(heard.put_nowait)
    for number in (1, 2):
        await commit(
            near,
            "board",
            number,
            {"n": number + 1},
            [{"op": "replace", "path": "/n", "value": number + 1}],
        )
    far.tell()
    while state.revision < 3:
        await heard.get()
    assert state.document == {"n": 3}


async def test_without_a_connection_reading_goes_on_and_changes_fail(
    far: FarStore, near: Store
) -> None:
    state = await SharedState.open(far, "board")
    await state.update(count)
    far.is_down = True
    assert not far.is_current("board", 1), "nobody knows"
    for _ in range(2):
        with pytest.raises(StoreError, match="connection"):
            await state.update(count)
    assert (state.revision, state.value) == (1, {"n": 1})
    far.is_down = False
    await state.update(count)
    assert await held(near, "board") == (2, {"n": 2})


async def test_a_connection_that_goes_within_a_change_rolls_it_back(
    far: FarStore, near: Store
) -> None:
    state = await SharedState.open(far, "board")
    await state.update(count)
    with pytest.raises(StoreError, match="connection"):
        async with state.change() as draft:
            count(draft)
            far.is_down = True
    assert state.document == {"n": 1}
    far.is_down = False
    await state.update(count)
    assert await held(near, "board") == (2, {"n": 2})


async def test_closing_leaves_no_operation_in_flight_in_doubt(
    kind: StoreKind, near: Store, tmp_path: Path
) -> None:
    """What began before the close is either stored or refused, and says which."""
    begun = [
        asyncio.create_task(commit(near, f"board {number}", 0, {"n": number}, []))
        for number in range(8)
    ]
    loading = asyncio.create_task(near.load("board 0"))
    await asyncio.sleep(0)  # noqa: TID251  # lets them begin
    await near.aclose()
    ended = await asyncio.gather(*begun, loading, return_exceptions=True)
    reader = kind.make(tmp_path) if kind.is_durable else near
    for number, outcome in enumerate(ended[:-1]):
        assert outcome is None or isinstance(outcome, StoreError)
        expected = (1, {"n": number}) if outcome is None else None
        assert await held(reader, f"board {number}") == expected
    await reader.aclose()
