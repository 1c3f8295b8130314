"""Drafts of models: instances of the author's classes, checked at each write."""

import copy
import dataclasses
import functools
import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from canvas_provider.errors import DraftClosed, InvalidState, NotJSON, StateError
from canvas_provider.state.document import Document
from canvas_provider.state.json import equal
from canvas_provider.state.node import plain
from canvas_provider.state.patch import apply
from canvas_provider.state.shape import shape_of
from tests.support.changes import commit


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)] = 0


class Card(BaseModel):
    id: str
    title: str = "Untitled"
    column: Literal["todo", "done"] = "todo"
    due: datetime | None = None
    tags: list[str] = []
    owner: Person | None = None

    def rename(self, title: str) -> None:
        self.title = title

    @property
    def loud(self) -> str:
        return self.title.upper()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tag_count(self) -> int:
        return len(self.tags)


class Board(BaseModel):
    cards: list[Card] = []
    archive: list[Card] = []
    by_id: dict[str, Card] = {}
    focus: Card | None = None
    labels: set[str] = set()
    notes: Any = None

    def finish(self, card_id: str) -> Card:
        """Write to `self`, as a method of the author's does."""
        card = next(card for card in self.cards if card.id == card_id)
        card.column = "done"
        self.cards.remove(card)
        self.archive.append(card)
        return card


def open_document(state_type: Any, first: Callable[[], Any] | None = None) -> Document:
    shape = shape_of(state_type)
    return Document(shape.seed(first or state_type), 0, shape)


def board(count: int = 3) -> Document:
    return open_document(Board, lambda: Board(cards=[Card(id=str(n)) for n in range(count)]))


def change(document: Document, write: Callable[[Any], object]) -> Any:
    begun = document.begin()
    try:
        write(begun.draft)
        prepared = commit(begun)
    except BaseException:
        begun.rollback()
        raise
    return None if prepared is None else prepared.operations


def set_to(**fields: Any) -> Callable[[Any], None]:
    def write(draft: Any) -> None:
        for name, value in fields.items():
            setattr(draft, name, value)

    return write


# Instances of the author's classes.


def test_a_draft_is_an_instance_and_its_methods_write() -> None:
    document = board()
    begun = document.begin()
    draft = begun.draft
    card = draft.finish("1")
    assert isinstance(draft, Board)
    assert isinstance(card, Card)
    assert card.__class__ is Card
    card.rename("Shipped")
    assert card.loud == "SHIPPED"
    prepared = commit(begun)
    assert prepared is not None
    assert prepared.operations == [
        {"op": "move", "from": "/cards/1", "path": "/archive/0"},
        {"op": "replace", "path": "/archive/0/title", "value": "Shipped"},
        {"op": "replace", "path": "/archive/0/column", "value": "done"},
    ] or prepared.operations == [
        {"op": "move", "from": "/cards/1", "path": "/archive/0"},
        {"op": "replace", "path": "/archive/0/column", "value": "done"},
        {"op": "replace", "path": "/archive/0/title", "value": "Shipped"},
    ]


def test_the_authors_hook_for_subclasses_does_not_see_ours() -> None:
    seen: list[str] = []

    class Shape(BaseModel):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            seen.append(cls.__name__)

    class Circle(Shape):
        radius: int = 1

    document = open_document(Circle)
    change(document, set_to(radius=2))
    assert seen == ["Circle"]
    assert Circle.__subclasses__(), "the nodes are subclasses all the same"


def test_equality_holds_with_real_instances_in_both_directions() -> None:
    document = board()
    draft = document.begin().draft
    real = Board.model_validate(document.value)
    assert draft == real
    assert real == draft
    assert draft.cards[0] == real.cards[0]
    assert real.cards[0] == draft.cards[0]
    assert draft.cards == real.cards
    assert draft.cards[0] != draft.cards[1]
    assert draft.cards[0] != Person(name="x")
    assert Card(id="2") in draft.cards
    assert draft.cards.index(Card(id="1")) == 1
    draft.cards[0].title = "x"
    assert draft != real


