"""The session of the development host, as one that AHP clients are shown."""

import asyncio
from collections.abc import Callable
from typing import cast

from canvas_provider.ahp.hosting.chat_source import SourceListener
from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.workbench import Workbench
from canvas_provider.protocol.copilot import CanvasEvent, DiscoveredCanvas, OpenCanvas
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import MISSING, JSONObject

__all__ = ["DevelopmentChat"]


class DevelopmentChat:
    """A `ChatSource`. Its chat is cold while the extension does not run."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._listeners: list[SourceListener] = []
        self._settled = asyncio.Event()
        workbench.subscribe(self._note)
        workbench.runtime.subscribe(self._note_event)

    @property
    def session_id(self) -> str:
        return self._bench.runtime.session_id

    @property
    def title(self) -> str:
        return self._bench.extension.name

    @property
    def working_directory(self) -> str:
        return self._bench.runtime.working_directory

    @property
    def has_backing(self) -> bool:
        """Always: the extension is there to be started."""
        return True

    def canvases(self) -> list[DiscoveredCanvas] | None:
        """Return what the extension declares, while it runs."""
        return self._bench.runtime.list() if self._bench.status.phase == "ready" else None

    def instances(self) -> list[OpenCanvas]:
        """Return what is open, and what waits to come back without its URL."""
        shown = cast(list[JSONObject], self._bench.describe()["instances"])
        return [
            cast(
                OpenCanvas,
                {key: each[key] for key in each if each.get("isReady") or key != "url"},
            )
            for each in shown
        ]

    def subscribe(self, listener: SourceListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def materialize(self) -> None:
        """Start the extension, or wait for it if it is starting.

        Raises:
            HostRefusal: it cannot be started.
        """
        if self._bench.status.phase in ("failed", "stopped"):
            await self._bench.start(open_canvas=False)
        while self._bench.status.phase == "starting":
            self._settled.clear()
            await self._settled.wait()
        if self._bench.status.phase != "ready":
            raise HostRefusal("The extension could not be started.")

    async def open(self, canvas_id: str, instance_id: str, extension_id: str) -> None:
        """Open an instance, or focus it with the input that it has."""
        open = {each["instanceId"]: each for each in self.instances()}
        input = open[instance_id].get("input", MISSING) if instance_id in open else MISSING
        await self._bench.runtime.open(canvas_id, instance_id, input, extension_id)

    async def close(self, instance_id: str) -> None:
        await self._bench.runtime.close(instance_id)

    def _note(self, kind: str, data: JSONObject) -> None:
        if kind == "status":
            self._settled.set()
            self._tell(CanvasEvent.REGISTRY_CHANGED, {})

    def _note_event(self, event: SessionEvent) -> None:
        self._tell(event["type"], cast(JSONObject, event.get("data") or {}))

    def _tell(self, type: str, data: JSONObject) -> None:
        for listener in tuple(self._listeners):
            listener(type, data)
