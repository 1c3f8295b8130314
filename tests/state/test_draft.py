"""Drafts of plain JSON: they do what dicts and lists do, and note what was done."""

import copy
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

from canvas_provider.errors import ChangeInProgress, DraftClosed, NotJSON
from canvas_provider.state.document import Document
from canvas_provider.state.json import MAX_DEPTH, ensure_json, equal
from canvas_provider.state.node import is_node, plain
from canvas_provider.state.patch import apply
from tests.support.changes import commit

SCALARS = [None, True, False, 0, 1, 2.5, "a", "b", "~/x", ""]
KEYS = ["id", "a", "b", "c/d", "n"]


def change(document: Document, write: Callable[[Any], object]) -> list[Any] | None:
    """Write within a change and return its operations."""
    with_change = document.begin()
    try:
        write(with_change.draft)
        prepared = commit(with_change)
    except BaseException:
        with_change.rollback()
        raise
    return None if prepared is None else [*prepared.operations]


def cards(count: int = 4) -> dict[str, Any]:
    return {"todo": [{"id": n, "title": f"Card {n}"} for n in range(count)], "done": []}


# Random documents and edits, against plain Python.


def random_json(source: random.Random, depth: int = 0) -> Any:
    kind = source.random()
    if depth > 3 or kind < 0.35:
        return source.choice(SCALARS)
    if kind < 0.7:
        return [random_json(source, depth + 1) for _ in range(source.randrange(6))]
    return {source.choice(KEYS): random_json(source, depth + 1) for _ in range(source.randrange(5))}


def random_container(source: random.Random) -> Any:
    while not isinstance(value := random_json(source), (dict, list)):
        pass
    return value


def container_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [
        found
        for key, item in pairs
        if isinstance(item, (dict, list))
        for found in container_paths(item, (*path, key))
    ]
    return [path, *inner]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def holds(value: Any, wanted: object) -> bool:
    if value is wanted:
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(holds(item, wanted) for item in items)


def as_text(value: Any) -> str:
    return json.dumps(plain(value) if is_node(value) else value, sort_keys=True)


def edit(target: Any, kind: float, value: Any, i: int, j: int, key: str) -> None:
    """Do one of many things to a dict or list."""
    count = len(target)
    if isinstance(target, dict):
        edits: list[Callable[[], object]] = [
            lambda: target.__setitem__(key, value),
            lambda: target.update({key: value, "z": 1}),
            lambda: target.pop(sorted(target)[i % count]) if count else None,
            lambda: target.setdefault(key, value),
            lambda: target.clear(),
            lambda: target.popitem() if count else None,
            lambda: target.__ior__({key: value}),
        ]
    else:
        edits = [
            lambda: target.append(value),
            lambda: target.insert(i - 5, value),
            lambda: target.pop(i % count) if count else None,
            lambda: target.__setitem__(i % count, value) if count else None,
            lambda: target.reverse(),
            lambda: target.sort(key=as_text, reverse=i > 5),
            lambda: target.__iadd__([value, 1]),
            lambda: target.__setitem__(slice(i, j), [value, 2]),
            lambda: target.__delitem__(slice(i, j)),
            lambda: target.__delitem__(slice(None, None, 2)),
            lambda: target.__setitem__(slice(None), [item for item in target if item is not None]),
            lambda: target.__imul__(2 if count < 8 else 1),
            lambda: target.clear(),
            lambda: target.extend(iter([value])),
            lambda: target.insert(j % count, target.pop(i % count)) if count else None,
        ]
    edits[int(kind * len(edits))]()


def edit_both(source: random.Random, python: Any, draft: Any) -> None:
    """Do the same to both, half of the time with something that is in the document already."""
    paths = container_paths(python)
    path, origin = source.choice(paths), source.choice(paths)
    value, kind, taking = random_json(source, 2), source.random(), source.random()
    i, j, key = source.randrange(10), source.randrange(10), source.choice(KEYS)
    moved = bool(origin) and source.random() < 0.45
    if moved and holds(at(python, origin), at(python, path)):
        return
    for document in (python, draft):
        target, written = at(document, path), copy.deepcopy(value)
        if moved:
            parent = at(document, origin[:-1])
            written = parent[origin[-1]]
            if taking < 0.2 and isinstance(parent, list):
                parent.remove(written)
            elif taking < 0.7:
                parent.pop(origin[-1])
        edit(target, kind, written, i, j, key)


