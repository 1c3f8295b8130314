"""What a host sends, read as what it should be: None for what it is not."""

from collections.abc import Collection
from typing import NamedTuple, cast

from canvas_provider.protocol.ahp import ActionEnvelope, SessionSummary, Snapshot
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "Introduction",
    "Reconnection",
    "read_chats",
    "read_envelope",
    "read_introduction",
    "read_reconnection",
    "read_sessions",
    "read_snapshot",
]


class Introduction(NamedTuple):
    """The answer to `initialize`."""

    version: str
    seq: int
    snapshots: list[Snapshot]


class Reconnection(NamedTuple):
    """The answer to `reconnect`."""

    actions: list[ActionEnvelope] | None
    """What was missed; None if there are snapshots instead."""
    snapshots: list[Snapshot]
    missing: list[str]
    """Channels of ours that were not resumed."""


def read_envelope(value: JSONValue) -> ActionEnvelope | None:
    """Read the params of `action`."""
    match value:
        case {"channel": str(), "action": {"type": str()}, "serverSeq": seq} if _is_number(seq):
            return cast(ActionEnvelope, value)
    return None


def read_snapshot(value: JSONValue) -> Snapshot | None:
    """Read a snapshot."""
    match value:
        case {"resource": str(), "state": dict(), "fromSeq": seq} if _is_number(seq):
            return cast(Snapshot, value)
    return None


def read_introduction(value: JSONValue, channels: Collection[str]) -> Introduction | None:
    """Read the answer to `initialize`, as far as it concerns `channels`."""
    match value:
        case {"protocolVersion": str(version), "serverSeq": int(seq), "snapshots": list(found)} if (
            _is_number(seq)
        ):
            return Introduction(version, seq, _read_snapshots(found, channels))
    return None


def read_reconnection(value: JSONValue, channels: Collection[str]) -> Reconnection | None:
    """Read the answer to `reconnect`, as far as it concerns `channels`."""
    match value:
        case {"type": "replay", "actions": list(actions), "missing": list(missing)}:
            read = [each for each in map(read_envelope, actions) if each is not None]
            return Reconnection(read, [], [uri for uri in channels if uri in missing])
        case {"type": "snapshot", "snapshots": list(found)}:
            snapshots = _read_snapshots(found, channels)
            known = {each["resource"] for each in snapshots}
            return Reconnection(None, snapshots, [uri for uri in channels if uri not in known])
    return None


def read_sessions(value: JSONValue) -> tuple[list[SessionSummary], str | None] | None:
    """Read the answer to `listSessions`: sessions, and where to go on, if there are more."""
    match value:
        case {"items": list(items), **rest}:
            sessions = [
                cast(SessionSummary, item)
                for item in items
                if isinstance(item, dict) and isinstance(item.get("resource"), str)
            ]
            cursor = rest.get("nextCursor")
            return sessions, cursor if isinstance(cursor, str) else None
    return None


def read_chats(session: JSONObject) -> list[str]:
    """Read the chats of a session's state, the default one first."""
    chats = session.get("chats")
    listed = [
        each.get("resource")
        for each in (chats if isinstance(chats, list) else ())
        if isinstance(each, dict)
    ]
    found = [uri for uri in [session.get("defaultChat"), *listed] if isinstance(uri, str)]
    return list(dict.fromkeys(found))


def _read_snapshots(found: list[JSONValue], channels: Collection[str]) -> list[Snapshot]:
    read = map(read_snapshot, found)
    return [each for each in read if each is not None and each["resource"] in channels]


def _is_number(value: JSONValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
