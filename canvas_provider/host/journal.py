"""What there is to see of a session: instances, traffic and log, and who looks at it.

Remembered, so that a panel that is opened late sees all of it. Both runtimes of the development
host keep one. Knows nothing of HTTP, and starts nothing.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from canvas_provider.host.link import Message
from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.status import Level, LogLine, Source
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.protocol.names import CanvasEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["EventListener", "Journal", "Listener"]

MAX_LOG: Final = 2000

Listener = Callable[[str, JSONObject], None]
"""Gets a kind and its data, in order."""

EventListener = Callable[[str, JSONObject], None]
"""Gets the type and the data of an event of the session."""


class Journal:
    """Listeners get `canvases` (everything declared and open), `traffic` (one message), `log` (one
    line), and what else its owner tells.

    Args:
        list_canvases: what is declared now, as `session.canvas.list` describes it.
    """

    def __init__(self, list_canvases: Callable[[], JSONValue]) -> None:
        self.traffic = TrafficLog()
        self.log: deque[LogLine] = deque(maxlen=MAX_LOG)
        self.instances: dict[str, JSONObject] = {}
        """By id: the event that opened it, `isReady`, and in how many `panels` it is shown."""
        self._list_canvases = list_canvases
        self._listeners: list[Listener] = []
        self._event_listeners: list[EventListener] = []

    def subscribe_events(self, listener: EventListener) -> None:
        """Call `listener` with each event of a canvas from now on, once it was taken note of."""
        self._event_listeners.append(listener)

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with everything that happens from now on."""
        self._listeners.append(listener)

    def tell(self, kind: str, data: JSONObject) -> None:
        """Tell every listener."""
        for listener in self._listeners:
            listener(kind, data)

    def add_log(self, source: Source, level: Level, text: str) -> None:
        """Remember a line and show it to everybody."""
        line = LogLine(source, level, text, time.time())
        self.log.append(line)
        self.tell("log", line.describe())

    def note_message(self, message: Message) -> None:
        """Remember a message and show it to everybody."""
        entry = self.traffic.record(message, time.time())
        if entry is not None:
            self.tell("traffic", entry.describe())

    def note_event(self, event: SessionEvent) -> None:
        """Take from an event of the session what is to be seen of it."""
        data = cast(JSONObject, event.get("data") or {})
        match event["type"]:
            case CanvasEvent.OPENED:
                self.show(str(data["instanceId"]), {**data, "isReady": True})
            case CanvasEvent.UNAVAILABLE if data.get("instanceId") in self.instances:
                instance_id = str(data["instanceId"])
                self.show(instance_id, {**self.instances[instance_id], "isReady": False})
            case CanvasEvent.CLOSED:
                self.instances.pop(str(data["instanceId"]), None)
            case "session.info" | "session.warning" | "session.error" as name:
                level = cast(Level, name.removeprefix("session."))
                self.add_log("session", level, str(data.get("message", "")))
        if event["type"].startswith("session.canvas."):
            self.tell_canvases()
            for listener in self._event_listeners:
                listener(event["type"], data)

    def tell_canvases(self) -> None:
        """Tell what is declared and open."""
        self.tell("canvases", self.describe_canvases())

    def describe_canvases(self) -> JSONObject:
        return {"canvases": self._list_canvases(), "instances": list(self.instances.values())}

    def describe(self) -> JSONObject:
        """Return everything there is to see, except the bodies of messages."""
        return {
            "log": [line.describe() for line in self.log],
            "traffic": [entry.describe() for entry in self.traffic.entries],
            **self.describe_canvases(),
        }

    def show(self, instance_id: str, instance: JSONObject) -> None:
        """Have this instance shown, in as many panels as before."""
        panels = self.instances.get(instance_id, {}).get("panels", 1)
        self.instances[instance_id] = {**instance, "panels": panels}

    def show_panels(self, instance_id: str, more: int) -> None:
        """Show an instance in so many panels more; in one at least."""
        instance = self.find(instance_id)
        panels = max(1, cast(int, instance["panels"]) + more)
        self.instances[instance_id] = {**instance, "panels": panels}
        self.tell_canvases()

    def find(self, instance_id: str) -> JSONObject:
        """Find what is open.

        Raises:
            HostRefusal: it is not.
        """
        if instance_id not in self.instances:
            raise HostRefusal(f'Canvas instance "{instance_id}" is not open.')
        return self.instances[instance_id]