@pytest.mark.parametrize("seed", range(40))
def test_a_draft_does_what_python_does_and_its_patch_says_so(seed: int) -> None:
    for number in range(10):
        source = random.Random(f"{seed} {number}")
        document = Document(random_container(source))
        for _ in range(3):
            old = document.value
            text = json.dumps(old)
            python = json.loads(text)
            begun = document.begin()
            for _ in range(source.randrange(1, 7)):
                edit_both(source, python, begun.draft)
                assert begun.draft == python
            prepared = commit(begun)
            assert json.dumps(old) == text, "the old revision was changed"
            assert equal(document.value, python)
            ensure_json(document.value)
            assert begun.draft == python, "the view shows another revision"
            if prepared is None:
                assert equal(old, python)
            else:
                assert not equal(old, python), "a revision for nothing"
                operations = json.loads(json.dumps(prepared.operations))
                assert equal(apply(old, operations), python)


# What is written, is what the patch says.


@pytest.mark.parametrize(
    ("write", "operations"),
    [
        (
            lambda d: d["todo"][1].__setitem__("title", "New"),
            [{"op": "replace", "path": "/todo/1/title", "value": "New"}],
        ),
        (
            lambda d: d["done"].insert(0, d["todo"].pop(3)),
            [{"op": "move", "from": "/todo/3", "path": "/done/0"}],
        ),
        (
            lambda d: d["todo"].insert(0, d["todo"].pop(3)),
            [{"op": "move", "from": "/todo/3", "path": "/todo/0"}],
        ),
        (
            lambda d: d.__setitem__("todo", [card for card in d["todo"] if card["id"] != 1]),
            [{"op": "remove", "path": "/todo/1"}],
        ),
        (
            lambda d: d["todo"].sort(key=lambda card: -card["id"] if card["id"] > 1 else -9),
            [
                {"op": "move", "from": "/todo/3", "path": "/todo/2"},
            ],
        ),
        (
            lambda d: d.__setitem__("later", d.pop("done")),
            [{"op": "move", "from": "/done", "path": "/later"}],
        ),
        (lambda d: d["todo"].append(d["todo"].pop()), None),
        (
            lambda d: d["todo"][0].update(title="x", id=0) or d["todo"][0].update(title="Card 0"),
            None,
        ),
        (lambda d: d["todo"][0]["title"], None),
        (lambda d: d["todo"][0].__setitem__("id", 0), None),
    ],
)
def test_the_patch_is_as_small_as_what_was_done(write: Any, operations: Any) -> None:
    document = Document(cards())
    before = document.value
    assert change(document, write) == operations
    if operations is None:
        assert document.value is before


@pytest.mark.parametrize(
    "edit",
    [
        lambda items: (items.insert(0, {"n": 9}), items.__setitem__(-1, {"n": 8})),
        lambda items: (items.append({"n": 9}), items.__setitem__(0, {"n": 8})),
        lambda items: (items.__setitem__(-1, {"n": 8}), items.insert(0, {"n": 9})),
        lambda items: (items.pop(2), items.__setitem__(-1, {"n": 8}), items.pop(2)),
        lambda items: (items.__delitem__(slice(3, 1)), items.__setitem__(2, {"n": 8})),
        lambda items: (items.__setitem__(slice(3, 1), [{"n": 9}]), items.pop(0)),
    ],
)
def test_what_shifts_and_what_is_assigned_are_both_seen(edit: Callable[[Any], object]) -> None:
    python = [{"n": n} for n in range(5)]
    document = Document([{"n": n} for n in range(5)])
    old = document.value
    edit(python)
    operations = change(document, edit)
    assert document.value == python
    assert apply(old, operations or []) == python