def test_nodes_read_like_their_models() -> None:
    document = board(1)
    view = document.view
    real = Board.model_validate(document.value)
    assert repr(view) == repr(real)
    assert str(view) == str(real)
    assert view.model_dump() == real.model_dump()
    assert view.model_dump_json() == real.model_dump_json()
    assert dict(view)["focus"] is None
    assert view.model_fields_set == set(Board.model_fields)
    assert type(view.model_copy(update={"notes": 1})) is Board
    assert type(copy.deepcopy(view)) is Board
    assert type(copy.copy(view.cards[0])) is Card
    assert type(type(view.cards[0])(id="new")) is Card
    assert view.cards[0].tag_count == 0


def test_computed_fields_are_read_and_not_stored() -> None:
    document = board(1)
    change(document, lambda draft: draft.cards[0].tags.append("a"))
    assert document.view.cards[0].tag_count == 1
    assert "tag_count" not in document.value["cards"][0]  # type: ignore[call-overload, index, operator]


# Writes.


@pytest.mark.parametrize(
    ("write", "operations"),
    [
        (
            lambda b: b.cards[1].rename("x"),
            [{"op": "replace", "path": "/cards/1/title", "value": "x"}],
        ),
        (
            lambda b: setattr(b.cards[0], "due", datetime(2026, 5, 1)),
            [{"op": "replace", "path": "/cards/0/due", "value": "2026-05-01T00:00:00"}],
        ),
        (
            lambda b: b.cards[0].tags.append("a"),
            [{"op": "add", "path": "/cards/0/tags/0", "value": "a"}],
        ),
        (
            lambda b: setattr(b.cards[0], "owner", {"name": "Ada"}),
            [{"op": "replace", "path": "/cards/0/owner", "value": {"name": "Ada", "age": 0}}],
        ),
        (lambda b: b.labels.add("x"), [{"op": "add", "path": "/labels/0", "value": "x"}]),
        (
            lambda b: setattr(b, "cards", [card for card in b.cards if card.id != "1"]),
            [{"op": "remove", "path": "/cards/1"}],
        ),
        (
            lambda b: b.by_id.update(x=b.cards.pop(0)),
            [{"op": "move", "from": "/cards/0", "path": "/by_id/x"}],
        ),
        (
            lambda b: setattr(b, "notes", {"any": [1, {"json": True}]}),
            [{"op": "replace", "path": "/notes", "value": {"any": [1, {"json": True}]}}],
        ),
        (
            lambda b: b.cards.sort(key=lambda card: card.id, reverse=True),
            [
                {"op": "move", "from": "/cards/2", "path": "/cards/0"},
                {"op": "move", "from": "/cards/2", "path": "/cards/1"},
            ],
        ),
        (lambda b: b.cards[0].title.upper(), None),
        (lambda b: setattr(b.cards[0], "title", "Untitled"), None),
        (lambda b: b.labels.discard("x"), None),
        (lambda b: setattr(b, "cards", list(b.cards)), None),
        (lambda b: b.cards.insert(0, b.cards.pop(0)), None),
    ],
)
def test_the_patch_is_as_small_as_what_was_done(write: Any, operations: Any) -> None:
    document = board()
    before = document.value
    found = change(document, write)
    if operations is not None and operations[0]["op"] == "move" and len(operations) > 1:
        assert len(found) == len(operations)
        assert equal(apply(before, found), apply(before, operations))
    else:
        assert found == operations
    if operations is None:
        assert document.value is before


def test_a_model_and_a_dict_are_both_taken_and_completed() -> None:
    document = board(0)
    change(document, lambda b: b.cards.append(Card(id="a")))
    change(document, lambda b: b.cards.append({"id": "b"}))
    change(document, lambda b: b.cards.__iadd__([Card(id="c"), {"id": "d"}]))
    assert [card["title"] for card in document.value["cards"]] == ["Untitled"] * 4  # type: ignore[call-overload, index, union-attr]


