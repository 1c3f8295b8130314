"""The event stream of one instance: its state and what its handlers emit, as frames.

    event     id        data
    snapshot  revision  {"revision": 7, "state": …}       first, and when a patch would not do
    patch     revision  {"revision": 8, "ops": […], "author": "agent", "action": "move_card"}
                        with "previous" where that is not the revision before
    NAME      –         what `ctx.emit(NAME, data)` sent
    closed    –         {"reason": "closed" | "shutdown"}  the last one

A page that was away resumes with `?after=REVISION` or the `Last-Event-ID` header.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs

from starlette.types import Scope

from canvas_provider.serving.guards import header_values
from canvas_provider.serving.responses import encode_json
from canvas_provider.serving.sse import encode_event
from canvas_provider.serving.streams import EventStream
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.canvas.instance import Instance
    from canvas_provider.state.shared import Revision

__all__ = ["Feed"]


class Feed:
    """Turns revisions and emitted events into frames, each encoded once for all pages."""

    def __init__(self, instance: "Instance") -> None:
        self._state = instance.state
        self.stream = EventStream(
            opening=self._opening, snapshot=self._snapshot, max_pages=instance.canvas.max_streams
        )
        self._latest: tuple[int, JSONValue, bytes] = (-1, None, b"")
        self._unsubscribe: list[Callable[[], None]] = [
            instance.subscribe_events(self._on_event),
        ]
        if self._state is not None:
            self._unsubscribe.append(self._state.subscribe(self._on_revision))

    def close(self, reason: Literal["closed", "shutdown"]) -> None:
        """Tell every page why, and end its stream. Idempotent."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        self.stream.close(_encode("closed", {"reason": reason}))

    def document(self) -> tuple[int, JSONValue]:
        """The revision and the state; a canvas without state stays `null` at revision 0."""
        state = self._state
        return (0, None) if state is None else (state.revision, state.document)

    def _on_revision(self, revision: "Revision") -> None:
        if self.stream.pages:
            self.stream.publish(_encode_patch(revision))

    def _on_event(self, name: str, data: JSONValue) -> None:
        if self.stream.pages:
            self.stream.publish(_encode(name, data))

    def _opening(self, scope: Scope) -> bytes:
        after = _resume_point(scope)
        missed = None if after is None or self._state is None else self._state.since(after)
        if missed is None:
            return self._snapshot()
        return b"".join(map(_encode_patch, missed))

    def _snapshot(self) -> bytes:
        number, document = self.document()
        known_number, known_document, frame = self._latest
        # By identity as well: after a reset of its store, a document has an earlier number again.
        if number != known_number or document is not known_document:
            data = {"revision": number, "state": document}
            frame = _encode("snapshot", data, id=number)
            self._latest = number, document, frame
        return frame


def _encode(name: str, data: object, *, id: int | None = None) -> bytes:
    return encode_event(name, encode_json(data).decode(), id=id)


def _encode_patch(revision: "Revision") -> bytes:
    data = {
        "revision": revision.number,
        "ops": revision.ops,
        "author": revision.author,
        "action": revision.action,
    }
    if revision.previous != revision.number - 1:
        data["previous"] = revision.previous
    return _encode("patch", data, id=revision.number)


def _resume_point(scope: Scope) -> int | None:
    """The last revision the page has seen; the header is younger than the URL it came with."""
    asked = parse_qs(scope["query_string"].decode("latin-1")).get("after", [])
    seen = [value.decode("latin-1") for value in header_values(scope, b"last-event-id")]
    for text in (*seen, *asked):
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
    return None
