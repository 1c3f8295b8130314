"""How a change renders and describes its lists."""

from collections.abc import Callable, Iterable
from itertools import compress, count, repeat
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from canvas_provider.state.difference import Difference, Inner
from canvas_provider.state.json import JSON_TYPES
from canvas_provider.state.kinds import held
from canvas_provider.state.node import Draft, Element, Link, Log, is_node, plain
from canvas_provider.state.recording import Recording
from canvas_provider.state.tampering import is_intact
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.shape import Shape

__all__ = ["ListKind"]

FEW: Final = 4
"""So many items are found faster one by one, in C."""


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
        return held(self.item, value, node, key)

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
        once = not log.keys and log.prefix is None
        hints = node.__draft_link__.recording.link(node).hints
        for kid_id, kid in log.kids.items():
            place: Any = None if hints is None or log.prefix is not None else hints.get(kid_id)
            if place is None or place >= len(node) or list.__getitem__(node, place) is not kid:
                # Without hints that hold, all are searched for at once.
                places.update(dict.fromkeys(_places_of(node, log.kids, once=once)))
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


def _places_of(node: Any, kids: dict[int, Draft], *, once: bool) -> list[int]:
    """Find where the nodes `kids` are in the list `node`.

    Args:
        once: no node is there twice, as it is while nothing was put into the list.
    """
    if once and len(kids) <= FEW:
        return [_place_of(node, kid) for kid in kids.values()]
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


def _place_of(node: Any, kid: Draft) -> int:
    return next(compress(count(), map(is_, list.__iter__(node), repeat(kid))))
