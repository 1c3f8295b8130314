"""The session of the development host, as one that AHP clients are shown, whatever its runtime."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from canvas_provider.ahp.hosting.chat_source import SourceListener
from canvas_provider.host.bench import Bench
from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.copilot import CanvasEvent, DiscoveredCanvas, OpenCanvas
from canvas_provider.types import JSONObject

__all__ = ["DevelopmentChat", "session_id_of"]

EVENT_IN: Final = 5.0
"""Seconds from an answer to the event that says the same; mostly that was there before."""


def session_id_of(bench: Bench) -> str:
    """Return the id of its session; empty while there is none yet."""
    return str(cast(JSONObject, bench.describe()["session"])["id"])


class DevelopmentChat:
    """A `ChatSource`. Its chat is cold while the extension does not run.

    The bench has to have a session.
    """

    def __init__(self, bench: Bench) -> None:
        self.session_id = session_id_of(bench)
        self._bench = bench
        self._listeners: list[SourceListener] = []
        self._changed = asyncio.Event()
        bench.subscribe(self._note)
        bench.journal.subscribe_events(self._tell)

    @property
    def title(self) -> str:
        return self._bench.extension.name

    @property
    def working_directory(self) -> str:
        session = cast(JSONObject, self._bench.describe()["session"])
        return str(session["workingDirectory"])

    @property
    def has_backing(self) -> bool:
        """Always: the extension is there to be started."""
        return True

    def canvases(self) -> list[DiscoveredCanvas] | None:
        """Return what the extension declares, while it runs."""
        if self._bench.status.phase != "ready":
            return None
        declared = self._bench.journal.describe_canvases()["canvases"]
        return cast(list[DiscoveredCanvas], declared)

    def instances(self) -> list[OpenCanvas]:
        """Return what is open, and what waits to come back without its URL."""
        shown = self._bench.journal.instances.values()
        described = [
            {key: each[key] for key in each if each.get("isReady") or key != "url"}
            for each in shown
        ]
        return cast(list[OpenCanvas], described)

    def subscribe(self, listener: SourceListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def materialize(self) -> None:
        """Start the extension, or wait for it if it is starting.

        Raises:
            HostRefusal: it cannot be started.
        """
        if self._bench.status.phase in ("failed", "stopped"):
            await self._bench.commands["reload"]({})
        while self._bench.status.phase == "starting":
            self._changed.clear()
            await self._changed.wait()
        if self._bench.status.phase != "ready":
            raise HostRefusal("The extension could not be started.")

    async def open(self, canvas_id: str, instance_id: str, extension_id: str) -> None:
        """Open an instance, or focus it with the input that it has."""
        instances = self._bench.journal.instances
        known = instances.get(instance_id, {})
        body: JSONObject = {"canvasId": canvas_id, "instanceId": instance_id}
        body["extensionId"] = extension_id
        if "input" in known:
            body["input"] = known["input"]
        await self._bench.commands["open"](body)
        await self._wait_until(lambda: bool(instances.get(instance_id, {}).get("isReady")))

    async def close(self, instance_id: str) -> None:
        await self._bench.commands["close"]({"instanceId": instance_id})
        await self._wait_until(lambda: instance_id not in self._bench.journal.instances)

    async def _wait_until(self, is_true: Callable[[], bool]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(EVENT_IN):
                while not is_true():
                    self._changed.clear()
                    await self._changed.wait()

    def _note(self, kind: str, data: JSONObject) -> None:
        if kind == "status":
            self._tell(CanvasEvent.REGISTRY_CHANGED, {})

    def _tell(self, type: str, data: JSONObject) -> None:
        self._changed.set()
        for listener in tuple(self._listeners):
            listener(type, data)