def test_a_new_card_is_written_to_like_any_other() -> None:
    document = board(0)

    def write(draft: Any) -> None:
        draft.cards.append({"id": "a"})
        draft.cards[0].tags.append("x")
        draft.focus = Card(id="b")
        draft.focus.owner = Person(name="Ada")
        draft.focus.owner.age = 7

    change(document, write)
    assert document.view.cards[0].tags == ["x"]
    assert document.value["focus"]["owner"] == {"name": "Ada", "age": 7}  # type: ignore[call-overload, index]


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (lambda b: setattr(b.cards[1], "column", "nowhere"), "/cards/1/column:"),
        (lambda b: setattr(b.cards[0], "title", 5), "/cards/0/title:"),
        (lambda b: setattr(b.cards[0], "due", "soon"), "/cards/0/due:"),
        (lambda b: setattr(b.cards[0], "owner", {"name": "Ada", "age": -1}), "/cards/0/owner/age:"),
        (lambda b: b.cards.append({"title": "x"}), "/cards/3/id:"),
        (lambda b: b.cards.append(7), "/cards/3:"),
        (lambda b: b.cards[0].tags.append(7), "/cards/0/tags/0:"),
        (lambda b: b.by_id.update({"a/b": {}}), "/by_id/a~1b/id:"),
        (lambda b: setattr(b, "cards", None), "/cards:"),
        (lambda b: setattr(b, "cards", [b.cards[0], {"title": "x"}]), "id"),
        (lambda b: setattr(b, "typo", 1), "Board has no field 'typo'"),
        (lambda b: delattr(b, "cards"), "the field 'cards'"),
        (lambda b: b.cards.append(Card.model_construct(id=5)), "/cards/3/id:"),
    ],
)
def test_a_write_that_the_type_refuses_names_the_field(write: Any, place: str) -> None:
    document = board()
    before = document.value
    with pytest.raises(InvalidState) as caught:
        change(document, write)
    assert str(caught.value).startswith(place) or place == "id"
    assert document.value is before


def test_the_error_shows_no_value() -> None:
    with pytest.raises(InvalidState) as caught:
        change(board(), lambda b: setattr(b.cards[0], "column", "hunter2"))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(NotJSON, match="/notes/0"):
        change(board(), lambda b: setattr(b, "notes", [float("nan")]))
    with pytest.raises(NotJSON, match="/cards/0/title"):
        change(board(), lambda b: setattr(b.cards[0], "title", "\ud800"))


def test_a_card_moves_and_later_writes_go_to_its_new_place() -> None:
    document = board()

    def write(draft: Any) -> None:
        card = draft.cards.pop(2)
        draft.archive.insert(0, card)
        card.title = "moved"
        other = draft.cards[0]
        draft.archive.append(other)
        other.title = "also moved"
        draft.cards.remove(other)

    change(document, write)
    view = document.view
    assert [card.id for card in view.cards] == ["1"]
    assert [(card.id, card.title) for card in view.archive] == [("2", "moved"), ("0", "also moved")]


def test_drafts_are_closed_like_all_drafts() -> None:
    document = board()
    begun = document.begin()
    card = begun.draft.cards[0]
    card.title = "x"
    commit(begun)
    assert card.title == "x"
    assert card.loud == "X"
    with pytest.raises(DraftClosed):
        card.title = "y"
    with pytest.raises(DraftClosed):
        card.rename("y")
    with pytest.raises(DraftClosed):
        card.tags.append("y")
    begun = document.begin()
    dead = begun.draft.cards[0]
    begun.rollback()
    for use in (
        lambda: dead.title,
        lambda: dead.loud,
        lambda: dead == card,
        lambda: dict(dead),
        lambda: dead.model_dump(),
        lambda: setattr(dead, "title", "x"),
        lambda: dead.rename("x"),
    ):
        with pytest.raises(DraftClosed):
            use()
    assert "rolled back" in repr(dead)


# Random edits, against real models.


class Item(BaseModel):
    id: str
    n: int = 0
    due: datetime | None = None
    tags: list[str] = []
    subs: "list[Item]" = []
    best: "Item | None" = None


class Column(BaseModel):
    name: str = ""
    cards: list[Item] = []


