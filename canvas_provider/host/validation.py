"""Input checked against a declared schema, as draft-07 and in the runtime's own words.

Copilot CLI 1.0.102 validates with a Rust library. Its dialect is draft-07 whatever `$schema` says,
`format` is not asserted and defaults are not applied. Here Python's jsonschema decides, and this
module does the rest: the sentences, and the order in which violations are reported, were recorded
from the CLI, keyword by keyword.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from jsonschema import Draft7Validator, SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from canvas_provider.errors import CanvasProviderError
from canvas_provider.types import JSONValue

__all__ = ["Schema", "UncompilableSchema", "to_text"]

_OPAQUE: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is data: nothing in there is a schema."""

_ORDER: Final = (
    ("type", "const", "enum", "minProperties", "maxProperties", "required")
    + ("properties", "additionalProperties", "patternProperties", "propertyNames", "dependencies")
    + ("allOf", "anyOf", "oneOf", "not", "if")
)
"""Keywords in the order in which their violations are reported, whatever the schema's own."""

_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

_SHOWN_CANDIDATES: Final = 3

_SHOWN_VIOLATIONS: Final = 5


class _Violation(NamedTuple):
    """What jsonschema found, untyped: which of it is there depends on the keyword."""

    value: Any
    keyword: str
    limit: Any
    """The keyword's value in the schema."""
    schema: Any
    failures: list[ValidationError] | None
    """Why each alternative of `anyOf` or `oneOf` failed."""

    @property
    def shown(self) -> str:
        return to_text(self.value)


_Word = Callable[[_Violation], str]


class UncompilableSchema(CanvasProviderError):
    """The value is no draft-07 schema; the text says why."""


class Schema:
    """One compiled schema. `None`, which is what an absent schema becomes, accepts everything."""

    def __init__(self, schema: JSONValue = None) -> None:
        """Compile it.

        Raises:
            UncompilableSchema: it is no draft-07 schema, or refers to something outside itself.
        """
        self._validator = None if schema is None else _compile(schema)

    def explain(self, value: JSONValue) -> str | None:
        """Say what is wrong with the value, in one line; None if it fits."""
        if self._validator is None:
            return None
        sentences = [
            f"{_pointer(error)}: {sentence}"
            for error in self._validator.iter_errors(value)
            for sentence in _sentences(error)
        ]
        found = list(dict.fromkeys(sentences))
        shown = "; ".join(found[:_SHOWN_VIOLATIONS])
        hidden = len(found) - _SHOWN_VIOLATIONS
        return (f"{shown} (+{hidden} more)" if hidden > 0 else shown) or None


