"""What JSON can carry, checked before anything is stored or sent.

Integers stay within ±2**53 (RFC 8259 section 6: what every reader agrees on), floats are finite,
strings are Unicode without lone surrogates, keys are strings, and nesting ends at `MAX_DEPTH`.
Errors name the place by its JSON Pointer and never show the value.
"""

from math import isfinite
from types import NoneType
from typing import Any, Final, NoReturn

from canvas_provider.errors import NotJSON
from canvas_provider.types import JSONValue

__all__ = [
    "JSON_TYPES",
    "MAX_DEPTH",
    "MAX_INTEGER",
    "SCALARS",
    "check_key",
    "check_nesting",
    "check_scalar",
    "ensure_json",
    "equal",
    "escape",
    "refuse",
]

MAX_DEPTH: Final = 200
"""Containers within containers. pydantic-core, which writes the JSON, gives up at 255."""

MAX_INTEGER: Final = 2**53
"""The largest magnitude that a double, and so a page, holds exactly."""

SCALARS: Final = frozenset({str, int, float, bool, NoneType})
"""The types of what is no container."""

JSON_TYPES: Final = SCALARS | {dict, list}
"""The types of plain JSON, exactly."""


def ensure_json(value: object, path: str = "") -> JSONValue:
    """Return `value` itself if it is plain JSON: exact built-in types, no tuple, no subclass.

    `path` is the JSON Pointer of `value`, for the error.

    Raises:
        NotJSON: it is not; the message names the place.
    """
    _check(value, path, 0)
    return value  # type: ignore[return-value]  # _check has just proved it


def _check(value: object, path: str, depth: int) -> None:
    kind = type(value)
    if kind is dict:
        _check_depth(path, depth)
        for key, item in value.items():  # type: ignore[attr-defined]
            check_key(key, path)
            if not check_scalar(item, path, key):
                _check(item, f"{path}/{escape(key)}", depth + 1)
    elif kind is list:
        _check_depth(path, depth)
        for index, item in enumerate(value):  # type: ignore[arg-type]
            if not check_scalar(item, path, index):
                _check(item, f"{path}/{index}", depth + 1)
    elif not check_scalar(value, path):
        refuse(path, f"{kind.__name__} is no type of JSON")


def _check_depth(path: str, depth: int) -> None:
    # A cycle has no end, so it is found here, too.
    if depth >= MAX_DEPTH:
        refuse(path[:60] + "…", f"a cycle, or nesting deeper than {MAX_DEPTH} levels")


def check_nesting(value: object, path: str, depth: int) -> None:
    """Refuse plain JSON, at `depth` containers within a document, that nests too deeply there."""
    kind = type(value)
    if kind is dict or kind is list:
        _check_depth(path, depth)
        items: Any = value.values() if kind is dict else value  # type: ignore[attr-defined]
        for item in items:
            if type(item) is dict or type(item) is list:
                check_nesting(item, path, depth + 1)


def check_key(key: object, path: str) -> None:
    """Refuse what is no key of a JSON object."""
    if type(key) is not str:
        refuse(path, f"the key of an object must be a string, not {type(key).__name__}")
    if not key.isascii():
        check_text(key, path, None)


def check_scalar(value: object, path: str, key: str | int | None = None) -> bool:
    """Say whether `value` is a JSON scalar; `False` for containers and for strangers.

    Raises:
        NotJSON: a number or text that JSON cannot carry.
    """
    kind = type(value)
    if kind is str:
        if not value.isascii():  # type: ignore[attr-defined]
            check_text(value, path, key)  # type: ignore[arg-type]
        return True
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
            refuse(_at(path, key), "an integer beyond 2**53 is not exact in JSON; use a string")
        return True
    if kind is float:
        if not isfinite(value):  # type: ignore[arg-type]
            refuse(_at(path, key), "NaN and infinity are not JSON; use null or a string")
        return True
    return value is None or kind is bool


def check_text(value: str, path: str, key: str | int | None) -> None:
    """Refuse lone surrogates, which no UTF-8 can carry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(_at(path, key), "text with a lone surrogate is not Unicode")


def _at(path: str, key: str | int | None) -> str:
    return path if key is None else f"{path}/{escape(str(key))}"


def refuse(path: str, reason: str) -> NoReturn:
    """Raise `NotJSON`, naming the place."""
    raise NotJSON(f"{path or 'the document'}: {reason}")


def escape(key: str) -> str:
    """Write one key as a token of a JSON Pointer (RFC 6901 section 3)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def equal(one: JSONValue, other: JSONValue) -> bool:
    """Compare as JSON does: 1 and 1.0 are equal, true and 1 are not (RFC 6902 section 4.6)."""
    if one is other:
        return True
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(equal(item, other[key]) for key, item in one.items())
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(equal, one, other))
    return one == other and isinstance(one, bool) is isinstance(other, bool)
