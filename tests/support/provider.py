"""An extension in a child process, with the test in Copilot's place at its stdio."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import PipeTransport

Answer = Callable[[str, JSONObject], Awaitable[JSONValue]]


async def welcome(method: str, params: JSONObject) -> JSONValue:
    """What a runtime says that takes everybody in."""
    return {"ok": True, "sessionId": "s-1", "workspacePath": "/workspace"}


@dataclass
class Provider:
    """The process, and our end of its wire."""

    process: asyncio.subprocess.Process
    peer: Peer
    joined: asyncio.Event
    stderr: bytearray = field(default_factory=bytearray)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    async def open(
        self, instance_id: str = "b1", canvas_id: str = "board", **fields: JSONValue
    ) -> JSONObject:
        opened = await self._call(
            "canvas.open", instanceId=instance_id, canvasId=canvas_id, **fields
        )
        assert isinstance(opened, dict)
        return opened

    async def invoke(
        self, action: str, input: JSONValue = None, instance_id: str = "b1"
    ) -> JSONValue:
        return await self._call(
            "canvas.action.invoke",
            instanceId=instance_id,
            canvasId="board",
            actionName=action,
            input=input,
        )

    async def close(self, instance_id: str = "b1") -> None:
        await self._call("canvas.close", instanceId=instance_id, canvasId="board")

    async def exit_code(self, within: float = 5) -> int:
        """Wait for the end of the process and of its stderr."""
        async with asyncio.timeout(within):
            code = await self.process.wait()
            if self._reading is not None:
                await self._reading
        return code

    def errors(self) -> str:
        return self.stderr.decode()

    async def said(self, text: str) -> None:
        """Wait until this is on stderr."""
        async with asyncio.timeout(10):
            while text not in self.errors():
                self.news.clear()
                await self.news.wait()

    async def _call(self, method: str, **fields: JSONValue) -> JSONValue:
        params = {"sessionId": "s-1", "extensionId": "project:board", **fields}
        async with asyncio.timeout(10):
            return await self.peer.request(method, params)


@asynccontextmanager
async def provider(
    extension: Path, *, answer: Answer = welcome, join: bool = True, **environment: str
) -> AsyncIterator[Provider]:
    """Start an extension file as the shim does. It is killed in the end, if it still lives."""
    joined = asyncio.Event()

    async def on_request(method: str, params: JSONObject) -> JSONValue:
        result = await answer(method, params)
        if method == "session.resume":
            joined.set()
        return result

    read_out, write_out = os.pipe()
    read_in, write_in = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "canvas_provider.boot", str(extension)),
        stdin=read_in,
        stdout=write_out,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "SESSION_ID": "s-1", **environment},
    )
    os.close(read_in)
    os.close(write_out)
    peer = Peer(PipeTransport(read_out, write_in), on_request=on_request)
    it = Provider(process, peer, joined)
    it._reading = asyncio.ensure_future(_read(it))
    peer.start()
    try:
        if join:
            await _join(it)
        yield it
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await peer.aclose()
        await it._reading


async def _join(it: Provider) -> None:
    """Wait until it has joined; say at once what it says if it ends instead."""
    waiting = [asyncio.ensure_future(it.joined.wait()), asyncio.ensure_future(it.process.wait())]
    try:
        await asyncio.wait(waiting, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
    assert it.joined.is_set(), f"the extension has not joined: {it.errors()}"


async def _read(it: Provider) -> None:
    assert it.process.stderr is not None
    while chunk := await it.process.stderr.read(65536):
        it.stderr += chunk
        it.news.set()
