"""Two panels, one document."""

import asyncio

import pytest

from canvas_provider.errors import StateClosed, StateError
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.store import Stored
from tests.support.stores import commit


async def test_all_who_open_a_key_share_one_document_and_its_turns() -> None:
    registry = StateRegistry(MemoryStore())
    one, other = await registry.open("board"), await registry.open("board")
    await one.update(lambda draft: draft.update(a=1))
    assert other.document is one.document
    assert (other.revision, other.since(0)) == (1, one.since(0))
    separate = await registry.open("else")
    assert separate.document == {}


async def test_closing_one_hold_leaves_the_others_open() -> None:
    registry = StateRegistry(MemoryStore())
    one, other = await registry.open("board"), await registry.open("board")
    heard: list[object] = []
    one.subscribe(heard.append)
    await one.aclose()
    await one.aclose()
    with pytest.raises(StateClosed):
        await one.update(lambda draft: draft.update(a=1))
    await other.update(lambda draft: draft.update(a=2))
    assert (other.document, heard) == ({"a": 2}, [])
    await other.aclose()
    again = await registry.open("board")
    assert (again.document, again.revision) == ({"a": 2}, 1), "the store kept it"


async def test_a_key_is_loaded_once_however_many_open_it_at_once() -> None:
    class CountingStore(MemoryStore):
        loads = 0

        async def load(self, key: str, since: int = 0) -> Stored | None:
            self.loads += 1
            await asyncio.sleep(0)  # noqa: TID251  # lets others open it meanwhile
            return await super().load(key, since)

    store = CountingStore()
    registry = StateRegistry(store)
    async with asyncio.timeout(5):
        opened = await asyncio.gather(*(registry.open("board") for _ in range(5)))
    assert store.loads == 1
    assert len({id(state.document) for state in opened}) == 1


async def test_who_gives_up_opening_does_not_stop_the_others() -> None:
    class GatedStore(MemoryStore):
        gate = asyncio.Event()

        async def load(self, key: str, since: int = 0) -> Stored | None:
            await self.gate.wait()
            return await super().load(key, since)

    registry = StateRegistry(GatedStore())
    first = asyncio.create_task(registry.open("board"))
    second = asyncio.create_task(registry.open("board"))
    await asyncio.sleep(0)  # noqa: TID251  # lets both begin
    first.cancel()
    GatedStore.gate.set()
    async with asyncio.timeout(5):
        assert (await second).document == {}
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_a_failed_opening_is_forgotten() -> None:
    store = MemoryStore()
    await commit(store, "board", 0, 5, [])
    registry = StateRegistry(store)
    with pytest.raises(StateError):
        await registry.open("board")
    await commit(store, "board", 1, {"a": 1}, [])
    assert (await registry.open("board")).document == {"a": 1}


async def test_one_document_has_one_type() -> None:
    registry = StateRegistry(MemoryStore())
    await registry.open("board", dict)
    with pytest.raises(StateError, match="open as dict, so it cannot be opened as list"):
        await registry.open("board", list)


async def test_a_closed_registry_opens_nothing() -> None:
    registry = StateRegistry(MemoryStore())
    await registry.aclose()
    with pytest.raises(StateClosed):
        await registry.open("board")
