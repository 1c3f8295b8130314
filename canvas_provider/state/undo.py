"""Which revision an undo or redo takes back, and whether anything is in its way.

An undo applies a revision's inverse to the document as it is now, which is right only as long as
the places that it names are still the same places. So the changes since are held against it, as
edits: what was put, inserted or deleted, and where.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from canvas_provider.errors import NothingToUndo, RevisionConflict
from canvas_provider.state.document import Change
from canvas_provider.state.history import MAX_REVISIONS, MAX_SIZE, Revision
from canvas_provider.state.inverse import before_removal
from canvas_provider.state.patch import Operation, Patching, parse_pointer, resolve
from canvas_provider.types import Author, JSONValue

__all__ = ["change_back"]

_BOUNDS: Final = f"(it is kept for {MAX_REVISIONS} revisions, and {MAX_SIZE >> 20} MiB)"


def change_back(
    change: Change,
    revisions: Sequence[Revision],
    number: int | None,
    of: Author | None,
    *,
    redo: bool,
) -> None:
    """Write an undo into `change`: of the revision `number`, or of the first that may be undone.

    Args:
        revisions: what is known of the way to the document.
        of: whose revision it may be, where there is no number.
        redo: undo an undo.

    Raises:
        NothingToUndo: there is no such revision, or it is undone already, or forgotten.
        RevisionConflict: a later revision is in the way, and is named.
        InvalidState: the state would not be of its type.
    """
    for target in _candidates(change, revisions, number, of, redo=redo):
        _ensure_free(change.document.value, revisions, target)
        # What only filled in a field that the type has is filled in again.
        if change.patch(target.inverse):
            change.reverts = target.number
            change.is_redo = target.reverts is not None and not target.is_redo
            return
    if number is not None:
        raise NothingToUndo(f"To undo revision {number} would change nothing.")
    whose = "" if of is None else f" by the {of}"
    raise NothingToUndo(
        f"There is nothing{whose} to {'redo' if redo else 'undo'}{_before(change, revisions)}."
    )


def _candidates(
    change: Change,
    revisions: Sequence[Revision],
    number: int | None,
    of: Author | None,
    *,
    redo: bool,
) -> Iterator[Revision]:
    """Yield what may be taken back, the first choice first.

    With a `number` that revision, else the edits that stand, or the undos if this is to `redo`.

    Raises:
        NothingToUndo: the revision `number` is not known, or was undone.
    """
    undone = _undone(revisions)
    if number is not None:
        yield _find(change, revisions, number, undone)
        return
    for revision in reversed(revisions):
        is_edit = revision.reverts is None
        is_meant = not (is_edit or revision.is_redo) if redo else is_edit
        if is_meant and revision.number not in undone and of in (None, revision.author):
            yield revision


def _find(
    change: Change, revisions: Sequence[Revision], number: int, undone: dict[int, int]
) -> Revision:
    for revision in revisions:
        if revision.number == number:
            if number in undone:
                raise NothingToUndo(f"Revision {number} is undone already, by {undone[number]}.")
            return revision
    newest = change.document.revision
    if not 0 < number <= newest:
        raise NothingToUndo(
            f"There is no revision {number}: the newest is {newest}. Undo one from the history."
        )
    raise NothingToUndo(f"Revision {number} is not remembered any more {_BOUNDS}.")


def _before(change: Change, revisions: Sequence[Revision]) -> str:
    """Say what is not known, for there may have been something to undo."""
    if revisions:
        oldest = revisions[0].number
        return "" if oldest == 1 else f": what came before revision {oldest} is forgotten {_BOUNDS}"
    newest = change.document.revision
    return f": what led to revision {newest} is forgotten {_BOUNDS}" if newest else ""


def _undone(revisions: Sequence[Revision]) -> dict[int, int]:
    """Return the revisions that do not stand, each with the one that undid it."""
    undone: dict[int, int] = {}
    for revision in reversed(revisions):
        if revision.reverts is not None and revision.number not in undone:
            undone[revision.reverts] = revision.number
    return undone


def _pairs(revisions: Sequence[Revision]) -> dict[int, int]:
    """Return the undos that stand, each with what it undid."""
    return {number: reverts for reverts, number in _undone(revisions).items()}


def _ensure_free(document: JSONValue, revisions: Sequence[Revision], target: Revision) -> None:
    """Make sure that the inverse of `target` fits `document`, where `revisions` led.

    Raises:
        RevisionConflict: something that it touches, or the shape of a list on the way there, has
            changed since. It names the revision.
    """
    later = _folded([revision for revision in revisions if revision.number > target.number])
    patching = Patching(document)
    for revision in reversed(later):
        for operation in revision.inverse:
            patching.step(operation)
    mine = _edits(patching.document, target.inverse)
    for revision, edits in _standing(patching.document, later):
        for edit in edits:
            if _pass(edit, mine) is None:
                raise RevisionConflict(
                    target.number, revision.number, _in_the_way(target, revision)
                )


def _folded(later: Sequence[Revision]) -> list[Revision]:
    """Leave out each revision that the next one of those that are left has undone, and that one.

    Undos come right after one another, most often. Then nothing is left to be looked at, so that
    the last of a hundred takes no longer than the first.
    """
    pairs = _pairs(later)
    folded: list[Revision] = []
    for revision in later:
        last = folded[-1] if folded else None
        if last and pairs.get(revision.number) == last.number and revision.ops == last.inverse:
            folded.pop()
        else:
            folded.append(revision)
    return folded


def _in_the_way(target: Revision, other: Revision) -> str:
    what = f"Revision {target.number} ({_describe(target)}) cannot be undone"
    if target.reverts is not None and not target.is_redo:
        what = f"Revision {target.reverts}, undone by {target.number}, cannot be redone"
    return f"{what}: revision {other.number} ({_describe(other)}) has changed the same since."


def _describe(revision: Revision) -> str:
    author = f"by the {revision.author}"
    return author if revision.action is None else f"{revision.action} {author}"


Place = tuple[str | int, ...]
"""The keys and indices that lead somewhere. Keys of objects are `str`, also where they are digits,
and indices of lists `int`."""


class _Edit(NamedTuple):
    """What one operation does to one place."""

    kind: Literal["put", "insert", "delete", "shuffle"]
    """`put` for a value, or its absence from an object; the others for the shape of a list."""
    place: Place
    last: int = 0
    """Of a `shuffle`, which moves an item within its list: the last index that it changes. The
    first one is that of `place`."""


_Changes = list[tuple[Revision, list[_Edit]]]


def _standing(document: JSONValue, later: Sequence[Revision]) -> _Changes:
    """Return the edits of the revisions after `document`, without those that cancel out.

    An undo and what it undid do, and so do a redo and the undo. What came in between names places
    as they were with the undone in effect; it is returned as it would be without.
    """
    pairs = _pairs(later)
    known = {revision.number for revision in later}
    changes: _Changes = []
    for revision in later:
        edits = _edits(document, revision.ops, shuffles=True)
        reverted = pairs.get(revision.number)
        if reverted not in known:
            changes.append((revision, edits))
        else:
            back = _edits(document, revision.ops)
            changes = _without(changes, reverted, back)
        document = _patched(document, revision.ops)
    return changes


def _without(changes: _Changes, number: int | None, back: list[_Edit]) -> _Changes:
    """Return the changes without that of the revision `number`, which `back` takes back."""
    place = next(i for i, (revision, _) in enumerate(changes) if revision.number == number)
    between = [
        (revision, [_pass(edit, back) or edit for edit in edits])
        for revision, edits in changes[place + 1 :]
    ]
    return [*changes[:place], *between]


def _patched(document: JSONValue, operations: Sequence[Operation]) -> JSONValue:
    patching = Patching(document)
    for operation in operations:
        patching.step(operation)
    return patching.document


def _edits(
    document: JSONValue, operations: Sequence[Operation], *, shuffles: bool = False
) -> list[_Edit]:
    """Return what operations do to `document`, each edit as of the ones before it.

    A move is a deletion and an insertion. Within one list it is a shuffle, if they are asked for.
    """
    edits: list[_Edit] = []
    patching = Patching(document)
    for number, operation in enumerate(operations):
        if number:
            # Not after the last one: a step copies the lists that it writes to.
            patching.step(operations[number - 1])
        tokens = parse_pointer(operation["path"])
        if operation["op"] == "move":
            source = parse_pointer(operation["from"])
            edits += _moved(patching.document, source, tokens, shuffles)
        elif operation["op"] != "test":
            edits.append(_edit(patching.document, tokens, tokens, operation["op"]))
    return edits


def _moved(
    document: JSONValue, source: list[str], target: list[str], shuffles: bool
) -> list[_Edit]:
    start = _edit(document, source, source, "remove")
    end = _edit(document, before_removal(document, target, source), target, "add")
    if shuffles and start.kind == "delete" and start.place[:-1] == end.place[:-1]:
        first, last = sorted((int(start.place[-1]), int(end.place[-1])))
        return [_Edit("shuffle", (*start.place[:-1], first), last)]
    return [start, end]


def _edit(document: JSONValue, before: list[str], tokens: list[str], op: str) -> _Edit:
    """Return the edit of the place `tokens`, whose parent is that of `before` in `document`."""
    place: list[str | int] = []
    node = document
    for token, named in zip(before, tokens, strict=True):
        in_list = isinstance(node, list)
        place.append(int(named) if in_list else named)
        if len(place) < len(tokens):
            node = resolve(node, (token,))
    if op == "replace" or not tokens or not in_list:
        return _Edit("put", tuple(place))
    return _Edit("delete" if op == "remove" else "insert", tuple(place))


def _pass(edit: _Edit, mine: Sequence[_Edit]) -> _Edit | None:
    """Return what `edit` would be, had `mine` been done before it; `None` if they clash."""
    for own in mine:
        if _clash(own, edit):
            return None
        edit = _shift(edit, own)
    return edit


def _clash(own: _Edit, edit: _Edit) -> bool:
    """Say whether `own` means another place, or undoes more than it should, after `edit`."""
    place, other = own.place, edit.place
    if edit.kind != "put":
        # The list whose shape has changed, and where the own place goes through it.
        other = other[:-1]
        depth = len(other)
        if len(place) > depth and place[:depth] == other:
            index, first = int(place[depth]), int(edit.place[depth])
            return first <= index <= edit.last if edit.kind == "shuffle" else first <= index
    elif len(other) < len(place):
        return place[: len(other)] == other
    # An insertion touches nothing of the item whose place it takes.
    return own.kind != "insert" and other[: len(place)] == place


def _shift(edit: _Edit, own: _Edit) -> _Edit:
    """Return `edit` as it is once `own`, with which it does not clash, was done before."""
    if own.kind == "put":
        return edit
    depth = len(own.place) - 1
    if len(edit.place) <= depth or edit.place[:depth] != own.place[:depth]:
        return edit
    index, start = int(edit.place[depth]), int(own.place[depth])
    if index < start or (own.kind == "delete" and index == start):
        return edit
    step = 1 if own.kind == "insert" else -1
    place = (*edit.place[:depth], index + step, *edit.place[depth + 1 :])
    return edit._replace(place=place, last=edit.last + step)
