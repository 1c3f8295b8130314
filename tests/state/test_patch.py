"""RFC 6902, applied and found."""

import copy
import json
import random
from typing import Any

import pytest

from canvas_provider.errors import PatchError
from canvas_provider.state.json import equal
from canvas_provider.state.patch import apply, diff

SCALARS = [None, True, False, 0, 1, 2.5, "a", "b", "~/x", "", " ", "é"]


def random_json(source: random.Random, depth: int = 0) -> Any:
    kind = source.random()
    if depth > 3 or kind < 0.4:
        return source.choice(SCALARS)
    if kind < 0.7:
        return [random_json(source, depth + 1) for _ in range(source.randrange(6))]
    keys = ["id", "a", "b", "c/d", "~e", ""]
    return {source.choice(keys): random_json(source, depth + 1) for _ in range(source.randrange(5))}


def edited(source: random.Random, value: Any) -> Any:
    """Return a copy with items moved, added, removed and replaced."""
    value = copy.deepcopy(value)
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if source.random() < 0.3:
                item[source.choice("abc")] = random_json(source, 2)
            waiting.extend(item.values())
        elif isinstance(item, list):
            for _ in range(source.randrange(3)):
                edit_list(source, item)
            waiting.extend(item)
    return value


def edit_list(source: random.Random, items: list[Any]) -> None:
    kind = source.random()
    if kind < 0.3 or not items:
        items.insert(source.randrange(len(items) + 1), random_json(source, 2))
    elif kind < 0.6:
        items.pop(source.randrange(len(items)))
    elif kind < 0.9:
        items.insert(source.randrange(len(items)), items.pop(source.randrange(len(items))))
    else:
        source.shuffle(items)


@pytest.mark.parametrize("seed", range(20))
def test_the_difference_between_any_two_documents_leads_from_one_to_the_other(seed: int) -> None:
    for number in range(40):
        source = random.Random(f"{seed} {number}")
        old = random_json(source)
        new = edited(source, old) if source.random() < 0.8 else random_json(source)
        text = json.dumps(old)
        operations = json.loads(json.dumps(diff(old, new)))
        assert equal(apply(old, operations), new)
        assert json.dumps(old) == text, "the old document was changed"
        assert bool(operations) is not equal(old, new)


EQUAL: Any = [{"x": 1}, {"x": 1}]

CARDS = [{"id": str(n), "title": f"Card {n}", "done": False} for n in range(6)]


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b~": 1}, [{"op": "add", "path": "/a~1b~0", "value": 1}]),
        ({}, {"~1": 1}, [{"op": "add", "path": "/~01", "value": 1}]),
        (CARDS, [CARDS[5], *CARDS[:5]], [{"op": "move", "from": "/5", "path": "/0"}]),
        (CARDS, [*CARDS[1:], CARDS[0]], [{"op": "move", "from": "/0", "path": "/5"}]),
        (CARDS, CARDS[:2] + CARDS[3:], [{"op": "remove", "path": "/2"}]),
        (
            CARDS,
            [*CARDS[:3], {"id": "new"}, *CARDS[3:]],
            [{"op": "add", "path": "/3", "value": {"id": "new"}}],
        ),
        (
            CARDS,
            [*CARDS[:3], {**CARDS[3], "done": True}, *CARDS[4:]],
            [{"op": "replace", "path": "/3/done", "value": True}],
        ),
        (
            # Moved and changed at once: it is still known, by its id.
            CARDS,
            [{**CARDS[4], "done": True}, *CARDS[:4], CARDS[5]],
            [
                {"op": "move", "from": "/4", "path": "/0"},
                {"op": "replace", "path": "/0/done", "value": True},
            ],
        ),
        (
            # Nothing of the old value is left, so it is replaced at once.
            {"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 0},
            {"a": {"x": 3, "y": 4}, "b": [3, 4], "c": 0},
            [
                {"op": "replace", "path": "/a", "value": {"x": 3, "y": 4}},
                {"op": "replace", "path": "/b", "value": [3, 4]},
            ],
        ),
        (
            # Another thing in the same place, though much of it is the same.
            {"a": {"id": "1", "title": "t", "done": False}, "b": 0},
            {"a": {"id": "2", "title": "t", "done": False}, "b": 0},
            [
                {
                    "op": "replace",
                    "path": "/a",
                    "value": {"id": "2", "title": "t", "done": False},
                }
            ],
        ),
        (["a", "b", "c"], ["b", "c"], [{"op": "remove", "path": "/0"}]),
        # 1 and true are equal in Python.
        ([1, True], [True, 1], [{"op": "move", "from": "/1", "path": "/0"}]),
        # Equal, but not the same: the second one stayed. The number is no container.
        ([EQUAL[0], EQUAL[1], 5], [EQUAL[1], 5], [{"op": "remove", "path": "/0"}]),
        ([], {}, [{"op": "replace", "path": "", "value": {}}]),
    ],
)
def test_patches_are_small_and_readable(old: Any, new: Any, operations: Any) -> None:
    assert diff(old, new) == operations
    assert equal(apply(old, operations), new)


