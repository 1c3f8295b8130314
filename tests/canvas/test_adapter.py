from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from jsonschema import Draft7Validator
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from canvas_provider.canvas.adapter import TypeRefused, adapt, is_object_type, to_draft07
from canvas_provider.canvas.draft07 import find_problem
from canvas_provider.canvas.validation import InputRefused, Problem
from canvas_provider.errors import CanvasError
from canvas_provider.types import JSONObject, JSONValue


class Card(BaseModel):
    """A card."""

    title: str = Field(min_length=1)
    at: tuple[int, str] = (1, "a")
    parent: "Card | None" = None


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")
    title: str = ""


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    due: date


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Pair(TypedDict):
    one: int


def whole(annotation: Any) -> tuple[JSONObject, Any]:
    """The schema with its definitions, and the conversion."""
    adapted = adapt({"it": annotation})
    schema = adapted.schemas["it"]
    if adapted.definitions:
        schema = {**schema, "$defs": adapted.definitions}
        if (
            "$ref" in schema
        ):  # draft-07 ignores what stands beside it, but not here: $defs are found
            schema = {"allOf": [{"$ref": schema.pop("$ref")}], **schema}
    assert find_problem(schema) is None
    Draft7Validator.check_schema(schema)
    return schema, adapted.converts["it"]


@pytest.mark.parametrize(
    ("annotation", "value", "converted"),
    [
        (date, "2026-11-30", date(2026, 11, 30)),
        (datetime, "2026-11-30T12:00:00Z", datetime.fromisoformat("2026-11-30T12:00:00+00:00")),
        (UUID, "00000000-0000-0000-0000-00000000002a", UUID(int=42)),
        (Decimal, "1.50", Decimal("1.50")),
        (set[int], [1, 2], {1, 2}),
        (Point, {"x": 3.0, "tags": ["a"]}, Point(3, ["a"])),
        (Pair, {"one": 1}, {"one": 1}),
        (Card, {"title": "a", "at": [2, "b"]}, Card(title="a", at=(2, "b"))),
        (list[Card], [{"title": "a"}], [Card(title="a")]),
        (Strict, {"due": "2026-11-30"}, Strict(due=date(2026, 11, 30))),
        (Annotated[int, Field(ge=1)], 3.0, 3),
        (int | float, 3.5, 3.5),
        (str | Literal[3], 3, 3),
    ],
)
def test_a_type_that_pydantic_knows_is_read_from_json(
    annotation: Any, value: JSONValue, converted: object
) -> None:
    schema, convert = whole(annotation)
    assert Draft7Validator(schema).is_valid(value)
    made = convert(value)
    assert made == converted
    assert type(made) is type(converted)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Card, {"title": "a", "titel": "b"}),
        (Card, {"title": "a", "at": [1]}),
        (Card, {"title": "a", "at": [1, "a", 2]}),
        (Card, {"title": "a", "at": ["a", 1]}),
        (Card, {"title": "a", "parent": {"title": ""}}),
        (Point, {"x": 1, "tag": []}),
        (Pair, {"one": 1, "two": 2}),
        (list[Card], [{"title": "a", "notes": "b"}]),
        (Annotated[int, Field(ge=1)], 0),
        (Annotated[list[Card], Field(min_length=1)], []),
        (tuple[Card, int], [{"title": "a"}, "b"]),
    ],
)
def test_what_pydantic_would_refuse_or_drop_is_refused_by_the_schema(
    annotation: Any, value: JSONValue
) -> None:
    schema, _ = whole(annotation)
    assert not Draft7Validator(schema).is_valid(value)


def test_a_model_that_allows_more_stays_open() -> None:
    schema, convert = whole(Free)
    assert Draft7Validator(schema).is_valid({"title": "a", "other": 1})
    assert convert({"other": 1}).other == 1


def test_a_schema_has_no_titles_but_properties_may_be_called_so() -> None:
    schema, _ = whole(Card)
    definition = adapt({"it": Card}).definitions["Card"]
    assert isinstance(definition, dict)
    assert "title" not in definition
    properties = definition["properties"]
    assert isinstance(properties, dict)
    assert properties["title"] == {"type": "string", "minLength": 1}


