"""A client's copy of the channels that it has subscribed to. Pure: messages in, changes out.

A snapshot tells the state as of `fromSeq`; each later action has a greater `serverSeq`. The numbers
are the host's, for all channels and clients together, so a gap between two of them means nothing.
An action may come before the snapshot that it follows: it is kept until then. One that is older
than the snapshot is part of it; one that is older than an action before it should not exist, and
makes the copy `doubtful`: only a fresh snapshot helps.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from canvas_provider.ahp.change import Change
from canvas_provider.ahp.reducers import reduce
from canvas_provider.protocol.ahp import ActionEnvelope, Snapshot
from canvas_provider.types import JSONObject

__all__ = ["Expectation", "Mirror"]

MAX_EARLY: Final = 1000
"""Actions of one channel that are kept until its snapshot comes."""


@dataclass(slots=True, eq=False)
class _Copy:
    state: JSONObject | None = None
    """None until the first snapshot."""
    since: int = -1
    """`fromSeq` of the snapshot."""
    seq: int = -1
    """The latest that is contained."""
    awaiting: int = 0
    """Snapshots that were asked for and have not come."""
    early: list[ActionEnvelope] = field(default_factory=list)
    """What came since the first of them was asked for."""
    overflowed: bool = False


class Expectation(NamedTuple):
    """A snapshot that was asked for."""

    channel: str
    copy: _Copy

    def __repr__(self) -> str:
        return "<Expectation>"


class Mirror:
    """Copies of channels, by URI."""

    def __init__(self) -> None:
        self._copies: dict[str, _Copy] = {}
        self.last_seen = 0
        """The greatest `serverSeq` that has come: where a reconnection goes on."""
        self.doubtful: set[str] = set()
        """Channels that need a fresh snapshot. Who asks for it takes them out."""

    def __contains__(self, channel: object) -> bool:
        return channel in self._copies

    @property
    def channels(self) -> list[str]:
        """All that have a state."""
        return [channel for channel, copy in self._copies.items() if copy.state is not None]

    def state(self, channel: str) -> JSONObject | None:
        copy = self._copies.get(channel)
        return None if copy is None else copy.state

    def expect(self, channel: str) -> Expectation:
        """Take note that a snapshot was asked for: from now on, actions of the channel count."""
        copy = self._copies.setdefault(channel, _Copy())
        copy.awaiting += 1
        return Expectation(channel, copy)

    def is_current(self, expected: Expectation) -> bool:
        """Whether the channel was not dropped meanwhile, and perhaps begun with anew."""
        return self._copies.get(expected.channel) is expected.copy

    def settle(self, expected: Expectation) -> bool:
        """Take note that a snapshot has been taken, or will not come; return whether none will."""
        copy = expected.copy
        copy.awaiting -= 1
        if copy.awaiting:
            return False
        copy.early.clear()
        if copy.state is None and self.is_current(expected):
            del self._copies[expected.channel]
        return True

    def take_snapshot(self, snapshot: Snapshot) -> Change:
        """Replace a state; what came meanwhile, and is newer, is applied to the new one."""
        channel = snapshot["resource"]
        copy = self._copies.setdefault(channel, _Copy())
        copy.state, copy.since = snapshot["state"], snapshot["fromSeq"]
        copy.seq = copy.since
        for envelope in sorted(copy.early, key=lambda each: each["serverSeq"]):
            if envelope["serverSeq"] > copy.seq:
                copy.state = reduce(channel, copy.state, envelope["action"])
                copy.seq = envelope["serverSeq"]
        if copy.overflowed:
            self.doubtful.add(channel)
        copy.overflowed = False
        self.last_seen = max(self.last_seen, copy.since)
        return Change(channel, "snapshot", copy.state)

    def take_action(self, envelope: ActionEnvelope) -> Change | None:
        """Apply an action; None if it is old, rejected, or of a channel that is not ours."""
        channel, seq = envelope["channel"], envelope["serverSeq"]
        self.last_seen = max(self.last_seen, seq)
        copy = self._copies.get(channel)
        if copy is None or "rejectionReason" in envelope:
            return None
        if copy.awaiting:
            self._keep(copy, envelope)
        if copy.state is None or seq <= copy.since or seq == copy.seq:
            return None
        if seq < copy.seq:
            self.doubtful.add(channel)
            return None
        copy.seq = seq
        copy.state = reduce(channel, copy.state, envelope["action"])
        return Change(channel, "action", copy.state, envelope["action"])

    def drop(self, channel: str) -> Change | None:
        """Forget a channel."""
        copy = self._copies.pop(channel, None)
        self.doubtful.discard(channel)
        return None if copy is None or copy.state is None else Change(channel, "gone", None)

    def restart(self, last_seen: int) -> None:
        """Take note that the host counts anew. The states stay until their snapshots come."""
        self.last_seen = last_seen
        for copy in self._copies.values():
            copy.early.clear()

    def _keep(self, copy: _Copy, envelope: ActionEnvelope) -> None:
        if len(copy.early) >= MAX_EARLY:
            # What comes first matters least: states are mostly replaced as a whole.
            del copy.early[0]
            copy.overflowed = True
        copy.early.append(envelope)
