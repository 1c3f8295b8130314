"""Whether a JSON object is what a TypedDict says: what came from the runtime, what an author said.

Fields that the type does not name are let through: a newer runtime may know them.
"""

from datetime import datetime
from typing import Any, Final, get_origin, get_type_hints, is_typeddict

from canvas_provider.canvas.schema import shape_of
from canvas_provider.canvas.validation import Validator
from canvas_provider.errors import InvalidInput
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Shape"]


class Shape:
    """One TypedDict, compiled once; or another type that has a simple JSON form."""

    def __init__(self, kind: Any) -> None:
        self.fields: Final = frozenset(get_type_hints(kind) if is_typeddict(kind) else ())
        self._optional: Final[frozenset[str]] = getattr(kind, "__optional_keys__", frozenset())
        self._validator = Validator(_schema(kind), getattr(kind, "__name__", "the answer"))

    def drop_nulls(self, value: JSONObject) -> JSONObject:
        """Leave out optional fields that are null: the two mean the same on the wire."""
        return {n: each for n, each in value.items() if each is not None or n not in self._optional}

    def find_misfit(self, value: JSONValue) -> str | None:
        """Return what does not fit, without the values; None if all is well."""
        try:
            self._validator.check(value)
        except InvalidInput as misfit:
            return misfit.message
        return None


def _schema(kind: Any) -> JSONObject:
    if kind is datetime:
        return {}  # made here, of a number
    if get_origin(kind) is dict:
        return {"type": "object"}
    if not is_typeddict(kind):
        shape = shape_of(kind)
        return {} if shape is None else shape.schema
    properties: JSONObject = {name: _schema(hint) for name, hint in get_type_hints(kind).items()}
    required: list[JSONValue] = sorted(kind.__required_keys__)
    return {"type": "object", "properties": properties, "required": required}
