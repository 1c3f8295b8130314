"""Undo and redo: what they take back, what is in their way, and who is told."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NotRequired

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from typing_extensions import TypedDict

from canvas_provider.errors import (
    ChangeInProgress,
    InvalidState,
    NothingToUndo,
    RevisionConflict,
    StateClosed,
)
from canvas_provider.state.json import equal
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.patch import Patching, apply
from canvas_provider.state.shared import Revision, SharedState
from canvas_provider.state.sqlite import SQLiteStore
from canvas_provider.types import Author


async def open_state(document: Any) -> SharedState[Any]:
    return await SharedState.open(MemoryStore(), "board", initial=lambda: document)


async def put(state: SharedState[Any], key: str, value: Any, author: Author = "agent") -> None:
    async with state.change(author=author, action=f"put_{key}") as draft:
        draft[key] = value


async def test_an_undo_is_a_new_revision_with_an_author_of_its_own() -> None:
    state = await open_state({"a": 1})
    heard: list[Revision] = []
    state.subscribe(heard.append)
    await put(state, "a", 2)
    undone = await state.undo(author="person", action="undo")
    assert (state.revision, state.document) == (2, {"a": 1})
    assert undone[:4] == (2, [{"op": "replace", "path": "/a", "value": 1}], "person", "undo")
    assert (undone.previous, undone.reverts) == (1, 1)
    assert undone.inverse == heard[0].ops
    assert state.history() == heard == [heard[0], undone]
    assert (heard[0].author, heard[0].action, heard[0].reverts) == ("agent", "put_a", None)


@pytest.mark.parametrize("durable", [False, True])
async def test_a_redo_goes_forward_also_when_the_edit_is_forgotten(
    tmp_path: Path, durable: bool
) -> None:
    store = SQLiteStore(tmp_path / "state.sqlite3") if durable else MemoryStore()
    state = await SharedState.open(store, "board", initial=lambda: {"text": ""})
    # Each edit, and what takes it back, fills a good part of what is remembered.
    for number in range(1, 5):
        await put(state, "text", f"{number}" + "." * 120_000)
    seen = []
    for step in ("undo", "undo", "redo", "redo"):
        await getattr(state, step)()
        seen.append(state.document["text"][0])  # type: ignore[call-overload, index]
        if durable:
            await state.aclose()
            state = await SharedState.open(store, "board", initial=dict)
    assert seen == ["3", "2", "3", "4"]
    with pytest.raises(NothingToUndo, match="nothing to redo"):
        await state.redo()
    await state.aclose()
    await store.aclose()


async def test_undo_and_redo_walk_through_the_edits_of_one_field() -> None:
    state = await open_state({"a": 0})
    for value in (1, 2, 3):
        await put(state, "a", value)
    seen = []
    for _ in range(3):
        await state.undo()
        seen.append(state.document["a"])  # type: ignore[call-overload, index]
    for _ in range(3):
        await state.redo()
        seen.append(state.document["a"])  # type: ignore[call-overload, index]
    await state.undo()
    await state.redo()
    assert seen == [2, 1, 0, 1, 2, 3]
    assert state.document == {"a": 3}
    assert [entry.reverts for entry in state.history()] == [None] * 3 + [3, 2, 1, 6, 5, 4, 3, 10]
    with pytest.raises(NothingToUndo, match="nothing to redo"):
        await state.redo()


async def test_of_two_authors_each_can_undo_their_own() -> None:
    state = await open_state({"a": 0, "b": 0})
    await put(state, "a", 1, "person")
    await put(state, "b", 1, "agent")
    await state.undo(of="person", author="person")
    assert state.document == {"a": 0, "b": 1}
    with pytest.raises(NothingToUndo, match="nothing by the person to undo"):
        await state.undo(of="person")
    await state.undo(of="agent", author="agent")
    await state.redo(of="person")
    assert state.document == {"a": 1, "b": 0}
    with pytest.raises(NothingToUndo, match="nothing by the person to redo"):
        await state.redo(of="person")


async def test_any_known_revision_can_be_undone_once() -> None:
    state = await open_state({"a": 0, "b": 0})
    await put(state, "a", 1)
    await put(state, "b", 1)
    await state.undo(1)
    assert state.document == {"a": 0, "b": 1}
    with pytest.raises(NothingToUndo, match="Revision 1 is undone already, by 3"):
        await state.undo(1)
    await state.undo(3)
    assert state.document == {"a": 1, "b": 1}
    for number, text in ((0, "no revision 0: the newest"), (-1, "no revision -1"), (9, "is 4")):
        with pytest.raises(NothingToUndo, match=text) as caught:
            await state.undo(number)
        assert caught.value.code == "nothing_to_undo"


async def test_what_is_forgotten_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canvas_provider.state.history.MAX_REVISIONS", 2)
    state = await open_state({})
    for number in range(3):
        await put(state, "a", number)
    with pytest.raises(NothingToUndo, match="Revision 1 is not remembered any more"):
        await state.undo(1)
    await state.undo()
    with pytest.raises(NothingToUndo, match="nothing to undo: what came before revision 3 is"):
        await state.undo()


async def test_a_change_that_is_too_large_to_remember_is_told() -> None:
    state = await open_state({})
    await put(state, "a", 1)
    await put(state, "large", "x" * 1_100_000)
    assert state.history() == []
    with pytest.raises(NothingToUndo) as caught:
        await state.undo()
    assert str(caught.value) == (
        "There is nothing to undo: what led to revision 2 is forgotten (it is kept for 256 "
        "revisions, and 1 MiB)."
    )
    await put(state, "large", "y")
    with pytest.raises(NothingToUndo, match="what led to revision 3 is forgotten"):
        await state.undo()


async def test_a_redo_that_something_is_in_the_way_of_speaks_of_a_redo() -> None:
    state = await open_state({"a": 0})
    await put(state, "a", 1)
    await state.undo()
    await put(state, "a", 2, author="person")
    with pytest.raises(RevisionConflict) as caught:
        await state.redo()
    assert str(caught.value) == (
        "Revision 1, undone by 2, cannot be redone: revision 3 (put_a by the person) has changed "
        "the same since."
    )


async def test_the_last_of_many_undos_looks_at_no_more_than_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was undone since is not gone through again, nor by the redos."""
    state = await open_state({"l": [{"x": 0} for _ in range(5)]})
    for number in range(20):
        async with state.change() as draft:
            for item in draft["l"]:
                item["x"] = number + 1
    steps: list[int] = []
    step = Patching.step

    def counted(self: Patching, operation: Any) -> None:
        steps[-1] += 1
        step(self, operation)

    monkeypatch.setattr(Patching, "step", counted)
    for walk in (state.undo, state.redo, state.undo):
        for _ in range(20):
            steps.append(0)
            await walk()
    assert len(set(steps)) == 1, steps