def test_a_default_that_is_asked_for_is_handed_back() -> None:
    document = Document({"a": {}})
    default: dict[str, Any] = {}
    assert document.begin().draft.get("missing", default) is default
    assert document.view.get("missing", default) is default


def test_a_moved_card_is_written_to_in_its_new_place() -> None:
    document = Document(cards())

    def write(draft: Any) -> None:
        card = draft["todo"].pop(3)
        draft["done"].append(card)
        card["title"] = "Done"

    assert change(document, write) == [
        {"op": "move", "from": "/todo/3", "path": "/done/0"},
        {"op": "replace", "path": "/done/0/title", "value": "Done"},
    ]


def test_a_card_can_be_appended_first_changed_then_removed() -> None:
    document = Document(cards())

    def write(draft: Any) -> None:
        card = draft["todo"][1]
        draft["done"].append(card)
        card["title"] = "Done"
        draft["todo"].remove(card)

    change(document, write)
    assert document.value["done"] == [{"id": 1, "title": "Done"}]  # type: ignore[call-overload, index]
    assert [card["id"] for card in document.value["todo"]] == [0, 2, 3]  # type: ignore[call-overload, index, union-attr]


def test_a_card_that_left_is_not_taken_for_the_one_that_came() -> None:
    document = Document(cards())

    def write(draft: Any) -> None:
        draft["done"].append(draft["todo"].pop(1))
        draft["todo"].insert(1, {"id": "new"})

    operations = change(document, write) or []
    written = [operation["value"] for operation in operations if "value" in operation]
    # The card that moved is not written again, unless its removal cannot be part of a move.
    assert written in ([{"id": "new"}], [{"id": "new"}, {"id": 1, "title": "Card 1"}])
    assert not any(operation["op"] == "replace" for operation in operations)


def test_a_card_that_was_put_under_a_key_is_not_taken_for_the_one_that_came() -> None:
    document = Document({"a": {}, "todo": [{"id": "x", "deep": [1]}, {"id": "y"}]})
    old = document.value

    def write(draft: Any) -> None:
        draft["b"] = draft["todo"].pop(0)
        draft["todo"].insert(0, {"deep": [1]})

    operations = change(document, write)
    assert operations is not None
    assert apply(old, operations) == document.value
    # Its place is another card's now: that is no change of this one.
    assert not any(operation["path"].startswith("/todo/0/") for operation in operations)
    assert sum("value" in operation for operation in operations) <= 2
    assert not any(operation["op"] == "replace" for operation in operations)


def test_an_error_names_the_key_that_a_draft_was_put_under() -> None:
    change = Document({"todo": [{"n": 1}]}).begin()
    card = change.draft["todo"].pop(0)
    change.draft["doing"] = card
    with pytest.raises(NotJSON, match="^/doing/n: "):
        card["n"] = float("nan")


def test_an_item_that_moves_out_of_its_list_in_front_of_it() -> None:
    """The addition shifts the path that the removal names."""
    document = Document([[{"a": 1}, 1, {"b": 2}]])
    old = document.value
    operations = change(document, lambda draft: draft.insert(0, draft[0].pop(2)))
    assert document.value == [{"b": 2}, [{"a": 1}, 1]]
    assert operations is not None
    assert apply(old, operations) == document.value


def test_what_went_to_and_fro_is_no_revision() -> None:
    document = Document([{"x": [1]}, {}])
    before = document.value

    def write(draft: Any) -> None:
        draft.reverse()
        draft[0]["x"] = draft[1].pop("x")

    assert change(document, write) is None
    assert document.value is before


def test_an_error_names_the_place_that_a_draft_was_moved_to() -> None:
    document = Document(cards())

    def write(draft: Any) -> None:
        card = draft["todo"].pop(2)
        draft["done"].append(card)
        card["due"] = float("nan")

    with pytest.raises(NotJSON, match="/done/0/due"):
        change(document, write)


