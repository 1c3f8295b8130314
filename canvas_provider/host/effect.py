"""What the engine asks its owner to do. Plain data, in the order in which it must happen."""

from dataclasses import dataclass
from typing import TypeAlias

from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.copilot import CanvasEvent, Method
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Answer", "Call", "Effect", "Emit", "Refuse", "Warn"]


@dataclass(frozen=True, slots=True)
class Call:
    """Send this request to a provider, then report its outcome under `call`."""

    call: int
    extension_id: str
    method: Method
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell everybody who listens."""

    type: CanvasEvent
    data: JSONObject


@dataclass(frozen=True, slots=True)
class Answer:
    """The request of this ticket succeeded."""

    ticket: int
    value: JSONValue


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request of this ticket failed."""

    ticket: int
    reason: HostRefusal


@dataclass(frozen=True, slots=True)
class Warn:
    """Something went wrong that no caller is told."""

    message: str


Effect: TypeAlias = Call | Emit | Answer | Refuse | Warn
