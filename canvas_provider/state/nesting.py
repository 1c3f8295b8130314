"""Which changes the running code is within, so that nobody waits for themselves.

A change waits until no other one of its document is open. Code within one that began another would
wait for itself, and so would tasks and threads that inherited its context: `asyncio.create_task`
and `asyncio.to_thread` hand it on. And two that each wait for the other's document would wait for
ever. All are told so instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from canvas_provider.errors import ChangeInProgress
from canvas_provider.state.document import Change, Document

__all__ = ["enter", "leave", "refuse_nested", "waiting"]

_within: ContextVar[tuple[Change, ...]] = ContextVar("within", default=())


def enter(change: Change) -> None:
    """Note that what runs from here on, in this context, is within `change`."""
    _within.set((*_within.get(), change))


def leave(change: Change) -> None:
    """Note that it is no more. Changes of several documents may end in any order."""
    within = _within.get()
    if within and within[-1] is change:
        _within.set(within[:-1])
    else:
        _within.set(tuple(known for known in within if known is not change))


def refuse_nested(document: Document) -> None:
    """Refuse to begin a change of `document` within another one of it.

    Raises:
        ChangeInProgress: there is one.
    """
    for change in _within.get():
        if change.document is document and change.is_open:
            raise ChangeInProgress(
                "this is within a change of the same document: use the draft that it gave"
            )


@contextmanager
def waiting(document: Document) -> Iterator[None]:
    """Hold while the running code waits for its turn to change `document`. In the loop only.

    Raises:
        ChangeInProgress: the turn would never come.
    """
    # One that is being stored waits for nobody any more.
    outer = [change for change in _within.get() if change.is_open]
    if _waits_for_one_of(outer, document):
        raise ChangeInProgress(
            "two changes wait for each other's document: change several always in the same order"
        )
    for change in outer:
        change.waits_for.append(document)
    try:
        yield
    finally:
        for change in outer:
            change.waits_for.remove(document)


def _waits_for_one_of(changes: list[Change], document: Document) -> bool:
    """Say whether who changes `document` now waits, maybe by way of others, for `changes`."""
    holder = document.change
    if holder is None:
        return False
    return holder in changes or any(
        _waits_for_one_of(changes, wanted) for wanted in holder.waits_for
    )
