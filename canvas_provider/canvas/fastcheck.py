"""A quick yes for the schemas most actions have: flat, closed objects of simple fields.

`compile_check` turns a schema into closures that say yes only where draft-07 says yes. A no, or a
schema with a keyword unknown here, means nothing more than "ask jsonschema", which also finds the
words: so this can be incomplete, but must never be too generous. `validation` uses it.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from canvas_provider.canvas.draft07 import resolve_pointer
from canvas_provider.types import JSONValue

__all__ = ["compile_check"]

Check = Callable[[Any], bool]

_ANNOTATIONS: Final = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description"}
    | {"examples", "format", "readOnly", "title", "writeOnly"}
)
"""Keywords that assert nothing. The runtime does not assert `format` either."""


_ALL_TYPES: Final[list[JSONValue]] = [
    *("string", "number", "boolean", "null", "array", "object"),
]
"""Without `type`, each keyword still asserts something of its own type only."""


class _Unsupported(Exception):
    """A keyword outside the subset."""


def compile_check(schema: JSONValue) -> Check | None:
    """Return a test that says yes only for what fits `schema`, or None if it is not that simple.

    The schema must compile: see `draft07.find_problem`.
    """
    try:
        return _Compiler(schema).check(schema)
    except _Unsupported:
        return None


class _Compiler:
    def __init__(self, root: JSONValue) -> None:
        self._root = root
        self._references: dict[str, Check] = {}

    def check(self, schema: JSONValue) -> Check:
        if schema is True or schema == {}:
            return _anything
        if not isinstance(schema, dict):
            return _nothing
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference)  # draft-07: keywords beside `$ref` are ignored
        asserted = schema.keys() - _ANNOTATIONS
        alternatives = schema.get("anyOf")
        if isinstance(alternatives, list) and asserted == {"anyOf"}:
            return _any_of([self.check(one) for one in alternatives])
        if "enum" in asserted or "const" in asserted:
            return _values(schema, asserted)
        return self._typed(schema, asserted)

    def _reference(self, reference: str) -> Check:
        if reference not in self._references:
            # Recursive models: the closure is looked up when it is first called.
            self._references[reference] = lambda value: self._references[reference](value)
            self._references[reference] = self.check(resolve_pointer(self._root, reference))
        return self._references[reference]

    def _typed(self, schema: dict[str, JSONValue], asserted: set[str]) -> Check:
        names = schema.get("type", _ALL_TYPES)
        types = [names] if isinstance(names, str) else names
        assert isinstance(types, list)  # else it does not compile
        used = {"type"}
        checks = []
        for name in types:
            keywords, build = self._builders()[str(name)]
            used |= keywords
            checks.append(build(schema))
        if asserted - used:
            raise _Unsupported
        return checks[0] if len(checks) == 1 else _any_of(checks)

    def _builders(self) -> dict[str, tuple[frozenset[str], Callable[[dict[str, Any]], Check]]]:
        limits = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
        return {
            "string": (frozenset({"minLength", "maxLength", "pattern"}), _string),
            "integer": (limits, lambda schema: _number(schema, _is_integer)),
            "number": (limits, lambda schema: _number(schema, _is_number)),
            "boolean": (frozenset(), lambda schema: _is_boolean),
            "null": (frozenset(), lambda schema: _is_null),
            "array": (frozenset({"items", "additionalItems", "minItems", "maxItems"}), self._array),
            "object": (frozenset({"properties", "required", "additionalProperties"}), self._object),
        }

    def _object(self, schema: dict[str, Any]) -> Check:
        known = {name: self.check(one) for name, one in schema.get("properties", {}).items()}
        required = frozenset(schema.get("required", ()))
        others = schema.get("additionalProperties", True)
        other = None if others is False else self.check(others)

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return False
            for name, field in value.items():
                fits = known.get(name, other)
                if fits is None or not fits(field):
                    return False
            return required <= value.keys()

        return check

    def _array(self, schema: dict[str, Any]) -> Check:
        least, most = _bounds(schema, "minItems", "maxItems")
        items = schema.get("items", True)
        if isinstance(items, list):
            head = [self.check(one) for one in items]
            tail = self.check(schema.get("additionalItems", True))
        else:
            head, tail = [], self.check(items)
        count = len(head)

        def check(value: Any) -> bool:
            if type(value) is not list or not least <= len(value) <= most:
                return False
            if not count:
                return all(map(tail, value))
            leading = all(fits(item) for fits, item in zip(head, value, strict=False))
            return leading and all(map(tail, value[count:]))

        return check


def _anything(value: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    return False


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_boolean(value: Any) -> bool:
    return value is True or value is False


def _is_null(value: Any) -> bool:
    return value is None


def _is_string(value: Any) -> bool:
    return type(value) is str


def _any_of(checks: list[Check]) -> Check:
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) or second(value)
    return lambda value: any(check(value) for check in checks)


def _string(schema: dict[str, Any]) -> Check:
    if not schema.keys() & {"minLength", "maxLength", "pattern"}:
        return _is_string
    least, most = _bounds(schema, "minLength", "maxLength")
    found = re.compile(schema.get("pattern", "")).search
    return lambda value: (
        type(value) is str and least <= len(value) <= most and found(value) is not None
    )


def _number(schema: dict[str, Any], fits: Check) -> Check:
    if not schema.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}:
        return fits
    least, most = _bounds(schema, "minimum", "maximum", -math.inf)
    above, below = _bounds(schema, "exclusiveMinimum", "exclusiveMaximum", -math.inf)
    return lambda value: fits(value) and least <= value <= most and above < value < below


def _bounds(
    schema: dict[str, Any], least: str, most: str, lowest: float = 0
) -> tuple[float, float]:
    return schema.get(least, lowest), schema.get(most, math.inf)


def _values(schema: dict[str, Any], asserted: set[str]) -> Check:
    """Check `enum` or `const` of scalars, where 1 equals 1.0 but neither true nor "1"."""
    listed = schema["enum"] if "enum" in schema else [schema["const"]]
    scalar = all(value is None or type(value) in (str, int, float, bool) for value in listed)
    if not scalar or len(asserted - {"type"}) != 1:
        raise _Unsupported
    named = schema.get("type")
    if "type" in asserted and not all(_has_type(value, named) for value in listed):
        raise _Unsupported
    if all(type(value) is str for value in listed):
        texts = frozenset(listed)
        return lambda value: type(value) is str and value in texts
    keys = frozenset((type(value) is bool, value) for value in listed)

    def check(value: Any) -> bool:
        known = value is None or type(value) in (str, int, float, bool)
        return known and (type(value) is bool, value) in keys

    return check


def _has_type(value: Any, named: str | list[str] | None) -> bool:
    names = [named] if isinstance(named, str) else named or []
    return any(_OF_TYPE[name](value) for name in names)


_OF_TYPE: Final[dict[str, Check]] = {
    "string": _is_string,
    "integer": _is_integer,
    "number": _is_number,
    "boolean": _is_boolean,
    "null": _is_null,
    "array": _nothing,
    "object": _nothing,
}