class Desk(BaseModel):
    columns: list[Column] = []
    by: dict[str, Item] = {}
    focus: Item | None = None
    labels: set[str] = set()


def random_item(source: random.Random, depth: int = 0) -> Item:
    deeper = depth < 1
    return Item(
        id=str(source.randrange(30)),
        n=source.randrange(5),
        due=source.choice([None, datetime(2020, 1, source.randrange(1, 9))]),
        tags=[source.choice("abc") for _ in range(source.randrange(3))],
        subs=[random_item(source, depth + 1) for _ in range(source.randrange(3) if deeper else 0)],
        best=random_item(source, depth + 1) if deeper and source.random() < 0.3 else None,
    )


def random_desk(source: random.Random) -> Desk:
    return Desk(
        columns=[
            Column(name=str(n), cards=[random_item(source) for _ in range(source.randrange(6))])
            for n in range(source.randrange(1, 4))
        ],
        by={key: random_item(source) for key in "xyz" if source.random() < 0.5},
        focus=source.choice([None, random_item(source)]),
        labels={"q"} if source.random() < 0.5 else set(),
    )


def items_below(item: Item) -> list[Item]:
    below = [item]
    for sub in item.subs:
        below += items_below(sub)
    return below if item.best is None else below + items_below(item.best)


def items_of(desk: Desk) -> list[Item]:
    roots = [card for column in desk.columns for card in column.cards]
    roots += desk.by.values()
    if desk.focus is not None:
        roots.append(desk.focus)
    return [item for root in roots for item in items_below(root)]


def edit(desk: Desk, plan: float, a: int, b: int, c: int, new: Item) -> bool:
    """Do one of many things; `False` if it would put an item into itself."""
    items = items_of(desk)
    lists = [column.cards for column in desk.columns] + [item.subs for item in items]
    here, there = lists[a % len(lists)], lists[b % len(lists)]
    column = desk.columns[a % len(desk.columns)]
    edits: list[Callable[[], object]] = [
        lambda: here.append(new),
        lambda: here.insert(c % (len(here) + 1), new),
        lambda: here.pop(c % len(here)) if here else None,
        lambda: here.sort(key=lambda entry: (entry.id, entry.n), reverse=c > 50),
        lambda: here.reverse() or here.extend([new]),  # type: ignore[func-returns-value]
        lambda: here.__setitem__(slice(None), [entry for entry in here if entry.n % 2]),
        lambda: setattr(column, "cards", [entry for entry in column.cards if entry.n % 2 == 0]),
        lambda: desk.by.__setitem__("w", new),
        lambda: desk.labels.add(f"l{a % 3}") if c > 50 else desk.labels.discard("q"),
        lambda: focus(desk, a),
        lambda: write(items[a % len(items)], c) if items else None,
        lambda: move(here, there, b, c),
        lambda: append_then_remove(here, there, c),
    ]
    chosen = int(plan * len(edits))
    if chosen >= len(edits) - 2 and here:
        moved = here[c % len(here)]
        if any(there is below.subs for below in items_below(moved)):
            return False
    edits[chosen]()
    return True


def write(item: Item, c: int) -> None:
    item.n = c
    item.tags.append("z")
    item.due = datetime(2021, 1, 1 + c % 9)
    item.best = None


def move(here: list[Item], there: list[Item], b: int, c: int) -> None:
    if here:
        moved = here.pop(c % len(here))
        there.insert(b % (len(there) + 1), moved)
        moved.n = 77


def append_then_remove(here: list[Item], there: list[Item], c: int) -> None:
    if here:
        moved = here[c % len(here)]
        there.append(moved)
        moved.id = "moved"
        here.remove(moved)
        moved.n = 78


def focus(desk: Desk, a: int) -> None:
    if desk.by:
        desk.focus = desk.by.pop(sorted(desk.by)[a % len(desk.by)])
        desk.focus.n = 5


def as_json(desk: Desk) -> Any:
    return {**desk.model_dump(mode="json"), "labels": sorted(desk.labels)}


