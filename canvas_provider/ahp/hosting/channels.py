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
    touched: int
    """The number of its newest action."""


class Channels:
    """What can be subscribed to.

    Args:
        publish: called with each action, in order.
    """

    def __init__(self, journal: Journal, publish: Callable[[Entry], None]) -> None:
        self._journal = journal
        self._publish = publish
        self._channels: dict[str, _Channel] = {}

    def __contains__(self, uri: str) -> bool:
        return uri in self._channels

    def create(self, uri: str, state: JSONObject) -> None:
        """Make a channel that is there for as long as its session."""
        self._channels[uri] = _Channel(state, self._journal.skip())

    def create_with(self, uri: str, action: JSONObject) -> None:
        """Make a channel of which the first action carries the whole state.

        Mostly nobody hears of that, and a number is spent as if silently, as it is by Copilot CLI
        1.0.102. Whoever still listens to a channel that was there before has the new state so.
        """
        self._channels[uri] = _Channel({}, 0)
        self.act(uri, action)

    def remove(self, uri: str) -> None:
        """Drop a channel. Nobody is told, and who listens goes on listening."""
        del self._channels[uri]

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
