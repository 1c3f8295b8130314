"""What JSON can carry, and how its values compare."""

from enum import StrEnum

import pytest

from canvas_provider.errors import NotJSON
from canvas_provider.state.json import MAX_DEPTH, ensure_json, equal, escape


class Colour(StrEnum):
    RED = "red"


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_plain_json_comes_back_as_the_very_same_object() -> None:
    value = {"a": [1, 2.5, "x", True, None, {"é": []}]}
    assert ensure_json(value) is value


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [0, float("nan")]}, "/a/1:"),
        ({"a": {"b/c": float("inf")}}, "/a/b~1c:"),
        ([-float("inf")], "/0:"),
        (["ok", "\ud800"], "/1:"),
        ({"k": {"\udfff": 1}}, "/k:"),
        ({"k": {1: "x"}}, "/k:"),
        ([2**53 + 1], "/0:"),
        ([(1, 2)], "/0:"),
        ([{1}], "/0:"),
        ([b"x"], "/0:"),
        ({"k": Colour.RED}, "/k:"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_place(value: object, place: str) -> None:
    with pytest.raises(NotJSON) as caught:
        ensure_json(value)
    assert str(caught.value).startswith(place)


def test_the_largest_exact_integers_are_json() -> None:
    assert ensure_json([2**53, -(2**53)]) == [2**53, -(2**53)]


def test_a_cycle_is_refused_and_does_not_exhaust_the_stack() -> None:
    cycle: list[object] = []
    cycle.append({"again": cycle})
    with pytest.raises(NotJSON, match="cycle"):
        ensure_json(cycle)


def test_nesting_ends_at_the_limit() -> None:
    assert ensure_json(nested(MAX_DEPTH))
    with pytest.raises(NotJSON, match="deeper"):
        ensure_json(nested(MAX_DEPTH + 1))


def test_the_error_shows_no_value() -> None:
    with pytest.raises(NotJSON) as caught:
        ensure_json({"password": ("hunter2",)})
    assert "hunter2" not in str(caught.value)


def test_values_compare_as_json_does() -> None:
    assert equal({"a": [1, "x"]}, {"a": [1.0, "x"]})
    assert not equal([True], [1])
    assert not equal([0], [False])
    assert not equal({"a": None}, {})
    assert not equal([1], [1, 2])
    assert not equal({}, [])


def test_keys_are_escaped_for_pointers() -> None:
    assert escape("a/b~c") == "a~1b~0c"
