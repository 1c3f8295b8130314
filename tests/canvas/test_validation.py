import subprocess
import sys
from typing import Any

import pytest

from canvas_provider.canvas.validation import InputRefused, Problem, Validator, to_place
from canvas_provider.errors import InvalidInput
from canvas_provider.types import JSONValue

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "count": {"type": "integer", "minimum": 1},
        "pair": {
            "type": "array",
            "items": [{"type": "integer"}, {"type": "string"}],
            "additionalItems": False,
            "minItems": 2,
        },
        "column": {"type": "string", "enum": ["backlog", "done"]},
        "note": {"type": ["string", "null"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def refusal(schema: JSONValue, value: JSONValue) -> str:
    with pytest.raises(InvalidInput) as caught:
        Validator(schema, 'action "act" on canvas "v"').check(value)
    message = caught.value.message
    start = 'Invalid input for action "act" on canvas "v": '
    assert message.startswith(start)
    assert message.endswith(".")
    return message.removeprefix(start).removesuffix(".")


@pytest.mark.parametrize("value", [3, 3.0, 1e3])
def test_a_whole_number_is_an_integer_however_it_is_written(value: float) -> None:
    Validator(SCHEMA, "it").check({"title": "x", "count": value})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"count": "3"}, "/count: must be a whole number"),
        ({"count": True}, "/count: must be a whole number"),
        ({"count": 3.5}, "/count: must be a whole number"),
        ({"count": 0}, "/count: must be at least 1"),
        ({"titel": "x"}, '/titel: is not a field; the fields are "title", "count", "pair", '),
        ({"title": None}, "/title: must be a string"),
        ({"title": ""}, "/title: must have at least 1 characters"),
        ({"pair": [1]}, "/pair: must have at least 2 items"),
        ({"pair": [1, 2]}, "/pair/1: must be a string"),
        ({"pair": [1, "a", "b"]}, "/pair: has more items than allowed"),
        ({"column": "doing"}, '/column: must be one of "backlog", "done"'),
        ({"note": 5}, "/note: must be a string or null"),
    ],
)
def test_the_field_is_named_and_what_it_must_be(fields: dict[str, Any], said: str) -> None:
    assert refusal(SCHEMA, {"title": "x", **fields}).startswith(said)


def test_a_missing_field_is_named() -> None:
    assert refusal(SCHEMA, {}) == "/title: is missing"


@pytest.mark.parametrize("value", ["text", 5, [], True])
def test_an_input_that_is_no_object_is_refused_at_the_root(value: JSONValue) -> None:
    assert refusal(SCHEMA, value) == "(root): must be an object"


def test_every_problem_is_said_up_to_ten() -> None:
    both = refusal(SCHEMA, {"count": "x", "column": "x"})
    assert set(both.split("; ")) == {
        "/title: is missing",
        "/count: must be a whole number",
        '/column: must be one of "backlog", "done"',
    }
    many: JSONValue = {"title": "x", **{f"u{number}": 1 for number in range(14)}}
    assert refusal(SCHEMA, many).endswith("; and 4 more")


KEYWORDS: list[tuple[JSONValue, JSONValue, str]] = [
    ({"type": "integer"}, "secret", "/f: must be a whole number"),
    ({"type": "boolean"}, "secret", "/f: must be a boolean"),
    ({"type": ["array", "null"]}, "secret", "/f: must be a list or null"),
    ({"const": "fixed"}, "secret", '/f: must be "fixed"'),
    ({"enum": [1, None, True, [1]]}, "secret", "/f: must be one of 1, null, true, a list or an"),
    ({"pattern": "^a+$"}, "secret", "/f: must match the pattern ^a+$"),
    ({"maxLength": 2}, "secret", "/f: must have at most 2 characters"),
    ({"exclusiveMinimum": 9}, 7, "/f: must be more than 9"),
    ({"exclusiveMaximum": 2}, 7, "/f: must be less than 2"),
    ({"maximum": 2}, 7, "/f: must be at most 2"),
    ({"multipleOf": 2}, 7, "/f: must be a multiple of 2"),
    ({"uniqueItems": True}, ["secret", "secret"], "/f: must not hold an item twice"),
    ({"contains": {"type": "null"}}, ["secret"], "/f: holds no item of the kind it must hold"),
    ({"maxItems": 0}, ["secret"], "/f: must have at most 0 items"),
    ({"minProperties": 2}, {"k": "secret"}, "/f: must have at least 2 fields"),
    ({"maxProperties": 0}, {"k": "secret"}, "/f: must have at most 0 fields"),
    ({"not": {"type": "string"}}, "secret", "/f: must not have this form"),
    (False, "secret", "(root): has something that is not allowed"),
    ({"dependencies": {"k": ["l"]}}, {"k": "secret"}, "/f: does not fit the schema's 'depend"),
    ({"propertyNames": {"maxLength": 1}}, {"kk": 1}, "/f: must have at most 1 characters"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "secret", "/f: must be a whole number or"),
    (
        {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
        "secret",
        "/f: must have at most 2 characters",
    ),
    ({"anyOf": [{"minLength": 9}, {"pattern": "^x"}]}, "secret", "/f: fits none of the allowed fo"),
    ({"oneOf": [{"minLength": 1}, {"maxLength": 9}]}, "secret", "/f: fits more than one of the"),
    (
        {"patternProperties": {"^a": {}}, "additionalProperties": False},
        {"secret": 1},
        "/f: holds a field whose name fits no known pattern",
    ),
    (
        {"type": "object", "additionalProperties": False},
        {"k": 1},
        "/f/k: is not a field; there",
    ),
    ({"additionalProperties": {"type": "null"}}, {"k": "secret"}, "/f/k: must be null"),
]


@pytest.mark.parametrize(("schema", "value", "said"), KEYWORDS)
def test_each_keyword_says_its_rule_and_never_the_value(
    schema: JSONValue, value: JSONValue, said: str
) -> None:
    message = refusal({"type": "object", "properties": {"f": schema}}, {"f": value})
    assert message.startswith(said)
    assert "secret" not in message
    assert "7" not in message


def test_a_place_is_a_json_pointer_and_a_long_name_is_cut() -> None:
    assert to_place([]) == "(root)"
    assert to_place(["a/b", 0, "~"]) == "/a~1b/0/~0"
    assert to_place(["x" * 1000]) == "/" + "x" * 64


def test_problems_of_a_field_move_below_the_field() -> None:
    inner = InputRefused([Problem("(root)", "is bad"), Problem("/0/due", "is late")])
    assert inner.at("cards").problems == [
        Problem("/cards", "is bad"),
        Problem("/cards/0/due", "is late"),
    ]


def test_input_nested_deeper_than_python_can_follow_is_refused() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#/definitions/node"}},
        "additionalProperties": False,
    }
    schema: JSONValue = {
        "type": "object",
        "additionalProperties": node,
        "definitions": {"node": node},
    }
    value: JSONValue = {}
    for _ in range(5000):
        value = {"next": value}
    assert refusal(schema, value) == "(root): is nested too deeply"


def test_jsonschema_is_loaded_only_when_an_input_needs_it() -> None:
    program = (
        "import sys\n"
        "from canvas_provider.canvas.validation import Validator\n"
        "from canvas_provider.errors import InvalidInput\n"
        "validator = Validator({'type': 'object', 'required': ['a']}, 'it')\n"
        "validator.check({'a': 1})\n"
        "assert 'jsonschema' not in sys.modules\n"
        "try: validator.check({})\n"
        "except InvalidInput: pass\n"
        "assert 'jsonschema' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
