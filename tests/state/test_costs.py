"""What a change costs: what it changes, not what is stored. Counted, so on any machine the same."""

import copy
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Final

import pytest
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.documents import TYPES, Kind, board
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.shared import SharedState
from tests.support.stores import commit

ITEMS: Final = 5000


@pytest.fixture(params=TYPES.values(), ids=list(TYPES))
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


async def open_board(kind: Kind, items: int) -> SharedState[Any]:
    store = MemoryStore()
    await commit(store, "board", 0, board(items), [])
    state = await SharedState.open(store, "board", kind.state_type)
    # What is made once for a type is not what a change costs.
    await state.update(lambda draft: kind.rename(kind.cards(draft)[0], "First"))
    return state


def by_index(kind: Kind, place: int) -> Callable[[Any], None]:
    return lambda draft: kind.rename(kind.cards(draft)[place], "New")


def by_search(kind: Kind, place: int) -> Callable[[Any], None]:
    wanted = f"card-{place}"
    return lambda draft: kind.rename(kind.find(kind.cards(draft), wanted), "New")


def move_to_front(kind: Kind, place: int) -> Callable[[Any], None]:
    def move(draft: Any) -> None:
        cards = kind.cards(draft)
        cards.insert(0, cards.pop(place))

    return move


def insert(kind: Kind, place: int) -> Callable[[Any], None]:
    def put(draft: Any) -> None:
        item = board(1)["cards"][0]
        kind.cards(draft).insert(place, item)

    return put


async def count_calls(call: Callable[[], Awaitable[object]]) -> int:
    """Count the calls of functions within a call, of Python's and of C's."""
    calls = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    # The collector calls back whoever asked it to, as some test tools do.
    gc.disable()
    sys.setprofile(note)
    try:
        await call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


async def test_a_change_by_index_takes_as_many_steps_in_a_large_document(kind: Kind) -> None:
    counts = []
    for items in (50, ITEMS):
        state = await open_board(kind, items)
        counts.append(await count_calls(partial(state.update, by_index(kind, items // 2))))
    small, large = counts
    assert small == large < 500


@pytest.mark.parametrize(
    "write", [by_index, insert, move_to_front], ids=["by index", "insert", "move"]
)
async def test_an_undo_takes_as_many_steps_in_a_large_document(
    kind: Kind, write: Callable[[Kind, int], Callable[[Any], None]]
) -> None:
    """Nothing but what it puts back is checked again. C compares two lists at most."""
    counts = []
    for items in (50, ITEMS):
        state = await open_board(kind, items)
        await state.update(write(kind, items // 2))
        # What is made once for a type is not what an undo costs.
        await state.undo()
        await state.redo()
        counts.append((await count_calls(state.undo), await count_calls(state.redo)))
    assert counts[0] == counts[1]
    assert max(counts[1]) < 1000


class Tagged(BaseModel):
    model_config = ConfigDict(extra="allow")

    tags: Annotated[list[str], Field(max_length=3)] = []


@pytest.mark.parametrize(
    "write",
    [lambda card: card.tags.append("new"), lambda card: setattr(card, "more", "new")],
    ids=["a list with a rule", "an unknown attribute"],
)
async def test_an_undo_checks_no_more_than_the_container_that_has_a_rule(
    write: Callable[[Tagged], None],
) -> None:
    counts = []
    for items in (50, ITEMS):
        store = MemoryStore()
        await commit(store, "board", 0, [{"tags": []}] * items, [])
        state = await SharedState.open(store, "board", list[Tagged])
        async with state.change() as draft:
            write(draft[items // 2])
        await state.undo()
        await state.redo()
        counts.append((await count_calls(state.undo), await count_calls(state.redo)))
    assert counts[0] == counts[1]


async def test_a_move_takes_few_steps_for_each_item_that_it_passes(kind: Kind) -> None:
    state = await open_board(kind, ITEMS)
    update = partial(state.update, move_to_front(kind, ITEMS // 2))
    assert await count_calls(update) < 2 * ITEMS


async def test_a_search_takes_few_steps_for_each_item_that_it_passes(kind: Kind) -> None:
    state = await open_board(kind, ITEMS)
    steps = await count_calls(partial(state.update, by_search(kind, ITEMS // 2)))
    # `draft[key]` is a call, `draft.name` is none.
    assert steps < (18 if kind.state_type is dict else 6) * ITEMS / 2


async def test_a_small_change_allocates_a_list_and_not_a_document(kind: Kind) -> None:
    state = await open_board(kind, ITEMS)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await state.update(by_index(kind, ITEMS // 2))
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pointers = 8 * ITEMS
    assert peak - before < 4 * pointers
    assert after - before < 2 * pointers
    assert 4 * pointers < len(json.dumps(state.document)) / 3


async def fastest(call: Callable[[], Awaitable[object]], times: int = 20) -> float:
    """Return the shortest time, in seconds: what disturbs a machine only adds to it."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


async def test_a_small_change_is_far_cheaper_than_copying_or_writing_the_document(
    kind: Kind,
) -> None:
    """Measured: a seventieth by index, and half with a search, of what `json.dumps` takes."""
    state = await open_board(kind, ITEMS)
    document = copy.deepcopy(state.document)
    titles = iter(range(10_000))

    def write(draft: Any) -> None:
        kind.rename(kind.cards(draft)[ITEMS // 2], str(next(titles)))

    def search(draft: Any) -> None:
        kind.rename(kind.find(kind.cards(draft), f"card-{ITEMS // 2}"), str(next(titles)))

    async def dump() -> None:
        json.dumps(document)

    dumping = await fastest(dump)
    assert await fastest(lambda: state.update(write)) < dumping / 10
    assert await fastest(lambda: state.update(search)) < dumping * 1.5
