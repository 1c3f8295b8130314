"""How the attributes of a model's nodes are read and written, whichever way one takes.

The items of a node live in what Python calls its `__dict__`, and that may be the document's own
object, so it goes by another name here, `__draft_dict__`. Each field has a descriptor: so a write
past the class, `object.__setattr__(card, "title", "...")`, is a write like any other. And `vars`
gives a copy whose writes are writes to the node.
"""

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from canvas_provider.state.node import Element, is_node
from canvas_provider.state.typed import is_frozen
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.model import Field

__all__ = ["Attributes", "HeldField", "OpenField", "own_storage"]

_set = object.__setattr__


def own_storage(node: Any) -> dict[str, Element]:
    """Return the items of a node for writing: no longer the document's own."""
    held: dict[str, Element] = node.__draft_dict__
    if held is node.__draft_base__:
        held = held.copy()
        _set(node, "__draft_dict__", held)
    return held


class OpenField:
    """Reads a field that is opened or decoded, and writes it like any other."""

    def __init__(self, field: "Field") -> None:
        self._name = field.name
        self._shape = field.shape
        self._default = field.default

    def __get__(self, node: Any, owner: type | None = None) -> Any:
        if node is None:
            raise AttributeError(self._name)
        try:
            element = node.__draft_dict__[self._name]
        except KeyError:
            if self._default is None:
                raise AttributeError(self._name) from None
            return self._default()
        if is_node(element):
            return element
        if type(element) is dict or type(element) is list or not self._shape.lazy:
            return self._open(node, element)
        return element

    def _open(self, node: Any, raw: JSONValue) -> Any:
        if not node.__draft_live__:
            value = self._shape.view(raw, None)
        else:
            link = node.__draft_link__.recording.link(node)
            if link.cells is not None and self._name in link.cells:
                return link.cells[self._name]
            value = self._shape.draft(raw, link)
        if is_node(value):
            own_storage(node)[self._name] = value
        elif node.__draft_live__:
            link.cells = {**(link.cells or {}), self._name: value}
            if not is_frozen(value):
                link.recording.cells.append((node, self._name))
        return value

    def __set__(self, node: Any, value: Any) -> None:
        setattr(node, self._name, value)

    def __delete__(self, node: Any) -> None:
        delattr(node, self._name)


class HeldField:
    """Writes a field that is held as it is. Having no `__get__`, it is not asked for reading."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __set__(self, node: Any, value: Any) -> None:
        setattr(node, self._name, value)

    def __delete__(self, node: Any) -> None:
        delattr(node, self._name)


class Attributes(dict[str, Any]):
    """What `vars(node)` gives: the attributes as they are now; writing writes to the node."""

    __slots__ = ("_node",)

    def __init__(self, node: Any) -> None:
        kind, held = node.__draft_kind__, node.__draft_dict__
        if node.__draft_live__ is not None:
            dict.update(self, {name: getattr(node, name) for name in held if kind.has(name)})
            dict.update(self, {name: held[name] for name in held if not kind.has(name)})
        self._node = node

    def __setitem__(self, name: str, value: Any) -> None:
        if self._node.__draft_kind__.has(name):
            setattr(self._node, name, value)
        else:
            # What is no part of the document, such as the memory of a cached property.
            own_storage(self._node)[name] = value
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        if self._node.__draft_kind__.has(name):
            delattr(self._node, name)
        else:
            del own_storage(self._node)[name]
        dict.__delitem__(self, name)

    update: Any = MutableMapping.update
    setdefault: Any = MutableMapping.setdefault
    pop: Any = MutableMapping.pop
    popitem: Any = MutableMapping.popitem
    clear: Any = MutableMapping.clear

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]  # as `update` does it
        self.update(other)
        return self
