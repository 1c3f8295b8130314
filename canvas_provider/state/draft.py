"""Drafts and views of JSON objects and arrays: dicts and lists that open their items on demand.

A node *is* a `dict` or `list` and holds what it seems to hold, so that C code (`json.dumps`,
`len`, a comparison) sees the truth. Containers in it stay those of the document until somebody
asks for one; then a node of their own takes their place. So nothing of a document is ever handed
out bare.

What a node may do is its class: a draft becomes a view when its change is committed, and closed
when it is rolled back. Reading and writing need no flag for that.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, SupportsIndex

from canvas_provider.errors import DraftClosed
from canvas_provider.state.recording import Element, Link, Log, is_node, plain
from canvas_provider.types import MISSING

__all__ = [
    "DictClosed",
    "DictDraft",
    "DictNode",
    "DictView",
    "ListClosed",
    "ListDraft",
    "ListNode",
    "ListView",
    "new_dict",
    "new_list",
    "refuse_use",
    "refuse_write",
    "specialise",
]

new_dict = dict.__new__
new_list = list.__new__
"""Make an empty node of a class; only shapes do."""

_dict_get = dict.__getitem__
_dict_put = dict.__setitem__
_list_get = list.__getitem__
_list_put = list.__setitem__


def refuse_write(node: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Stand in for what would write to a view."""
    raise DraftClosed("this is a view of a past change: write within `change()` or `update()`")


