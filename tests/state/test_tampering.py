"""Code that works on a draft as if it were a list: what it writes is recorded, or refused."""

import bisect
import copy
import heapq
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from canvas_provider.errors import StateError
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.shared import SharedState


@dataclass
class Board:
    meta: Any = None


class Days(BaseModel):
    days: list[date] = [date(2026, 1, 2), date(2026, 1, 1)]


class Like(BaseModel):
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Like)


class Likes(BaseModel):
    items: list[Like] = [Like(name="first"), Like(name="second"), Like(name="third")]


async def test_c_code_cannot_reorder_items_that_were_walked_and_call_themselves_equal() -> None:
    state = await SharedState.open(MemoryStore(), "likes", Likes)

    def reorder(board: Likes) -> None:
        found = next(item for item in board.items if item.name == "second")
        found.name = "changed"
        list.reverse(board.items)

    with pytest.raises(StateError, match="past its own methods"):
        await state.update(reorder)
    assert state.revision == 0


async def test_what_is_written_to_items_found_by_a_walk_is_written_to_them_alone() -> None:
    state = await SharedState.open(MemoryStore(), "likes", Likes)

    def write(board: Likes) -> None:
        names = []
        for item in board.items:
            names.append(item.name)
            if item.name == "second":
                board.items.append(Like(name="fourth"))
                item.name = "changed"
        assert names == ["first", "second", "third", "fourth"]

    await state.update(write)
    names = ["first", "changed", "third", "fourth"]
    assert state.document == {"items": [{"name": name} for name in names]}


async def test_c_code_cannot_reorder_decoded_items_unseen() -> None:
    state = await SharedState.open(MemoryStore(), "days", Days)
    with pytest.raises(StateError, match="past its own methods"):
        await state.update(lambda board: heapq.heapify(board.days))
    await state.update(lambda board: board.days.sort())
    assert state.document == {"days": ["2026-01-01", "2026-01-02"]}


@pytest.mark.parametrize(
    "write",
    [
        lambda rows: random.Random(3).shuffle(rows),
        lambda rows: bisect.insort(rows, [2, 5]),
        lambda rows: rows.sort(key=lambda row: -row[0]),
        lambda rows: operator.setitem(rows, 0, rows.pop()),
        lambda rows: operator.delitem(rows, slice(1, 3)),
    ],
)
async def test_the_standard_librarys_python_records_what_it_writes(
    write: Callable[[Any], object],
) -> None:
    start = [[number, 0] for number in range(6)]
    state = await SharedState.open(
        MemoryStore(), "rows", initial=lambda: {"rows": copy.deepcopy(start)}
    )
    expected = copy.deepcopy(start)
    write(expected)
    await state.update(lambda draft: write(draft["rows"]))
    assert state.document == {"rows": expected}


async def test_a_schema_made_of_a_drafts_class_leaves_the_class_as_it_is() -> None:
    """pydantic gives a dataclass that it looks at its defaults as attributes."""

    def look(board: Any) -> None:
        assert type(TypeAdapter(type(board)).dump_python(board)) is dict
        board.meta["deep"].append(2)

    state = await SharedState.open(MemoryStore(), "board", Board)
    await state.update(lambda board: setattr(board, "meta", {"deep": [1]}))
    before = copy.deepcopy(state.document)
    document = state.document
    await state.update(look)
    assert document == before
    assert state.document == {"meta": {"deep": [1, 2]}}