@pytest.mark.parametrize("seed", range(30))
def test_a_draft_does_what_a_model_does_and_its_patch_says_so(seed: int) -> None:
    for number in range(5):
        source = random.Random(f"{seed} {number}")
        document = open_document(Desk, partial(random_desk, source))
        for _ in range(3):
            old = document.value
            text = json.dumps(old)
            real = Desk.model_validate(old)
            begun = document.begin()
            for _ in range(source.randrange(1, 6)):
                plan = source.random()
                a, b, c = (source.randrange(100) for _ in range(3))
                new = random_item(source)
                if edit(real, plan, a, b, c, new.model_copy(deep=True)):
                    edit(begun.draft, plan, a, b, c, new)
                assert begun.draft == real
            prepared = commit(begun)
            assert json.dumps(old) == text, "the old revision was changed"
            assert equal(document.value, as_json(real))
            assert begun.draft == real
            assert document.view == real
            if prepared is None:
                assert equal(old, as_json(real))
            else:
                assert not equal(old, as_json(real)), "a revision for nothing"
                operations = json.loads(json.dumps(prepared.operations))
                assert equal(apply(old, operations), document.value)


# All kinds of types.


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    card_id: str = "x"
    time_left: timedelta = timedelta(0)
    colour: Colour = Colour.RED
    _cache: dict[str, int] = PrivateAttr(default_factory=dict)

    @field_serializer("time_left")
    def seconds(self, value: timedelta) -> float:
        return value.total_seconds()

    @functools.cached_property
    def twice(self) -> str:
        return self.card_id * 2


def test_a_document_is_stored_by_alias() -> None:
    document = open_document(Camel)
    assert document.value == {"cardId": "x", "timeLeft": 0.0, "colour": "red"}
    operations = change(document, set_to(card_id="y", time_left=timedelta(seconds=5)))
    assert operations == [
        {"op": "replace", "path": "/cardId", "value": "y"},
        {"op": "replace", "path": "/timeLeft", "value": 5.0},
    ]
    view = document.view
    assert (view.card_id, view.time_left, view.colour) == ("y", timedelta(seconds=5), Colour.RED)
    assert view.twice == "yy"
    assert "twice" not in document.value
    view._cache["a"] = 1
    change(document, set_to(colour="blue"))
    assert document.view.colour is Colour.BLUE
    assert document.view._cache == {}


def test_a_key_that_is_not_read_from_where_it_is_written_is_refused() -> None:
    class Odd(BaseModel):
        name: str = Field("", serialization_alias="written", validation_alias="read")

    with pytest.raises(StateError, match="Odd.name is written as 'written'"):
        open_document(Odd).begin()


class Note(BaseModel):
    kind: Literal["note"] = "note"
    text: str = ""


class Picture(BaseModel):
    kind: Literal["picture"] = "picture"
    size: tuple[int, int] = (1, 2)


class Wall(BaseModel):
    things: list[Annotated[Note | Picture, Field(discriminator="kind")]] = []
    mixed: list[Note | Picture | str | datetime] = []
    maybe: Note | None = None
    times: list[datetime] = []
    by_number: dict[int, Note] = {}


def test_members_of_a_union_are_drafts_of_their_own_class() -> None:
    document = open_document(Wall)
    change(document, lambda w: w.things.extend([Note(text="a"), {"kind": "picture"}]))
    change(document, lambda w: w.mixed.extend([Note(), "text", datetime(2020, 1, 1), Picture()]))
    view = document.view
    assert [type(thing).__name__ for thing in view.things] == ["Note", "Picture"]
    assert [type(thing).__name__ for thing in view.mixed] == ["Note", "str", "str", "Picture"] or [
        type(thing).__name__ for thing in view.mixed
    ] == ["Note", "str", "datetime", "Picture"]

    def write(draft: Any) -> None:
        draft.things[0].text = "b"
        draft.things[1].size = (3, 4)
        draft.mixed[0].text = "c"
        draft.maybe = {"text": "d"}
        draft.maybe.text = "e"

    change(document, write)
    view = document.view
    assert (view.things[0].text, view.things[1].size) == ("b", (3, 4))
    assert (view.mixed[0].text, view.maybe.text) == ("c", "e")
    with pytest.raises(InvalidState):
        change(document, lambda w: w.things.append({"kind": "video"}))


