"""Writes that take other ways than attributes and methods: recorded, refused, or harmless."""

import copy
import heapq
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from canvas_provider.errors import DraftClosed, InvalidState, StateError
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.shared import SharedState


class Card(BaseModel):
    id: str = "1"
    title: str = "old"
    tags: list[str] = ["x"]
    meta: dict[str, Any] = {"a": {"b": 1}}

    @cached_property
    def shout(self) -> str:
        return self.title.upper()


class Board(BaseModel):
    name: str = "board"
    cards: list[Card] = [Card()]
    grid: list[list[int]] = [[1], [2]]
    by_id: dict[str, Card] = {"k": Card()}


@dataclass
class PlainCard:
    id: str = "1"
    title: str = "old"
    tags: list[str] = field(default_factory=lambda: ["x"])


@dataclass
class PlainBoard:
    name: str = "board"
    cards: list[PlainCard] = field(default_factory=lambda: [PlainCard()])


@dataclass(slots=True)
class SlottedCard:
    title: str = "old"


@dataclass
class SlottedBoard:
    name: str = "board"
    cards: list[SlottedCard] = field(default_factory=lambda: [SlottedCard()])


class OpenCard(BaseModel):
    model_config = ConfigDict(extra="allow")

    title: str = "old"


class OpenBoard(BaseModel):
    name: str = "board"
    cards: list[OpenCard] = [OpenCard()]


def push(heap: list[Any], item: Any) -> bool:
    heapq.heappush(heap, item)
    return True


BOARDS = [Board, PlainBoard, SlottedBoard, OpenBoard]


async def open_state(board: type[Any]) -> SharedState[Any]:
    state = await SharedState.open(MemoryStore(), "board", board)

    def touch(draft: Any) -> None:
        draft.name = "stored"

    await state.update(touch)
    return state


def by_vars(board: Any) -> None:
    board.cards[0].__dict__["title"] = "new"


def by_update(board: Any) -> None:
    vars(board.cards[0]).update(title="new")


def by_merge(board: Any) -> None:
    attributes = vars(board.cards[0])
    attributes |= {"title": "new"}


def by_object(board: Any) -> None:
    object.__setattr__(board.cards[0], "title", "new")


WAYS = [by_vars, by_update, by_merge, by_object]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("write", WAYS)
async def test_a_write_past_the_class_is_recorded_like_any_other(
    board: type[Any], write: Callable[[Any], None]
) -> None:
    state = await open_state(board)
    before, kept = state.document, copy.deepcopy(state.document)
    view = state.value
    with pytest.raises(ZeroDivisionError):
        async with state.change() as draft:
            write(draft)
            raise ZeroDivisionError
    assert before == kept, "a rollback rolls it back"
    await state.update(write)
    assert before == kept, "the old revision is what it was"
    assert view.cards[0].title == "old"
    assert state.value.cards[0].title == "new"
    found = state.since(1)
    assert found is not None
    assert found[0].ops == [{"op": "replace", "path": "/cards/0/title", "value": "new"}]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("write", WAYS)
async def test_a_view_refuses_a_write_past_its_class(
    board: type[Any], write: Callable[[Any], None]
) -> None:
    state = await open_state(board)
    kept = copy.deepcopy(state.document)
    with pytest.raises(DraftClosed):
        write(state.value)
    async with state.change() as draft:
        draft.name = "more"
    with pytest.raises(DraftClosed):
        write(draft)
    with pytest.raises(ZeroDivisionError):
        async with state.change() as draft:
            raise ZeroDivisionError
    with pytest.raises(DraftClosed):
        object.__setattr__(draft, "name", "ghost")
    assert state.document == {**kept, "name": "more"}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "write",
    [
        lambda board: object.__setattr__(board.cards[0], "__dict__", {"title": "new"}),
        lambda board: object.__delattr__(board.cards[0], "title"),
        lambda board: vars(board.cards[0]).pop("title"),
        lambda board: vars(board.cards[0]).clear(),
        lambda board: vars(board.cards[0]).popitem(),
        lambda board: vars(board.cards[0]).__delitem__("title"),
        lambda board: board.cards[0].__init__(title="new"),
        lambda board: vars(board.cards[0]).update(title=5),
        lambda board: vars(board.cards[0]).update(stranger=5),
        lambda board: object.__setattr__(board.cards[0], "title", 5),
        lambda board: Card.__setstate__(board.cards[0], {"__dict__": {"title": "new"}}),
    ],
)
async def test_what_cannot_be_recorded_is_refused(write: Callable[[Any], None]) -> None:
    state = await open_state(Board)
    kept = copy.deepcopy(state.document)
    with pytest.raises((InvalidState, AttributeError)):
        await state.update(write)
    assert (state.document, state.revision) == (kept, 1)
    assert state.value.cards[0].title == "old"


