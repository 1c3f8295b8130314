"""From a type to its JSON Schema (draft-07) and to the conversion of a value that fits it.

Simple types (text, numbers, Literal, Enum, lists, dicts, tuples, optional ones) are handled here,
so that a canvas made of them starts without pydantic. All else, and every constraint, is left to
`adapter`, which asks pydantic: `shape_of` says None.
"""

import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin

from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Convert", "Shape", "copy_json", "describe", "shape_of", "split_annotated"]

Convert = Callable[[Any], Any]
"""From a JSON value that fits the schema to what the handler gets."""


class Shape:
    """What a type means at the JSON edge."""

    def __init__(
        self,
        schema: JSONObject,
        convert: Convert | None = None,
        kinds: frozenset[type] = frozenset(),
        as_is: type | None = None,
    ) -> None:
        self.schema = schema
        self.convert = convert
        """None: the value as it came."""
        self.kinds = kinds
        """The types of the JSON values that fit. Empty: any."""
        self.as_is = as_is
        """Values of exactly this type need no conversion."""


class _NeedsPydantic(Exception):
    """A type that is not simple."""


def shape_of(annotation: Any) -> Shape | None:
    """Return the shape of a simple type, None of every other."""
    try:
        return _shape(annotation)
    except _NeedsPydantic:
        return None


def split_annotated(annotation: Any) -> tuple[Any, list[Any]]:
    """Take `Annotated[T, a, b]` and `NewType`s of it apart: `T` and `[a, b]`."""
    metadata: list[Any] = []
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata = [*more, *metadata]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType" and not get_args(annotation):
            annotation = annotation.__value__  # `type Column = ...` of Python 3.12
        else:
            return annotation, metadata


def describe(schema: JSONObject, metadata: list[Any]) -> JSONObject:
    """Return `schema` with the first text of an `Annotated[T, "text"]`, if there is one."""
    text = next((one for one in metadata if isinstance(one, str)), None)
    return schema if text is None else {**schema, "description": text}


def copy_json(value: Any) -> Any:
    """Copy lists and dicts: a handler may change what it got, and may be run again."""
    if type(value) is dict:
        return {name: copy_json(item) for name, item in value.items()}
    return [copy_json(item) for item in value] if type(value) is list else value


def _shape(annotation: Any) -> Shape:
    base, metadata = split_annotated(annotation)
    if not all(isinstance(one, str) for one in metadata):
        raise _NeedsPydantic
    shape = _bare(base)
    if metadata:
        return Shape(describe(shape.schema, metadata), shape.convert, shape.kinds, shape.as_is)
    return shape


def _bare(base: Any) -> Shape:
    if base in _SCALARS if isinstance(base, type) else base is None or base is Any:
        return _SCALARS[base]
    if isinstance(base, type) and issubclass(base, Enum):
        return _one_of({member.value: member for member in base})
    origin = get_origin(base)
    if origin is Literal:
        return _literal(get_args(base))
    if origin is Union or origin is types.UnionType:
        return _union([_shape(one) for one in get_args(base)])
    build = _CONTAINERS.get(base if origin is None else origin)
    if build is None:
        raise _NeedsPydantic
    return build(get_args(base))


_SCALARS: Final[Mapping[Any, Shape]] = {
    str: Shape({"type": "string"}, None, frozenset({str})),
    # 3.0 is an integer in JSON Schema, but not in Python.
    int: Shape({"type": "integer"}, int, frozenset({int, float}), int),
    float: Shape({"type": "number"}, float, frozenset({int, float}), float),
    bool: Shape({"type": "boolean"}, None, frozenset({bool})),
    types.NoneType: Shape({"type": "null"}, None, frozenset({types.NoneType})),
    None: Shape({"type": "null"}, None, frozenset({types.NoneType})),
    Any: Shape({}, copy_json),
    object: Shape({}, copy_json),
}


def _literal(values: tuple[Any, ...]) -> Shape:
    plain = {value.value if isinstance(value, Enum) else value: value for value in values}
    if len(plain) != len(values):
        raise _NeedsPydantic  # 1 and True are one key
    return _one_of(plain)