def refuse_use(node: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Stand in for everything that a draft could do before its change was rolled back."""
    raise DraftClosed("this draft's change was rolled back")


def _closed_repr(node: Any) -> str:
    return "<draft of a change that was rolled back>"


class DictNode(dict[str, Any]):
    """Reading, for drafts and views alike."""

    __slots__ = ("__draft_base__", "__draft_link__")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # `type(draft)(...)`, as in `dataclasses.asdict`: nodes come from shapes only.
        return dict(*args, **kwargs)

    __draft_live__ = False

    def _open(self, key: str, raw: Element) -> Element:
        kind = self.__draft_kind__  # type: ignore[attr-defined]  # generated classes have it
        shape = kind.fields.get(key, kind.item)
        if not shape.lazy:
            return raw
        if self.__draft_live__:
            link = self.__draft_link__.recording.link(self)
            node = shape.draft(raw, link)
            if link.hints is None:
                link.hints = {}
            link.hints[id(node)] = key
        else:
            node = shape.view(raw, None)
        _dict_put(self, key, node)
        return node

    def _open_all(self) -> None:
        for key, item in list(dict.items(self)):
            if type(item) is dict or type(item) is list:
                self._open(key, item)

    def __getitem__(self, key: str) -> Any:
        item = _dict_get(self, key)
        return self._open(key, item) if type(item) is dict or type(item) is list else item

    def get(self, key: str, default: Any = None) -> Any:
        item = dict.get(self, key, default)
        if (type(item) is dict or type(item) is list) and item is not default:
            return self._open(key, item)
        return item

    def __iter__(self) -> Iterator[str]:
        # Being there at all, it keeps `dict(draft)` and `{**draft}` from copying bare containers.
        return dict.__iter__(self)

    def values(self) -> Any:
        self._open_all()
        return dict.values(self)

    def items(self) -> Any:
        self._open_all()
        return dict.items(self)

    def __eq__(self, other: object) -> bool:
        self._open_all()
        return dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> Any:
        return {**self, **other} if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return {**other, **self} if isinstance(other, dict) else NotImplemented

    def copy(self) -> dict[str, Any]:
        """Return a plain dict of the same items."""
        return dict(self.items())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return {key: _detached(item) for key, item in self.items()}

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return dict, (self.__deepcopy__({}),)

    def __repr__(self) -> str:
        self._open_all()
        return dict.__repr__(self)


class DictDraft(DictNode):
    """Writing: each write is checked, then noted."""

    __slots__ = ()

    __draft_live__ = True

    def _note(self, key: str) -> Log:
        log = self.__draft_link__.recording.mark(self)
        log.keys[key] = None
        return log

    def __setitem__(self, key: str, value: Any) -> None:
        kind = self.__draft_kind__  # type: ignore[attr-defined]
        element = kind.accept(self, key, value)
        self._note(key)
        _dict_put(self, key, element)
        if is_node(element):
            self.__draft_link__.recording.adopt(element, self)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self.__draft_kind__.release(key)  # type: ignore[attr-defined]
        self._note(key)
        dict.__delitem__(self, key)

    def pop(self, key: str, default: Any = MISSING) -> Any:  # type: ignore[override]
        if key not in self:
            if default is MISSING:
                raise KeyError(key)
            return default
        item = self[key]
        del self[key]
        return item

    def popitem(self) -> tuple[str, Any]:
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **more: Any) -> None:
        pairs = other.items() if hasattr(other, "items") else other
        for key, value in [*pairs, *more.items()]:
            self[key] = value

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def clear(self) -> None:
        for key in list(self):
            del self[key]


class ListNode(list[Any]):
    """Reading, for drafts and views alike."""

    __slots__ = ("__draft_base__", "__draft_link__")

    def __new__(cls, items: Iterable[Any] = ()) -> Any:
        # As for `DictNode`.
        return list(items)

    __draft_live__ = False

    def _opener(self) -> Callable[[Any, Any], Element]:
        item = self.__draft_kind__.item  # type: ignore[attr-defined]  # generated classes have it
        if not item.lazy:
            return _as_is
        return item.draft if self.__draft_live__ else item.view  # type: ignore[no-any-return]

    def _link(self) -> Link | None:
        return self.__draft_link__.recording.link(self) if self.__draft_live__ else None

    def _open_all(self) -> None:
        for _ in self:
            pass

    def __getitem__(self, index: Any) -> Any:
        item = _list_get(self, index)
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
        _list_put(self, place, node)
        return node

    def __iter__(self) -> Iterator[Any]:
        open_item, link = self._opener(), self._link()
        for place, item in enumerate(list.__iter__(self)):
            if type(item) is dict or type(item) is list:
                item = open_item(item, link)
                _list_put(self, place, item)
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

    __hash__ = None  # type: ignore[assignment]

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
        return [_detached(item) for item in self]

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
        return self.__draft_kind__.accept(self, place, value)  # type: ignore[attr-defined]

    def _accept_all(self, values: Iterable[Any], place: int) -> list[Element]:
        return [self._accept(value, place + number) for number, value in enumerate(values)]

    def _adopt(self, elements: Iterable[Element]) -> None:
        for element in elements:
            if is_node(element):
                self.__draft_link__.recording.adopt(element, self)

    def _shift(self, prefix: int, suffix: int) -> None:
        """Note that all but the first `prefix` and the last `suffix` items may shift."""
        log = self.__draft_link__.recording.mark(self)
        if log.prefix is None:
            log.prefix, log.suffix = prefix, suffix
            if log.keys:
                # What was assigned belongs to the part that is compared item by item.
                log.prefix = min(prefix, *log.keys)
                log.suffix = min(suffix, len(self) - 1 - max(log.keys))
                log.keys.clear()
        else:
            log.prefix, log.suffix = min(log.prefix, prefix), min(log.suffix, suffix)

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
        _list_put(self, place, element)
        self._adopt((element,))

    def _set_slice(self, index: slice, values: Iterable[Any]) -> None:
        start, stop, step = index.indices(len(self))
        elements = self._accept_all(list(values), start)
        if step == 1:
            stop = max(start, stop)
            self._shift(start, len(self) - stop)
            _list_put(self, slice(start, stop), elements)
        else:
            if len(elements) != len(range(start, stop, step)):
                # list has the right words for it, and changes nothing.
                _list_put([*self], index, elements)
            self._shift(0, 0)
            _list_put(self, index, elements)
        self._adopt(elements)

    def __delitem__(self, index: Any) -> None:
        if type(index) is slice:
            start, stop, step = index.indices(len(self))
            if step == 1:
                self._shift(start, len(self) - max(start, stop))
            else:
                self._shift(0, 0)
            list.__delitem__(self, index)
            return
        place = self._place(index)
        self._shift(place, len(self) - 1 - place)
        list.__delitem__(self, place)

    def append(self, value: Any) -> None:
        self.insert(len(self), value)

    def insert(self, index: SupportsIndex, value: Any) -> None:
        place = index.__index__()
        place = max(0, place + len(self)) if place < 0 else min(place, len(self))
        element = self._accept(value, place)
        self._shift(place, len(self) - place)
        list.insert(self, place, element)
        self._adopt((element,))

    def extend(self, values: Iterable[Any]) -> None:
        elements = self._accept_all(list(values), len(self))
        if elements:
            self._shift(len(self), 0)
            list.extend(self, elements)
            self._adopt(elements)

    def __iadd__(self, values: Iterable[Any]) -> Any:
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


def _detached(value: Any) -> Any:
    """Return `value` as something of its own: what a deep copy of a draft holds."""
    if not is_node(value):
        return value
    return type(value).__deepcopy__(value, {})  # type: ignore[attr-defined]


_DICT_WRITES = "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update".split()
_LIST_WRITES = (
    "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort"
).split()
_UNUSED_WHEN_CLOSED = (
    "__contains__ __getitem__ __iter__ __len__ __reversed__ __eq__ __ne__ __lt__ __le__ __gt__"
    " __ge__ __add__ __radd__ __mul__ __rmul__ __or__ __ror__ __copy__ __deepcopy__ __reduce_ex__"
    " copy count fromkeys get index items keys values"
).split()


def _refusing(base: type, names: Iterable[str], refuse: Callable[..., NoReturn]) -> dict[str, Any]:
    return {"__slots__": (), **{name: refuse for name in names if hasattr(base, name)}}


DictView = type("DictView", (DictNode,), _refusing(dict, _DICT_WRITES, refuse_write))
ListView = type("ListView", (ListNode,), _refusing(list, _LIST_WRITES, refuse_write))
_closed: dict[str, Any] = {"__repr__": _closed_repr}
_closed["__draft_live__"] = None
DictClosed = type(
    "DictClosed",
    (DictNode,),
    _refusing(DictNode, [*_DICT_WRITES, *_UNUSED_WHEN_CLOSED], refuse_use) | _closed,
)
ListClosed = type(
    "ListClosed",
    (ListNode,),
    _refusing(ListNode, [*_LIST_WRITES, *_UNUSED_WHEN_CLOSED], refuse_use) | _closed,
)


def specialise(
    draft: type, view: type, closed: type, attributes: dict[str, Any]
) -> tuple[type, type, type]:
    """Return the three classes of the nodes of one shape, which know each other."""
    classes = tuple(
        type(base.__name__, (base,), {"__slots__": (), **attributes})
        for base in (draft, view, closed)
    )
    for cls in classes:
        cls.__draft_view__, cls.__draft_closed__ = classes[1:]  # type: ignore[attr-defined]
    return classes  # type: ignore[return-value]
