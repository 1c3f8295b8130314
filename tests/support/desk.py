"""An example as a person has it: a process under the development host, panels in a browser."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page

from canvas_provider.host.runtime import HostRefusal
from canvas_provider.host.workbench import FIRST_INSTANCE, Extension, Workbench
from canvas_provider.types import JSONValue
from tests.support.browser import Visit

__all__ = ["AGENT_PANEL", "SECOND_PANEL", "Desk", "open_desk"]

AGENT_PANEL: Final = FIRST_INSTANCE
"""The panel that the agent calls."""

SECOND_PANEL: Final = "second"
"""Another on the same document."""


class Desk:
    """The running extension, and its panels in the browser."""

    def __init__(self, bench: Workbench, visit: Visit) -> None:
        self._bench = bench
        self._visit = visit

    async def agent(self, action: str, /, **input: JSONValue) -> Any:
        """Call an action as the agent does."""
        return await self._bench.runtime.invoke(AGENT_PANEL, action, input)

    async def try_agent(self, action: str, /, **input: JSONValue) -> str:
        """Call an action that may come too late; return the refusal, or nothing."""
        try:
            await self.agent(action, **input)
        except HostRefusal as refusal:
            return refusal.message
        return ""

    def url(self, instance_id: str) -> str:
        """Where the panel is now."""
        [url] = [
            one["url"]
            for one in self._bench.runtime.list_open()
            if one["instanceId"] == instance_id
        ]
        return url

    async def look(self, instance_id: str, width: int = 1100) -> Page:
        """Open a panel in a browser window of its own."""
        return await self._visit(
            self.url(instance_id),
            viewport={"width": width, "height": 640},
            reduced_motion="reduce",
        )

    async def strike(self, number: signal.Signals) -> None:
        """End the extension's process from outside, and return when the host has noticed."""
        pid = self._bench.status.pid
        assert pid is not None
        async with self._until(lambda: self._bench.status.phase == "failed"):
            os.kill(pid, number)

    async def restart(self) -> None:
        """Start the extension again, as the button of the host does, and have its panels back."""
        async with self._until(lambda: self._open_panels() == {AGENT_PANEL, SECOND_PANEL}):
            await self._bench.reload()
            assert self._bench.status.phase == "ready", self._bench.status.detail

    def _open_panels(self) -> set[str]:
        return {one["instanceId"] for one in self._bench.runtime.list_open()}

    @asynccontextmanager
    async def _until(self, reached: Callable[[], bool]) -> AsyncIterator[None]:
        """Do something, then wait until the host is where that leads."""
        told = asyncio.Event()
        self._bench.subscribe(lambda kind, data: told.set())
        async with asyncio.timeout(30):
            yield
            while not reached():
                told.clear()
                await told.wait()


@asynccontextmanager
async def open_desk(script: Path, visit: Visit, workspace: Path) -> AsyncIterator[Desk]:
    """Start an example with two panels on its document."""
    bench = Workbench(
        Extension(script, script.parent.name),
        working_directory=str(workspace),
        workspace_path=str(workspace),
    )
    try:
        async with asyncio.timeout(30):
            await bench.start()
        assert bench.status.phase == "ready", bench.status.detail
        [canvas] = bench.runtime.list()
        await bench.runtime.open(canvas["canvasId"], SECOND_PANEL)
        yield Desk(bench, visit)
    finally:
        await bench.aclose(1)