def _one_of(members: dict[Any, Any]) -> Shape:
    """One of these JSON values, each standing for a Python value."""
    kinds = {type(value) for value in members}
    if not members or not kinds <= {str, int, bool, types.NoneType}:
        raise _NeedsPydantic
    names = [_TYPE_NAMES[kind] for kind in _TYPE_NAMES if kind in kinds]
    schema: JSONObject = {
        "type": names[0] if len(names) == 1 else list[JSONValue](names),
        "enum": list(members),
    }
    same = all(type(member) is str and member == value for value, member in members.items())
    accepted = kinds | {float} if int in kinds else kinds
    return Shape(schema, None if same else members.__getitem__, frozenset(accepted))


_TYPE_NAMES: Final = {str: "string", int: "integer", bool: "boolean", types.NoneType: "null"}


def _union(options: list[Shape]) -> Shape:
    taken: set[type] = set()
    for option in options:
        if not option.kinds or option.kinds & taken:
            raise _NeedsPydantic  # which one is meant takes more than the JSON type to tell
        taken |= option.kinds
    by_kind = {kind: o.convert for o in options for kind in o.kinds if o.convert is not None}
    return Shape(_merge([o.schema for o in options]), _by_kind(by_kind), frozenset(taken))


def _by_kind(converts: dict[type, Convert]) -> Convert | None:
    if not converts:
        return None

    def convert(value: Any) -> Any:
        to_python = converts.get(type(value))
        return value if to_python is None else to_python(value)

    return convert


def _merge(schemas: list[JSONObject]) -> JSONObject:
    """Write `anyOf`, or the shorter `"type": [...]` where that says the same."""
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [name for schema in schemas for name in _names(schema["type"])]}
    null: JSONObject = {"type": "null"}
    others = [schema for schema in schemas if schema != null]
    if len(others) == 1 and "type" in others[0]:
        # Every other keyword here says something of its own type only.
        merged: JSONObject = {**others[0], "type": [*_names(others[0]["type"]), "null"]}
        if isinstance(listed := merged.get("enum"), list):
            merged["enum"] = [*listed, None]
        return merged
    return {"anyOf": list[JSONValue](schemas)}


def _names(names: JSONValue) -> list[JSONValue]:
    return names if isinstance(names, list) else [names]


_ARRAY: Final = frozenset({list})


def _list(arguments: tuple[Any, ...]) -> Shape:
    if not arguments:
        return Shape({"type": "array"}, copy_json, _ARRAY)
    item = _shape(arguments[0])
    to_item = item.convert
    convert = list if to_item is None else lambda value: [to_item(one) for one in value]
    return Shape({"type": "array", "items": item.schema}, convert, _ARRAY)


def _tuple(arguments: tuple[Any, ...]) -> Shape:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        many = _list(arguments[:1])
        to_list = many.convert or list
        return Shape(many.schema, lambda value: tuple(to_list(value)), _ARRAY)
    if not arguments:
        return Shape({"type": "array"}, lambda value: tuple(copy_json(value)), _ARRAY)
    items = [_shape(one) for one in arguments]
    converts = [item.convert or copy_json for item in items]
    # The runtime reads draft-07: it would ignore `prefixItems` (observed, CLI 1.0.102).
    schema: JSONObject = {
        "type": "array",
        "items": [item.schema for item in items],
        "additionalItems": False,
        "minItems": len(items),
        "maxItems": len(items),
    }
    return Shape(
        schema,
        lambda value: tuple(convert(one) for convert, one in zip(converts, value, strict=True)),
        _ARRAY,
    )


def _dict(arguments: tuple[Any, ...]) -> Shape:
    kinds = frozenset({dict})
    if not arguments:
        return Shape({"type": "object"}, copy_json, kinds)
    if arguments[0] is not str:
        raise _NeedsPydantic
    item = _shape(arguments[1])
    to_item = item.convert or copy_json
    return Shape(
        {"type": "object", "additionalProperties": item.schema or True},
        lambda value: {name: to_item(one) for name, one in value.items()},
        kinds,
    )


_CONTAINERS: Final[Mapping[Any, Callable[[tuple[Any, ...]], Shape]]] = {
    list: _list,
    tuple: _tuple,
    dict: _dict,
}
