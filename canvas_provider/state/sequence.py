"""How one list became another: which items stayed, moved, came and went.

Pure arithmetic over tokens; what an item is, and what it costs to write, is the caller's matter.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import NamedTuple

__all__ = ["Step", "longest_increasing", "match", "pair_gaps", "stay_put", "steps"]


class Step(NamedTuple):
    """One edit; indices are those of the list at the time the step is taken."""

    kind: str
    """`remove`, `move` or `add`."""
    place: int
    """Where the item is afterwards; for `remove`, where it was."""
    source: int
    """`remove`: its old index in the whole; `move`: where it is now; `add`: its new index."""


def match(
    old: Sequence[Hashable], new: Sequence[Hashable], kept: list[int], used: set[int]
) -> None:
    """Give each item of `new` the first free old item of the same token.

    `kept[j]` becomes the old index, and joins `used`. `None` as a token never matches: it stands
    for items that have a partner, too.
    """
    free: dict[Hashable, list[int]] = {}
    for index in range(len(old) - 1, -1, -1):
        if old[index] is not None:
            free.setdefault(old[index], []).append(index)
    for index, token in enumerate(new):
        if candidates := free.get(token):
            kept[index] = candidates.pop()
            used.add(kept[index])


def longest_increasing(values: Sequence[int]) -> set[int]:
    """Return the members of one longest increasing subsequence of old indices."""
    tails: list[int] = []
    before: dict[int, int] = {}
    for value in values:
        place = bisect_left(tails, value)
        before[value] = tails[place - 1] if place else -1
        tails[place : place + 1] = [value]
    chain = set()
    value = tails[-1] if tails else -1
    while value >= 0:
        chain.add(value)
        value = before[value]
    return chain


def stay_put(kept: Sequence[int]) -> set[int]:
    """Return the old items that need not move: as many as can be, in the order of `kept`."""
    values = [value for value in kept if value >= 0]
    ordered = sorted(values)
    if values == ordered:
        return set(values)
    # One item that moved is the common case, and found without arithmetic on all the others.
    first = next(i for i, value in enumerate(values) if value != ordered[i])
    last = next(i for i in range(len(values) - 1, -1, -1) if values[i] != ordered[i])
    if values[first + 1 : last + 1] == ordered[first:last]:
        return {*values} - {values[first]}
    if values[first:last] == ordered[first + 1 : last + 1]:
        return {*values} - {values[last]}
    return longest_increasing(values)


def pair_gaps(
    kept: list[int], anchors: set[int], old_free: Sequence[int], new_free: Sequence[int]
) -> list[tuple[int, int]]:
    """Pair old and new items that have no partner and lie between the same two anchors.

    Such a pair is one item that was replaced. Returns (new index, old index).
    """
    if not old_free or not new_free:
        # Nearly always: it saves sorting, and walking through all items.
        return []
    ordered = sorted(anchors)
    by_gap: dict[int, list[int]] = {}
    for index in reversed(old_free):
        by_gap.setdefault(bisect_left(ordered, index), []).append(index)
    pairs = []
    wanted = iter(new_free)
    target = next(wanted, None)
    gap = 0
    for index, partner in enumerate(kept):
        if index == target:
            if candidates := by_gap.get(gap):
                pairs.append((index, candidates.pop()))
            target = next(wanted, None)
        elif partner in anchors:
            gap += 1
    return pairs


def steps(old_length: int, kept: Sequence[int], anchors: set[int]) -> list[Step]:
    """List the edits: removals from the end, then moves and additions from the start.

    `anchors` are the old indices that stay where they are, in increasing order in `kept`; every
    other kept item is moved once.
    """
    survivors = {index for index in kept if index >= 0}
    edits = [
        Step("remove", index, index)
        for index in range(old_length - 1, -1, -1)
        if index not in survivors
    ]
    if len(anchors) == len(survivors):
        # Nothing moves, so nothing has to be searched for in what is there at the time.
        edits.extend(Step("add", j, j) for j, partner in enumerate(kept) if partner < 0)
        return edits
    # Old items are known by their old index, new ones by the complement of their new index.
    current = [index for index in range(old_length) if index in survivors]
    previous: int | None = None
    for j, partner in enumerate(kept):
        name = partner if partner >= 0 else ~j
        if partner not in anchors:
            if partner >= 0:
                source = current.index(partner)
                del current[source]
            target = 0 if previous is None else current.index(previous) + 1
            current.insert(target, name)
            if partner < 0:
                edits.append(Step("add", target, j))
            elif target != source:
                edits.append(Step("move", target, source))
        previous = name
    return edits