@pytest.mark.parametrize(
    "write",
    [
        lambda board: push(board.grid, [0]),
        lambda board: heapq.heappop(board.grid),
        lambda board: list.append(board.cards, Card()),
        lambda board: list.clear(board.cards[0].tags),
        lambda board: dict.update(board.by_id, z=Card()),
        lambda board: dict.__setitem__(board.cards[0].meta, "z", 1),
        lambda board: dict.pop(board.by_id, "k"),
        lambda board: board.grid.insert(0, [0]) or push(board.grid, [9]),
        lambda board: board.grid.pop(0) and push(board.grid, [9]),
        lambda board: heapq.heappop(board.grid) and board.grid.insert(0, [0]),
        lambda board: heapq.heapreplace(board.grid, [9]),
        lambda board: [*board.grid] and heapq.heapreplace(board.grid, [9]),
        lambda board: board.grid[1] and heapq.heappushpop(board.grid, [9]),
        lambda board: list.reverse(board.grid),
        lambda board: list.sort(board.grid, key=lambda row: -row[0]),
        lambda board: board.grid.insert(0, [0]) or list.__setitem__(board.grid, 1, [9]),
        lambda board: board.grid.append([0]) or list.__setitem__(board.grid, 1, [9]),
        lambda board: board.grid.__setitem__(0, [7]) or list.__setitem__(board.grid, 1, [9]),
        lambda board: list.__setitem__(board.cards, 0, board.by_id["k"]),
        lambda board: board.by_id.update(z=Card()) or dict.pop(board.by_id, "k"),
    ],
)
async def test_what_c_code_does_to_a_draft_past_its_methods_is_refused(
    write: Callable[[Any], object],
) -> None:
    """heapq is the one in the standard library."""
    state = await open_state(Board)
    kept = copy.deepcopy(state.document)
    with pytest.raises(StateError, match="past its own methods"):
        await state.update(write)
    assert (state.document, state.revision) == (kept, 1)


async def test_lists_of_any_history_are_not_taken_for_written_past() -> None:
    state = await open_state(Board)

    def everything(board: Board) -> None:
        grid = board.grid
        grid[0] = [5]
        grid.insert(1, [6])
        grid.extend([[7], [8]])
        grid[1:3] = [[1], [2], [3]]
        grid[::2] = [[0]] * len(grid[::2])
        del grid[::3]
        del grid[0:1]
        del grid[5:2]
        grid[9:] = [[4]]
        grid.sort()
        grid.reverse()
        grid.remove([4])
        grid += [[9]]
        grid *= 2
        board.cards.append(Card(id="2"))
        board.cards.append(board.cards.pop(0))
        board.by_id["n"] = board.by_id.pop("k")
        board.cards[0].meta = {"held": board.cards[1].tags}
        board.cards[0].meta["held"].append("y")

    await state.update(everything)
    assert state.value.cards[0].meta["held"] == ["x", "y"]


@pytest.mark.parametrize(
    "write",
    [
        lambda board: vars(board.cards[0]) and board.cards[0].__pydantic_fields_set__.add("z"),
        lambda board: copy.copy(board).cards[0].tags.append("z"),
        lambda board: copy.deepcopy(board).cards[0].meta["a"].update(b=2),
        lambda board: pickle.loads(pickle.dumps(board)).cards[0].meta["a"].update(b=2),
        lambda board: board.model_dump()["cards"][0]["meta"]["a"].update(b=2),
        lambda board: board.model_copy(update={"name": "z"}).cards[0].meta["a"].update(b=2),
        lambda board: board.__getstate__()["__dict__"].update(name="z"),
        lambda board: json.dumps(board.grid),
    ],
)
async def test_copies_are_nobody_elses(write: Callable[[Any], object]) -> None:
    state = await open_state(Board)
    kept = copy.deepcopy(state.document)
    write(state.value)
    await state.update(write)
    assert (state.document, state.revision) == (kept, 1)
    assert state.value == Board.model_validate(kept)


async def test_copies_of_dataclasses_are_nobody_elses() -> None:
    state = await open_state(PlainBoard)
    kept = copy.deepcopy(state.document)
    asdict(state.value)["cards"][0]["tags"].append("z")
    copy.deepcopy(state.value).cards[0].tags.append("z")
    replace(state.value.cards[0], title="new")
    assert (state.document, state.revision) == (kept, 1)


async def test_vars_show_what_is_there_and_cached_properties_keep_their_memory() -> None:
    state = await open_state(Board)
    async with state.change() as board:
        card = board.cards[0]
        assert vars(card) == {"id": "1", "title": "old", "tags": ["x"], "meta": {"a": {"b": 1}}}
        vars(card)["tags"].append("y")
        assert card.shout == "OLD"
        card.title = "new"
        assert card.shout == "OLD", "cached"
        del card.__dict__["shout"]
        assert card.shout == "NEW"
        with pytest.raises(KeyError):
            del card.__dict__["shouts"]
    assert state.value.cards[0].tags == ["x", "y"]
    assert state.value.cards[0].shout == "NEW"
    assert "shout" not in state.document["cards"][0]  # type: ignore[index, call-overload, operator]


async def test_what_one_call_does_to_its_view_no_other_sees() -> None:
    state = await open_state(Board)
    one, other = (state.bind(author="agent", action=None) for _ in range(2))
    assert one.value is one.value
    heapq.heappush(one.value.grid, [0])
    assert other.value.grid == state.value.grid == [[1], [2]]
    await other.update(lambda board: board.grid.append([3]))
    assert one.value.grid == [[1], [2], [3]]
