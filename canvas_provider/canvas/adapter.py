"""Types that pydantic understands: models, dataclasses, TypedDicts, dates, constraints.

The only module of this package that imports pydantic; `signature` loads it when an annotation asks
for it. pydantic writes schemas for 2020-12, the runtime reads draft-07: the difference is made up
here, and what pydantic says about a wrong value is passed on only where it repeats none of it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, Final

from pydantic import BaseModel, PydanticUserError, RootModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import is_typeddict

from canvas_provider.canvas.schema import Convert
from canvas_provider.canvas.validation import InputRefused, Problem, to_place
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Adapted", "TypeRefused", "adapt", "is_object_type", "to_draft07"]


class TypeRefused(Exception):
    """A type that cannot be read from JSON; `name` is the parameter's."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


class Adapted:
    """The schemas of some parameters, their shared definitions, and their conversions."""

    def __init__(
        self,
        schemas: Mapping[str, JSONObject],
        definitions: JSONObject,
        converts: Mapping[str, Convert],
    ) -> None:
        self.schemas = schemas
        self.definitions = definitions
        self.converts = converts


def adapt(annotations: Mapping[str, Any]) -> Adapted:
    """Ask pydantic about the annotations of several parameters at once.

    At once, because two classes of one name need different names among the `$defs`.

    Raises:
        TypeRefused: pydantic cannot read one of them from JSON.
    """
    adapters = {name: _adapter(name, annotation) for name, annotation in annotations.items()}
    for name, adapter in adapters.items():
        _probe(name, adapter)  # for an error that names the parameter
    asked = [(name, "validation", adapter) for name, adapter in adapters.items()]
    schemas, shared = TypeAdapter.json_schemas(asked)  # type: ignore[arg-type]  # the literal
    found = {name: to_draft07(schemas[name, "validation"]) for name in adapters}
    definitions = {name: to_draft07(one) for name, one in shared.get("$defs", {}).items()}
    converts = {name: _convert(adapter) for name, adapter in adapters.items()}
    return Adapted(found, definitions, converts)


def is_object_type(annotation: Any) -> bool:
    """Whether the type is a JSON object with named fields: a model, a dataclass, a TypedDict."""
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, BaseModel):
        return not issubclass(annotation, RootModel)
    return is_dataclass(annotation) or is_typeddict(annotation)


def _adapter(name: str, annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise TypeRefused(name, _first_line(error)) from error


def _probe(name: str, adapter: TypeAdapter[Any]) -> None:
    try:
        adapter.json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise TypeRefused(name, _first_line(error)) from error


def _first_line(error: Exception) -> str:
    # The second sentence advises what this package does not offer.
    return str(error).strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")


# --- Schemas

_BESIDE_REF: Final = frozenset({"$ref", "default", "description", "examples", "title"})
"""Annotations may stand beside `$ref`. Draft-07 would ignore a constraint there."""

_MAPS: Final = frozenset({"$defs", "definitions", "patternProperties", "properties"})
"""Keywords whose value maps names to schemas: a property may be called `title`."""

_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is no schema."""


def to_draft07(schema: Any) -> Any:
    """Rewrite what pydantic wrote, so that draft-07 enforces it; without `title` noise; closed.

    An object that lists its properties admits no others, unless its model says `extra="allow"`: a
    misspelt optional field would otherwise be dropped without a word.
    """
    if isinstance(schema, list):
        return [to_draft07(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    written = dict(_rewritten(schema))
    if "properties" in written:
        written.setdefault("additionalProperties", False)
    if "$ref" in written and not written.keys() <= _BESIDE_REF:
        return {"allOf": [{"$ref": written.pop("$ref")}], **written}
    return written


def _rewritten(schema: JSONObject) -> Iterator[tuple[str, JSONValue]]:
    for keyword, value in schema.items():
        if keyword in ("title", "discriminator"):
            continue
        if keyword in _DATA:
            yield keyword, value
        elif keyword in _MAPS and isinstance(value, dict):
            yield keyword, {name: to_draft07(one) for name, one in value.items()}
        elif keyword == "prefixItems":
            yield "items", to_draft07(value)
            yield "additionalItems", to_draft07(schema.get("items", False))
        elif not (keyword == "items" and "prefixItems" in schema):
            yield keyword, to_draft07(value)


# --- Values


def _convert(adapter: TypeAdapter[Any]) -> Convert:
    """Convert by way of JSON text: a strict model takes a date as text from JSON only."""
    validate = adapter.validator.validate_json

    def convert(value: Any) -> Any:
        try:
            return validate(to_json(value))
        except ValidationError as error:
            raise InputRefused(_problems(error)) from None
        except PydanticSerializationError:
            raise InputRefused([Problem(to_place([]), "is not text that JSON can carry")]) from None

    return convert


def _problems(error: ValidationError) -> list[Problem]:
    return [
        Problem(to_place(each["loc"]), _text(each["msg"], each["input"], each["type"]))
        for each in error.errors(include_url=False)
    ]


def _text(message: str, value: object, kind: str) -> str:
    """Pass a message on unless something of the value occurs in it.

    The text of a `ValueError` is the author's ("due must be after start") and helps the model; but
    `int(value)` in a validator raises one that quotes its argument.
    """
    said = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for leaf in _leaves(value):
        if re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", said):
            return f"is not valid ({kind})"
    return said


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and str(value):
        yield str(value)
