import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import SchemaError

from canvas_provider.canvas.draft07 import find_problem, resolve_pointer
from canvas_provider.types import JSONValue

GOOD: list[JSONValue] = [
    {},
    {"type": "object"},
    {"type": ["object", "null"], "properties": {"a": True, "b": {"type": "integer"}}},
    {"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False},
    {"items": {"$ref": "#/definitions/card"}, "definitions": {"card": {"type": "object"}}},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}},
    {"properties": {"children": {"items": {"$ref": "#"}}}},
    {"minLength": 0, "maxLength": 5.0, "pattern": "^(?=a)[a-z]+$"},
    {"minimum": -1, "maximum": 1.5, "exclusiveMinimum": 0, "multipleOf": 0.1},
    {"enum": []},
    {"const": None},
    {"required": []},
    {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
    {"patternProperties": {"^x-": {}}, "propertyNames": {"maxLength": 9}},
    {"if": {"type": "string"}, "then": {"minLength": 1}, "else": False},
    {"allOf": [{}], "anyOf": [True], "oneOf": [{"not": {}}], "contains": {}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "format": "date", "x-hint": 1},
    {"prefixItems": 5, "dependentRequired": "ignored"},
]

BAD: list[tuple[JSONValue, str]] = [
    ("object", ""),
    ([], ""),
    (5, ""),
    (None, ""),
    ({"type": "text"}, "/type"),
    ({"type": []}, "/type"),
    ({"type": ["string", "string"]}, "/type"),
    ({"type": [["string"]]}, "/type"),
    ({"required": "name"}, "/required"),
    ({"required": ["a", "a"]}, "/required"),
    ({"required": [1]}, "/required"),
    ({"exclusiveMinimum": True}, "/exclusiveMinimum"),
    ({"multipleOf": 0}, "/multipleOf"),
    ({"minLength": -1}, "/minLength"),
    ({"maxItems": 1.5}, "/maxItems"),
    ({"uniqueItems": "yes"}, "/uniqueItems"),
    ({"title": 5}, "/title"),
    ({"enum": "a"}, "/enum"),
    ({"properties": []}, "/properties"),
    ({"properties": {"a": "string"}}, "/properties/a"),
    ({"properties": {"a": {"items": {"type": "text"}}}}, "/properties/a/items/type"),
    ({"items": []}, "/items"),
    ({"items": [{"type": "text"}]}, "/items/0/type"),
    ({"anyOf": []}, "/anyOf"),
    ({"allOf": {}}, "/allOf"),
    ({"not": 1}, "/not"),
    ({"definitions": {"a": {"type": 1}}}, "/definitions/a/type"),
    ({"dependencies": []}, "/dependencies"),
    ({"dependencies": {"a": ["b", "b"]}}, "/dependencies/a"),
]


@pytest.mark.parametrize("schema", GOOD)
def test_a_schema_that_compiles_has_no_problem(schema: JSONValue) -> None:
    Draft7Validator.check_schema(schema)  # type: ignore[arg-type]
    assert find_problem(schema) is None


@pytest.mark.parametrize(("schema", "place"), BAD)
def test_a_schema_that_jsonschema_refuses_has_a_problem_with_its_place(
    schema: JSONValue, place: str
) -> None:
    with pytest.raises((SchemaError, TypeError)):  # TypeError: jsonschema on unhashable types
        Draft7Validator.check_schema(schema)  # type: ignore[arg-type]
    problem = find_problem(schema)
    assert problem is not None
    assert problem.place == place
    assert problem.text


@pytest.mark.parametrize(
    ("schema", "place", "word"),
    [
        ({"pattern": "["}, "/pattern", "regular expression"),
        ({"pattern": 5}, "/pattern", "regular expression"),
        ({"patternProperties": {"(": {}}}, "/patternProperties/(", "regular expression"),
        ({"$ref": "#/$defs/Card"}, "/$ref", "points to nothing"),
        ({"items": {"$ref": "#card"}}, "/items/$ref", "points to nothing"),
        ({"$ref": "https://example.com/card.json"}, "/$ref", "must be local"),
        ({"$ref": 5}, "/$ref", "must be a string"),
        ({"$ref": "#"}, "/$ref", "back to itself"),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            "/$ref",
            "back to itself",
        ),
        ({"$defs": {"a": {"type": "text"}}}, "/$defs/a/type", "one of"),
    ],
)
def test_what_only_the_runtime_refuses_is_found_too(
    schema: JSONValue, place: str, word: str
) -> None:
    problem = find_problem(schema)
    assert problem is not None
    assert problem.place == place
    assert word in problem.text


def test_a_pointer_reads_escapes_lists_and_percent_signs() -> None:
    root: JSONValue = {"a/b": [{"~": {"é": 1}}]}
    assert resolve_pointer(root, "#/a~1b/0/~0/%C3%A9") == 1
    assert resolve_pointer(root, "#") is root
    for missing in ("#/c", "#/a~1b/1", "#/a~1b/x", "#/a~1b/0/~0/%C3%A9/deeper", "other", "#a"):
        with pytest.raises(LookupError):
            resolve_pointer(root, missing)
