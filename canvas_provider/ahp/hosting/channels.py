"""The channels of a host with their states, changed by the same reducers as a client's mirror."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from canvas_provider.ahp.hosting.journal import Entry, Journal
from canvas_provider.ahp.hosting.version import Version
from canvas_provider.ahp.reducers import reduce, scheme_of
from canvas_provider.protocol.ahp import Scheme, Snapshot
from canvas_provider.protocol.ahp_canvases import REGISTRY
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Channels"]


@dataclass(slots=True)
class _Channel:
    state: JSONObject
    created: int
    """The number that its making was given."""
    touched: int
    """The number of its newest action."""


class Channels:
    """What can be subscribed to.

    Args:
        publish: called with each action, in order.
        remove: called with the URI of a channel that is gone.
    """

    def __init__(
        self, journal: Journal, *, publish: Callable[[Entry], None], remove: Callable[[str], None]
    ) -> None:
        self._journal = journal
        self._publish = publish
        self._remove = remove
        self._channels: dict[str, _Channel] = {}

    def __contains__(self, uri: str) -> bool:
        return uri in self._channels

    def create(self, uri: str, state: JSONObject) -> None:
        """Make a channel. That spends a number silently (observed with Copilot CLI 1.0.102)."""
        seq = self._journal.skip()
        self._channels[uri] = _Channel(state, seq, seq)

    def remove(self, uri: str) -> None:
        """Drop a channel and with it who listens; nobody is told."""
        del self._channels[uri]
        self._remove(uri)

    def state(self, uri: str) -> JSONObject:
        """Return the state: not to be changed."""
        return self._channels[uri].state

    def act(self, uri: str, action: JSONObject, origin: JSONObject | None = None) -> None:
        """Apply an action and publish it."""
        channel = self._channels[uri]
        channel.state = reduce(uri, channel.state, action)
        self._append(uri, action, origin, None)

    def reject(self, uri: str, action: JSONObject, origin: JSONObject, reason: str) -> None:
        """Publish that an action was not applied."""
        self._append(uri, action, origin, reason)

    def snapshot(self, uri: str, version: Version) -> Snapshot:
        """Return the state as one sees it who speaks `version`."""
        channel = self._channels[uri]
        state = channel.state if version.has_registry else _without_newer(uri, channel.state)
        return {"resource": uri, "state": state, "fromSeq": channel.touched}

    def can_replay(self, uri: str, seq: int) -> bool:
        """Whether it is the same channel that it was at `seq`, and not one made again since."""
        return uri in self._channels and self._channels[uri].created <= seq

    def urls(self) -> Iterable[str]:
        """Return the URLs of all canvases that are live now."""
        for uri, channel in self._channels.items():
            if scheme_of(uri) == Scheme.CANVAS and isinstance(url := channel.state.get("url"), str):
                yield url

    def _append(
        self, uri: str, action: JSONObject, origin: JSONObject | None, reason: str | None
    ) -> None:
        entry = self._journal.append(uri, action, origin, reason)
        self._channels[uri].touched = entry.seq
        self._publish(entry)


def _without_newer(uri: str, state: JSONObject) -> JSONObject:
    match scheme_of(uri):
        case Scheme.CHAT:
            return {key: value for key, value in state.items() if key != REGISTRY}
        case Scheme.ROOT:
            agents = state["agents"]
            assert isinstance(agents, list)
            plain: list[JSONValue] = [
                {key: value for key, value in agent.items() if key != "capabilities"}
                for agent in agents
                if isinstance(agent, dict)
            ]
            return {**state, "agents": plain}
    return state
