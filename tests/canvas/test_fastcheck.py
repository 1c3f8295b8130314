"""The quick check against jsonschema: it may say no too often, but never yes too often."""

import random
from typing import Any

import pytest
from jsonschema import Draft7Validator

from canvas_provider.canvas.draft07 import find_problem
from canvas_provider.canvas.fastcheck import compile_check
from canvas_provider.types import JSONObject, JSONValue

SCALARS: list[JSONValue] = [
    *(None, True, False, 0, 1, -1, 3, 3.0, 3.5, 1e30, -0.0, "", "3", "a", "abc", "ä", "A\n"),
    *(2**60, "true", "null", "aaaa"),
]


def random_value(rng: random.Random, depth: int = 0) -> JSONValue:
    choice = rng.random()
    if depth > 2 or choice < 0.6:
        return rng.choice(SCALARS)
    if choice < 0.8:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    names = rng.sample(["a", "b", "c", "d"], rng.randrange(4))
    return {name: random_value(rng, depth + 1) for name in names}


def random_schema(rng: random.Random, depth: int = 0) -> Any:  # noqa: C901  # a flat table
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "types", "true"]
    if depth < 3:
        kinds += ["array", "tuple", "object", "closed", "anyOf", "ref", "map", "typeless"] * 2
    kind = rng.choice(kinds)

    def inner() -> Any:
        return random_schema(rng, depth + 1)

    match kind:
        case "string":
            bounds = {"minLength": rng.randrange(3), "maxLength": rng.randrange(5)}
            return {"type": kind, **some(rng, bounds), **some(rng, {"pattern": "^a|ä$"})}
        case "integer" | "number":
            limits = {"minimum": 0, "maximum": 3, "exclusiveMinimum": -1, "exclusiveMaximum": 3.5}
            return {"type": kind, **some(rng, limits)}
        case "enum":
            return {"enum": rng.sample(SCALARS, 4)}
        case "const":
            return {"const": rng.choice(SCALARS)}
        case "types":
            names = rng.sample(["string", "integer", "null", "object", "array", "boolean"], 2)
            return {"type": names, **some(rng, {"minLength": 1, "properties": {"a": inner()}})}
        case "array":
            return {"type": kind, **some(rng, {"items": inner(), "minItems": 1, "maxItems": 2})}
        case "tuple":
            items: list[JSONValue] = [inner(), inner()]
            return {"type": "array", "items": items, **some(rng, {"additionalItems": inner()})}
        case "object":
            return {"type": kind, **some(rng, {"properties": {"a": inner()}, "required": ["b"]})}
        case "closed":
            properties: JSONObject = {"a": inner(), "b": inner()}
            required = some(rng, {"required": ["a"]})
            closed = {"additionalProperties": False}
            return {"type": "object", "properties": properties, **required, **closed}
        case "map":
            return {"type": "object", "additionalProperties": inner()}
        case "anyOf":
            return {"anyOf": [inner() for _ in range(rng.randint(1, 3))], "description": "x"}
        case "typeless":
            keywords = {"minLength": 2, "maximum": 3, "items": inner(), "required": ["a"]}
            return some(rng, {**keywords, "properties": {"a": inner()}})
        case "ref":
            return {"$ref": "#/$defs/node"}
        case "true":
            return rng.choice([True, {}, {"description": "anything"}])
        case _:
            return {"type": kind}


def some(rng: random.Random, keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if rng.random() < 0.5}


def with_node(schema: JSONValue) -> JSONObject:
    node: JSONObject = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    }
    root: JSONObject = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return {**root, "$defs": {"node": node}}


def test_the_quick_check_agrees_with_jsonschema_on_random_schemas_and_values() -> None:
    rng = random.Random(7)
    compiled = yes = 0
    for _ in range(600):
        schema = with_node(random_schema(rng))
        assert find_problem(schema) is None
        check = compile_check(schema)
        if check is None:
            continue
        compiled += 1
        reference = Draft7Validator(schema)
        for _ in range(40):
            value: JSONValue = {"a": random_value(rng)}
            expected = reference.is_valid(value)
            yes += expected
            assert check(value) is expected, (schema, value)
    assert compiled > 400  # else the test says little
    assert yes > 2000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "uniqueItems": True},
        {"type": "integer", "multipleOf": 2},
        {"type": "object", "patternProperties": {"^a": {}}},
        {"type": "object", "minProperties": 1},
        {"oneOf": [{"type": "string"}]},
        {"type": "string", "anyOf": [{"minLength": 1}]},
        {"enum": [[1], {"a": 1}]},
        {"enum": ["a"], "minLength": 2},
        {"type": "integer", "enum": ["a", 1]},
        {"type": "object", "if": {}, "then": False},
    ],
)
def test_what_it_does_not_know_is_left_to_jsonschema(schema: JSONValue) -> None:
    assert compile_check(schema) is None


def test_a_dict_subclass_is_left_to_jsonschema() -> None:
    class Special(dict[str, int]):
        pass

    check = compile_check({"type": "object"})
    assert check is not None
    assert check({}) is True
    assert check(Special()) is False


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_has_not_get_no_quick_yes(value: float) -> None:
    check = compile_check({"type": "number"})
    assert check is not None
    assert check(value) is False
