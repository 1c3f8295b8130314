"""The operations between two JSON documents, as few and as readable as they come.

Containers that are one and the same object are equal without a look. Items of a list are
recognised by identity, then by content, then by their `id`; what left one place and turned up in
another is one `move` where the order of the operations allows it.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Literal, NotRequired, Required, TypedDict

from canvas_provider.state import sequence
from canvas_provider.state.json import equal, escape
from canvas_provider.types import JSONValue

__all__ = ["Difference", "Operation"]

Operation = TypedDict(
    "Operation",
    {
        "op": Required[Literal["add", "remove", "replace", "move", "copy", "test"]],
        "path": Required[str],
        "from": NotRequired[str],
        "value": NotRequired[JSONValue],
    },
)
"""One step of a patch (RFC 6902 section 4). Paths are JSON Pointers."""

MANY_STEPS: Final = 8
"""Up to so many edits, a list is never rewritten: a reader sees what happened."""

TOO_MANY_STEPS: Final = 1000
"""From so many edits on, a list is rewritten: finding their places takes quadratic time."""

_CONTAINERS: Final = frozenset({dict, list})

Inner = Callable[["Difference", str], None]
"""Adds, at a path, what changed within a value since it was in its old place."""


class Difference:
    """Collects operations in the order in which they apply."""

    def __init__(self, is_moved: Callable[[JSONValue], bool] = lambda value: False) -> None:
        self.operations: list[Operation] = []
        """What was found so far."""
        # What left its place, and what came from such a place, by the identity of the value.
        self._left: dict[int, int] = {}
        self._came: dict[int, tuple[int, Inner | None]] = {}
        self._is_moved = is_moved
        """Whether an old value is known to live on elsewhere: it is not "replaced" then."""

    def result(self) -> list[Operation]:
        """Hand over the operations, with moves recognised. Call it once, at the end."""
        if self._left and self._came:
            return _Moves(self.operations, self._left, self._came).merged()
        return self.operations

    def add(
        self, path: str, value: JSONValue, origin: JSONValue = None, inner: Inner | None = None
    ) -> None:
        """Add `value`; `origin` is the old value that it is, or was before `inner` changed it."""
        if isinstance(origin, (dict, list)):
            self._came[id(origin)] = (len(self.operations), inner)
        self.operations.append({"op": "add", "path": path, "value": value})

    def remove(self, path: str, old: JSONValue) -> None:
        if isinstance(old, (dict, list)):
            self._left[id(old)] = len(self.operations)
        self.operations.append({"op": "remove", "path": path})

    def replace(self, path: str, value: JSONValue) -> None:
        self.operations.append({"op": "replace", "path": path, "value": value})

    def compare(self, old: JSONValue, new: JSONValue, path: str) -> None:
        """Add what turns `old` into `new`."""
        if old is new:
            return
        if isinstance(old, dict) and isinstance(new, dict):
            self._compare_objects(old, new, path)
        elif isinstance(old, list) and isinstance(new, list):
            self.compare_items(old, new, path)
        elif not equal(old, new):
            self.replace(path, new)

    def _compare_objects(
        self, old: dict[str, JSONValue], new: dict[str, JSONValue], path: str
    ) -> None:
        if "id" in old and "id" in new and not equal(old["id"], new["id"]):
            # Another thing, not the same thing changed.
            self.replace(path, new)
            return
        start = len(self.operations)
        unchanged = 0
        for key, value in old.items():
            before = len(self.operations)
            if key in new:
                self.compare(value, new[key], f"{path}/{escape(key)}")
            else:
                self.remove(f"{path}/{escape(key)}", value)
            unchanged += before == len(self.operations)
        for key, value in new.items():
            if key not in old:
                self.add(f"{path}/{escape(key)}", value, value)
        if not unchanged:
            self._replace_instead(start, path, new)

    def _replace_instead(self, start: int, path: str, new: JSONValue) -> None:
        """Write the value at `path` as a whole if nothing of the old one is left in it."""
        since = self.operations[start:]
        direct = len(path) + 1
        if len(since) > 1 and all("/" not in operation["path"][direct:] for operation in since):
            self._forget(start)
            self.replace(path, new)

    def _forget(self, start: int) -> None:
        del self.operations[start:]
        self._left = {key: place for key, place in self._left.items() if place < start}
        self._came = {key: came for key, came in self._came.items() if came[0] < start}

    def compare_items(
        self,
        old: list[JSONValue],
        new: list[JSONValue],
        path: str,
        *,
        origins: Sequence[JSONValue] | None = None,
        inner: Callable[[int], Inner | None] = lambda index: None,
        offset: int = 0,
        whole: Callable[[], JSONValue] | None = None,
    ) -> bool:
        """Add what turns the items `old` into `new`, which begin at `offset` of the list `whole`.

        `origins` are the old values that the new items are, or were before `inner` changed them.
        Returns whether the whole list was rewritten, because that is shorter.
        """
        origins = new if origins is None else origins
        start = len(self.operations)
        kept = self._recognise(old, new, origins)
        recognised = any(i >= 0 for i in kept)
        anchors = sequence.stay_put(kept)
        survivors = set(kept)
        for j, i in sequence.pair_gaps(
            kept,
            anchors,
            [i for i in range(len(old)) if i not in survivors and not self._is_moved(old[i])],
            [j for j, i in enumerate(kept) if i < 0 and not self._is_moved(origins[j])],
        ):
            kept[j] = i
            anchors.add(i)
        edits = sequence.steps(len(old), kept, anchors)
        if len(edits) > MANY_STEPS:
            everything = new if whole is None else whole()
            if _is_longer(edits, new, everything):
                self.replace(path, everything)
                return True
        self._edit(edits, old, new, origins, inner, f"{path}/", offset)
        for j, i in enumerate(kept):
            if i >= 0 and old[i] is not new[j]:
                place = f"{path}/{offset + j}"
                within = inner(j) if origins[j] is old[i] else None
                if within is not None:
                    within(self, place)
                else:
                    self.compare(old[i], new[j], place)
        if not recognised and whole is None:
            self._replace_instead(start, path, new)
        return False

    def _edit(
        self,
        edits: list[sequence.Step],
        old: list[JSONValue],
        new: list[JSONValue],
        origins: Sequence[JSONValue],
        inner: Callable[[int], Inner | None],
        prefix: str,
        offset: int,
    ) -> None:
        for kind, target, source in edits:
            place = f"{prefix}{offset + target}"
            if kind == "remove":
                self.remove(place, old[source])
            elif kind == "add":
                self.add(place, new[source], origins[source], inner(source))
            else:
                origin = f"{prefix}{offset + source}"
                self.operations.append({"op": "move", "from": origin, "path": place})

    def _recognise(
        self, old: list[JSONValue], new: list[JSONValue], origins: Sequence[JSONValue]
    ) -> list[int]:
        """Find for each new item the old one that it is, or -1."""
        kept = _same_objects(old, origins)
        used = set(kept) if kept else set()
        kept = kept or [-1] * len(new)
        used.discard(-1)
        for token in (_identity, _content, _name):
            if len(used) == len(old) or min(kept, default=0) >= 0:
                break
            values = origins if token is _identity else new
            sequence.match(
                [None if i in used else token(item) for i, item in enumerate(old)],
                [None if kept[j] >= 0 else token(item) for j, item in enumerate(values)],
                kept,
                used,
            )
        return kept


def _same_objects(old: list[JSONValue], new: Sequence[JSONValue]) -> list[int]:
    """Find the containers of `new` in `old` by identity; nothing if there is more to it.

    What `sequence.match` does, at the speed of a `dict`: in a list that a change has shifted,
    nearly all items are the very same objects.
    """
    places = {id(item): index for index, item in enumerate(old) if type(item) in _CONTAINERS}
    if len(places) < len(old):
        return []
    found = [places.get(id(item), -1) for item in new]
    # The same object twice would need to be told apart.
    return found if len({*found}) == len(found) - max(0, found.count(-1) - 1) else []


def _is_longer(edits: list[sequence.Step], new: list[JSONValue], whole: JSONValue) -> bool:
    """Say whether so many edits are longer to write than the whole list."""
    if len(edits) > TOO_MANY_STEPS:
        return True
    # About 60 characters for each operation, and the text of what is added.
    cost = 60 * len(edits) + sum(
        len(json.dumps(new[edit.source])) for edit in edits if edit.kind == "add"
    )
    return cost > len(json.dumps(whole))


def _identity(value: JSONValue) -> Hashable:
    if isinstance(value, (dict, list)):
        # Of two that are equal, the one that stayed is known to have stayed.
        return id(value)
    return (isinstance(value, bool), value)


def _content(value: JSONValue) -> Hashable:
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else None


def _name(value: JSONValue) -> Hashable:
    """Tell what an item calls itself, if it has an `id`."""
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


class _Moves:
    """Makes one `move` of a removal and an addition of the same value."""

    def __init__(
        self,
        operations: list[Operation],
        left: dict[int, int],
        came: dict[int, tuple[int, Inner | None]],
    ) -> None:
        self.operations = operations
        self._pairs = [
            (left[token], place, inner) for token, (place, inner) in came.items() if token in left
        ]

    def merged(self) -> list[Operation]:
        dropped: set[int] = set()
        moves: dict[int, list[Operation]] = {}
        for removal, addition, inner in self._pairs:
            if not self._commutes(removal, addition):
                continue
            path = self.operations[addition]["path"]
            within = Difference()
            if inner is not None:
                inner(within, path)
            dropped.add(removal)
            moves[addition] = [
                {"op": "move", "from": self.operations[removal]["path"], "path": path},
                *within.result(),
            ]
        merged: list[Operation] = []
        for place, operation in enumerate(self.operations):
            if place in moves:
                merged += moves[place]
            elif place not in dropped:
                merged.append(operation)
        return merged

    def _commutes(self, removal: int, addition: int) -> bool:
        """Say whether the removal can be done right at the addition without another result.

        Two operations commute when neither shifts an index, or is itself, on the other's path.
        """
        source, target = self.operations[removal], self.operations[addition]
        if addition < removal and _interfere(source["path"], target["path"]):
            # The addition has shifted the place that the removal names.
            return False
        if target["path"].startswith(source["path"] + "/"):
            return False
        # A move among them stays within its list, so its `from` interferes with nothing else.
        between = self.operations[min(removal, addition) + 1 : max(removal, addition)]
        return not any(
            _interfere(operation["path"], end["path"])
            for operation in between
            for end in (source, target)
        )


def _interfere(one: str, other: str) -> bool:
    one_parent, other_parent = one.rpartition("/")[0], other.rpartition("/")[0]
    return f"{other}/".startswith(f"{one_parent}/") or f"{one}/".startswith(f"{other_parent}/")
