"""What the core of a host asks its owner to do. Plain data, in the order in which to do it."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Close", "Cut", "Effect", "Materialize", "Open", "Read", "Send"]


@dataclass(frozen=True, slots=True)
class Send:
    """Send this frame to a client.

    A frame with a `key` makes those before it with the same key superfluous, so that they may be
    left out where a client is slow.
    """

    connection: int
    frame: str = field(repr=False)
    key: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """End a connection, after what is to be sent if `flush`."""

    connection: int
    flush: bool


@dataclass(frozen=True, slots=True)
class Materialize:
    """Bring a cold chat to life, then report `materialized`."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Open:
    """Open a canvas, then report `opened` or `refused`."""

    ticket: int
    session_id: str
    canvas_id: str
    instance_id: str
    extension_id: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close a canvas, then report `closed` or `refused`."""

    ticket: int
    session_id: str
    instance_id: str


@dataclass(frozen=True, slots=True)
class Read:
    """Read what lies at an origin that is live, then report `answered` or `refused`."""

    ticket: int
    connection: int
    uri: str = field(repr=False)
    encoding: Literal["utf-8", "base64"] | None


Effect: TypeAlias = Send | Cut | Materialize | Open | Close | Read
