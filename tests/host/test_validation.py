"""Draft-07 as the runtime applies it, in the runtime's words."""

import json
from pathlib import Path

import pytest

from canvas_provider.host.validation import Schema, UncompilableSchema, to_text
from canvas_provider.types import JSONValue

RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("violations.jsonl").read_text("utf-8").splitlines()
]
"""Schema, value and answer, recorded from Copilot CLI 1.0.102 through an action's input."""


@pytest.mark.parametrize(("schema", "value", "answer"), RECORDED)
def test_each_violation_is_worded_and_ordered_as_the_runtime_does(
    schema: JSONValue, value: JSONValue, answer: str | None
) -> None:
    assert Schema(schema).explain(value) == answer


@pytest.mark.parametrize(
    "schema",
    [
        "object",
        5,
        [],
        {"type": "strin"},
        {"required": True},
        {"required": "n"},
        {"properties": {"a": {"pattern": "("}}},
        {"minimum": 1, "exclusiveMinimum": True},
        {"$ref": "#/definitions/nowhere"},
        {"properties": {"a": {"$ref": "https://example.com/schema.json"}}},
    ],
)
def test_what_is_no_draft_07_schema_does_not_compile(schema: JSONValue) -> None:
    """Specification: facts 2.7."""
    with pytest.raises(UncompilableSchema):
        Schema(schema)


@pytest.mark.parametrize("schema", [None, True, {}, {"type": "array"}, {"x-mine": 1}])
def test_what_the_runtime_accepts_as_a_schema_compiles(schema: JSONValue) -> None:
    """Specification: facts 2.7 and 3.3."""
    assert Schema(schema).explain([]) is None


def test_a_newer_dialect_changes_nothing() -> None:
    """Specification: facts 3.3."""
    schema: JSONValue = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "prefixItems": [{"type": "string"}],
        "dependentRequired": {"a": ["b"]},
        "properties": {"t": {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3}},
    }
    assert Schema(schema).explain([1]) is None
    assert Schema(schema).explain({"a": 1}) is None
    assert Schema(schema).explain({"t": 1}) == "/t: 1 is less than the minimum of 3"


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema: JSONValue = {
        "properties": {
            "required": {"type": "string"},
            "enum": {"type": "string"},
            "$schema": {"type": "string"},
            "$ref": {"type": "string"},
        },
        "additionalProperties": False,
    }
    assert Schema(schema).explain({"enum": "a", "$ref": "b", "$schema": "c"}) is None
    assert Schema(schema).explain({"required": 1}) == '/required: 1 is not of type "string"'


def test_true_is_no_integer_and_an_integral_float_is() -> None:
    schema = Schema({"type": "integer"})
    assert schema.explain(3.0) is None
    assert schema.explain(True) == '(root): true is not of type "integer"'


def test_values_are_shown_compact_and_unescaped() -> None:
    assert to_text({"a": ["é", None]}) == '{"a":["é",null]}'