def test_a_card_in_two_places_is_two_cards_from_the_next_revision_on() -> None:
    document = Document(cards())
    change(document, lambda draft: draft["done"].append(draft["todo"][0]))
    change(document, lambda draft: draft["done"][0].__setitem__("title", "Copy"))
    value: Any = document.value
    assert value["todo"][0]["title"] == "Card 0"
    assert value["done"][0]["title"] == "Copy"


def test_what_the_caller_wrote_stays_the_callers() -> None:
    document = Document(cards())
    mine = {"id": 9, "tags": ["a"]}

    def write(draft: Any) -> None:
        draft["done"].append(mine)
        mine["tags"].append("b")  # type: ignore[attr-defined]
        draft["done"][0]["tags"].append("c")

    change(document, write)
    assert document.value["done"] == [{"id": 9, "tags": ["a", "c"]}]  # type: ignore[call-overload, index]
    assert mine == {"id": 9, "tags": ["a", "b"]}


def test_nothing_of_the_document_is_handed_out_bare() -> None:
    document = Document({"a": {"b": [{"c": 1}]}})
    text = json.dumps(document.value)
    whole: list[Callable[[Any], Any]] = [
        dict,
        lambda view: {**view},
        lambda view: view.copy(),
        copy.deepcopy,
        lambda view: view | {},
        lambda view: {} | view,
        lambda view: {"a": next(iter(view.values()))},
        lambda view: dict(view.items()),
        lambda view: {"a": view.get("a")},
    ]
    for take in whole:
        copied = take(Document(document.value).view)
        inner = copied["a"]["b"]
        try:
            inner[0]["c"] = 2
        except DraftClosed:
            assert is_node(inner)
    items: list[Callable[[Any], Any]] = [
        list,
        lambda view: [*view],
        lambda view: view[:],
        lambda view: [] + view,
        lambda view: view + [],
        lambda view: view * 1,
        lambda view: [*reversed(view)],
        lambda view: sorted(view, key=str),
        lambda view: [view[-1]],
    ]
    for take in items:
        copied = take(Document(document.value).view["a"]["b"])
        with pytest.raises(DraftClosed):
            copied[0]["c"] = 2
    assert json.dumps(document.value) == text


def test_drafts_are_read_by_everything_that_reads_dicts_and_lists() -> None:
    document = Document({"a": {"b": [{"c": 1}, 2]}})
    draft = document.begin().draft
    draft["a"]["b"].append({"d": draft["a"]["b"][0]})
    expected = {"a": {"b": [{"c": 1}, 2, {"d": {"c": 1}}]}}
    assert json.loads(json.dumps(draft)) == expected
    assert pickle.loads(pickle.dumps(draft)) == expected
    assert repr(draft) == repr(expected)
    assert copy.deepcopy(draft) == expected
    assert sorted(draft["a"]["b"][0]) == ["c"]
    assert draft["a"]["b"][0:1] == [{"c": 1}]
    assert {"c": 1} in draft["a"]["b"]
    assert draft["a"]["b"].index(2) == 1
    assert draft["a"]["b"].count(2) == 1
    assert list(reversed(draft["a"]["b"]))[1] == 2
    assert draft["a"]["b"] != expected["a"]
    assert [0] + draft["a"]["b"][1:2] + [3] == [0, 2, 3]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "/done/0:"),
        ({"x": [2**60]}, "/done/0/x/0:"),
        ("\ud800", "/done/0:"),
        ({1: 2}, "/done/0:"),
        ({"x": object()}, "/done/0/x:"),
        ({"x": {1, 2}}, "/done/0/x:"),
    ],
)
def test_what_is_not_json_is_refused_at_the_write_with_its_place(value: object, place: str) -> None:
    document = Document(cards())
    before = document.value
    with pytest.raises(NotJSON) as caught:
        change(document, lambda draft: draft["done"].append(value))
    assert str(caught.value).startswith(place)
    assert document.value is before


