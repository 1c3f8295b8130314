"""A canvas on a real loopback port, with the embedded runtime as its host: for browsers."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from canvas_provider import Canvas
from canvas_provider.config import Settings
from canvas_provider.host.runtime import Runtime
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.session import Session
from canvas_provider.types import MISSING, JSONValue, Missing
from canvas_provider.web.loopback import LoopbackWeb
from canvas_provider.wire.transports import memory_pair

INSTANCE = "live"


@dataclass(frozen=True)
class Live:
    """An open canvas that a browser can reach."""

    canvas: Canvas
    runtime: Runtime
    url: str

    async def agent(self, action: str, **input: JSONValue) -> Any:
        """Call an action as the agent does."""
        return await self.runtime.invoke(INSTANCE, action, input)

    async def close(self) -> None:
        """Close the instance on purpose."""
        await self.runtime.close(INSTANCE)


@asynccontextmanager
async def open_live(canvas: Canvas, input: JSONValue | Missing = MISSING) -> AsyncIterator[Live]:
    """Open a canvas in this process, its page on 127.0.0.1."""
    with tempfile.TemporaryDirectory(prefix="canvas-live-") as folder:
        async with Runtime(working_directory=folder, workspace_path=folder) as runtime:
            ours, theirs = memory_pair()
            await runtime.attach(theirs, extension_id="project:live", extension_name="live")
            handshake = Handshake.begin(
                [canvas], session_id=runtime.session_id, settings=Settings()
            )
            session = Session(handshake, ours, LoopbackWeb())
            await session.join()
            try:
                shown = await runtime.open(canvas.id, INSTANCE, input)
                yield Live(canvas, runtime, shown["url"])
            finally:
                await session.aclose()
