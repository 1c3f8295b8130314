"""What happens to a client, as its core tells it."""

from typing import NamedTuple, TypeAlias

from canvas_provider.ahp.change import Change
from canvas_provider.errors import WireError
from canvas_provider.types import JSONValue

__all__ = ["Answered", "Ended", "Event", "Failed", "Ready", "Rejected"]


class Ready(NamedTuple):
    """Requests are answered from now on."""


class Answered(NamedTuple):
    """One of our requests succeeded."""

    id: int
    value: JSONValue


class Failed(NamedTuple):
    """One of our requests did not."""

    id: int
    error: WireError


class Rejected(NamedTuple):
    """The host did not take an action of ours."""

    client_seq: int
    reason: str


class Ended(NamedTuple):
    """The host will not have us; another connection would not change that."""

    error: WireError


Event: TypeAlias = Ready | Answered | Failed | Rejected | Ended | Change