def test_a_draft_within_itself_is_refused() -> None:
    document = Document({"a": {"b": {}}})
    with pytest.raises(NotJSON, match="itself"):
        change(document, lambda draft: draft["a"]["b"].__setitem__("c", draft["a"]))
    foreign: dict[str, Any] = {}
    foreign["again"] = foreign
    with pytest.raises(NotJSON, match="cycle"):
        change(document, lambda draft: draft.__setitem__("x", foreign))
    assert document.value == {"a": {"b": {}}}


def test_tuples_become_arrays_and_subclasses_of_scalars_their_values() -> None:
    class Text(str):
        pass

    document = Document({})
    change(document, lambda draft: draft.update(pair=(1, (2,)), text=Text("x")))
    assert document.value == {"pair": [1, [2]], "text": "x"}
    assert type(document.value["text"]) is str


# Life and death.


def test_after_the_commit_a_draft_is_a_view_of_its_revision() -> None:
    document = Document(cards())
    begun = document.begin()
    card = begun.draft["todo"][0]
    removed = begun.draft["todo"].pop(1)
    card["title"] = "First"
    commit(begun)
    change(document, lambda draft: draft["todo"][0].__setitem__("title", "Second"))
    assert card["title"] == "First"
    assert begun.draft["todo"][1]["id"] == 2, "it opens what was not opened before"
    assert removed == {"id": 1, "title": "Card 1"}
    writes: list[Callable[[], object]] = [
        lambda: card.__setitem__("title", "x"),
        lambda: card.update(title="x"),
        lambda: card.pop("title"),
        lambda: card.clear(),
        lambda: begun.draft["todo"].append(1),
        lambda: begun.draft["todo"].sort(key=str),
        lambda: begun.draft["todo"].__iadd__([1]),
        lambda: begun.draft["todo"].__delitem__(0),
        lambda: removed.setdefault("y", 1),
    ]
    for write in writes:
        with pytest.raises(DraftClosed):
            write()


def test_after_the_rollback_every_use_of_a_draft_raises() -> None:
    document = Document(cards())
    begun = document.begin()
    draft, items = begun.draft, begun.draft["todo"]
    begun.rollback()
    uses: list[Callable[[], object]] = [
        lambda: draft["todo"], lambda: len(draft), lambda: list(draft), lambda: draft == {},
        lambda: draft.get("x"), lambda: "x" in draft, lambda: draft.items(), lambda: {**draft},
        lambda: items[0], lambda: len(items), lambda: list(items), lambda: items == [],
        lambda: 1 in items, lambda: items.append(1), lambda: items + [], lambda: items.copy(),
        lambda: json.dumps(items), lambda: copy.deepcopy(draft), lambda: items.sort(),
        lambda: draft.update(x=1), lambda: bool(items), lambda: items < [1],
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(DraftClosed):
            use()
    assert "rolled back" in repr(draft)
    with pytest.raises(DraftClosed):
        change(document, lambda other: other.__setitem__("x", items))


def test_a_view_is_not_changed_by_mistake() -> None:
    document = Document(cards())
    with pytest.raises(DraftClosed):
        document.view["todo"][0]["title"] = "x"
    assert document.view is document.view


def test_a_document_has_one_change_at_a_time() -> None:
    document = Document({})
    begun = document.begin()
    with pytest.raises(ChangeInProgress):
        document.begin()
    begun.rollback()
    assert change(document, lambda draft: draft.__setitem__("a", 1)) is not None


def test_a_change_that_cannot_be_committed_leaves_everything_as_it_was() -> None:
    document = Document(cards())
    before, revision = document.value, document.revision
    with pytest.raises(ZeroDivisionError):
        change(document, lambda draft: (draft["todo"].clear(), 1 // 0))
    assert document.value is before
    assert document.revision == revision


def test_a_draft_nested_too_deeply_is_refused() -> None:
    document = Document({})

    def write(draft: Any) -> None:
        for _ in range(MAX_DEPTH + 1):
            draft["x"] = {}
            draft = draft["x"]

    with pytest.raises(NotJSON, match="deeper"):
        change(document, write)
