"""RFC 6902 JSON Patch: apply one, or find a small and readable one between two documents.

Nothing here changes a document that exists: `apply` shares with the old one what the patch leaves
alone. What a change wrote is known without comparing (`recording`); `diff` is for documents that
come from elsewhere, such as a file that somebody edited.
"""

from collections.abc import Iterable
from typing import Any, Literal

from canvas_provider.errors import PatchError
from canvas_provider.state.difference import Difference, Operation
from canvas_provider.state.json import equal, escape
from canvas_provider.types import JSONValue

__all__ = ["Operation", "Patching", "apply", "diff", "escape", "parse_pointer", "resolve"]


def diff(old: JSONValue, new: JSONValue) -> list[Operation]:
    """Find the operations that turn `old` into `new`: `apply(old, diff(old, new)) == new`.

    Items of lists are recognised by their content, then by their `id`, so that an inserted or
    moved item is one operation.
    """
    found = Difference()
    found.compare(old, new, "")
    return found.result()


def apply(document: JSONValue, operations: Iterable[Operation]) -> JSONValue:
    """Return the patched document; `document` stays as it is.

    Raises:
        PatchError: an operation does not fit; the text names it and its path, no value.
    """
    patching = Patching(document)
    for number, operation in enumerate(operations):
        try:
            patching.step(operation)
        except PatchError as error:
            raise PatchError(f"operation {number}: {error}") from None
    return patching.document


def parse_pointer(pointer: str) -> list[str]:
    """Split a JSON Pointer into its unescaped tokens (RFC 6901 section 4)."""
    if pointer == "":
        return []
    if not isinstance(pointer, str) or pointer[0] != "/":
        raise PatchError(f"not a JSON Pointer: {pointer!r}")
    tokens = pointer[1:].split("/")
    if "~" not in pointer:
        return tokens
    return [_unescape(token) for token in tokens]


def resolve(document: JSONValue, tokens: Iterable[str]) -> JSONValue:
    """Return what is at a place.

    Raises:
        PatchError: there is no such place.
    """
    node = document
    for token in tokens:
        if isinstance(node, list):
            node = node[_index(token, len(node) - 1)]
        elif isinstance(node, dict) and token in node:
            node = node[token]
        else:
            raise PatchError(f"there is no {token!r}")
    return node


def _unescape(token: str) -> str:
    if "~" in token.replace("~0", "").replace("~1", ""):
        raise PatchError("a JSON Pointer has ~ only as ~0 or ~1")
    return token.replace("~1", "/").replace("~0", "~")


class Patching:
    """One run of `apply`. A container is copied when it is first written, then written in place."""

    def __init__(self, document: JSONValue) -> None:
        self.document = document
        """What the steps so far have made of it; the next ones write to it."""
        # The copies of this run, by id; holding them keeps the ids their own.
        self._copies: dict[int, JSONValue] = {}

    def step(self, operation: Operation) -> None:
        """Do one operation.

        Raises:
            PatchError: it does not fit.
        """
        if not isinstance(operation, dict):
            raise PatchError("an operation is an object")
        kind = operation.get("op")
        tokens = parse_pointer(_member(operation, "path"))
        if kind == "add":
            self._add(tokens, _member(operation, "value"))
        elif kind == "remove":
            self._remove(tokens)
        elif kind == "replace":
            self._replace(tokens, _member(operation, "value"))
        elif kind == "move":
            source = parse_pointer(_member(operation, "from"))
            if tokens[: len(source)] == source and len(tokens) > len(source):
                raise PatchError("a value cannot move into itself")
            self._add(tokens, self._remove(source))
        elif kind == "copy":
            self._add(tokens, resolve(self.document, parse_pointer(_member(operation, "from"))))
            # The value is now in two places, so no copy may be written in place any more.
            self._copies.clear()
        elif kind == "test":
            if not equal(resolve(self.document, tokens), _member(operation, "value")):
                raise PatchError(f"the value at {operation['path']!r} is another")
        else:
            raise PatchError("op must be add, remove, replace, move, copy or test")

    def _own(self, node: JSONValue) -> JSONValue:
        """Return a container that this run may write: `node`, or a copy of it."""
        if id(node) in self._copies or not isinstance(node, (dict, list)):
            return node
        copy = node.copy()
        self._copies[id(copy)] = copy
        return copy

    def _parent(self, tokens: list[str]) -> Any:
        """Return the container of the last token, writable from the root down."""
        node: Any = self._own(self.document)
        self.document = node
        for token in tokens[:-1]:
            if isinstance(node, list):
                index = _index(token, len(node) - 1)
                node[index] = node = self._own(node[index])
            elif isinstance(node, dict) and token in node:
                node[token] = node = self._own(node[token])
            else:
                raise PatchError(f"there is no {token!r}")
        return node

    def _add(self, tokens: list[str], value: JSONValue) -> None:
        if not tokens:
            self.document = value
            return
        parent, last = self._parent(tokens), tokens[-1]
        if isinstance(parent, list):
            parent.insert(len(parent) if last == "-" else _index(last, len(parent)), value)
        elif isinstance(parent, dict):
            parent[last] = value
        else:
            raise PatchError(f"nothing can be added at {last!r}")

    def _remove(self, tokens: list[str]) -> JSONValue:
        if not tokens:
            raise PatchError("the whole document cannot be removed")
        parent, last = self._parent(tokens), tokens[-1]
        removed: JSONValue
        if isinstance(parent, list):
            removed = parent.pop(_index(last, len(parent) - 1))
        elif isinstance(parent, dict) and last in parent:
            removed = parent.pop(last)
        else:
            raise PatchError(f"there is no {last!r}")
        return removed

    def _replace(self, tokens: list[str], value: JSONValue) -> None:
        if not tokens:
            self.document = value
            return
        parent, last = self._parent(tokens), tokens[-1]
        if isinstance(parent, list):
            parent[_index(last, len(parent) - 1)] = value
        elif isinstance(parent, dict) and last in parent:
            parent[last] = value
        else:
            raise PatchError(f"there is no {last!r}")


def _index(token: str, largest: int) -> int:
    """Read an array index: digits without leading zeros (RFC 6901 section 4)."""
    if not (token.isascii() and token.isdigit()) or (len(token) > 1 and token[0] == "0"):
        raise PatchError(f"{token!r} is no index")
    # A longer number cannot be an index, and int() of a huge one is slow.
    index = int(token) if len(token) < 16 else largest + 1
    if index > largest:
        raise PatchError(f"the index {token[:16]} is out of range")
    return index


def _member(operation: Operation, name: Literal["path", "from", "value"]) -> Any:
    if name not in operation:
        raise PatchError(f"an operation {operation.get('op')!r} needs {name!r}")
    return operation[name]
