"""What is around a document: whether its store can be reached, and who has it open.

Where the store is far away, both are its matter, and it tells; else the store is always there, and
who has the document open is what this process knows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from canvas_provider.state.store import RemoteStore, Store

__all__ = ["Presence", "Surroundings"]

MAX_NAME: Final = 64
"""Characters of a name that are shown."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Who has a document open: how many panels, and whose, in the order of the alphabet."""

    count: int
    names: tuple[str, ...]
    """Each once, however many panels somebody has open; those without a name are only counted."""


class Surroundings:
    """Of one document, for all of this process who have it open. In the loop only."""

    def __init__(self, store: Store, key: str) -> None:
        self._remote = store if isinstance(store, RemoteStore) else None
        self._key = key
        self._here: list[str] = []
        self._listeners: list[Callable[[], None]] = []

    @property
    def is_online(self) -> bool:
        """Whether the store can be reached, as far as is known."""
        return self._remote is None or self._remote.is_reachable()

    @property
    def presence(self) -> Presence:
        """Who has the document open now; while offline, that is known of this process only."""
        there = () if self._remote is None else self._remote.others(self._key)
        names = [*self._here, *there]
        return Presence(len(names), tuple(sorted({name for name in names if name})))

    def enter(self, name: str) -> Callable[[], None]:
        """Say that somebody has the document open. Returns what ends it."""
        shown = "".join(filter(str.isprintable, name)).strip()[:MAX_NAME]
        self._here = [*self._here, shown]
        self._announce()

        def leave() -> None:
            self._here = list(_without(self._here, shown))
            self._announce()

        return leave

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever something of this may be another. Returns the way out."""
        self._listeners = [*self._listeners, listener]

        def unsubscribe() -> None:
            self._listeners = [known for known in self._listeners if known is not listener]

        return unsubscribe

    def _announce(self) -> None:
        if self._remote is not None:
            self._remote.attend(self._key, self._here, self._tell)
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def _without(names: Iterable[str], name: str) -> Iterable[str]:
    """Return `names`, once less `name`."""
    is_left_out = False
    for known in names:
        if known == name and not is_left_out:
            is_left_out = True
        else:
            yield known
