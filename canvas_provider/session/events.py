"""Session events: who listens to which, and which bytes need not be read at all.

Copilot sends an extension every event of its session: some thirty for one call of the model, among
them the system prompt and the whole conversation, 20 to 50 KB each. Most extensions want none of
them. `Events.ignores` recognises those by their first bytes, so that they are not parsed.

What a listener gets is an event, whatever came: see `SessionEvent`.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from types import NoneType
from typing import Any, Final, Self, cast, get_args

from canvas_provider.canvas.dispatch import is_failure
from canvas_provider.protocol.events import EventName, SessionEvent
from canvas_provider.types import JSONValue

__all__ = ["EVERY_EVENT", "EventStream", "Events", "Listener", "to_event", "warn_of_unknown"]

Listener = Callable[[SessionEvent], object]

EVERY_EVENT: Final = "*"

BACKLOG: Final = 1000
"""How many events a stream keeps for a reader that is behind."""

_UNLISTED: Final = "model."
"""Copilot CLI 1.0.102 sends a dozen such events, of which its schema says nothing."""

logger = logging.getLogger("canvas_provider.session")

_START: Final = b'{"jsonrpc":"2.0","method":"session.event",'
_HEAD: Final = re.compile(
    re.escape(_START) + rb'"params":\{"sessionId":"[^"\\]*","event":\{"type":"([^"\\]*)"'
)
_TAILS: Final = (b"}}}", b"}}}\n")

_FIELDS: Final[dict[str, type | tuple[type, ...]]] = {
    "id": str,
    "timestamp": str,
    "parentId": (str, NoneType),
    "ephemeral": bool,
    "agentId": str,
}


class Events:
    """The listeners of one session. All of it belongs to the event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[object, Listener]] = {}
        """By what stops them: the same function may listen twice."""
        self._heard: set[bytes] = set()
        """The names that are listened to, as they stand on the wire."""
        self._queues: set[_Queue] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each event of this type, `"*"` being every type.

        Returns:
            A function that stops it; calling that twice does no harm.
        """
        listeners = self._listeners.setdefault(event, {})
        self._heard.add(_encode(event))

        def stop() -> None:
            listeners.pop(stop, None)
            if not listeners and self._listeners.get(event) is listeners:
                del self._listeners[event]
                self._heard.discard(_encode(event))

        listeners[stop] = listener
        return stop

    def stream(self, names: tuple[str, ...]) -> "EventStream":
        """Keep the events of these types, or every event, for somebody who iterates."""
        queue = _Queue()
        stops = [self.on(name, queue.put) for name in names or (EVERY_EVENT,)]
        self._queues.add(queue)
        if self._ended:
            queue.end()

        def stop() -> None:
            self._queues.discard(queue)
            queue.end()
            for each in stops:
                each()

        return EventStream(queue, stop)

    def ignores(self, body: bytes) -> bool:
        """Say whether a message is an event that nobody listens to; parses nothing.

        It never says so of a request. Those have an `id`, a text or a number. If that stood before
        the method or the parameters, the message would begin differently; if after them, it would
        not end in three braces.
        """
        if not body.startswith(_START) or b"*" in self._heard or not body.endswith(_TAILS):
            return False
        head = _HEAD.match(body)
        return head is not None and head[1] not in self._heard

    def tell(self, params: JSONValue) -> None:
        """Take the parameters of a `session.event`, whatever they are."""
        event = to_event(params.get("event") if isinstance(params, dict) else None)
        if event is None:
            return
        for name in (event["type"], EVERY_EVENT):
            for listener in tuple(self._listeners.get(name, {}).values()):
                self._tell(listener, event)

    def end(self) -> None:
        """End every stream: nothing more will come."""
        self._ended = True
        for queue in self._queues:
            queue.end()

    def _tell(self, listener: Listener, event: SessionEvent) -> None:
        try:
            outcome = listener(event)
        except BaseException as error:
            if not is_failure(error):
                raise
            logger.exception("a listener for %s failed", event["type"])
            return
        if asyncio.iscoroutine(outcome):
            task = asyncio.ensure_future(_listen(outcome, event["type"]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


class EventStream:
    """Events as an async iterator, from the moment it was made until the session ends.

    It keeps up to 1000 events for a reader that is behind; beyond that the oldest are dropped, and
    a warning is logged. Leave it with `with`, `close()`, or by letting go of it.
    """

    def __init__(self, queue: "_Queue", stop: Callable[[], None]) -> None:
        self._queue = queue
        self._stop = stop

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionEvent:
        while not self._queue.kept:
            if self._queue.ended:
                raise StopAsyncIteration
            self._queue.arrived.clear()
            await self._queue.arrived.wait()
        return self._queue.kept.popleft()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep no more events; whoever iterates reads those that are kept, then ends."""
        self._stop()

    __del__ = close


class _Queue:
    """What a stream keeps. Apart from it, so that a stream nobody holds can go."""

    def __init__(self) -> None:
        self.kept: deque[SessionEvent] = deque(maxlen=BACKLOG)
        self.arrived = asyncio.Event()
        self.ended = False
        self._has_dropped = False

    def put(self, event: SessionEvent) -> None:
        if len(self.kept) == BACKLOG and not self._has_dropped:
            self._has_dropped = True
            logger.warning("session.events() is read too slowly: events are dropped")
        self.kept.append(event)
        self.arrived.set()

    def end(self) -> None:
        self.ended = True
        self.arrived.set()


def to_event(value: JSONValue) -> SessionEvent | None:
    """Make what came an event, in place; None if it has no type."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    if not isinstance(value.get("data"), dict):
        value["data"] = {}
    for name, kind in _FIELDS.items():
        if name in value and not isinstance(value[name], kind):
            del value[name]
    return cast(SessionEvent, value)


def warn_of_unknown(names: Iterable[str]) -> None:
    """Log the names that this package has never heard of, with the nearest one that it has.

    No more than that: a newer Copilot may well send them.
    """
    known = get_args(EventName)
    for name in names:
        if name not in known and name != EVERY_EVENT and not name.startswith(_UNLISTED):
            import difflib  # only for those who need the advice

            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            logger.warning("no session event is known by the name of %r%s", name, advice)


async def _listen(outcome: Coroutine[Any, Any, object], kind: str) -> None:
    try:
        await outcome
    except BaseException as error:
        if not is_failure(error):
            raise
        logger.exception("a listener for %s failed", kind)


def _encode(event: str) -> bytes:
    return event.encode(errors="surrogatepass")