SHARED: Any = {"deep": [1]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # It leaves an object that is written as a whole, ...
        ({"box": {"x": SHARED}}, {"box": {"y": 1}, "z": SHARED}),
        ({"box": {"x": SHARED, "w": 1}, "a": 0}, {"box": {"y": 1}, "a": 0, "z": SHARED}),
        # ... or comes into one.
        ({"z": SHARED, "box": {"y": 1}}, {"box": {"x": SHARED}}),
        ({"z": SHARED, "box": {"y": 1}, "a": 0}, {"box": {"x": SHARED}, "a": 0}),
    ],
)
def test_what_is_written_as_a_whole_is_no_part_of_a_move(old: Any, new: Any) -> None:
    assert equal(apply(old, diff(old, new)), new)


def containers(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inner = [item for item in items if isinstance(item, (dict, list))]
    return inner + [deeper for item in inner for deeper in containers(item)]


@pytest.mark.parametrize("seed", range(10))
def test_documents_that_share_their_parts_differ_by_what_is_elsewhere(seed: int) -> None:
    """As two revisions do: the very same object turns up in another place, or in two."""
    for number in range(60):
        source = random.Random(f"shared {seed} {number}")
        old = {"a": random_json(source), "b": random_json(source), "c": random_json(source)}
        parts = containers(old)
        new = {
            key: source.choice(parts) if parts and source.random() < 0.4 else value
            for key, value in source.sample([*old.items()], 3)
            if source.random() < 0.8
        }
        if parts:
            new["b"] = {source.choice("abx"): source.choice(parts) for _ in range(2)}
            new["d"] = source.sample(parts, min(3, len(parts)))
        assert equal(apply(old, diff(old, new)), new)


def test_an_item_that_changed_its_list_is_one_move() -> None:
    old: Any = {"todo": CARDS[:3], "done": CARDS[3:]}
    new: Any = {"todo": [CARDS[0], CARDS[2]], "done": [CARDS[1], *CARDS[3:]]}
    assert diff(old, new) == [{"op": "move", "from": "/todo/1", "path": "/done/0"}]


def test_a_shuffled_list_is_written_as_a_whole_when_that_is_shorter() -> None:
    old: Any = list(range(100))
    new = old[::-1]
    assert diff(old, new) == [{"op": "replace", "path": "", "value": new}]


def test_a_list_of_thousands_that_is_reversed_takes_no_quadratic_time() -> None:
    old: Any = [{"id": str(n)} for n in range(5000)]
    assert len(diff(old, old[::-1])) == 1


DOCUMENT: Any = {"a": [1, {"b": "x"}], "m~n": {"": 0}}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/a/-", "value": 3}], {**DOCUMENT, "a": [1, {"b": "x"}, 3]}),
        ([{"op": "add", "path": "/m~0n/", "value": 1}], {**DOCUMENT, "m~n": {"": 1}}),
        ([{"op": "copy", "from": "/a/1", "path": "/c"}], {**DOCUMENT, "c": {"b": "x"}}),
        ([{"op": "test", "path": "/a/0", "value": 1.0}], DOCUMENT),
        ([{"op": "replace", "path": "", "value": 7}], 7),
        ([{"op": "add", "path": "", "value": 7}], 7),
        (
            [
                {"op": "replace", "path": "/a/1/b", "value": "y"},
                {"op": "copy", "from": "/a/1", "path": "/c"},
                {"op": "replace", "path": "/c/b", "value": "z"},
            ],
            {**DOCUMENT, "a": [1, {"b": "y"}], "c": {"b": "z"}},
        ),
    ],
)
def test_every_operation_applies(operations: Any, result: Any) -> None:
    before = json.dumps(DOCUMENT)
    assert apply(DOCUMENT, operations) == result
    assert json.dumps(DOCUMENT) == before


def test_what_a_patch_leaves_alone_is_shared() -> None:
    patched: Any = apply(DOCUMENT, [{"op": "replace", "path": "/a/0", "value": 2}])
    assert patched["m~n"] is DOCUMENT["m~n"]
    assert patched["a"][1] is DOCUMENT["a"][1]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/a/2"},
        {"op": "remove", "path": "/a/-"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/nope", "value": 1},
        {"op": "replace", "path": "/a/01", "value": 1},
        {"op": "replace", "path": "/a/+1", "value": 1},
        {"op": "replace", "path": "/a/٣", "value": 1},
        {"op": "add", "path": "/a/3", "value": 1},
        {"op": "add", "path": "/a/0/x", "value": 1},
        {"op": "add", "path": "/nope/x", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a~2", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "remove"},
        {"op": "move", "path": "/a/1/b", "from": "/a"},
        # Once it is gone, another is in its place.
        {"op": "move", "path": "/a/0/c", "from": "/a/0"},
        {"op": "move", "path": "/a"},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "swap", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "path": "/a/99999999999999999999", "value": 1},
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation: Any) -> None:
    with pytest.raises(PatchError, match="operation 0"):
        apply(DOCUMENT, [operation])
