"""Input checked against a declared schema, as draft-07 and in the runtime's own words.

The Copilot CLI 1.0.102 validates with a Rust library and joins every violation into one sentence
for the caller. Its dialect is draft-07 whatever `$schema` says, `format` is not asserted and
defaults are not applied. Here Python's jsonschema decides and this module does the wording.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from jsonschema import Draft7Validator, SchemaError
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from canvas_provider.errors import CanvasProviderError
from canvas_provider.types import JSONValue

__all__ = ["Schema", "UncompilableSchema", "to_text"]

_OPAQUE: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is data: nothing in there is a schema."""

_SHOWN_CANDIDATES: Final = 3


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

    def violations(self, value: JSONValue) -> list[str]:
        """Return each violation as `/path: sentence`; nothing if the value fits."""
        if self._validator is None:
            return []
        errors = sorted(self._validator.iter_errors(value), key=_is_closedness)
        found = (
            f"{_pointer(error)}: {sentence}" for error in errors for sentence in _sentences(error)
        )
        return list(dict.fromkeys(found))


def to_text(value: JSONValue) -> str:
    """Compact JSON: how the runtime shows a value inside a sentence."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _compile(schema: JSONValue) -> Draft7Validator:
    if not isinstance(schema, dict | bool):
        raise UncompilableSchema("A schema is an object or a boolean.")
    plain = _without_dialect(schema)
    try:
        Draft7Validator.check_schema(plain)
        resource = Resource.from_contents(plain, default_specification=DRAFT7)
        # An empty registry retrieves nothing: a reference to another document is refused.
        resolver = Registry().resolver_with_root(resource)
        for reference in _references(plain):
            resolver.lookup(reference)
    except (SchemaError, Unresolvable) as error:
        raise UncompilableSchema(str(error)) from error
    return Draft7Validator(plain)


def _without_dialect(schema: Any) -> Any:
    """Drop every `$schema`: jsonschema would change its dialect, the runtime does not."""
    if isinstance(schema, list):
        return [_without_dialect(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in _OPAQUE else _without_dialect(value)
        for key, value in schema.items()
        if not (key == "$schema" and isinstance(value, str))
    }


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


def _is_closedness(error: ValidationError) -> bool:
    """Unexpected properties come after what is wrong with the expected ones."""
    return error.validator == "additionalProperties"


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
    names = ", ".join(f'"{name}"' for name in found.limit)
    return f"{found.shown} is not of types {names}"


def _unexpected(kind: str, shown: list[str]) -> str:
    verb = "was" if len(shown) == 1 else "were"
    return f"Additional {kind} are not allowed ({', '.join(shown)} {verb} unexpected)"


def _additional_properties(found: _Violation) -> str:
    declared = found.schema.get("properties", {})
    patterns = found.schema.get("patternProperties", {})
    return _unexpected(
        "properties",
        [
            f"'{name}'"
            for name in found.value
            if name not in declared and not any(re.search(pattern, name) for pattern in patterns)
        ],
    )


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