async def test_what_changed_since_is_named_and_kept() -> None:
    state = await open_state({"a": {"b": 0}, "c": 0})
    await put(state, "c", 1, "person")
    async with state.change(author="agent", action="set_b") as draft:
        draft["a"]["b"] = 1
    async with state.change(author="person", action="set_again") as draft:
        draft["a"]["b"] = 2
    before = state.history()
    with pytest.raises(RevisionConflict) as caught:
        await state.undo(2)
    assert caught.value.code == "revision_conflict"
    assert str(caught.value) == (
        "Revision 2 (set_b by the agent) cannot be undone: revision 3 (set_again by the person) "
        "has changed the same since."
    )
    assert (state.revision, state.document) == (3, {"a": {"b": 2}, "c": 1})
    assert state.history() == before
    await state.undo(1)
    assert state.document == {"a": {"b": 2}, "c": 0}


def append(draft: Any) -> None:
    draft["l"].append({"t": "z"})


def insert_first(draft: Any) -> None:
    draft["l"].insert(0, {"t": "y"})


def remove_first(draft: Any) -> None:
    del draft["l"][0]


def remove_last(draft: Any) -> None:
    draft["l"].pop()


def edit_first(draft: Any) -> None:
    draft["l"][0]["t"] = "edited"


def edit_last(draft: Any) -> None:
    draft["l"][-1]["t"] = "edited"


def move_first_to_end(draft: Any) -> None:
    draft["l"].append(draft["l"].pop(0))


def edit_first_and_remove_last(draft: Any) -> None:
    edit_first(draft)
    remove_last(draft)


def edit_first_again(draft: Any) -> None:
    draft["l"][0]["t"] = "again"