def test_two_classes_of_one_name_keep_their_own_schemas() -> None:
    def other() -> type[BaseModel]:
        class Card(BaseModel):
            number: int

        return Card

    adapted = adapt({"a": Card, "b": other()})
    assert len(adapted.definitions) == 2
    assert adapted.schemas["a"] != adapted.schemas["b"]
    assert adapted.converts["b"]({"number": 1}).number == 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"prefixItems": [{}], "minItems": 1}, {"items": [{}], "additionalItems": False}),
        ({"prefixItems": [{}], "items": {"type": "null"}}, {"additionalItems": {"type": "null"}}),
        ({"$ref": "#/$defs/a", "minItems": 1}, {"allOf": [{"$ref": "#/$defs/a"}], "minItems": 1}),
        ({"$ref": "#/$defs/a", "default": 1}, {"$ref": "#/$defs/a", "default": 1}),
        ({"default": {"title": 1, "properties": {}}}, {"default": {"title": 1, "properties": {}}}),
        ({"properties": {}}, {"properties": {}, "additionalProperties": False}),
        ({"properties": {}, "additionalProperties": True}, {"additionalProperties": True}),
        ({"anyOf": [{"title": "x"}]}, {"anyOf": [{}]}),
        ({"oneOf": [{}], "discriminator": {"propertyName": "kind"}}, {"oneOf": [{}]}),
    ],
)
def test_2020_12_becomes_draft_07(written: JSONObject, expected: JSONObject) -> None:
    found = to_draft07(written)
    assert {**found, **expected} == found
    assert "prefixItems" not in found
    assert "title" not in found
    assert "discriminator" not in found


class Opaque:
    pass


@pytest.mark.parametrize("annotation", [Opaque, list[Opaque], Callable[[], int]])
def test_types_that_json_has_not_are_refused_by_name(annotation: Any) -> None:
    with pytest.raises(TypeRefused) as caught:
        adapt({"good": date, "bad": annotation})
    assert caught.value.name == "bad"
    assert "\n" not in caught.value.reason


def test_which_types_have_fields() -> None:
    class Names(RootModel[list[str]]):
        pass

    assert [is_object_type(one) for one in (Card, Point, Pair)] == [True, True, True]
    assert [is_object_type(one) for one in (Names, int, dict, date, list[Card], None)] == [
        False
    ] * 6


class Picky(BaseModel):
    due: str
    end: str = ""

    @field_validator("due")
    @classmethod
    def check_due(cls, value: str) -> str:
        if value == "quoted":
            raise ValueError(f"must not be {value}")
        if value == "plain":
            raise ValueError("must not be in the past")
        if value == "coded":
            raise CanvasError("no_such_day", "There is no such day.")
        return str(int(value)) if value == "abc" else value

    @model_validator(mode="after")
    def check_order(self) -> "Picky":
        if self.end == "early":
            raise ValueError("end comes before due")
        return self


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"due": "quoted"}, Problem("/due", "is not valid (value_error)")),
        ({"due": "plain"}, Problem("/due", "must not be in the past")),
        ({"due": "abc"}, Problem("/due", "is not valid (value_error)")),
        ({"due": "x", "end": "early"}, Problem("(root)", "end comes before due")),
    ],
)
def test_an_authors_check_is_passed_on_unless_it_quotes_the_value(
    value: JSONValue, problem: Problem
) -> None:
    _, convert = whole(Picky)
    with pytest.raises(InputRefused) as caught:
        convert(value)
    assert caught.value.problems == [problem]


def test_a_canvas_error_in_a_check_is_the_authors_answer() -> None:
    _, convert = whole(Picky)
    with pytest.raises(CanvasError, match="There is no such day"):
        convert({"due": "coded"})


def test_half_a_surrogate_pair_is_refused() -> None:
    _, convert = whole(Annotated[str, AfterValidator(str.upper)])
    with pytest.raises(InputRefused):
        convert("\ud800")
