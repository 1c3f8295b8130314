"""Nodes that are lists."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, SupportsIndex

from canvas_provider.state.draft import detached, stand_in
from canvas_provider.state.node import Element, Link, is_node

__all__ = ["ListClosed", "ListDraft", "ListNode", "ListView", "new_list"]

new_list: Final[Any] = list.__new__
"""Make an empty node of a class; only shapes do."""

_get = list.__getitem__
_put = list.__setitem__


class ListNode(list[Any]):
    """Reading, for drafts and views alike."""

    __slots__ = ("__draft_base__", "__draft_link__")

    __draft_kind__: Any
    __draft_link__: Any
    __draft_base__: Any

    def __new__(cls, items: Iterable[Any] = ()) -> Any:
        # As for `DictNode`.
        return list(items)

    __draft_live__ = False

    def _opener(self) -> Callable[[Any, Any], Element]:
        item: Any = self.__draft_kind__.item
        if not item.lazy:
            return _as_is
        opener: Callable[[Any, Any], Element] = item.draft if self.__draft_live__ else item.view
        return opener

    def _link(self) -> Link | None:
        return self.__draft_link__.recording.link(self) if self.__draft_live__ else None

    def _open_all(self) -> None:
        for _ in self:
            pass

    def __getitem__(self, index: Any) -> Any:
        item = _get(self, index)
        if type(item) is dict:
            pass
        elif type(item) is not list:
            return item
        elif type(index) is slice:
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index.__index__()
        if place < 0:
            place += len(self)
        link = self._link()
        node = self._opener()(item, link)
        if link is not None:
            if link.hints is None:
                link.hints = {}
            link.hints[id(node)] = place
        _put(self, place, node)
        return node

    def __iter__(self) -> Iterator[Any]:
        item: Any = self.__draft_kind__.item
        if not item.lazy:
            return list.__iter__(self)
        if self.__draft_live__:
            link = self.__draft_link__.recording.link(self)
            drafts: Iterator[Any] = item.iterate(self, link)
            return drafts
        return self._iterate_views(item.view)

    def _iterate_views(self, view: Callable[[Any, None], Element]) -> Iterator[Any]:
        for place, item in enumerate(list.__iter__(self)):
            if type(item) is dict or type(item) is list:
                item = view(item, None)
                _put(self, place, item)
            yield item

    def __reversed__(self) -> Iterator[Any]:
        for place in range(len(self) - 1, -1, -1):
            if place < len(self):
                yield self[place]

    def __contains__(self, value: object) -> bool:
        self._open_all()
        return list.__contains__(self, value)

    def index(self, value: Any, *bounds: Any) -> int:
        self._open_all()
        return list.index(self, value, *bounds)

    def count(self, value: Any) -> int:
        self._open_all()
        return list.count(self, value)

    def _compare(self, name: str, other: object) -> Any:
        self._open_all()
        if isinstance(other, ListNode):
            other._open_all()
        return getattr(list, name)(self, other)

    def __eq__(self, other: object) -> Any:
        return self._compare("__eq__", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("__ne__", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("__lt__", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("__le__", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("__gt__", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("__ge__", other)

    __hash__ = None

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> list[Any]:
        return [*self] * count

    __rmul__ = __mul__

    def copy(self) -> list[Any]:
        """Return a plain list of the same items."""
        return [*self]

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return [detached(item) for item in self]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (self.__deepcopy__({}),)

    def __repr__(self) -> str:
        self._open_all()
        return list.__repr__(self)


class ListDraft(ListNode):
    """Writing: each write is checked, then noted."""

    __slots__ = ()

    __draft_live__ = True

    def _accept(self, value: Any, place: int) -> Element:
        return self.__draft_kind__.accept(self, place, value)

    def _accept_all(self, values: Iterable[Any], place: int) -> list[Element]:
        return [self._accept(value, place + number) for number, value in enumerate(values)]

    def _adopt(self, elements: Iterable[Element]) -> None:
        for element in elements:
            if is_node(element):
                self.__draft_link__.recording.adopt(element, self)

    def _shift(self, prefix: int, suffix: int, more: int = 0) -> None:
        """Note that all but the first `prefix` and the last `suffix` items may shift.

        `more` is by how many items the list is about to grow.
        """
        log = self.__draft_link__.recording.mark(self)
        if log.prefix is None:
            log.length = len(self if self.__draft_base__ is None else self.__draft_base__)
            log.prefix, log.suffix = prefix, suffix
            if log.keys:
                # What was assigned belongs to the part that is compared item by item.
                log.prefix = min(prefix, *log.keys)
                log.suffix = min(suffix, len(self) - 1 - max(log.keys))
                log.keys.clear()
        else:
            log.prefix, log.suffix = min(log.prefix, prefix), min(log.suffix, suffix)
        log.length += more

    def _place(self, index: SupportsIndex) -> int:
        place = index.__index__()
        if place < 0:
            place += len(self)
        if not 0 <= place < len(self):
            raise IndexError("list index out of range")
        return place

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is slice:
            self._set_slice(index, value)
            return
        place = self._place(index)
        element = self._accept(value, place)
        log = self.__draft_link__.recording.mark(self)
        if log.prefix is None:
            log.keys[place] = None
        else:
            log.prefix = min(log.prefix, place)
            log.suffix = min(log.suffix, len(self) - 1 - place)
        _put(self, place, element)
        self._adopt((element,))

    def _set_slice(self, index: slice, values: Iterable[Any]) -> None:
        start, stop, step = index.indices(len(self))
        elements = self._accept_all(list(values), start)
        if step == 1:
            stop = max(start, stop)
            self._shift(start, len(self) - stop, len(elements) - (stop - start))
            _put(self, slice(start, stop), elements)
        else:
            if len(elements) != len(range(start, stop, step)):
                # list has the right words for it, and changes nothing.
                _put([*self], index, elements)
            self._shift(0, 0)
            _put(self, index, elements)
        self._adopt(elements)

    def __delitem__(self, index: Any) -> None:
        if type(index) is slice:
            start, stop, step = index.indices(len(self))
            fewer = len(range(start, stop, step))
            if step == 1:
                self._shift(start, len(self) - stop, -fewer)
            else:
                self._shift(0, 0, -fewer)
            list.__delitem__(self, index)
            return
        place = self._place(index)
        self._shift(place, len(self) - 1 - place, -1)
        list.__delitem__(self, place)

    def append(self, value: Any) -> None:
        self.insert(len(self), value)

    def insert(self, index: SupportsIndex, value: Any) -> None:
        place = index.__index__()
        place = max(0, place + len(self)) if place < 0 else min(place, len(self))
        element = self._accept(value, place)
        self._shift(place, len(self) - place, 1)
        list.insert(self, place, element)
        self._adopt((element,))

    def extend(self, values: Iterable[Any]) -> None:
        elements = self._accept_all(list(values), len(self))
        if elements:
            self._shift(len(self), 0, len(elements))
            list.extend(self, elements)
            self._adopt(elements)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]  # `+` takes lists only
        self.extend(values)
        return self

    def __imul__(self, count: SupportsIndex) -> Any:
        if count.__index__() <= 0:
            self.clear()
        else:
            self.extend([*self] * (count.__index__() - 1))
        return self

    def pop(self, index: SupportsIndex = -1) -> Any:
        if not self:
            raise IndexError("pop from empty list")
        place = index.__index__()
        place = place + len(self) if place < 0 else place
        if not 0 <= place < len(self):
            raise IndexError("pop index out of range")
        item = self[place]
        del self[place]
        return item

    def remove(self, value: Any) -> None:
        del self[self.index(value)]

    def clear(self) -> None:
        del self[:]

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        self._open_all()
        self._shift(0, 0)
        list.sort(self, key=key, reverse=reverse)

    def reverse(self) -> None:
        self._shift(0, 0)
        list.reverse(self)


def _as_is(item: Element, link: Link | None) -> Element:
    return item


_LIST_WRITES = [
    "__setitem__",
    "__delitem__",
    "__iadd__",
    "__imul__",
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "sort",
]

ListView = stand_in(ListNode, _LIST_WRITES, closed=False)
ListClosed = stand_in(ListNode, _LIST_WRITES, closed=True)
