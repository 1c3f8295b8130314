"""How a change renders and describes its nodes: those with named items, and lists."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from canvas_provider.state.difference import Difference, Inner
from canvas_provider.state.json import JSON_TYPES, SCALARS, check_key, escape
from canvas_provider.state.recording import Draft, Element, Link, Log, Recording, is_node, plain
from canvas_provider.state.tampering import is_intact
from canvas_provider.types import MISSING, JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.shape import Shape

__all__ = ["ListKind", "MappingKind", "ObjectKind"]

FEW: Final = 4
"""So many items are found faster one by one, in C."""


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
        return _held(self.shape_of(key), value, node, key)

    def release(self, key: str) -> None:
        """Refuse to delete what must be there."""


class ListKind:
    """Nodes that are lists."""

    checks = False

    def __init__(self, item: "Shape") -> None:
        self.item = item

    def json_key(self, key: Any) -> Any:
        return key

    def json_of(self, element: Element, recording: Recording) -> JSONValue:
        """Return the JSON of one item."""
        return recording.render(element) if is_node(element) else self.item.json(element)

    def _json_of_all(self, elements: Iterable[Element], recording: Recording) -> list[JSONValue]:
        if not self.item.lazy:
            return [self.json_of(element, recording) for element in elements]
        return [
            element if type(element) in JSON_TYPES else recording.render(element)
            for element in elements
        ]

    def accept(self, node: Draft, key: int, value: Any) -> Element:
        """Return what to hold at `key` for a written `value`."""
        return _held(self.item, value, node, key)

    def relink(self, node: Draft, link: Link) -> None:
        node.__draft_link__ = link

    def recheck(self, node: Any, key: int, recording: Recording) -> None:
        log = recording.logs.get(id(node))
        if log is not None and log.prefix is not None:
            # Items have shifted: all are compared by value when the change is described.
            log.prefix = log.suffix = 0
        elif list.__getitem__(node, key) != self.item.decode(node.__draft_base__[key]):
            recording.mark(node).keys[key] = None

    def _window(self, node: Any, log: Log) -> tuple[int, int]:
        """Return where the items lie that may have shifted, as start and end."""
        if log.prefix is None:
            return 0, 0
        return log.prefix, len(node) - log.suffix

    is_intact = staticmethod(is_intact)

    def changed(self, node: Any, log: Log) -> list[tuple[Any, Element]]:
        places: dict[int, None] = dict.fromkeys(range(*self._window(node, log)))
        places.update(self._places(node, log))
        return [(index, list.__getitem__(node, index)) for index in places]

    def _places(self, node: Any, log: Log) -> dict[int, None]:
        """Return what was assigned, and where the written children are."""
        places: dict[int, None] = dict(log.keys)
        if not log.kids:
            return places
        hints = node.__draft_link__.recording.link(node).hints
        for kid_id, kid in log.kids.items():
            place: Any = None if hints is None or log.prefix is not None else hints.get(kid_id)
            if place is None or place >= len(node) or list.__getitem__(node, place) is not kid:
                # Without hints that hold, all are searched for at once.
                places.update(dict.fromkeys(_places_of(node, log.kids)))
                break
            places[place] = None
        return places

    def render(self, node: Any, recording: Recording) -> JSONValue:
        return self._json_of_all(list.__iter__(node), recording)

    def settle(
        self, node: Any, log: Log, recording: Recording, found: Difference, path: str
    ) -> JSONValue:
        base: Any = node.__draft_base__
        document: list[JSONValue] = base.copy()
        before = len(found.operations)
        start, end = self._window(node, log)
        shift = len(base) - len(node)
        places = [index for index in self._places(node, log) if not start <= index < end]
        if log.prefix is not None:
            old_items = base[start : end + shift]
            document[start : end + shift] = new_items = self._json_of_all(
                list.__getitem__(node, slice(start, end)), recording
            )

            def whole() -> JSONValue:
                for index in places:
                    document[index] = self.json_of(list.__getitem__(node, index), recording)
                return document

            args = (node, old_items, new_items, start, whole, recording, found, path)
            if self._describe_items(*args):
                return document
        for index in places:
            element = list.__getitem__(node, index)
            old = base[index if log.prefix is None or index < start else index + shift]
            if is_node(element):
                document[index] = recording.settle(element, old, found, f"{path}/{index}")
            else:
                raw = document[index] = self.item.json(element)
                found.compare(old, raw, f"{path}/{index}")
        return document if len(found.operations) > before else base

    def describe_as(
        self, node: Any, old: JSONValue, recording: Recording, found: Difference, path: str
    ) -> None:
        new: Any = recording.render(node)
        if type(old) is list:
            self._describe_items(node, old, new, 0, lambda: new, recording, found, path)
        else:
            found.compare(old, new, path)

    def _describe_items(
        self,
        node: Any,
        old: list[JSONValue],
        new: list[JSONValue],
        start: int,
        whole: Callable[[], JSONValue],
        recording: Recording,
        found: Difference,
        path: str,
    ) -> bool:
        """Describe how the items `old` became the `new` ones, the first of which is at `start`.

        Returns whether the list was described as a whole.
        """
        elements = list.__getitem__(node, slice(start, start + len(new)))
        origins = [
            raw if type(element) in JSON_TYPES else recording.origin(element, raw)
            for element, raw in zip(elements, new, strict=True)
        ]

        def inner(index: int) -> Inner | None:
            return recording.inner(elements[index])

        return found.compare_items(
            old, new, path, origins=origins, inner=inner, offset=start, whole=whole
        )

    def check(self, node: Draft, log: Log, document: JSONValue, path: str) -> JSONValue:
        return document

    def refresh(self, node: Any, document: Any) -> None:
        elements = list(list.__iter__(node))
        if len(elements) != len(document):
            list.__setitem__(node, slice(None), [self.item.hold(value) for value in document])
            return
        for index, (element, value) in enumerate(zip(elements, document, strict=True)):
            if is_node(element) and isinstance(value, (dict, list)):
                element.__draft_kind__.refresh(element, value)
            else:
                list.__setitem__(node, index, self.item.hold(value))

    def key_of(self, node: Any, child: Draft) -> int | None:
        for index, element in enumerate(list.__iter__(node)):
            if element is child:
                return index
        return None

    def plain(self, node: Any) -> JSONValue:
        return [
            plain(element) if is_node(element) else self.item.json(element)
            for element in list.__iter__(node)
        ]


def _places_of(node: Any, kids: dict[int, Draft]) -> list[int]:
    """Find where the nodes `kids` are in the list `node`; each may be there more than once."""
    ids = [*map(id, list.__iter__(node))]
    if len(kids) > FEW:
        return [index for index, item_id in enumerate(ids) if item_id in kids]
    places = []
    for kid in kids:
        index = -1
        for _ in range(ids.count(kid)):
            index = ids.index(kid, index + 1)
            places.append(index)
    return places


def _held(shape: "Shape", value: Any, node: Draft, key: Any) -> Element:
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
