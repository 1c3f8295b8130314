"""What JSON cannot carry: a named error at the write or the commit, and nothing is changed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from pydantic import BaseModel

from canvas_provider.errors import InvalidState, NotJSON
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.shared import SharedState


class Model(BaseModel):
    free: Any = None
    items: list[Any] = []
    by_key: dict[str, Any] = {}
    number: float = 0
    whole: int = 0
    text: str = ""
    perhaps: float | None = None
    measures: list[dict[str, float | None]] = []


@dataclass
class Data:
    free: Any = None
    items: list[Any] = field(default_factory=list)
    by_key: dict[str, Any] = field(default_factory=dict)
    number: float = 0
    whole: int = 0
    text: str = ""
    perhaps: float | None = None
    measures: list[dict[str, float | None]] = field(default_factory=list)


PLAIN: Final[dict[str, Any]] = {
    "free": None,
    "items": [],
    "by_key": {},
    "number": 0,
    "whole": 0,
    "text": "",
}


def endless() -> list[Any]:
    again: list[Any] = []
    again.append(again)
    return again


ANYWHERE: Final[dict[str, Callable[[], Any]]] = {
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: float("-inf"),
    "a lone surrogate": lambda: "a\ud800",
    "a lone surrogate in a key": lambda: {"\udfff": 1},
    "too large an integer": lambda: 2**53 + 1,
    "too small an integer": lambda: -(2**53) - 1,
    "a cycle": endless,
    "one deep inside": lambda: {"a": [{"b": [float("nan")]}]},
    "an object": object,
    "a function": lambda: print,
}
"""Refused by every type."""

PLAIN_ONLY: Final[dict[str, Callable[[], Any]]] = {
    "bytes": lambda: b"x",
    "a set": lambda: {1},
    "a number as a key": lambda: {1: 1},
    "a boolean as a key": lambda: {True: 1},
    "null as a key": lambda: {None: 1},
    "a complex number": lambda: 1j,
}
"""What pydantic knows how to write, and plain JSON does not."""


def put(target: Any, name: str, value: Any) -> None:
    if isinstance(target, dict):
        target[name] = value
    else:
        setattr(target, name, value)


def get(target: Any, name: str) -> Any:
    return target[name] if isinstance(target, dict) else getattr(target, name)


WAYS: Final[dict[str, Callable[[Any, Any], object]]] = {
    "a field": lambda draft, value: put(draft, "free", value),
    "append": lambda draft, value: get(draft, "items").append(value),
    "extend": lambda draft, value: get(draft, "items").extend([1, value]),
    "a key": lambda draft, value: get(draft, "by_key").__setitem__("x", value),
    "update": lambda draft, value: get(draft, "by_key").update(x=value),
    "a whole list": lambda draft, value: put(draft, "items", [value]),
}

TYPES: Final[dict[str, Any]] = {"dict": dict, "pydantic": Model, "dataclass": Data}


async def refused(state: SharedState[Any], write: Callable[[Any], object]) -> None:
    document = state.document
    with pytest.raises((NotJSON, InvalidState)) as caught:
        await state.update(write)
    assert (state.document, state.revision, state.history()) == (document, 0, [])
    assert state.document is document
    assert "ud800" not in str(caught.value)
    await state.update(lambda draft: draft)


async def open_state(state_type: Any) -> SharedState[Any]:
    make = (lambda: dict(PLAIN)) if state_type is dict else state_type
    return await SharedState.open(MemoryStore(), "board", state_type, initial=make)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state_type", TYPES)
async def test_what_is_not_json_is_refused_wherever_it_is_written(
    state_type: str, way: str
) -> None:
    values = ANYWHERE | (PLAIN_ONLY if state_type == "dict" else {})
    for make in values.values():
        state = await open_state(TYPES[state_type])
        await refused(state, lambda draft, make=make: WAYS[way](draft, make()))  # type: ignore[misc]


@pytest.mark.parametrize("state_type", [Model, Data])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", float("nan")),
        ("number", float("inf")),
        ("perhaps", float("nan")),
        ("measures", [{"a": None, "b": 1.5}, {"a": float("-inf")}]),
        ("whole", 2**53 + 1),
        ("whole", -(2**60)),
        ("text", "\ud800"),
        ("whole", "many"),
        ("text", b"\xff"),
    ],
)
async def test_what_is_not_json_is_refused_by_a_field_of_its_kind(
    state_type: Any, name: str, value: Any
) -> None:
    state = await open_state(state_type)
    await refused(state, lambda draft: setattr(draft, name, value))


@pytest.mark.parametrize("state_type", TYPES)
async def test_the_largest_integers_pass(state_type: str) -> None:
    state = await open_state(TYPES[state_type])
    await state.update(lambda draft: get(draft, "items").extend([2**53, -(2**53)]))
    document: Any = state.document
    assert document["items"] == [2**53, -(2**53)]


@pytest.mark.parametrize("state_type", [Model, Data])
async def test_null_where_it_is_meant_passes(state_type: Any) -> None:
    state = await open_state(state_type)
    measures = [{"a": None, "b": 1.5}]
    await state.update(lambda draft: setattr(draft, "measures", measures))
    await state.update(lambda draft: setattr(draft, "items", [None, {"x": [None, 1.5]}]))
    document: Any = state.document
    assert (document["measures"], document["items"]) == (measures, [None, {"x": [None, 1.5]}])
