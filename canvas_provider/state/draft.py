"""Drafts and views of JSON objects and arrays: dicts and lists that open their items on demand.

A node *is* a `dict` or `list` and holds what it seems to hold, so that C code (`json.dumps`,
`len`, a comparison) sees the truth. Containers in it stay those of the document until somebody
asks for one; then a node of their own takes their place. So nothing of a document is ever handed
out bare.

What a node may do is its class: a draft becomes a view when its change is committed, and closed
when it is rolled back. Reading and writing need no flag for that. Here is what the classes have
in common; `objects` and `arrays` hold the rest.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from canvas_provider.errors import DraftClosed
from canvas_provider.state.node import is_node

__all__ = ["detached", "refuse_use", "refuse_write", "specialise", "stand_in"]


def refuse_write(node: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Stand in for what would write to a view."""
    raise DraftClosed("this is a view of a past change: write within `change()` or `update()`")


def refuse_use(node: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Stand in for everything that a draft could do before its change was rolled back."""
    raise DraftClosed("this draft's change was rolled back")


def _closed_repr(node: Any) -> str:
    return "<draft of a change that was rolled back>"


def detached(value: Any) -> Any:
    """Return `value` as something of its own: what a deep copy of a draft holds."""
    if not is_node(value):
        return value
    return type(value).__deepcopy__(value, {})  # type: ignore[attr-defined]


_READS = [
    "__contains__",
    "__getitem__",
    "__iter__",
    "__len__",
    "__reversed__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__radd__",
    "__mul__",
    "__rmul__",
    "__or__",
    "__ror__",
    "__copy__",
    "__deepcopy__",
    "__reduce_ex__",
    "copy",
    "count",
    "fromkeys",
    "get",
    "index",
    "items",
    "keys",
    "values",
]


def stand_in(node: Any, writes: Iterable[str], *, closed: bool) -> Any:
    """Return the class that a kind of node has after its change: its views, or closed drafts."""
    names = [*writes, *_READS] if closed else writes
    refuse: Callable[..., NoReturn] = refuse_use if closed else refuse_write
    attributes: dict[str, Any] = {name: refuse for name in names if hasattr(node, name)}
    if closed:
        attributes |= {"__draft_live__": None, "__repr__": _closed_repr}
    return type(node.__name__, (node,), {"__slots__": (), **attributes})


def specialise(draft: Any, view: Any, closed: Any, attributes: dict[str, Any]) -> Any:
    """Return the three classes of the nodes of one shape, which know each other."""
    classes: Any = tuple(
        type(base.__name__, (base,), {"__slots__": (), **attributes})
        for base in (draft, view, closed)
    )
    for cls in classes:
        cls.__draft_view__, cls.__draft_closed__ = classes[1:]
    return classes
