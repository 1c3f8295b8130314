"""Whether a patch has left a document of its type: a look at what it touches, not at all of it."""

from collections.abc import Sequence

from canvas_provider.errors import StateError
from canvas_provider.state.patch import Operation, parse_pointer, resolve
from canvas_provider.state.shape import PLAIN, Shape
from canvas_provider.types import JSONValue

__all__ = ["still_fits"]


def still_fits(shape: Shape, document: JSONValue, operation: Operation) -> bool:
    """Say whether `document`, of the type of `shape` until now, is so after `operation` as well.

    The operation has been done. `False` also stands for another normal form, and for what a part
    cannot tell: the document has to be checked as a whole then.
    """
    tokens = parse_pointer(operation["path"])
    if operation["op"] == "remove":
        return _may_lack(shape, tokens) or _is_normal(shape, document, tokens[:-1])
    if operation["op"] == "move" and not _may_lack(shape, parse_pointer(operation["from"])):
        return False
    return _is_normal(shape, document, tokens)


def _may_lack(shape: Shape, tokens: Sequence[str]) -> bool:
    """Say whether nothing has to be checked once the item at `tokens` is gone."""
    part, _ = _smallest_part(shape, tokens[:-1])
    return part.may_lack(tokens[-1])


def _is_normal(shape: Shape, document: JSONValue, tokens: Sequence[str]) -> bool:
    """Say whether the part of `document` around what is at `tokens` is of its type, and normal."""
    part, depth = _smallest_part(shape, tokens)
    if part is PLAIN:
        return True
    try:
        return part.load(resolve(document, tokens[:depth])) is None
    except StateError:
        return False


def _smallest_part(shape: Shape, tokens: Sequence[str]) -> tuple[Shape, int]:
    """Return what can be checked by itself, on the way to `tokens`; and how many lead there."""
    for depth, token in enumerate(tokens):
        part = shape.part(token)
        if part is None:
            return shape, depth
        shape = part
    return shape, len(tokens)
