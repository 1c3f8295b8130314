"""What happened to a client's copy of a channel, and the queue of it for one reader."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from canvas_provider.types import JSONObject

__all__ = ["Change", "ChangeQueue"]

MAX_CHANGES: Final = 256
"""Changes that wait for a reader before they are merged."""


class Change(NamedTuple):
    """One change of one channel."""

    channel: str
    kind: Literal["snapshot", "action", "notification", "gone"]
    """`snapshot`: the whole state is new, after a subscription, or because changes were missed.
    `action`: it was applied. Where it is none of those that matter to canvases, the state is as
    it was.
    `notification`: of the root, about its sessions; the state is not concerned.
    `gone`: there is no such channel any more."""
    state: JSONObject | None
    """The state afterwards: read it, never write to it. None once it is gone."""
    action: JSONObject | None = None
    """Of an action and a notification: which."""

    def __repr__(self) -> str:
        # States and actions hold the addresses of canvases.
        return f"<Change {self.kind} of {self.channel.partition(':')[0]}>"


class ChangeQueue:
    """Changes in their order. A reader who is too slow gets fewer of them, and the latest state.

    Args:
        current: the state of a channel as it is now.
    """

    def __init__(
        self,
        current: Callable[[str], JSONObject | None],
        *,
        max_changes: int = MAX_CHANGES,
    ) -> None:
        self._current = current
        self._max_changes = max_changes
        self._changes: list[Change] = []

    def __len__(self) -> int:
        return len(self._changes)

    def put(self, change: Change) -> None:
        """Add one; if there are too many, all become one for each channel."""
        self._changes.append(change)
        if len(self._changes) > self._max_changes:
            self._merge()

    def take(self) -> Change | None:
        """Take the first one, if there is any."""
        return self._changes.pop(0) if self._changes else None

    def _merge(self) -> None:
        # In the order in which each channel was first heard of.
        channels = dict.fromkeys(change.channel for change in self._changes)
        states = ((channel, self._current(channel)) for channel in channels)
        self._changes = [
            Change(channel, "gone" if state is None else "snapshot", state)
            for channel, state in states
        ]
        # Channels that came and went are what remains unbounded, and nobody misses.
        if len(self._changes) > self._max_changes:
            self._changes = [change for change in self._changes if change.state is not None]
