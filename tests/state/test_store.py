"""What every store must do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canvas_provider.errors import RevisionConflict
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.store import Store


@pytest.fixture(params=["memory", "json_file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else JSONFileStore(tmp_path / "new")
    yield made
    await made.aclose()


async def test_a_key_without_a_document_is_at_revision_0(store: Store) -> None:
    assert await store.load("board") is None
    assert store.is_current("board", 0)
    assert not store.is_current("board", 1)


async def test_what_was_committed_is_loaded(store: Store) -> None:
    await store.commit("board", 0, {"a": [1, "é", None]}, [])
    await store.commit("board", 1, {"a": []}, [])
    await store.commit("other", 0, [1.5], [])
    assert await store.load("board") == (2, {"a": []})
    assert await store.load("other") == (1, [1.5])
    assert store.is_current("board", 2)
    assert not store.is_current("board", 1)


@pytest.mark.parametrize("expected", [0, 2, 7])
async def test_a_commit_from_another_revision_is_refused(store: Store, expected: int) -> None:
    await store.commit("board", 0, {"a": 1}, [])
    with pytest.raises(RevisionConflict) as caught:
        await store.commit("board", expected, {"a": 2}, [])
    assert (caught.value.expected, caught.value.actual) == (expected, 1)
    assert await store.load("board") == (1, {"a": 1})


async def test_of_many_who_commit_at_once_one_wins(store: Store) -> None:
    async with asyncio.timeout(5):
        results = await asyncio.gather(
            *(store.commit("board", 0, {"n": n}, []) for n in range(8)), return_exceptions=True
        )
    assert sum(result is None for result in results) == 1
    assert sum(isinstance(result, RevisionConflict) for result in results) == 7


async def test_who_watches_is_called_until_they_leave(store: Store) -> None:
    await store.commit("board", 0, {}, [])
    unwatch = store.watch("board", lambda: None)
    unwatch()
    unwatch()


async def test_it_shows_nothing_of_the_documents(store: Store) -> None:
    await store.commit("board", 0, {"secret": "hunter2"}, [])
    assert "hunter2" not in repr(store)


async def test_it_closes_twice(store: Store) -> None:
    await store.aclose()
    await store.aclose()