def test_values_that_are_no_json_are_decoded_and_encoded() -> None:
    document = open_document(Wall)
    change(document, lambda w: w.times.append(datetime(2020, 1, 2)))
    change(document, lambda w: w.times.insert(0, "2019-01-01T00:00:00"))
    assert document.view.times == [datetime(2019, 1, 1), datetime(2020, 1, 2)]
    change(document, lambda w: w.by_number.update({7: Note(text="a")}))
    operations = change(document, lambda w: setattr(w.by_number[7], "text", "b"))
    assert operations == [{"op": "replace", "path": "/by_number/7/text", "value": "b"}]
    assert document.view.by_number == {7: Note(text="b")}


@dataclasses.dataclass
class Point:
    x: int = 0
    path: list[int] = dataclasses.field(default_factory=list)

    def step(self) -> None:
        self.path.append(self.x)
        self.x += 1


@dataclasses.dataclass(slots=True)
class Slotted:
    point: Point = dataclasses.field(default_factory=Point)
    x: int = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 0


def test_dataclasses_are_states_with_and_without_slots() -> None:
    document = open_document(Slotted)

    def write(draft: Any) -> None:
        draft.point.step()
        draft.x = 5

    assert change(document, write) == [
        {"op": "replace", "path": "/x", "value": 5},
        {"op": "add", "path": "/point/path/0", "value": 0},
        {"op": "replace", "path": "/point/x", "value": 1},
    ] or equal(document.value, {"point": {"x": 1, "path": [0]}, "x": 5})
    view = document.view
    assert isinstance(view.point, Point)
    assert view == Slotted(Point(1, [0]), 5)
    assert Slotted(Point(1, [0]), 5) == view
    assert repr(view) == repr(Slotted(Point(1, [0]), 5))
    assert dataclasses.asdict(view.point) == {"x": 1, "path": [0]}
    assert dataclasses.replace(view.point, x=9) == Point(9, [0])
    with pytest.raises(InvalidState, match="/x:"):
        change(document, set_to(x="five"))
    with pytest.raises(InvalidState, match="frozen"):
        change(open_document(Frozen), set_to(x=1))


class Task(TypedDict):
    title: str
    due: NotRequired[datetime]
    owner: NotRequired[Person]


class Tasks(BaseModel):
    tasks: list[Task] = []


def test_typed_dicts_are_dicts_whose_keys_are_checked() -> None:
    document = open_document(Tasks)
    change(document, lambda t: t.tasks.append({"title": "a", "due": datetime(2020, 1, 1)}))

    def write(draft: Any) -> None:
        draft.tasks[0]["due"] = datetime(2021, 1, 1)
        draft.tasks[0]["owner"] = {"name": "Ada"}
        draft.tasks[0]["owner"].age = 3

    change(document, write)
    assert document.view.tasks == [
        {"title": "a", "due": datetime(2021, 1, 1), "owner": Person(name="Ada", age=3)}
    ]
    change(document, lambda t: t.tasks[0].pop("due"))
    with pytest.raises(InvalidState, match="'title' is required"):
        change(document, lambda t: t.tasks[0].pop("title"))
    with pytest.raises(InvalidState, match="/tasks/0/title"):
        change(document, lambda t: t.tasks[0].update(title=5))


def test_a_dict_of_models_is_a_state() -> None:
    document = open_document(dict[str, Person])
    change(document, lambda people: people.update(ada={"name": "Ada"}))
    assert change(document, lambda people: setattr(people["ada"], "age", 3)) == [
        {"op": "replace", "path": "/ada/age", "value": 3}
    ]
    assert document.view == {"ada": Person(name="Ada", age=3)}


def test_unknown_keys_are_attributes_where_the_model_says_so() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = 1

    document = open_document(Open)
    change(document, set_to(more={"deep": [1]}))
    change(document, lambda o: o.more["deep"].append(2))
    assert document.value == {"a": 1, "more": {"deep": [1, 2]}}
    assert document.view.model_extra == {"more": {"deep": [1, 2]}}
    change(document, lambda o: delattr(o, "more"))
    assert document.value == {"a": 1}


