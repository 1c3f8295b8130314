"""How a change renders and describes its nodes: those with named items, and lists."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from canvas_provider.state.difference import Difference, Inner
from canvas_provider.state.json import check_key, escape
from canvas_provider.state.recording import Draft, Element, Link, Log, Recording, is_node, plain
from canvas_provider.types import MISSING, JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.shape import Shape

__all__ = ["ListKind", "MappingKind", "ObjectKind"]


class MappingKind:
    """Nodes that hold their items by name: objects here, models in `model`."""

    checks = False

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

    def new_log(self, node: Draft) -> Log:
        return Log()

    def relink(self, node: Draft, link: Link) -> None:
        node.__draft_link__ = link

    def recheck(self, node: Draft, key: str, recording: Recording) -> None:
        element = self.get(node, key)
        before = _old(node, self.json_key(key))
        if before is MISSING or element != self.shape_of(key).decode(before):
            recording.mark(node).keys[key] = None

    def render(self, node: Draft, log: Log | None, recording: Recording) -> JSONValue:
        base: Any = node.__draft_base__
        if base is None:
            return {
                self.json_key(name): self.json_of(name, element, recording)
                for name, element in self.items(node)
            }
        document: dict[str, JSONValue] = base.copy()
        for name, element in () if log is None else self.changed(node, log):
            if element is MISSING:
                document.pop(self.json_key(name), None)
            else:
                document[self.json_key(name)] = self.json_of(name, element, recording)
        return document

    def changed(self, node: Draft, log: Log) -> list[tuple[Any, Element]]:
        names = log.keys
        if log.kids:
            names = {**names, **dict.fromkeys(self._names_of(node, log.kids))}
        return [(name, self.get(node, name)) for name in names]

    def _names_of(self, node: Draft, kids: dict[int, Draft]) -> list[str]:
        """Find the written children. Hints that hold spare the search."""
        hints = node.__draft_link__.recording.link(node).hints
        if hints is not None:
            names: list[Any] = [hints.get(key) for key in kids]
            if all(
                name is not None and self.get(node, name) is kid
                for name, kid in zip(names, kids.values(), strict=True)
            ):
                return names
        return [name for name, element in self.items(node) if id(element) in kids]

    def describe(
        self, node: Draft, log: Log, recording: Recording, found: Difference, path: str
    ) -> None:
        for name, element in self.changed(node, log):
            key = self.json_key(name)
            place = f"{path}/{escape(key)}"
            old = _old(node, key)
            if element is MISSING:
                if old is not MISSING:
                    found.remove(place, old)
            elif old is MISSING:
                document = self.json_of(name, element, recording)
                origin = recording.origin(element, document)
                found.add(place, document, origin, recording.inner(element))
            elif is_node(element):
                recording.contrast(found, old, element, place)
            else:
                found.compare(old, self.json_of(name, element, recording), place)

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

    def turn(self, node: Any, closed: bool) -> None:
        node.__class__ = node.__draft_closed__ if closed else node.__draft_view__


class ObjectKind(MappingKind):
    """Nodes that are dicts, each item of the shape of its key."""

    def __init__(self, item: "Shape", fields: "dict[str, Shape]") -> None:
        self.item = item
        self.fields = fields

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

    def accept(self, node: Draft, key: int, value: Any) -> Element:
        """Return what to hold at `key` for a written `value`."""
        return _held(self.item, value, node, key)

    def new_log(self, node: Draft) -> Log:
        return Log()

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

    def changed(self, node: Any, log: Log) -> list[tuple[Any, Element]]:
        start, end = self._window(node, log)
        places = dict.fromkeys(range(start, end)) if log.prefix is not None else log.keys
        if log.kids:
            places = {**places, **dict.fromkeys(self._places_of(node, log))}
        return [(index, list.__getitem__(node, index)) for index in places]

    def _places_of(self, node: Any, log: Log) -> list[int]:
        """Find the written children. Hints that hold spare the search."""
        hints = node.__draft_link__.recording.link(node).hints
        if hints is not None and log.prefix is None:
            places: list[Any] = [hints.get(key) for key in log.kids]
            if all(
                place is not None and place < len(node) and list.__getitem__(node, place) is kid
                for place, kid in zip(places, log.kids.values(), strict=True)
            ):
                return places
        kids = log.kids
        return [index for index, item in enumerate(list.__iter__(node)) if id(item) in kids]

    def render(self, node: Any, log: Log | None, recording: Recording) -> JSONValue:
        base: Any = node.__draft_base__
        if base is None:
            return [self.json_of(element, recording) for element in list.__iter__(node)]
        if log is None:
            return base  # type: ignore[no-any-return]
        document: list[JSONValue] = base.copy()
        if log.prefix is not None:
            start, end = self._window(node, log)
            # Filled in below, as all that changed.
            document[start : len(base) - log.suffix] = [None] * (end - start)
        for index, element in self.changed(node, log):
            document[index] = self.json_of(element, recording)
        return document

    def describe(
        self, node: Any, log: Log, recording: Recording, found: Difference, path: str
    ) -> None:
        base: Any = node.__draft_base__
        start, end = self._window(node, log)
        if log.prefix is not None:
            old_items = base[start : len(base) - log.suffix]
            if self._describe_items(node, old_items, (start, end), recording, found, path):
                return
        shift = len(base) - len(node)
        places = dict(log.keys) if log.prefix is None else {}
        if log.kids:
            places.update(dict.fromkeys(self._places_of(node, log)))
        for index in places:
            if start <= index < end:
                continue
            element = list.__getitem__(node, index)
            old = base[index if log.prefix is None or index < start else index + shift]
            if is_node(element):
                recording.contrast(found, old, element, f"{path}/{index}")
            else:
                found.compare(old, self.item.json(element), f"{path}/{index}")

    def describe_as(
        self, node: Any, old: JSONValue, recording: Recording, found: Difference, path: str
    ) -> None:
        if type(old) is list:
            self._describe_items(node, old, (0, len(node)), recording, found, path)
        else:
            found.compare(old, recording.render(node), path)

    def _describe_items(
        self,
        node: Any,
        old: list[JSONValue],
        window: tuple[int, int],
        recording: Recording,
        found: Difference,
        path: str,
    ) -> bool:
        """Describe the items within `window`; `True` if that took the whole list."""
        start, end = window
        elements = list.__getitem__(node, slice(start, end))
        new = [self.json_of(element, recording) for element in elements]
        origins = [
            recording.origin(element, document)
            for element, document in zip(elements, new, strict=True)
        ]

        def inner(index: int) -> Inner | None:
            return recording.inner(elements[index])

        return found.compare_items(
            old,
            new,
            path,
            origins=origins,
            inner=inner,
            offset=start,
            whole=lambda: recording.render(node),
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

    def turn(self, node: Any, closed: bool) -> None:
        node.__class__ = node.__draft_closed__ if closed else node.__draft_view__


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
