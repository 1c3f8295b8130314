"""What a change has written, and the document and patch that follow from it.

A draft node (`draft`, `model`) has a base, the container of the document that it stands for, and
notes here what was written to it. Whatever is not noted is shared with the document as it was, so
a change costs what it changes. How a kind of node stores its items is that kind's matter.

Within a change nodes are ordinary Python objects: a card that was taken out of one list and put
into another is the same card, and one that is in two lists is in both. The document holds values:
after the commit they are apart.
"""

from collections import deque
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from canvas_provider.errors import StateError
from canvas_provider.state.difference import Difference, Inner, Operation
from canvas_provider.state.json import MAX_DEPTH, equal, escape, refuse
from canvas_provider.state.node import Draft, Element, Link, Log, is_node
from canvas_provider.types import JSONValue

__all__ = ["Prepared", "Recording"]


class Prepared(NamedTuple):
    """What a change would commit."""

    document: JSONValue
    operations: list[Operation]


class Recording:
    """All that one change has opened and written."""

    __slots__ = (
        "_moved", "_rendered", "cells", "containers", "decoded", "guarded", "links", "logs",
        "nodes", "normal",
    )  # fmt: skip

    def __init__(self) -> None:
        self.nodes: list[Draft] = []
        """Every node of the change. It holds them, so that their ids stay their own."""
        self.containers: list[Draft] = []
        """Those that are dicts or lists and stand for something in the document."""
        self.decoded: dict[int, list[Element]] = {}
        """What a list that decodes its items held at first, by its id."""
        self.links: dict[int, Link] = {}
        self.logs: dict[int, Log] = {}
        self.cells: list[tuple[Draft, Any]] = []
        """Where a mutable value that is no node was handed out: it may change unseen."""
        self.guarded = False
        """Whether something was written within a node that `checks`."""
        self.normal: JSONValue = None
        """The document, if validation has changed what was written."""
        self._moved: set[int] = set()
        self._rendered: dict[int, JSONValue] = {}

    def link(self, node: Draft) -> Link:
        """Return what the children of `node` share."""
        link = self.links.get(id(node))
        if link is None:
            link = self.links[id(node)] = Link(self, node)
        return link

    def mark(self, node: Draft) -> Log:
        """Return the log of a node that is written to; its parents learn of it."""
        log = self.logs.get(id(node))
        if log is None:
            kind = node.__draft_kind__
            log = self.logs[id(node)] = Log()
            if kind.checks:
                self.guarded = True
            link = node.__draft_link__
            if link.node is not None:
                self.mark(link.node).kids[id(node)] = node
        return log

    def adopt(self, node: Draft, parent: Draft) -> None:
        """Note that `node` was put into `parent`, which is marked already."""
        if node.__draft_base__ is not None:
            self._moved.add(id(node.__draft_base__))
        link = node.__draft_link__
        if link.node is None:
            node.__draft_kind__.relink(node, self.link(parent))
        elif link.node is not parent:
            # It may be in both. The first parent must hear of writes to it; in this one it counts
            # as written anyway.
            node.__draft_kind__.relink(node, Link(self, link.node, parent))

    def render(self, node: Draft) -> JSONValue:
        """Return the JSON of `node`, sharing with its base what was not written."""
        return self._settled(node, None, "")

    def _settled(self, node: Draft, found: Difference | None, path: str) -> JSONValue:
        """Return the JSON of `node`; add to `found` what turns its base into it."""
        log = self.logs.get(id(node))
        if log is None and node.__draft_base__ is not None:
            return node.__draft_base__
        rendered: JSONValue = self._rendered.get(id(node), _NOT_YET)
        if rendered is _UNDER_WAY:
            refuse(self.path(node)[:60], "it contains itself")
        if rendered is not _NOT_YET and found is None:
            return rendered
        self._rendered[id(node)] = _UNDER_WAY
        kind = node.__draft_kind__
        if log is None or node.__draft_base__ is None:
            document = kind.render(node, self)
        else:
            document = kind.settle(node, log, self, found or Difference(), path)
        self._rendered[id(node)] = document
        return document

    def settle(self, element: Draft, old: JSONValue, found: Difference, path: str) -> JSONValue:
        """Return the JSON of the node `element`, and add what turns `old` into it."""
        if element.__draft_base__ is old:
            return self._settled(element, found, path)
        element.__draft_kind__.describe_as(element, old, self, found, path)
        return self.render(element)

    def prepare(self, root: Draft) -> Prepared | None:
        """Return the next document and the operations to it; `None` if nothing changed.

        Raises:
            NotJSON, InvalidState: what was written cannot be committed.
        """
        for node in self.containers:
            # What was written by `list.append(draft, ...)`, as C code does it.
            if not node.__draft_kind__.is_intact(node, self.logs.get(id(node)), self):
                raise StateError(
                    f"{self.path(node)}: it was written to past its own methods, as heapq does it; "
                    "copy it with list() or dict(), work on that, and assign it"
                )
        for node, key in self.cells:
            node.__draft_kind__.recheck(node, key, self)
        if id(root) not in self.logs:
            return None
        found = Difference(self._is_moved)
        document = self._settled(root, found, "")
        operations = found.result()
        if self.guarded and operations:
            # What validation changes comes on top: it belongs to the same revision.
            checked = self._check(root, document, "")
            if checked is not document:
                found = Difference()
                found.compare(document, checked, "")
                operations += found.result()
                self.normal = document = checked
        if "move" in map(_op_of, operations):
            # Things may have gone to and fro, with the same JSON at the end. C compares what is
            # not the same object, so little.
            base = root.__draft_base__
            if document == base and equal(document, base):
                return None
        return Prepared(document, operations) if operations else None

    def origin(self, element: Element, document: JSONValue) -> JSONValue:
        """Return the old value that `element`, rendered as `document`, is or was."""
        if is_node(element) and element.__draft_base__ is not None:
            return element.__draft_base__
        return document

    def inner(self, element: Element) -> Inner | None:
        """Return what adds the changes within `element` since it was its base."""
        if not is_node(element) or element.__draft_base__ is None:
            return None
        if id(element) not in self.logs:
            return None

        def describe(found: Difference, path: str) -> None:
            self._settled(element, found, path)

        return describe

    def _check(self, node: Draft, document: Any, path: str) -> Any:
        """Validate what wants it, from the root down, and return `document` in normal form."""
        log = self.logs.get(id(node))
        if log is None:
            return document
        kind = node.__draft_kind__
        if kind.checks:
            checked = kind.check(node, log, document, path)
            if checked is not document:
                return checked
        copy = document
        for key, element in kind.changed(node, log):
            if is_node(element):
                place = kind.json_key(key)
                new = self._check(element, document[place], f"{path}/{escape(str(place))}")
                if new is not document[place]:
                    copy = document.copy() if copy is document else copy
                    copy[place] = new
        return copy

    def depth(self, node: Draft) -> int:
        """Return how many containers `node` is in, as far as that is known."""
        depth = 0
        while (parent := node.__draft_link__.node) is not None and depth < MAX_DEPTH:
            depth += 1
            node = parent
        return depth

    def path(self, node: Draft) -> str:
        """Return the JSON Pointer of `node`, as far as it can be told; for errors."""
        tokens: list[str] = []
        link = node.__draft_link__
        while link.node is not None and len(tokens) < MAX_DEPTH:
            parent = link.node if link.latest is None else link.latest
            key = parent.__draft_kind__.key_of(parent, node)
            if key is None and parent is not link.node:
                parent = link.node
                key = parent.__draft_kind__.key_of(parent, node)
            tokens.append("-" if key is None else escape(str(key)))
            node, link = parent, parent.__draft_link__
        return "".join(f"/{token}" for token in reversed(tokens))

    def freeze(self) -> None:
        """Make every node a view of what it holds now."""
        # In C: after a search there are many.
        deque(map(_turn, self.nodes, map(_view_of, self.nodes)), 0)

    def close(self) -> None:
        """Make every node unusable."""
        deque(map(_turn, self.nodes, map(_closed_of, self.nodes)), 0)

    def release(self) -> None:
        """Forget everything; no node is written to any more."""
        # Parents and children are cycles: cut, so that memory goes without the collector.
        for link in self.links.values():
            link.node = None
        self.nodes.clear()
        self.containers.clear()
        self.decoded.clear()
        self.links.clear()
        self.logs.clear()
        self.cells.clear()

    def _is_moved(self, value: JSONValue) -> bool:
        return id(value) in self._moved


_turn = object.__dict__["__class__"].__set__
"""Give a node another class. Models say that their class is the author's, so not by assignment."""

_view_of = attrgetter("__draft_view__")
_closed_of = attrgetter("__draft_closed__")
_op_of = itemgetter("op")

_NOT_YET: Final[Any] = object()
_UNDER_WAY: Final[Any] = object()
