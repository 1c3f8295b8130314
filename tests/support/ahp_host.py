"""An AHP host of which a test writes each frame, and a client of it. All waits are bounded."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from aiohttp import web

from canvas_provider.ahp.backoff import Backoff
from canvas_provider.ahp.change import Change
from canvas_provider.ahp.changes import Changes
from canvas_provider.ahp.client import AHPClient
from canvas_provider.protocol.ahp import ROOT

__all__ = [
    "CANVAS",
    "CHAT",
    "SESSION",
    "TKN",
    "ScriptedHost",
    "ScriptedPeer",
    "begin",
    "canvas_state",
    "canvases_changed",
    "chat_state",
    "follow",
    "open_scripted_host",
    "read_all",
    "root_state",
    "snapshot",
    "state_changed",
    "until",
    "until_gone",
    "within",
]

TKN: Final = "t0ken-t0ken-t0ken"
SESSION: Final = "ahp-session:/s1"
CHAT: Final = "ahp-chat:/c1"
CANVAS: Final = "ahp-canvas:/3b1e"

WAIT: Final = 10.0
"""Seconds, for each wait."""

R = TypeVar("R")


class ScriptedPeer:
    """The host's end of one connection."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._texts: asyncio.Queue[str] = asyncio.Queue()
        self._end = asyncio.Event()

    async def run(self) -> None:
        """Take what comes, and say goodbye when the client does."""
        async for message in self._socket:
            self._texts.put_nowait(message.data)
        self._end.set()

    async def receive(self) -> Any:
        """Return the next message of the client."""
        async with asyncio.timeout(WAIT):
            return json.loads(await self._texts.get())

    async def expect(self, method: str) -> Any:
        """Return the next message, which has to be of this method."""
        message = await self.receive()
        assert message.get("method") == method, message
        return message

    async def send(self, message: Any) -> None:
        """Send a message, or any text."""
        text = message if isinstance(message, str) else json.dumps(message)
        await self._socket.send_str(text)

    async def send_bytes(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def answer(self, request: Any, result: Any = None) -> None:
        await self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def fail(self, request: Any, code: int, message: str = "no", **data: Any) -> None:
        error = {"code": code, "message": message} | ({"data": data} if data else {})
        await self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    async def act(self, channel: str, action: Any, seq: int, **more: Any) -> None:
        """Send an action envelope."""
        params = {"channel": channel, "action": action, "serverSeq": seq, **more}
        await self.send({"jsonrpc": "2.0", "method": "action", "params": params})

    async def give(self, channel: str, state: Any, seq: int) -> Any:
        """Answer the subscription to this channel, which has to be the next message."""
        request = await self.expect("subscribe")
        assert request["params"] == {"channel": channel}
        await self.answer(request, {"snapshot": snapshot(channel, state, seq)})
        return request

    async def greet(self, *, seq: int = 4, root: Any = None, version: str = "1.1.0") -> Any:
        """Answer `initialize`; return its params."""
        request = await self.expect("initialize")
        state = root_state() if root is None else root
        result = {
            "protocolVersion": version,
            "serverSeq": seq,
            "snapshots": [snapshot(ROOT, state, seq)],
        }
        await self.answer(request, result)
        return request["params"]

    async def assert_idle(self) -> None:
        """Make sure that the client has sent nothing more: it answers a question of ours next."""
        await self.send({"jsonrpc": "2.0", "id": 77, "method": "idle", "params": {}})
        assert (await self.receive()).get("id") == 77

    async def drop(self) -> None:
        """End the connection without a word."""
        transport = self._socket._req.transport  # type: ignore[union-attr]
        assert transport is not None
        transport.abort()

    async def ended(self) -> None:
        """Wait until the client has gone."""
        async with asyncio.timeout(WAIT):
            await self._end.wait()


class ScriptedHost:
    """Connections of a client, as they come."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[web.Request] = []
        self.refuse = 0
        """Refuse connections with this status."""
        self._peers: asyncio.Queue[ScriptedPeer] = asyncio.Queue()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/?tkn={TKN}"

    async def accept(self) -> ScriptedPeer:
        """Wait for the next connection."""
        async with asyncio.timeout(WAIT):
            return await self._peers.get()

    @asynccontextmanager
    async def connect(
        self, *, root: Any = None, version: str = "1.1.0", **options: Any
    ) -> AsyncIterator[tuple[AHPClient, ScriptedPeer]]:
        """A client that has been greeted, and connects again at once."""
        options.setdefault("backoff", Backoff(first=0))
        client = AHPClient(self.url, client_id="c-7f", **options)
        connecting = asyncio.create_task(client.connect())
        peer = await self.accept()
        await peer.greet(root=root, version=version)
        async with asyncio.timeout(WAIT):
            await connecting
        try:
            yield client, peer
        finally:
            await client.aclose()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.refuse:
            return web.Response(status=self.refuse)
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        peer = ScriptedPeer(socket)
        self._peers.put_nowait(peer)
        await peer.run()
        return socket


@asynccontextmanager
async def open_scripted_host() -> AsyncIterator[ScriptedHost]:
    host = ScriptedHost()
    app = web.Application()
    app.router.add_get("/", host.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host.port = runner.addresses[0][1]
    try:
        yield host
    finally:
        await runner.cleanup()


def snapshot(channel: str, state: Any, seq: int) -> Any:
    return {"resource": channel, "state": state, "fromSeq": seq}


def root_state(*, canvases: bool = True) -> Any:
    agent = {"provider": "demo", "displayName": "Demo", "description": "A host.", "models": []}
    return {"agents": [agent | ({"capabilities": {"canvases": {}}} if canvases else {})]}


def chat_state(*canvases: str, **more: Any) -> Any:
    base = {"resource": CHAT, "title": "Chat", "status": 1, "modifiedAt": "2026-11-30T12:00:00Z"}
    listed = {"canvases": [{"resource": uri} for uri in canvases]} if canvases else {}
    return {**base, "turns": [], **listed, **more}


def canvas_state(title: str = "Board", url: str | None = None) -> Any:
    state = {"instanceId": "board-1", "extensionId": "project:kanban", "canvasId": "board"}
    return {**state, "title": title} | ({} if url is None else {"url": url})


def canvases_changed(*canvases: str) -> Any:
    return {
        "type": "chat/canvasesChanged",
        "canvases": [{"resource": uri} for uri in canvases] or None,
    }


def state_changed(title: str = "Board", url: str | None = None) -> Any:
    return {"type": "canvas/stateChanged", "canvas": canvas_state(title, url)}


async def within(waiting: Coroutine[Any, Any, R] | asyncio.Task[R]) -> R:
    async with asyncio.timeout(WAIT):
        return await waiting


def begin(waiting: Coroutine[Any, Any, R]) -> "asyncio.Task[R]":
    return asyncio.create_task(waiting)


async def until(changes: Changes, channel: str, **expected: object) -> Change:
    """Wait for a change after which the channel's state has these values."""
    async with asyncio.timeout(WAIT):
        async for change in changes:
            state = change.state or {}
            if change.channel == channel and expected.items() <= state.items():
                return change
    raise AssertionError("the changes have ended")


async def read_all(changes: Changes) -> list[Change]:
    return [change async for change in changes]


async def until_gone(changes: Changes, channel: str) -> None:
    async with asyncio.timeout(WAIT):
        async for change in changes:
            if (change.channel, change.kind) == (channel, "gone"):
                return


async def follow(client: AHPClient, peer: ScriptedPeer, *canvases: str, seq: int = 5) -> None:
    """Follow a chat that has these canvases."""
    following = begin(client.follow(CHAT))
    changes = client.changes()
    await peer.give(CHAT, chat_state(*canvases), seq)
    await within(following)
    for canvas in canvases:
        await peer.give(canvas, canvas_state(), seq)
        await until(changes, canvas)
