"""The requests of the base: who a client is, and what it listens to. Sans-IO."""

import re
from typing import Final, cast

from canvas_provider.ahp.hosting.connections import Connection
from canvas_provider.ahp.hosting.effect import Cut
from canvas_provider.ahp.hosting.host_state import HostState, may_see
from canvas_provider.ahp.hosting.requests import (
    refuse,
    take_number,
    take_root,
    take_text,
    take_uris,
)
from canvas_provider.ahp.hosting.version import Version, negotiate
from canvas_provider.protocol.ahp import SUPPORTED_VERSIONS, ErrorCode
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["BaseServices"]

PAGE: Final = 100
"""Sessions of one `listSessions`, if the client does not say."""


class BaseServices:
    """Each method takes a connection and params; it returns the result or raises RemoteError."""

    def __init__(self, state: HostState) -> None:
        self._state = state

    def initialize(self, connection: Connection, params: JSONObject) -> JSONValue:
        """Negotiate. Sent again on a connection, it begins anew (as in Copilot CLI 1.0.102)."""
        take_root(params)
        try:
            version = negotiate(take_uris(params, "protocolVersions"))
        except ValueError:
            refuse(ErrorCode.INVALID_PARAMS, "a protocol version is three numbers: 1.0.0")
        client_id = take_text(params, "clientId")
        given = "initialSubscriptions" in params
        wanted = take_uris(params, "initialSubscriptions") if given else []
        if version is None:
            refuse(
                ErrorCode.UNSUPPORTED_PROTOCOL_VERSION,
                "none of the offered protocol versions is supported",
                {"supportedVersions": [*SUPPORTED_VERSIONS]},
            )
        self._take_over(connection, client_id, version)
        return {
            "protocolVersion": str(version),
            "serverSeq": self._state.journal.seq,
            "serverInfo": cast(JSONObject, self._state.server),
            "snapshots": self._listen_where_possible(connection, version, wanted),
        }

    def reconnect(self, connection: Connection, params: JSONObject) -> JSONValue:
        """Go on where a client left off, whose old connection ends if it is not gone yet."""
        take_root(params)
        client_id = take_text(params, "clientId")
        seq = take_number(params, "lastSeenServerSeq")
        wanted = take_uris(params, "subscriptions")
        state = self._state
        version = state.connections.recall(client_id)
        if version is None:
            text = "there is no state to continue with: send initialize first"
            refuse(ErrorCode.NOT_FOUND, text)
        self._take_over(connection, client_id, version)
        missed = state.journal.since(seq)
        if missed is None:
            snapshots = self._listen_where_possible(connection, version, wanted)
            return {"type": "snapshot", "snapshots": snapshots}
        resumed = {uri for uri in wanted if uri in state.channels}
        connection.subscriptions |= resumed
        return {
            "type": "replay",
            "actions": [
                entry.envelope
                for entry in missed
                if entry.channel in resumed and may_see(connection, entry)
            ],
            "missing": [uri for uri in wanted if uri not in resumed],
        }

    def subscribe(self, connection: Connection, params: JSONObject) -> JSONValue:
        """Listen to a channel; again, for a fresh snapshot."""
        uri = take_text(params, "channel")
        if uri not in self._state.channels:
            refuse(ErrorCode.NOT_FOUND, "there is no such channel")
        assert connection.version is not None
        return {"snapshot": self._listen(connection, connection.version, uri)}

    def list_sessions(self, connection: Connection, params: JSONObject) -> JSONValue:
        """Return the newest first."""
        take_root(params)
        limit = take_number(params, "limit") if params.get("limit") is not None else PAGE
        cursor = params.get("cursor") or "0"
        if not isinstance(cursor, str) or not re.fullmatch(r"\d{1,9}", cursor, re.ASCII):
            refuse(ErrorCode.INVALID_PARAMS, "cursor is what an earlier answer gave")
        newest_first = [*self._state.chats.values()][::-1]
        begin = int(cursor)
        end = begin + max(1, limit)
        result: JSONObject = {
            "items": [cast(JSONObject, chat.summary()) for chat in newest_first[begin:end]]
        }
        if end < len(newest_first):
            result["nextCursor"] = str(end)
        return result

    def _take_over(self, connection: Connection, client_id: str, version: Version) -> None:
        for number in self._state.connections.initialize(connection, client_id, version):
            self._state.effects.append(Cut(number, flush=False))

    def _listen_where_possible(
        self, connection: Connection, version: Version, uris: list[str]
    ) -> list[JSONValue]:
        there = [uri for uri in dict.fromkeys(uris) if uri in self._state.channels]
        return [self._listen(connection, version, uri) for uri in there]

    def _listen(self, connection: Connection, version: Version, uri: str) -> JSONObject:
        connection.listen(uri, self._state.channels.__contains__)
        return cast(JSONObject, self._state.channels.snapshot(uri, version))
