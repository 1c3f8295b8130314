"""What was written to a list past its own methods, as C code does it: `heapq`, `list.sort(draft)`.

Nothing has noted such a write, so it would be lost, or worse. It is found at the commit, by who is
where: an item that nobody has put there must still be the one of the document, or its node.
"""

from bisect import bisect_left
from contextlib import suppress
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from canvas_provider.state.node import Element, is_node

if TYPE_CHECKING:
    from canvas_provider.state.node import Log
    from canvas_provider.state.recording import Recording

__all__ = ["is_intact"]


def is_intact(node: Any, log: "Log | None", recording: "Recording") -> bool:
    """Say whether the list `node`, which has a base, holds what was noted and what was there."""
    before: list[Any] = recording.decoded.get(id(node), node.__draft_base__)
    if log is None or log.prefix is None:
        return len(node) == len(before) and _stands_still(node, before, log, recording)
    tail = len(node) - log.suffix
    return len(node) == log.length and (
        _is_same(list.__getitem__(node, slice(log.prefix)), before[: log.prefix])
        and _is_same(list.__getitem__(node, slice(tail, None)), before[len(before) - log.suffix :])
    )


def _stands_still(node: Any, before: list[Any], log: "Log | None", recording: "Recording") -> bool:
    """Compare a list whose items have not shifted: in C, as long as few of them were opened."""
    link = recording.links.get(id(node))
    walked = None if link is None else link.walked
    expected = (before if walked is None else walked).copy()
    hints: Any = {} if link is None or link.hints is None else link.hints
    for child_id, place in hints.items():
        held = list.__getitem__(node, place)
        if id(held) == child_id and held.__draft_base__ is before[place]:
            expected[place] = held
    for place in () if log is None else log.keys:
        expected[place] = list.__getitem__(node, place)
    if walked is not None:
        # Nodes stand each for its own item, also where they are equal.
        if all(map(is_, list.__iter__(node), expected)):
            return True
    # Items that are the same object are never asked whether they are equal.
    elif list.__eq__(node, expected):
        return True
    return _is_same([*list.__iter__(node)], expected)


def _is_same(elements: list[Element], before: list[Any]) -> bool:
    """Compare items one by one; in C where none was opened, or all up to some place."""
    opened = bisect_left(elements, True, key=_is_closed)
    with suppress(AttributeError):  # as scalars have no base
        if all(map(is_, map(_base_of, elements[:opened]), before)) and (
            # Plain items: of those that are equal, nobody can tell one from another.
            elements[opened:] == before[opened:]
        ):
            return True
    return all(
        element is old or (is_node(element) and element.__draft_base__ is old)
        for element, old in zip(elements, before, strict=True)
    )


def _is_closed(element: Element) -> bool:
    return not is_node(element)


_base_of = attrgetter("__draft_base__")
