"""What to say about an input that does not fit: the field and the rule, never the value.

Loaded when the first input does not fit, or needs a keyword that `fastcheck` does not know:
importing jsonschema takes tens of milliseconds.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError

from canvas_provider.canvas.validation import Problem, to_place
from canvas_provider.types import JSONValue

__all__ = ["create_explain"]

_LISTED: Final = 20
"""So many names or values of a schema are spelled out in one text."""


def create_explain(schema: JSONValue) -> Callable[[JSONValue], list[Problem]]:
    """Return what finds all problems of a value, by jsonschema's draft-07 validator."""
    validator = Draft7Validator(schema)  # type: ignore[arg-type]  # a bool is a schema, too

    def explain(value: JSONValue) -> list[Problem]:
        found = [problem for error in validator.iter_errors(value) for problem in _explain(error)]
        return list(dict.fromkeys(found))

    return explain


def _explain(error: ValidationError) -> list[Problem]:
    at = [*error.absolute_path]
    rule: Any = error.validator_value
    value: Any = error.instance
    keyword = str(error.validator)
    if keyword == "required":
        missing = [name for name in rule if name not in value]
        return [Problem(to_place([*at, name]), "is missing") for name in missing]
    if keyword == "additionalProperties" and rule is False:
        return _unknown(at, error)
    if keyword in ("anyOf", "oneOf"):
        return _alternatives(at, error)
    text = _TEXTS.get(keyword, lambda _: f"does not fit the schema's {keyword!r}")(rule)
    return [Problem(to_place(at), text)]


def _unknown(at: list[str | int], error: ValidationError) -> list[Problem]:
    schema: Any = error.schema
    value: Any = error.instance
    patterns = schema.get("patternProperties")
    if patterns:
        return [Problem(to_place(at), "holds a field whose name fits no known pattern")]
    known = schema.get("properties", {})
    hint = f"the fields are {_names(known)}" if known else "there are no fields here"
    unknown = [name for name in value if name not in known]
    return [Problem(to_place([*at, name]), f"is not a field; {hint}") for name in unknown]


def _alternatives(at: list[str | int], error: ValidationError) -> list[Problem]:
    """Name the types, where the type is all that is wrong; or what is wrong with the closest."""
    causes = error.context or []
    if not causes:
        return [Problem(to_place(at), "fits more than one of the allowed forms")]
    closer = [cause for cause in causes if cause.validator != "type" or cause.relative_path]
    if not closer:
        names = [name for cause in causes for name in _as_list(cause.validator_value)]
        return [Problem(to_place(at), _type(list(dict.fromkeys(names))))]
    if len({cause.schema_path[0] for cause in closer}) == 1:
        return [problem for cause in closer for problem in _explain(cause)]
    return [Problem(to_place(at), "fits none of the allowed forms")]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _names(names: Iterable[str]) -> str:
    listed = [repr_json(name) for name in names]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(listed[:_LISTED]) + more


def repr_json(value: Any) -> str:
    """Write a scalar of a schema as JSON does; a text is cut at 64 characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{value[:64]}"'
    return str(value) if isinstance(value, int | float) else "a list or an object"


def _type(rule: Any) -> str:
    names = {"integer": "a whole number", "null": "null", "array": "a list", "boolean": "a boolean"}
    said = {"object": "an object", "number": "a number", "string": "a string"} | names
    return "must be " + " or ".join(said[name] for name in _as_list(rule))


def _counted(text: str) -> Callable[[Any], str]:
    return lambda rule: text.format(rule)


_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "type": _type,
    "enum": lambda rule: f"must be one of {_names(rule)}",
    "const": lambda rule: f"must be {repr_json(rule)}",
    "pattern": lambda rule: f"must match the pattern {rule}",
    "minimum": _counted("must be at least {}"),
    "maximum": _counted("must be at most {}"),
    "exclusiveMinimum": _counted("must be more than {}"),
    "exclusiveMaximum": _counted("must be less than {}"),
    "multipleOf": _counted("must be a multiple of {}"),
    "minLength": _counted("must have at least {} characters"),
    "maxLength": _counted("must have at most {} characters"),
    "minItems": _counted("must have at least {} items"),
    "maxItems": _counted("must have at most {} items"),
    "minProperties": _counted("must have at least {} fields"),
    "maxProperties": _counted("must have at most {} fields"),
    "additionalItems": lambda _: "has more items than allowed",
    "uniqueItems": lambda _: "must not hold an item twice",
    "contains": lambda _: "holds no item of the kind it must hold",
    "not": lambda _: "must not have this form",
    "None": lambda _: "has something that is not allowed",
}
"""By keyword, from the keyword's value in the schema. "None" is the schema `false`, for
which jsonschema tells no place below the object it is in."""