def to_text(value: JSONValue) -> str:
    """Compact JSON: how the runtime shows a value inside a sentence."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _compile(schema: JSONValue) -> Any:
    if not isinstance(schema, dict | bool):
        raise UncompilableSchema("A schema is an object or a boolean.")
    plain = _normalise(schema)
    try:
        Draft7Validator.check_schema(plain)
        resource = Resource.from_contents(plain, default_specification=DRAFT7)
        # An empty registry retrieves nothing: a reference to another document is refused.
        resolver = Registry().resolver_with_root(resource)
        for reference in _references(plain):
            resolver.lookup(reference)
    except (SchemaError, Unresolvable) as error:
        raise UncompilableSchema(str(error)) from error
    return _Validator(plain)


def _normalise(schema: Any) -> Any:
    """Drop every `$schema`, which would change the dialect here, and order the keywords."""
    if isinstance(schema, list):
        return [_normalise(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: schema[key] if key in _OPAQUE else _normalise(schema[key])
        for key in sorted(schema, key=lambda key: _rank(key, schema))
        if not (key == "$schema" and isinstance(schema[key], str))
    }


def _rank(keyword: str, schema: Mapping[str, Any]) -> float:
    if schema.get("additionalProperties") is False:
        # The runtime fuses what it checks together with a closed set of properties.
        last = _ORDER.index("additionalProperties")
        if keyword == "patternProperties":
            return last - 0.5
        if keyword == "required" and "properties" in schema and len(schema["required"]) == 1:
            return last + 0.5
    # What is not listed is about numbers, strings or arrays: it never fails with these.
    return _ORDER.index(keyword) if keyword in _ORDER else len(_ORDER)


def _check_properties(
    validator: Any, properties: Mapping[str, Any], instance: Any, schema: object
) -> Iterator[ValidationError]:
    """Check in the order of the value, as the runtime does, and not of the schema."""
    if validator.is_type(instance, "object"):
        for name, value in instance.items():
            if name in properties:
                yield from _descend(validator, name, value, properties[name])


def _check_additional(
    validator: Any, additional: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    names = _additional(instance, schema)
    if additional is not False:
        for name in names:
            yield from _descend(validator, name, instance[name], additional)
    elif names:
        yield ValidationError("Additional properties are not allowed")


def _descend(validator: Any, name: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    for error in validator.descend(value, schema, path=name):
        if schema is False:  # jsonschema forgets the path of this one
            error.path.appendleft(name)
        yield error


def _additional(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    declared = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    return [
        name
        for name in instance
        if name not in declared and not any(re.search(pattern, name) for pattern in patterns)
    ]


_KEYWORDS: Final = {"properties": _check_properties, "additionalProperties": _check_additional}

_Validator: Any = extend(Draft7Validator, _KEYWORDS)  # type: ignore[no-untyped-call]


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key not in _OPAQUE:
                yield from _references(value)


def _pointer(error: ValidationError) -> str:
    path = "".join(
        "/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path
    )
    return path or "(root)"


def _sentences(error: ValidationError) -> list[str]:
    if error.validator is None:  # the schema `false`
        return [f"False schema does not allow {to_text(error.instance)}"]
    found = _Violation(
        error.instance, str(error.validator), error.validator_value, error.schema, error.context
    )
    if found.keyword in ("required", "dependencies"):
        return [f"{to_text(name)} is a required property" for name in _missing(found)]
    word = _WORDING.get(found.keyword)
    return [word(found) if word else error.message]


def _missing(found: _Violation) -> list[str]:
    """Name every missing property; jsonschema reports each on its own, and only in its text."""
    needed = found.limit
    if found.keyword == "dependencies":
        lists = [names for key, names in needed.items() if key in found.value]
        needed = [name for names in lists if isinstance(names, list) for name in names]
    return [name for name in needed if name not in found.value]


def _types(found: _Violation) -> str:
    if isinstance(found.limit, str):
        return f'{found.shown} is not of type "{found.limit}"'
    names = ", ".join(f'"{name}"' for name in sorted(found.limit, key=_TYPES.index))
    return f"{found.shown} is not of types {names}"


def _unexpected(kind: str, shown: list[str]) -> str:
    verb = "was" if len(shown) == 1 else "were"
    return f"Additional {kind} are not allowed ({', '.join(shown)} {verb} unexpected)"


def _additional_properties(found: _Violation) -> str:
    if not (found.schema.get("properties") or found.schema.get("patternProperties")):
        return f"False schema does not allow {to_text(next(iter(found.value.values())))}"
    names = _additional(found.value, found.schema)
    return _unexpected("properties", [f"'{name}'" for name in names])


def _additional_items(found: _Violation) -> str:
    surplus = found.value[len(found.schema["items"]) :]
    return _unexpected("items", [to_text(item) for item in surplus])


def _enum(found: _Violation) -> str:
    options = [to_text(option) for option in found.limit]
    if len(options) > _SHOWN_CANDIDATES:
        hidden = len(options) - (_SHOWN_CANDIDATES - 1)
        options = [*options[: _SHOWN_CANDIDATES - 1], f"{hidden} other candidates"]
    *others, last = options
    choice = f"{', '.join(others)} or {last}" if others else last
    return f"{found.shown} is not one of {choice}"


def _limit(relation: str, one: str = "", many: str = "") -> _Word:
    def word(found: _Violation) -> str:
        unit = one if found.limit == 1 else many
        return f"{found.shown} {relation} {to_text(found.limit)}{unit}"

    return word


def _none_of(keyword: str) -> _Word:
    return lambda found: (
        f"{found.shown} is not valid under any of the schemas listed in the '{keyword}' keyword"
    )


def _one_of(found: _Violation) -> str:
    if found.failures:
        return _none_of("oneOf")(found)
    return (
        f"{found.shown} is valid under more than one of the schemas listed in the 'oneOf' keyword"
    )


_WORDING: Final[Mapping[str, _Word]] = {
    "type": _types,
    "enum": _enum,
    "const": lambda found: f"{to_text(found.limit)} was expected",
    "pattern": lambda found: f'{found.shown} does not match "{found.limit}"',
    "additionalProperties": _additional_properties,
    "additionalItems": _additional_items,
    "anyOf": _none_of("anyOf"),
    "oneOf": _one_of,
    "not": lambda found: f"{to_text(found.limit)} is not allowed for {found.shown}",
    "contains": lambda found: f"None of {found.shown} are valid under the given schema",
    "uniqueItems": lambda found: f"{found.shown} has non-unique elements",
    "multipleOf": _limit("is not a multiple of"),
    "minimum": _limit("is less than the minimum of"),
    "maximum": _limit("is greater than the maximum of"),
    "exclusiveMinimum": _limit("is less than or equal to the minimum of"),
    "exclusiveMaximum": _limit("is greater than or equal to the maximum of"),
    "minLength": _limit("is shorter than", " character", " characters"),
    "maxLength": _limit("is longer than", " character", " characters"),
    "minItems": _limit("has less than", " item", " items"),
    "maxItems": _limit("has more than", " item", " items"),
    "minProperties": _limit("has less than", " property", " properties"),
    "maxProperties": _limit("has more than", " property", " properties"),
}
"""Keyword to sentence, as worded by the runtime's validator."""
