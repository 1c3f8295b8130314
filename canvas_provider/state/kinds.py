"""How a change renders and describes its nodes that hold their items by name."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from canvas_provider.state.difference import Difference
from canvas_provider.state.json import SCALARS, check_key, escape
from canvas_provider.state.node import Draft, Element, Link, Log, is_node, plain
from canvas_provider.state.recording import Recording
from canvas_provider.types import MISSING, JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.shape import Shape

__all__ = ["MappingKind", "ObjectKind", "held"]


class MappingKind:
    """Nodes that hold their items by name: objects here, models in `model`."""

    checks = False

    holds_json = True
    """Whether all items but nodes are held as JSON."""

    def get(self, node: Any, name: str) -> Element:
        """Return one item as it is held, or `MISSING`."""
        raise NotImplementedError

    def items(self, node: Any) -> Iterable[tuple[str, Element]]:
        """Return all items as they are held."""
        raise NotImplementedError

    def put(self, node: Any, name: str, element: Element) -> None:
        """Hold `element`; notes nothing."""
        raise NotImplementedError

    def shape_of(self, name: str) -> "Shape":
        """Return the shape of one item."""
        raise NotImplementedError

    def json_key(self, key: Any) -> Any:
        return key

    def json_of(self, name: str, element: Element, recording: Recording) -> JSONValue:
        """Return the JSON of one item."""
        return recording.render(element) if is_node(element) else self.shape_of(name).json(element)

    def relink(self, node: Draft, link: Link) -> None:
        node.__draft_link__ = link

    def recheck(self, node: Draft, key: str, recording: Recording) -> None:
        element = self.get(node, key)
        before = _old(node, self.json_key(key))
        if before is MISSING or element != self.shape_of(key).decode(before):
            recording.mark(node).keys[key] = None

    def render(self, node: Draft, recording: Recording) -> JSONValue:
        return {
            self.json_key(name): self.json_of(name, element, recording)
            for name, element in self.items(node)
        }

    def settle(
        self, node: Draft, log: Log, recording: Recording, found: Difference, path: str
    ) -> JSONValue:
        base: Any = node.__draft_base__
        document = base.copy()
        start = len(found.operations)
        for name in self._names(node, log):
            element = self.get(node, name)
            key = self.json_key(name)
            place = f"{path}/{escape(key)}"
            old = base.get(key, MISSING)
            if type(element) in SCALARS and type(old) is type(element) and self.holds_json:
                # What most changes are.
                if old != element:
                    document[key] = element
                    found.replace(place, element)
            elif element is MISSING:
                if old is not MISSING:
                    found.remove(place, old)
                    del document[key]
            elif old is MISSING:
                raw = document[key] = self.json_of(name, element, recording)
                found.add(place, raw, recording.origin(element, raw), recording.inner(element))
            elif is_node(element):
                document[key] = recording.settle(element, old, found, place)
            else:
                raw = document[key] = self.json_of(name, element, recording)
                found.compare(old, raw, place)
        return document if len(found.operations) > start else base  # type: ignore[no-any-return]

    def is_intact(self, node: Any, log: Log | None, recording: Recording) -> bool:
        base: Any = node.__draft_base__
        length = len(base)
        if log is not None:
            for key in log.keys:
                length += (key in node) - (key in base)
        return len(node) == length

    def changed(self, node: Draft, log: Log) -> list[tuple[Any, Element]]:
        return [(name, self.get(node, name)) for name in self._names(node, log)]

    def _names(self, node: Draft, log: Log) -> dict[Any, None]:
        """Return what was assigned, and where the written children are."""
        if not log.kids:
            return log.keys
        hints = node.__draft_link__.recording.link(node).hints
        names = dict(log.keys)
        for kid_id, kid in log.kids.items():
            name: Any = None if hints is None else hints.get(kid_id)
            if name is None or self.get(node, name) is not kid:
                # Without a hint that holds, all are searched for at once.
                kids = log.kids
                names.update((name, None) for name, item in self.items(node) if id(item) in kids)
                break
            names[name] = None
        return names

    def describe_as(
        self, node: Draft, old: JSONValue, recording: Recording, found: Difference, path: str
    ) -> None:
        found.compare(old, recording.render(node), path)

    def check(self, node: Draft, log: Log, document: JSONValue, path: str) -> JSONValue:
        return document

    def refresh(self, node: Draft, document: Any) -> None:
        for name, element in list(self.items(node)):
            value = document.get(self.json_key(name), MISSING)
            if is_node(element) and isinstance(value, (dict, list)):
                element.__draft_kind__.refresh(element, value)
            elif value is not MISSING:
                self.put(node, name, self.shape_of(name).hold(value))

    def key_of(self, node: Draft, child: Draft) -> str | None:
        for name, element in self.items(node):
            if element is child:
                return self.json_key(name)  # type: ignore[no-any-return]
        return None

    def plain(self, node: Draft) -> JSONValue:
        return {
            self.json_key(name): plain(element)
            if is_node(element)
            else self.shape_of(name).json(element)
            for name, element in self.items(node)
        }


class ObjectKind(MappingKind):
    """Nodes that are dicts, each item of the shape of its key."""

    def __init__(self, item: "Shape", fields: "dict[str, Shape]") -> None:
        self.item = item
        self.fields = fields
        self.holds_json = item.lazy

    def get(self, node: Any, name: str) -> Element:
        return dict.get(node, name, MISSING)

    def items(self, node: Any) -> Iterable[tuple[str, Element]]:
        return dict.items(node)

    def put(self, node: Any, name: str, element: Element) -> None:
        dict.__setitem__(node, name, element)

    def shape_of(self, name: str) -> "Shape":
        return self.fields.get(name, self.item)

    def accept(self, node: Draft, key: Any, value: Any) -> Element:
        """Return what to hold at `key` for a written `value`."""
        check_key(key, "")
        return held(self.shape_of(key), value, node, key)

    def release(self, key: str) -> None:
        """Refuse to delete what must be there."""


def held(shape: "Shape", value: Any, node: Draft, key: Any) -> Element:
    """Return what a container holds for a written `value`."""
    element = shape.accept(value, node, key)
    if shape.lazy or is_node(element):
        return element
    recording = node.__draft_link__.recording
    recording.cells.append((node, key))
    return shape.draft(element, recording.link(node))


def _old(node: Draft, key: str) -> Any:
    """Return what the document has at `key`, or `MISSING`."""
    base: Any = node.__draft_base__
    return MISSING if base is None else base.get(key, MISSING)
