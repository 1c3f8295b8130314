"""What takes a patch back (RFC 6902 has no word for it): the operations of the way back.

Found once, at the commit, while the document as it was is at hand. For one operation, and for many
that replace, that is a look at the places they name; else the patch is applied step by step.
"""

from collections.abc import Sequence
from typing import Any

from canvas_provider.state.patch import Operation, Patching, parse_pointer, resolve
from canvas_provider.types import JSONValue

__all__ = ["before_removal", "invert"]


def invert(document: JSONValue, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations that take back `operations`, which fit `document`.

    `apply(apply(document, operations), invert(document, operations)) == document`; what they put
    back is shared with `document`.
    """
    if len(operations) == 1:
        operation = operations[0]
        if operation["op"] == "replace":
            # Most changes are one of these.
            path = operation["path"]
            return [{"op": "replace", "path": path, "value": _look(document, path)}]
        return _invert(document, operation)
    found = _invert_replacements(document, operations)
    if found is None:
        steps = []
        patching = Patching(document)
        for operation in operations:
            steps.append(_invert(patching.document, operation))
            patching.step(operation)
        found = [operation for step in reversed(steps) for operation in step]
    return found


def _invert_replacements(
    document: JSONValue, operations: Sequence[Operation]
) -> list[Operation] | None:
    """Do it without applying anything, if possible.

    Where one replaces within what another replaced, each puts back what was there at first, so the
    outcome is the same.
    """
    back: list[Operation] = []
    try:
        for operation in reversed(operations):
            if operation["op"] != "replace":
                return None
            back += _invert(document, operation)
    except (LookupError, TypeError, ValueError):
        # A place that another of them has made.
        return None
    return back


def _invert(document: JSONValue, operation: Operation) -> list[Operation]:
    kind, path = operation["op"], operation["path"]
    if kind == "replace":
        return [{"op": "replace", "path": path, "value": _look(document, path)}]
    if kind == "remove":
        return [{"op": "add", "path": path, "value": _look(document, path)}]
    if kind == "test":
        return []
    tokens = parse_pointer(path)
    if not tokens:
        return [{"op": "replace", "path": "", "value": document}]
    place = tokens
    if kind == "move":
        source = parse_pointer(operation["from"])
        if source == tokens:
            return []
        place = before_removal(document, tokens, source)
    parent = resolve(document, place[:-1])
    if isinstance(parent, dict) and tokens[-1] in parent:
        old_again: Operation = {"op": "replace", "path": path, "value": parent[tokens[-1]]}
        if kind != "move":
            return [old_again]
        old_again["op"] = "add"
        return [{"op": "move", "from": path, "path": operation["from"]}, old_again]
    if kind == "move":
        return [{"op": "move", "from": path, "path": operation["from"]}]
    return [{"op": "remove", "path": path}]


def _look(document: Any, path: str) -> Any:
    """Return what is at a place that is there: each change does this."""
    for token in parse_pointer(path) if "~" in path else path.split("/")[1:]:
        document = document[int(token) if type(document) is list else token]
    return document


def before_removal(document: JSONValue, place: list[str], removed: list[str]) -> list[str]:
    """Return where the parent of `place`, which is valid once `removed` is gone, is before that.

    The last token stays as it is: it is about to be added.
    """
    depth = len(removed) - 1
    if len(place) - 1 <= depth or place[:depth] != removed[:depth]:
        return place
    if not isinstance(resolve(document, removed[:-1]), list):
        return place
    index = int(place[depth])
    if index < int(removed[depth]):
        return place
    return [*place[:depth], str(index + 1), *place[depth + 1 :]]
