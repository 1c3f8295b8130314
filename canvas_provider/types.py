"""The vocabulary every layer shares: JSON, the names of things, and "not given"."""

from enum import Enum
from typing import Final, Literal, NewType, TypeAlias

__all__ = [
    "MISSING",
    "Author",
    "JSONObject",
    "JSONValue",
    "Missing",
    "Token",
]

JSONValue: TypeAlias = dict[str, "JSONValue"] | list["JSONValue"] | str | int | float | bool | None
"""What JSON can carry. Integers stay within ±2**53, floats are finite."""

JSONObject: TypeAlias = dict[str, JSONValue]

Author = Literal["agent", "person", "system"]
"""Who caused a change: the model, somebody at the page, or the program itself."""


class Missing(Enum):
    """The type of `MISSING`, which tells "not given" from `None`."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> Literal[False]:
        return False


MISSING: Final = Missing.MISSING

Token = NewType("Token", str)
"""A secret path segment. Never log it, never put it in a `repr` or an exception text."""
