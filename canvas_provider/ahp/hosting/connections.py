"""Who is connected: what was negotiated, who listens to what, and who may come back. Sans-IO."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from canvas_provider.ahp.frames import RequestId
from canvas_provider.ahp.hosting.version import Version

__all__ = ["Connection", "Connections"]

MAX_REMEMBERED: Final = 256
"""Clients that are gone and may continue."""

MAX_PENDING: Final = 256
"""Requests of one client that are being worked on."""


MAX_SUBSCRIPTIONS: Final = 1000
"""Channels of one client, as long as some of them are gone."""


@dataclass(slots=True)
class Connection:
    """One socket."""

    number: int
    client_id: str = ""
    version: Version | None = None
    """None: not initialized yet."""
    subscriptions: set[str] = field(default_factory=set)
    pending: dict[int, RequestId] = field(default_factory=dict)
    """The requests that are being worked on, by ticket."""

    def listen(self, uri: str, is_there: Callable[[str], bool]) -> None:
        """Listen to a channel, also when it is made again; of many, those that are gone go."""
        self.subscriptions.add(uri)
        if len(self.subscriptions) > MAX_SUBSCRIPTIONS:
            self.subscriptions = {each for each in self.subscriptions if is_there(each)}

    @property
    def is_full(self) -> bool:
        return len(self.pending) >= MAX_PENDING


class Connections:
    """Every connection, and the clients that were connected before."""

    def __init__(self) -> None:
        self._open: dict[int, Connection] = {}
        self._remembered: OrderedDict[str, Version] = OrderedDict()
        self._last = 0

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._open.values())

    def add(self) -> Connection:
        self._last += 1
        connection = self._open[self._last] = Connection(self._last)
        return connection

    def get(self, number: int) -> Connection | None:
        return self._open.get(number)

    def remove(self, number: int) -> None:
        self._open.pop(number, None)

    def initialize(self, connection: Connection, client_id: str, version: Version) -> list[int]:
        """Note who it is; return the connections of the same client, which are removed."""
        older = [
            each.number for each in self if each is not connection and each.client_id == client_id
        ]
        for number in older:
            self.remove(number)
        connection.client_id, connection.version = client_id, version
        connection.subscriptions.clear()
        self._remembered[client_id] = version
        self._remembered.move_to_end(client_id)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return older

    def recall(self, client_id: str) -> Version | None:
        """Return what was negotiated with a client, also if it is gone."""
        return self._remembered.get(client_id)
