"""Events of the author's own, from a handler to whoever shows the instance."""

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from canvas_provider.canvas.results import to_json_value
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["EventListener", "Events"]

EventListener = Callable[[str, JSONValue], None]

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")

_RESERVED: Final = frozenset(
    {"snapshot", "patch", "store", "presence", "progress", "closed", "open", "error", "message"}
)
"""The stream's own events, and names that an EventSource gives a meaning of its own."""


class Events:
    """Made in the loop's thread, where the listeners are called."""

    def __init__(self, loop: "AbstractEventLoop") -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._listeners: list[EventListener] = []

    def emit(self, name: str, data: JSONValue) -> None:
        """Tell the listeners; from any thread.

        Raises:
            ValueError: a name that does not fit `[a-z][a-z0-9_-]*`, or is one of ours.
            NotJSON: the data has no JSON form.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
            taken = ", ".join(sorted(_RESERVED))
            raise ValueError(
                f"{name!r} is no name for an event: write [a-z][a-z0-9_-]*, but none of {taken}"
            )
        converted = to_json_value(data)
        if threading.get_ident() == self._thread:
            self._tell(name, converted)
        else:
            self._loop.call_soon_threadsafe(self._tell, name, converted)

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener(name, data)` for each event. Returns what ends it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def _tell(self, name: str, data: JSONValue) -> None:
        for listener in list(self._listeners):
            listener(name, data)
