"""Text that is not Unicode: half of a surrogate pair, which a JavaScript runtime can well send.

pydantic-core does not read it, so whoever reads inputs comes here after a refusal, and nobody pays
for it otherwise. The whole input gives way to a `HalfPair`, which fits no schema: see `validation`.
"""

from typing import Any, NamedTuple

from canvas_provider.types import JSONValue

__all__ = ["HalfPair", "find_half_pair", "to_unicode"]


class HalfPair(NamedTuple):
    """Where there is such text: the keys and indices that lead to it from the root of an input.

    `in_key` says that it is a key of the object there.
    """

    path: tuple[str | int, ...]
    in_key: bool


def find_half_pair(value: JSONValue) -> HalfPair | None:
    """Return where the first one is; `None` if all text is Unicode."""
    # Without recursion: what comes here may be nested as deeply as a parser can read.
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and _is_half(value):
            return HalfPair(path, in_key=False)
        if isinstance(value, dict):
            # All keys before any item, so that a path has none of them in it.
            if any(map(_is_half, value)):
                return HalfPair(path, in_key=True)
            waiting.extend(((*path, key), item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            indexed = [((*path, index), item) for index, item in enumerate(value)]
            waiting.extend(reversed(indexed))
    return None


def to_unicode(text: str) -> str:
    """Return text that can be sent: each half of a pair is a `?` in it."""
    return text.encode(errors="replace").decode()


def _is_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