def swap_first_two(draft: Any) -> None:
    draft["l"].insert(0, draft["l"].pop(1))


def replace_all(draft: Any) -> None:
    draft["l"] = [{"t": "new"}]


@pytest.mark.parametrize(
    ("change", "then", "left"),
    [
        (edit_last, append, "abcz"),
        (edit_last, edit_first, "Xbc"),
        (edit_last, swap_first_two, "bac"),
        (append, edit_last, None),
        (append, edit_first, "Xbc"),
        (append, insert_first, None),
        (append, append, "abcz"),
        (remove_last, edit_first, "Xbc"),
        (remove_first, edit_first, "aXc"),
        (remove_first, edit_last, "abX"),
        (remove_first, insert_first, None),
        (remove_first, remove_first, None),
        (remove_first, append, "abcz"),
        (insert_first, edit_last, "abX"),
        (insert_first, append, "abcz"),
        (insert_first, edit_first, None),
        (edit_first_and_remove_last, edit_first_again, None),
        (edit_first, replace_all, None),
        (replace_all, append, None),
        (move_first_to_end, append, "abcz"),
        (move_first_to_end, edit_first, "aXc"),
        (move_first_to_end, edit_last, None),
        (edit_first, move_first_to_end, None),
        (edit_first, remove_first, None),
        (edit_first, insert_first, None),
    ],
)
async def test_an_undo_fits_when_its_places_are_what_they_were(
    change: Any, then: Any, left: str | None
) -> None:
    """ "X" is an item that was edited."""
    state = await open_state({"l": [{"t": letter} for letter in "abc"]})
    await state.update(change)
    await state.update(then)
    if left is None:
        with pytest.raises(RevisionConflict):
            await state.undo(1)
    else:
        await state.undo(1)
        items: Any = state.document
        texts = [item["t"].replace("edited", "X") for item in items["l"]]
        assert "".join(texts) == left


async def test_a_key_of_digits_is_no_index() -> None:
    state = await open_state({"cards": {"1": {"t": "a"}, "7": {"t": "b"}}})
    async with state.change() as draft:
        draft["cards"]["7"]["t"] = "edited"
    async with state.change() as draft:
        del draft["cards"]["1"]
        draft["cards"]["0"] = {"t": "new"}
    await state.undo(1)
    assert state.document == {"cards": {"7": {"t": "b"}, "0": {"t": "new"}}}


async def test_what_happened_while_a_list_was_longer_is_seen_where_it_is_now() -> None:
    state = await open_state({"l": [{"t": letter} for letter in "abc"]})
    async with state.change() as draft:
        draft["l"][1]["t"] = "b1"
    await state.update(insert_first)
    async with state.change() as draft:
        draft["l"][2]["t"] = "b2"
    await state.undo(2)
    with pytest.raises(RevisionConflict) as caught:
        await state.undo(1)
    assert caught.value.actual == 3
    await state.redo()
    for number in (3, 2, 1):
        assert (await state.undo()).reverts == number
    assert state.document == {"l": [{"t": letter} for letter in "abc"]}


async def test_a_stale_undo_is_refused() -> None:
    state = await open_state({"a": 0})
    await put(state, "a", 1)
    bound = state.bind(author="person", action="undo", expected_revision=0)
    with pytest.raises(RevisionConflict, match="at revision 1, not 0"):
        await bound.undo()
    undone = await bound.undo()
    assert (undone.author, undone.action) == ("person", "undo")
    redone = await bound.redo()
    assert (redone.author, redone.action, redone.reverts) == ("person", "undo", 2)
    assert bound.history() == state.history()


async def test_an_undo_within_a_change_is_an_error_and_no_deadlock() -> None:
    state = await open_state({"a": 0})
    await put(state, "a", 1)
    async with asyncio.timeout(5), state.change():
        with pytest.raises(ChangeInProgress):
            await state.undo()
    await state.undo()


async def test_after_the_end_nothing_is_undone() -> None:
    state = await open_state({"a": 0})
    await put(state, "a", 1)
    bound = state.bind(author="agent", action=None)
    bound.end()
    with pytest.raises(StateClosed):
        await bound.undo()
    with pytest.raises(StateClosed):
        await bound.redo()
    await state.aclose()
    with pytest.raises(StateClosed):
        await state.undo()


