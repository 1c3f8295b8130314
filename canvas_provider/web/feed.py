"""The event stream of one instance: its state and what its handlers emit, as frames.

    event     id       data
    snapshot  version  {"revision": 7, "state": …}       first, and when a patch would not do
    patch     version  {"revision": 8, "ops": […], "author": "agent", "action": "move_card",
                       "time": 1795478400.25}, in seconds; with "previous" where that is not the
                       revision before, and "reverts" where it takes back another one
    store     –        {"online": false}: it cannot be reached, and changes fail; or it is back
    presence  –        {"count": 2, "names": ["ann", "bo"]}: how many panels show the document, and
                       whose they are; not while there is only one
    progress  –        a `ProgressFrame`: what a handler's `ctx.progress(…)` has come to
    NAME      –        what `ctx.emit(NAME, data)` sent
    closed    –        {"reason": "closed" | "shutdown"}  the last one

A version is a revision with the epoch of its document, `7-1f0e3dad`. A page that was away resumes
with `?after=VERSION` or the `Last-Event-ID` header. An epoch that is not ours gets a snapshot: the
store was reset, or this is another process. A bare revision is trusted to be of this document.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs

from starlette.types import Scope

from canvas_provider.serving.guards import header_values
from canvas_provider.serving.responses import encode_json
from canvas_provider.serving.sse import encode_event
from canvas_provider.serving.streams import EventStream
from canvas_provider.state.version import Version
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.canvas.instance import Instance
    from canvas_provider.canvas.progress import ProgressFrame
    from canvas_provider.state.shared import Revision

__all__ = ["Feed"]


class Feed:
    """Turns revisions and emitted events into frames, each encoded once for all pages."""

    def __init__(self, instance: "Instance") -> None:
        self._state = instance.state
        self._works = instance.works
        self.stream = EventStream(
            opening=self._opening, snapshot=self._snapshot, max_pages=instance.canvas.max_streams
        )
        self._latest: tuple[Version, JSONValue, bytes] = (Version(-1), None, b"")
        self._unsubscribe: list[Callable[[], None]] = [
            instance.subscribe_events(self._on_event),
            self._works.subscribe(self._on_progress),
        ]
        if self._state is not None:
            self._surroundings = self._state.online, self._state.presence
            self._unsubscribe += [
                self._state.subscribe(self._on_revision),
                self._state.subscribe_surroundings(self._on_surroundings),
            ]

    def close(self, reason: Literal["closed", "shutdown"]) -> None:
        """Tell every page why, and end its stream. Idempotent."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        self.stream.close(_encode("closed", {"reason": reason}))

    def document(self) -> tuple[Version, JSONValue]:
        """The version and the state; a canvas without state stays `null` at revision 0."""
        state = self._state
        return (Version(0), None) if state is None else (state.version, state.document)

    def _on_revision(self, revision: "Revision") -> None:
        if self.stream.pages:
            self.stream.publish(self._encode_patch(revision))

    def _on_surroundings(self) -> None:
        assert self._state is not None, "they are those of a state"
        before, self._surroundings = self._surroundings, (self._state.online, self._state.presence)
        if self.stream.pages:
            if before[0] != self._surroundings[0]:
                self.stream.publish(self._encode_store(), key="store")
            if before[1] != self._surroundings[1]:
                self.stream.publish(self._encode_presence(), key="presence")

    def _encode_store(self) -> bytes:
        return _encode("store", {"online": self._surroundings[0]})

    def _encode_presence(self) -> bytes:
        presence = self._surroundings[1]
        return _encode("presence", {"count": presence.count, "names": presence.names})

    def _on_event(self, name: str, data: JSONValue) -> None:
        if self.stream.pages:
            self.stream.publish(_encode(name, data))

    def _on_progress(self, frame: "ProgressFrame") -> None:
        if self.stream.pages:
            self.stream.publish(_encode("progress", frame), key=frame["id"])

    def _opening(self, scope: Scope) -> bytes:
        running = [_encode("progress", frame) for frame in self._works.running()]
        around = []
        if self._state is not None:
            is_online, presence = self._surroundings
            # What a page takes for granted is not said.
            if presence.count > 1:
                around.append(self._encode_presence())
            if not is_online:
                around.append(self._encode_store())
        return b"".join((self._document_since(scope), *around, *running))

    def _document_since(self, scope: Scope) -> bytes:
        after = _resume_point(scope)
        missed = None if after is None or self._state is None else self._state.since(after)
        if missed is None:
            return self._snapshot()
        return b"".join(map(self._encode_patch, missed))

    def _snapshot(self) -> bytes:
        version, document = self.document()
        known, known_document, frame = self._latest
        # By epoch as well: after a reset of its store, a document has an earlier number again.
        if (version, version.epoch) != (known, known.epoch) or document is not known_document:
            data = {"revision": int(version), "state": document}
            frame = _encode("snapshot", data, id=str(version))
            self._latest = version, document, frame
        return frame

    def _encode_patch(self, revision: "Revision") -> bytes:
        assert self._state is not None, "revisions are of a state"
        data = {
            "revision": revision.number,
            "ops": revision.ops,
            "author": revision.author,
            "action": revision.action,
            "time": revision.time,
        }
        if revision.previous != revision.number - 1:
            data["previous"] = revision.previous
        if revision.reverts is not None:
            data["reverts"] = revision.reverts
        version = Version(revision.number, self._state.version.epoch)
        return _encode("patch", data, id=str(version))


def _encode(name: str, data: object, *, id: str | None = None) -> bytes:
    return encode_event(name, encode_json(data).decode(), id=id)


def _resume_point(scope: Scope) -> Version | None:
    """The last version the page has seen; the header is younger than the URL it came with."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("after", [])
    seen = [value.decode("latin-1") for value in header_values(scope, b"last-event-id")]
    for text in (*seen, *asked):
        if (version := Version.parse(text)) is not None:
            return version
    return None
