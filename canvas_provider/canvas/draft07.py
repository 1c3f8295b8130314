"""Whether a JSON Schema compiles as draft-07, the one dialect the Copilot runtime reads.

The runtime answers a schema that does not compile with `Failed to compile JSON schema for canvas
"a".` and says neither where nor why (observed with Copilot CLI 1.0.102). This says both, and needs
no import. It knows nothing of inputs: see `validation`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from canvas_provider.types import JSONValue

__all__ = ["SchemaProblem", "find_problem", "resolve_pointer"]


class SchemaProblem(NamedTuple):
    """Where a schema is wrong (a JSON pointer, "" for the root) and what is wrong with it."""

    place: str
    text: str


TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

_SUBSCHEMA: Final = frozenset(
    {"additionalItems", "additionalProperties", "contains", "else", "if", "not", "propertyNames"}
    | {"then"}
)
_SUBSCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_SUBSCHEMA_MAPS: Final = frozenset({"$defs", "definitions", "patternProperties", "properties"})


def find_problem(schema: JSONValue) -> SchemaProblem | None:
    """Return the first thing that keeps `schema` from compiling, or None."""
    return next(_problems(schema, "", schema), None)


def resolve_pointer(root: JSONValue, reference: str) -> JSONValue:
    """Return what a local `$ref` such as `#/$defs/Card` points to (RFC 6901 in a URI fragment).

    Raises:
        LookupError: nothing is there, or the reference is not local.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    found: Any = root
    for part in unquote(reference[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal():
            found = found[int(key)]
        elif isinstance(found, dict):
            found = found[key]
        else:
            raise LookupError(reference)
    return found  # type: ignore[no-any-return]


def _problems(schema: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield SchemaProblem(place, "a schema is an object, true or false")
        return
    if "$ref" in schema:
        yield from _reference(schema["$ref"], f"{place}/$ref", root)
    for keyword, value in schema.items():
        here = f"{place}/{keyword}"
        if (check := _CHECKS.get(keyword)) is None:
            yield from _inside(keyword, value, here, root)
        elif (text := check(value)) is not None:
            yield SchemaProblem(here, text)


def _inside(keyword: str, value: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if keyword in _SUBSCHEMA or (keyword == "items" and not isinstance(value, list)):
        yield from _problems(value, place, root)
    elif keyword in _SUBSCHEMA_LISTS or keyword == "items":
        yield from _each(value, place, root)
    elif keyword in _SUBSCHEMA_MAPS:
        yield from _map(keyword, value, place, root)
    elif keyword == "dependencies":
        yield from _dependencies(value, place, root)


def _reference(reference: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if not isinstance(reference, str):
        yield SchemaProblem(place, "must be a string")
    elif not reference.startswith("#"):
        text = "must be local, such as #/$defs/Card: nothing is fetched from elsewhere"
        yield SchemaProblem(place, text)
    else:
        followed: list[JSONValue] = []
        target: JSONValue = {"$ref": reference}
        try:
            while isinstance(target, dict) and isinstance(step := target.get("$ref"), str):
                if step in followed:
                    yield SchemaProblem(place, "leads back to itself")
                    return
                followed.append(step)
                target = resolve_pointer(root, step)
        except LookupError:
            yield SchemaProblem(place, f"{reference!r} points to nothing in this schema")


def _each(schemas: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if not isinstance(schemas, list) or not schemas:
        yield SchemaProblem(place, "must be a list of schemas that is not empty")
        return
    for index, schema in enumerate(schemas):
        yield from _problems(schema, f"{place}/{index}", root)


def _map(keyword: str, schemas: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if not isinstance(schemas, dict):
        yield SchemaProblem(place, "must be an object with a schema for each name")
        return
    for name, schema in schemas.items():
        if keyword == "patternProperties" and (text := _regex(name)) is not None:
            yield SchemaProblem(f"{place}/{name}", text)
        yield from _problems(schema, f"{place}/{name}", root)


def _dependencies(value: JSONValue, place: str, root: JSONValue) -> Iterator[SchemaProblem]:
    if not isinstance(value, dict):
        yield SchemaProblem(place, "must be an object")
        return
    for name, needed in value.items():
        if not isinstance(needed, list):
            yield from _problems(needed, f"{place}/{name}", root)
        elif (text := _names(needed)) is not None:
            yield SchemaProblem(f"{place}/{name}", text)


def _type(value: JSONValue) -> str | None:
    names = value if isinstance(value, list) else [value]
    known = all(isinstance(name, str) and name in TYPES for name in names)
    if names and known and len(names) == len(set(map(str, names))):
        return None
    return f"must be one of {', '.join(sorted(TYPES))}, or a list of those"


def _regex(value: JSONValue) -> str | None:
    if not isinstance(value, str):
        return "must be a regular expression"
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression that both Copilot and Python read: {error}"
    return None


def _names(value: JSONValue) -> str | None:
    listed = isinstance(value, list) and all(isinstance(name, str) for name in value)
    unique = isinstance(value, list) and listed and len(value) == len(set(map(str, value)))
    return None if unique else "must be a list of different property names"


def _number(value: JSONValue) -> str | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if number else "must be a number (draft-07; draft-04 wrote true or false here)"


def _factor(value: JSONValue) -> str | None:
    positive = _number(value) is None and isinstance(value, int | float) and value > 0
    return None if positive else "must be a number greater than 0"


def _count(value: JSONValue) -> str | None:
    whole = _number(value) is None and isinstance(value, int | float) and value == value // 1
    return (
        None
        if whole and isinstance(value, int | float) and value >= 0
        else ("must be a whole number, 0 or more")
    )


def _text(value: JSONValue) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _flag(value: JSONValue) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _list(value: JSONValue) -> str | None:
    return None if isinstance(value, list) else "must be a list"


_CHECKS: Final[dict[str, Callable[[JSONValue], str | None]]] = {
    "$comment": _text,
    "$id": _text,
    "$schema": _text,
    "contentEncoding": _text,
    "contentMediaType": _text,
    "description": _text,
    "enum": _list,
    "examples": _list,
    "exclusiveMaximum": _number,
    "exclusiveMinimum": _number,
    "format": _text,
    "maxItems": _count,
    "maxLength": _count,
    "maxProperties": _count,
    "maximum": _number,
    "minItems": _count,
    "minLength": _count,
    "minProperties": _count,
    "minimum": _number,
    "multipleOf": _factor,
    "pattern": _regex,
    "readOnly": _flag,
    "required": _names,
    "title": _text,
    "type": _type,
    "uniqueItems": _flag,
}
"""Keywords whose value holds no schema: the text says what the value must be, None is fine."""