class Limits(BaseModel):
    least: int = 0
    most: int = 10

    @model_validator(mode="after")
    def in_order(self) -> "Limits":
        if self.least > self.most:
            raise ValueError("least is more than most")
        return self


async def test_an_undo_makes_nothing_that_the_type_refuses() -> None:
    state = await SharedState.open(MemoryStore(), "limits", Limits)
    async with state.change() as draft:
        draft.most = 30
    async with state.change() as draft:
        draft.least = 20
    with pytest.raises(InvalidState, match="least is more than most"):
        await state.undo(1)
    assert (state.revision, state.document) == (2, {"least": 20, "most": 30})
    await state.undo()
    await state.undo()
    assert state.value == Limits()


@dataclass
class Grown:
    items: list[str] = field(default_factory=list)
    title: str = "untitled"


async def test_what_was_filled_in_for_the_type_is_nothing_to_undo() -> None:
    store = MemoryStore()
    old = await SharedState.open(store, "board", initial=lambda: {"items": []})
    await old.update(lambda draft: draft["items"].append("a"), author="person")
    state = await SharedState.open(store, "board", Grown)
    assert (state.revision, state.value) == (2, Grown(["a"]))
    await state.undo()
    assert state.document == {"items": [], "title": "untitled"}
    with pytest.raises(NothingToUndo, match="would change nothing"):
        await state.undo(2)


class Pair(TypedDict):
    must: dict[str, int]
    may: NotRequired[dict[str, int]]
    day: NotRequired[date]


class Range(BaseModel):
    name: str = ""
    limits: Limits = Limits()


class Short(BaseModel):
    model_config = ConfigDict(extra="allow")

    text: str

    @field_validator("text")
    @classmethod
    def check_text(cls, text: str) -> str:
        if len(text) > 3:
            raise ValueError("too long")
        return text


class Many(BaseModel):
    shorts: list[Short] = []
    ranges: Annotated[list[Range], Field(min_length=1)] = [Range()]
    pairs: list[Pair] = []
    numbered: dict[int, Range] = {}
    few: Annotated[list[int], Field(max_length=2)] = []
    named: dict[Annotated[str, Field(max_length=3)], int] = {}
    some: Annotated[dict[str, int], Field(min_length=1)] = {"a": 1}
    either: list[Short | Range | None] = []
    days: dict[str, date] = {}
    anything: dict[str, Any] = {}


def many(**more: Any) -> dict[str, Any]:
    return {**Many().model_dump(mode="json"), **more}


MISFITS: dict[str, tuple[Any, Callable[[Any], object]]] = {
    # What lies there at first, and fits no `Many`; and what makes it fit one.
    "a scalar": (
        many(ranges=[{"name": 5, "limits": {"least": 0, "most": 9}}]),
        lambda d: d["ranges"][0].update(name="five"),
    ),
    "a field of a model with a validator": (
        many(ranges=[{"name": "", "limits": {"least": 10, "most": 9}}]),
        lambda d: d["ranges"][0]["limits"].update(least=1),
    ),
    "a field with a validator": (
        many(shorts=[{"text": "long"}]),
        lambda d: d["shorts"][0].update(text="l"),
    ),
    "an item": (many(shorts=[{"text": "long"}]), lambda d: d["shorts"].clear()),
    "a list that is too short": (
        many(ranges=[]),
        lambda d: d["ranges"].append({"name": "", "limits": {"least": 0, "most": 9}}),
    ),
    "a list that is too long": (many(few=[1, 2, 3]), lambda d: d["few"].pop()),
    "a key that is too long": (many(named={"long": 1}), lambda d: d["named"].pop("long")),
    "an object that is too small": (many(some={}), lambda d: d["some"].update(a=1)),
    "a key that is none": (
        many(numbered={"x": {"name": "", "limits": {"least": 0, "most": 9}}}),
        lambda d: d["numbered"].pop("x"),
    ),
    "a model that lacks a field": (
        many(shorts=[{"other": 1}]),
        lambda d: d["shorts"][0].update(text="l"),
    ),
    "an object that lacks a key": (
        many(pairs=[{"may": {}}]),
        lambda d: d["pairs"][0].update(must={"a": 1}),
    ),
    "an object whose key has moved": (
        many(pairs=[{"may": {"a": 1}}]),
        lambda d: d["pairs"][0].update(must=d["pairs"][0].pop("may")),
    ),
    "an item that has moved": (
        many(shorts=[{"no": "text"}]),
        lambda d: d["anything"].update(it=d["shorts"].pop()),
    ),
    "one of several": (many(either=[{"name": 5}]), lambda d: d["either"].clear()),
    "no date": (many(days={"a": "soon"}), lambda d: d["days"].update(a="2026-02-03")),
}


