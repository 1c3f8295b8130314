"""Nodes that are dicts."""

from collections.abc import Iterator
from typing import Any, Final, SupportsIndex

from canvas_provider.state.draft import detached, stand_in
from canvas_provider.state.node import Element, is_node
from canvas_provider.types import MISSING

__all__ = ["DictClosed", "DictDraft", "DictNode", "DictView", "new_dict"]

new_dict: Final[Any] = dict.__new__
"""Make an empty node of a class; only shapes do."""

_get = dict.__getitem__
_put = dict.__setitem__


class DictNode(dict[str, Any]):
    """Reading, for drafts and views alike."""

    __slots__ = ("__draft_base__", "__draft_link__")

    __draft_kind__: Any
    __draft_link__: Any
    __draft_base__: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # `type(draft)(...)`, as in `dataclasses.asdict`: nodes come from shapes only.
        return dict(*args, **kwargs)

    __draft_live__ = False

    def _open(self, key: str, raw: Element) -> Element:
        kind = self.__draft_kind__
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
        _put(self, key, node)
        return node

    def _open_all(self) -> None:
        for key, item in list(dict.items(self)):
            if type(item) is dict or type(item) is list:
                self._open(key, item)

    def __getitem__(self, key: str) -> Any:
        item = _get(self, key)
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

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return {**self, **other} if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return {**other, **self} if isinstance(other, dict) else NotImplemented

    def copy(self) -> dict[str, Any]:
        """Return a plain dict of the same items."""
        return dict(self.items())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return {key: detached(item) for key, item in self.items()}

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return dict, (self.__deepcopy__({}),)

    def __repr__(self) -> str:
        self._open_all()
        return dict.__repr__(self)


class DictDraft(DictNode):
    """Writing: each write is checked, then noted."""

    __slots__ = ()

    __draft_live__ = True

    def _note(self, key: str) -> None:
        self.__draft_link__.recording.mark(self).keys[key] = None

    def __setitem__(self, key: str, value: Any) -> None:
        kind = self.__draft_kind__
        element = kind.accept(self, key, value)
        self._note(key)
        _put(self, key, element)
        if is_node(element):
            self.__draft_link__.recording.adopt(element, self)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self.__draft_kind__.release(key)
        self._note(key)
        dict.__delitem__(self, key)

    def pop(self, key: str, default: Any = MISSING) -> Any:
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


_DICT_WRITES = [
    "__setitem__",
    "__delitem__",
    "__ior__",
    "clear",
    "pop",
    "popitem",
    "setdefault",
    "update",
]

DictView = stand_in(DictNode, _DICT_WRITES, closed=False)
DictClosed = stand_in(DictNode, _DICT_WRITES, closed=True)