def test_a_type_without_drafts_is_compared_as_a_whole() -> None:
    class Deck(RootModel[list[Person]]):
        pass

    document = open_document(Deck, lambda: Deck([]))
    change(document, lambda deck: deck.root.append(Person(name="Ada")))
    assert change(document, lambda deck: setattr(deck.root[0], "age", 3)) == [
        {"op": "replace", "path": "/0/age", "value": 3}
    ]
    assert change(document, lambda deck: deck.root[0].name) is None


# Rules for the whole.


class Counted(BaseModel):
    items: list[Person] = []
    total: int = 0
    limit: Annotated[list[int], Field(max_length=2)] = []
    name: str = ""

    @model_validator(mode="after")
    def count(self) -> "Counted":
        if len(self.items) > 3:
            raise ValueError("too many items")
        if self.total != len(self.items):
            self.total = len(self.items)
        return self

    @field_validator("name")
    @classmethod
    def strip(cls, value: str) -> str:
        return value.strip()


def test_what_a_models_validator_computes_is_part_of_the_revision() -> None:
    document = open_document(Counted)
    begun = document.begin()
    begun.draft.items.append(Person(name="Ada"))
    prepared = commit(begun)
    assert prepared is not None
    assert document.value["total"] == 1  # type: ignore[call-overload, index]
    assert begun.draft.total == 1
    assert equal(apply({"items": [], "total": 0, "limit": [], "name": ""}, prepared.operations),
                 document.value)  # fmt: skip


def test_a_models_validator_refuses_a_change_at_its_end() -> None:
    document = open_document(Counted)
    before = document.value
    with pytest.raises(InvalidState, match="too many items"):
        change(document, lambda c: c.items.extend([Person(name=str(n)) for n in range(4)]))
    with pytest.raises(InvalidState, match="/limit"):
        change(document, lambda c: c.limit.extend([1, 2, 3]))
    assert document.value is before


def test_a_fields_validator_runs_at_the_write() -> None:
    document = open_document(Counted)

    def write(draft: Any) -> None:
        draft.name = "  x "
        assert draft.name == "x"

    change(document, write)


class Limited(BaseModel):
    items: list[int] = []

    @field_validator("items")
    @classmethod
    def few(cls, value: list[int]) -> list[int]:
        if len(value) > 2:
            raise ValueError("too many")
        return sorted(value)


def test_a_containers_validator_runs_when_something_in_it_changed() -> None:
    document = open_document(Limited)
    change(document, lambda d: d.items.extend([2, 1]))
    assert document.value == {"items": [1, 2]}
    with pytest.raises(InvalidState, match="/items: Value error, too many"):
        change(document, lambda d: d.items.append(3))


# What is stored.


def test_what_a_stored_document_lacks_is_filled_in_and_what_is_unknown_stays() -> None:
    shape = shape_of(Board)
    stored: Any = {"cards": [{"id": "1", "future": 1}], "unknown": True}
    filled: Any = shape.load(stored)
    assert filled["unknown"] is True
    assert filled["cards"][0] == {
        "id": "1", "title": "Untitled", "column": "todo", "due": None, "tags": [], "owner": None,
        "future": 1,
    }  # fmt: skip
    assert shape.load(filled) is None
    document = Document(filled, 1, shape)
    change(document, lambda b: b.cards[0].rename("x"))
    assert document.value["cards"][0]["future"] == 1  # type: ignore[call-overload, index]
    assert not hasattr(document.view.cards[0], "future")
    assert plain(document.view) == document.value


def test_a_stored_document_that_does_not_fit_is_refused() -> None:
    with pytest.raises(StateError, match=r"does not fit Board \(/cards/0/id: .*stays as it is"):
        shape_of(Board).load({"cards": [{"title": "x"}]})


def test_a_type_that_cannot_begin_by_itself_says_so() -> None:
    with pytest.raises(StateError, match="a new Card needs values"):
        open_document(Card)
