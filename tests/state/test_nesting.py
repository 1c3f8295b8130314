"""Two panels change one document, or one of them several: nobody waits for themselves, or for ever.

Every wait is bounded, so a deadlock is a failure here.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from canvas_provider.errors import ChangeInProgress, RevisionConflict
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.shared import SharedState

State = SharedState[Any]


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    async with asyncio.timeout(5):
        yield


@pytest.fixture
async def panels() -> tuple[State, State]:
    """Two holds on one document."""
    registry = StateRegistry(MemoryStore())
    return await registry.open("board"), await registry.open("board")


@pytest.fixture
async def boards() -> list[State]:
    """Three documents."""
    registry = StateRegistry(MemoryStore())
    return [await registry.open(key) for key in "abc"]


def count(draft: Any) -> None:
    draft["n"] = draft.get("n", 0) + 1


async def count_within(draft: Any) -> None:
    count(draft)


async def enter(state: State) -> None:
    async with state.change() as draft:
        count(draft)


def enter_in_thread(state: State) -> None:
    with state.change() as draft:
        count(draft)


async def undo(state: State) -> None:
    await state.undo()


async def bound(state: State) -> None:
    await state.bind(author="person", action="count").update(count)


async def bound_undo(state: State) -> None:
    await state.bind(author="person", action="undo").undo()


WAYS: dict[str, Callable[[State], Awaitable[object]]] = {
    "a block": enter,
    "update": lambda state: state.update(count),
    "update with a coroutine": lambda state: state.update(count_within),
    "an undo": undo,
    "a call's update": bound,
    "a call's undo": bound_undo,
    "a thread": lambda state: asyncio.to_thread(enter_in_thread, state),
    "a task": lambda state: asyncio.create_task(enter(state)),
    "a task of a task": lambda state: asyncio.create_task(in_task(state)),
    "a task group": lambda state: in_group(state),
    "a thread that a task began": lambda state: asyncio.create_task(in_thread(state)),
}


async def in_task(state: State) -> None:
    await asyncio.create_task(enter(state))


async def in_thread(state: State) -> None:
    await asyncio.to_thread(enter_in_thread, state)


async def in_group(state: State) -> None:
    await asyncio.gather(enter(state), state.update(count))


@pytest.mark.parametrize("way", WAYS)
async def test_the_second_panel_within_a_change_of_the_first_is_refused(
    panels: tuple[State, State], way: str
) -> None:
    one, other = panels
    await one.update(count)
    async with one.change() as draft:
        count(draft)
        with pytest.raises(ChangeInProgress, match="use the draft"):
            await WAYS[way](other)
    assert (one.revision, one.document) == (2, {"n": 2})

    async def nested(draft: Any) -> None:
        count(draft)
        with pytest.raises(ChangeInProgress):
            await WAYS[way](other)

    await one.update(nested)
    assert (one.revision, one.document) == (3, {"n": 3})
    # Nothing of it stays.
    await WAYS[way](other)


async def test_within_a_change_in_a_thread_it_is_refused_as_well(
    panels: tuple[State, State],
) -> None:
    one, other = panels
    loop = asyncio.get_running_loop()

    def change() -> None:
        with one.change() as draft:
            count(draft)
            with pytest.raises(ChangeInProgress):
                other.change().__enter__()
            with pytest.raises(ChangeInProgress):
                asyncio.run_coroutine_threadsafe(other.update(count), loop).result(5)

    await asyncio.to_thread(change)
    assert (other.revision, other.document) == (1, {"n": 1})


async def test_panels_that_change_in_contexts_of_their_own_take_turns(
    panels: tuple[State, State],
) -> None:
    one, other = panels
    began, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with one.change() as draft:
            began.set()
            await go_on.wait()
            count(draft)

    holding = asyncio.create_task(hold())
    await began.wait()
    waiting = [asyncio.ensure_future(way(other)) for way in list(WAYS.values())[:3]]
    thread = asyncio.create_task(asyncio.to_thread(enter_in_thread, other))
    await asyncio.sleep(0)  # noqa: TID251  # lets them ask for their turns
    assert not any(task.done() for task in waiting)
    go_on.set()
    await asyncio.gather(holding, thread, *waiting)
    assert (one.revision, one.document) == (5, {"n": 5})


async def test_changes_of_several_documents_end_in_any_order(boards: list[State]) -> None:
    """What is left later is still known as being open."""
    first, second, third = boards
    one, two = first.change(), second.change()
    count(await one.__aenter__())
    count(await two.__aenter__())
    await one.__aexit__(None, None, None)
    with pytest.raises(ChangeInProgress):
        await second.update(count)
    await first.update(count)
    await two.__aexit__(None, None, None)
    for state in (second, third):
        await state.update(count)
    assert [state.document for state in boards] == [{"n": 2}, {"n": 2}, {"n": 1}]


@pytest.mark.parametrize("length", [2, 3])
async def test_of_changes_that_wait_for_each_other_in_a_circle_one_is_refused(
    boards: list[State], length: int
) -> None:
    circle = boards[:length]
    all_began = asyncio.Barrier(length)

    async def change_two(place: int) -> None:
        async with circle[place].change() as draft:
            count(draft)
            await all_began.wait()
            await circle[(place + 1) % length].update(count)

    ended = await asyncio.gather(*map(change_two, range(length)), return_exceptions=True)
    refused = [error for error in ended if error is not None]
    assert len(refused) == 1
    with pytest.raises(ChangeInProgress, match="always in the same order"):
        raise refused[0]
    # The one that was refused is rolled back; the others have changed both of theirs.
    assert sum(state.document["n"] for state in circle) == 2 * (length - 1)  # type: ignore[call-overload, index, misc]
    for state in circle:
        await state.update(count)


async def test_a_circle_is_found_among_threads(boards: list[State]) -> None:
    one, other, _ = boards
    loop = asyncio.get_running_loop()
    both_began = asyncio.Barrier(2)

    def change_two(first: State, second: State) -> None:
        with first.change() as draft:
            count(draft)
            asyncio.run_coroutine_threadsafe(both_began.wait(), loop).result(5)
            enter_in_thread(second)

    ended = await asyncio.gather(
        asyncio.to_thread(change_two, one, other),
        asyncio.to_thread(change_two, other, one),
        return_exceptions=True,
    )
    assert [type(error) for error in ended if error is not None] == [ChangeInProgress]


async def test_who_gave_up_waiting_is_in_nobodys_circle(boards: list[State]) -> None:
    one, other, _ = boards
    async with one.change() as draft:
        count(draft)

        async def hold() -> None:
            async with other.change() as held:
                count(held)
                asking = asyncio.create_task(enter(one))
                await asyncio.sleep(0)  # noqa: TID251  # lets it ask
                asking.cancel()
                await asyncio.wait([asking])
                refused.set()
                await go_on.wait()

        refused, go_on = asyncio.Event(), asyncio.Event()
        # A context without the change of this test.
        holding = detached(hold)
        await refused.wait()
        asking = asyncio.create_task(enter(other))
        await asyncio.sleep(0)  # noqa: TID251  # lets it ask
        go_on.set()
        await asyncio.gather(holding, asking)
    assert [one.document, other.document] == [{"n": 1}, {"n": 2}]


def detached(call: Callable[[], Any]) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(call(), context=contextvars.Context())


async def test_two_registries_of_one_store_are_told_of_the_conflict() -> None:
    """Nothing ties their documents together but the store, as with another process."""
    store = MemoryStore()
    one, other = [await StateRegistry(store).open("board") for _ in range(2)]
    with pytest.raises(RevisionConflict):
        async with one.change() as draft:
            count(draft)
            await other.update(count)
    assert (one.revision, one.document) == (1, {"n": 1})
