"""The quick ways to open JSON as the drafts and views of a model: one by one, and a list of them.

A search through a large list opens every item that it passes. So that is done by the run, and each
step of it for all items of the run at once, in C: that takes a third of the time.
"""

from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from canvas_provider.state.node import Element, Link

if TYPE_CHECKING:
    from canvas_provider.state.model import ModelShape

__all__ = ["openers", "walker"]

Openers = tuple[Callable[[Any, Link], Any], Callable[[Any, Link | None], Any]]

Walker = Callable[[Any, Link], Iterator[Any]]

_FIRST_RUN: Final = 8
"""So many items of a list are opened when the first is asked for; then ever more, up to a bound."""

_LONGEST_RUN: Final = 256


def openers(shape: "ModelShape", base: Any, draft: Any, view: Any) -> Openers:
    """Return the functions that open JSON as a draft and as a view."""
    set_base, set_dict, set_link = _setters(base)
    pick, count = _picker(shape), _count_direct(shape)
    private = _private_maker(shape.model)
    new = object.__new__

    def open_draft(raw: Any, link: Link) -> Any:
        node = new(draft)
        set_dict(node, raw if len(raw) == count else pick(raw))
        set_base(node, raw)
        set_link(node, link)
        link.note(node)
        if private is not None:
            private(node)
        return node

    def open_view(raw: Any, link: Link | None) -> Any:
        node = new(view)
        set_dict(node, raw if len(raw) == count else pick(raw))
        set_base(node, raw)
        if private is not None:
            private(node)
        return node

    return open_draft, open_view


def walker(shape: "ModelShape", base: Any, draft: Any) -> Walker:
    """Return the function that opens the items of a list draft as they are asked for."""
    set_base, set_dict, set_link = _setters(base)
    pick, count = _picker(shape), _count_direct(shape)
    private = _private_maker(shape.model)
    new = object.__new__

    def open_run(items: Any, place: int, size: int, link: Link) -> None:
        """Do what `open_draft` does, for up to `size` items of a list from `place` on."""
        raws = list.__getitem__(items, slice(place, place + size))
        if [*map(type, raws)].count(dict) < len(raws):
            # Some are open already, or no objects.
            raws = raws[:1]
        size = len(raws)
        nodes = [*map(new, repeat(draft, size))]
        fits = [*map(len, raws)].count(count) == size
        held = raws if fits else [raw if len(raw) == count else pick(raw) for raw in raws]
        _exhaust(map(set_dict, nodes, held))
        _exhaust(map(set_base, nodes, raws))
        _exhaust(map(set_link, nodes, repeat(link)))
        link.recording.nodes += nodes
        if private is not None:
            _exhaust(map(private, nodes))
        link.walk(items, place, nodes)

    def iterate(items: Any, link: Link) -> Iterator[Any]:
        size = _FIRST_RUN
        # The list itself tells what comes next: it may be written to meanwhile.
        for place, item in enumerate(list.__iter__(items)):
            if type(item) is dict:
                open_run(items, place, size, link)
                size = min(2 * size, _LONGEST_RUN)
                yield list.__getitem__(items, place)
            else:
                yield item

    return iterate


def _setters(base: Any) -> list[Callable[[Any, Any], None]]:
    names = ("__draft_base__", "__draft_dict__", "__draft_link__")
    return [base.__dict__[name].__set__ for name in names]


def _count_direct(shape: "ModelShape") -> int:
    """Return how many fields JSON has that serves as a node's `__dict__` itself; -1 if none does.

    The document's own object serves as long as it holds the fields and nothing else.
    """
    return len(shape.kind.stored) if _is_direct(shape) else -1


def _is_direct(shape: "ModelShape") -> bool:
    """Say whether JSON with just the fields can be the `__dict__` of a node as it is."""
    if shape.open_ended or any(name != key for name, key in shape.kind.stored.items()):
        return False
    # A cached property writes to `__dict__`.
    return not any(
        isinstance(value, cached_property)
        for cls in shape.model.__mro__
        for value in vars(cls).values()
    )


def _picker(shape: "ModelShape") -> Callable[[Any], dict[str, Element]]:
    """Return what makes a `__dict__` of JSON: the fields by name, and no keys beside them."""
    stored = shape.kind.stored
    if shape.open_ended:
        names = {key: name for name, key in stored.items()}
        return lambda raw: {names.get(key, key): item for key, item in raw.items()}
    return lambda raw: {name: raw[key] for name, key in stored.items() if key in raw}


def _private_maker(model: Any) -> Callable[[Any], None] | None:
    """Return what gives a node its private attributes, if the model has any."""
    attributes = getattr(model, "__private_attributes__", None)
    if not attributes:
        return None
    set_private = BaseModel.__dict__["__pydantic_private__"].__set__

    def give(node: Any) -> None:
        set_private(
            node,
            {
                name: attribute.default_factory()
                if attribute.default_factory is not None
                else deepcopy(attribute.default)
                for name, attribute in attributes.items()
                if attribute.default_factory is not None
                or attribute.default is not PydanticUndefined
            },
        )

    return give


def _exhaust(steps: Iterator[Any]) -> None:
    """Take all steps."""
    deque(steps, 0)