@pytest.mark.parametrize("misfit", MISFITS)
async def test_whatever_the_type_refuses_an_undo_does_not_put_back(misfit: str) -> None:
    """Nothing but what it touches is checked: so every way to touch something is tried."""
    first, mend = MISFITS[misfit]
    store = MemoryStore()
    plain = await SharedState.open(store, "board", initial=lambda: many())
    await plain.update(lambda draft: draft.update(anything={"first": 1}))
    await plain.update(lambda draft: draft.update(first))
    await plain.update(mend)
    state = await SharedState.open(store, "board", Many)
    before = state.version, state.document
    with pytest.raises(InvalidState, match="cannot be changed back"):
        await state.undo()
    assert (state.version, state.document) == before


FITS: dict[str, Callable[[Any], object]] = {
    "a scalar": lambda board: setattr(board.ranges[0], "name", "new"),
    "an item": lambda board: board.ranges.append(Range(name="new")),
    "an item in front": lambda board: board.ranges.insert(0, Range(name="new")),
    "a move": lambda board: board.ranges.insert(0, board.ranges.pop()),
    "a checked field": lambda board: setattr(board.shorts[0], "text", "new"),
    "a checked model": lambda board: setattr(board.ranges[0].limits, "least", 3),
    "an unknown attribute": lambda board: setattr(board.shorts[0], "more", [1]),
    "a key": lambda board: board.numbered.pop(1),
    "an item of a list with a rule": lambda board: board.few.append(1),
    "a key with a rule": lambda board: board.named.update(a=1),
    "a key of an object with a rule": lambda board: board.some.update(b=1),
    "a truth in place of a number": lambda board: board.anything.update(one=True),
    "a key that may be missing": lambda board: board.pairs[0].pop("may"),
    "a key of anything": lambda board: board.anything.update(it={"a": 1}),
    "one of several": lambda board: setattr(board.either[1], "name", "new"),
    "a date": lambda board: board.days.update(a=date(2026, 3, 4)),
    "a whole list": lambda board: setattr(board, "shorts", []),
}


@pytest.mark.parametrize("edit", FITS)
async def test_an_undo_puts_back_what_the_type_takes(edit: str) -> None:
    state = await SharedState.open(MemoryStore(), "board", Many, initial=filled)
    document = state.document
    await state.update(FITS[edit])
    changed = state.document
    assert not equal(changed, document)
    await state.undo()
    assert equal(state.document, document)
    await state.redo()
    assert equal(state.document, changed)


def filled() -> Many:
    return Many(
        shorts=[Short(text="a"), Short(text="b")],
        ranges=[Range(name="a"), Range(name="b")],
        pairs=[{"must": {"a": 1}, "may": {"b": 2}}],
        numbered={1: Range()},
        either=[None, Range(name="x")],
        days={"a": date(2026, 2, 3)},
        anything={"one": 1},
    )


async def test_what_an_undo_puts_back_is_filled_in_for_a_type_that_has_grown() -> None:
    store = MemoryStore()
    old = await SharedState.open(store, "board", initial=lambda: {"boards": [{"items": []}]})
    await old.update(lambda draft: draft.update(x=1))
    await old.update(lambda draft: draft["boards"].pop())
    state = await SharedState.open(store, "board", dict[str, list[Grown] | int])
    revision = await state.undo()
    assert state.document == {"boards": [{"items": [], "title": "untitled"}], "x": 1}
    assert apply(revision.before(state.document), revision.ops) == state.document


async def test_a_document_that_is_opened_again_knows_its_history() -> None:
    store = MemoryStore()
    state = await SharedState.open(store, "board", initial=lambda: {"a": 0})
    await put(state, "a", 1)
    await state.aclose()
    again = await SharedState.open(store, "board")
    assert again.history() == state.history()
    await again.undo()
    assert again.document == {"a": 0}
