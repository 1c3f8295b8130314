from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType, Optional, Union

import pytest
from jsonschema import Draft7Validator

from canvas_provider.canvas.schema import copy_json, describe, shape_of, split_annotated
from canvas_provider.types import JSONObject, JSONValue


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Mood(StrEnum):
    GOOD = "good"


CardId = NewType("CardId", str)
Described = Annotated[int, "How many."]

SHAPES: list[tuple[Any, JSONObject, JSONValue, Any]] = [
    (str, {"type": "string"}, "a", "a"),
    (int, {"type": "integer"}, 3.0, 3),
    (float, {"type": "number"}, 3, 3.0),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Any, {}, {"a": [1]}, {"a": [1]}),
    (CardId, {"type": "string"}, "a", "a"),
    (Described, {"type": "integer", "description": "How many."}, 3, 3),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 2.0, 2),
    (Literal["a", None], {"type": ["string", "null"], "enum": ["a", None]}, None, None),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}, "red", Color.RED),
    (Color, {"type": "string", "enum": ["red", "blue"]}, "blue", Color.BLUE),
    (Size, {"type": "integer", "enum": [1, 2]}, 2.0, Size.LARGE),
    (Mood, {"type": "string", "enum": ["good"]}, "good", Mood.GOOD),
    (int | None, {"type": ["integer", "null"]}, 3.0, 3),
    (Optional[str], {"type": ["string", "null"]}, None, None),  # noqa: UP045
    (Union[str, int], {"type": ["string", "integer"]}, 3.0, 3),  # noqa: UP007
    (Described | None, {"type": ["integer", "null"], "description": "How many."}, None, None),
    (Color | None, {"type": ["string", "null"], "enum": ["red", "blue", None]}, "red", Color.RED),
    (
        list[int] | str,
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
        [1.0],
        [1],
    ),
    (list, {"type": "array"}, [1, "a"], [1, "a"]),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2.0], [1, 2]),
    (
        list[Color] | None,
        {
            "type": ["array", "null"],
            "items": {"type": "string", "enum": ["red", "blue"]},
        },
        ["red"],
        [Color.RED],
    ),
    (tuple, {"type": "array"}, [1], (1,)),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1.0], (1,)),
    (
        tuple[int, str],
        {
            "type": "array",
            "items": [{"type": "integer"}, {"type": "string"}],
            "additionalItems": False,
            "minItems": 2,
            "maxItems": 2,
        },
        [1.0, "a"],
        (1, "a"),
    ),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (
        dict[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a": 1.0},
        {"a": 1},
    ),
    (dict[str, Any], {"type": "object", "additionalProperties": True}, {"a": []}, {"a": []}),
]


@pytest.mark.parametrize(("annotation", "schema", "value", "converted"), SHAPES)
def test_a_simple_type_has_a_draft_07_schema_and_a_conversion(
    annotation: Any, schema: JSONObject, value: JSONValue, converted: Any
) -> None:
    shape = shape_of(annotation)
    assert shape is not None
    assert shape.schema == schema
    Draft7Validator.check_schema(shape.schema)
    assert Draft7Validator(shape.schema).is_valid(value)
    made = value if shape.convert is None else shape.convert(value)
    assert made == converted
    assert type(made) is type(converted)


class Odd(Enum):
    LIST = (1, 2)


@pytest.mark.parametrize(
    "annotation",
    [
        bytes,
        set[int],
        complex,
        Odd,
        dict[int, str],
        int | float,
        str | Color,
        list[int] | list[str],
        Any | None,
        Literal[1, True],
        Literal[b"a"],
        list[bytes],
        Annotated[int, object()],
        list[Annotated[int, object()]],
        "int",
    ],
)
def test_what_is_not_simple_is_left_to_pydantic(annotation: Any) -> None:
    assert shape_of(annotation) is None


def test_a_handler_gets_copies_of_lists_and_dicts() -> None:
    for annotation in (Any, list, dict, list[str], dict[str, list[int]], list[Any] | None):
        shape = shape_of(annotation)
        assert shape is not None
        assert shape.convert is not None
        value: Any = {"a": [1]} if "dict" in str(annotation) else [["a"]]
        made = shape.convert(value)
        assert made == value
        assert made is not value


def test_copying_goes_all_the_way_down() -> None:
    value = {"a": [{"b": [1]}]}
    copied = copy_json(value)
    copied["a"][0]["b"].append(2)
    assert value == {"a": [{"b": [1]}]}


def test_annotated_is_taken_apart_also_when_nested_or_named() -> None:
    Title = NewType("Title", Annotated[str, "inner"])
    assert split_annotated(Annotated[Title, "outer", 5]) == (str, ["inner", "outer", 5])
    assert split_annotated(int) == (int, [])


def test_the_first_text_describes() -> None:
    assert describe({"type": "string"}, [5, "one", "two"]) == {
        "type": "string",
        "description": "one",
    }
    assert describe({"type": "string"}, []) == {"type": "string"}
