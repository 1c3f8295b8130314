"""A session with contributions over memory; at its other end a bare peer plays the runtime."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Unpack

from canvas_provider import Canvas
from canvas_provider.config import Settings
from canvas_provider.errors import MethodNotFound
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.options import JoinOptions
from canvas_provider.session.session import Session
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import NoWeb

SESSION = "s-1"


class FakeRuntime:
    """Takes the extension in, and keeps what it asks."""

    def __init__(self) -> None:
        self.declared: JSONObject = {}
        """The parameters of `session.resume`."""
        self.joining: JSONObject = {}
        """What the answer to it has besides."""
        self.refusal: Exception | None = None
        self.requests: list[tuple[str, JSONObject]] = []
        self.peer: Peer = None  # type: ignore[assignment]
        self._asked: asyncio.Queue[tuple[str, JSONObject]] = asyncio.Queue()

    async def serve(self, method: str, params: JSONObject) -> JSONValue:
        if method == "connect":
            return {"ok": True, "protocolVersion": 3}
        if method == "session.resume":
            self.declared = params
            if self.refusal is not None:
                raise self.refusal
            return {"sessionId": SESSION, **self.joining}
        if not method.startswith("session."):
            raise MethodNotFound(method)
        self.requests.append((method, params))
        self._asked.put_nowait((method, params))
        return {"success": True}

    def tell(self, kind: Any, data: Any) -> None:
        """Send an event, however broken."""
        event = {"type": kind, "data": data}
        self.peer.notify("session.event", {"sessionId": SESSION, "event": event})

    async def asked(self) -> tuple[str, JSONObject]:
        """The next request of the extension."""
        async with asyncio.timeout(5):
            return await self._asked.get()

    async def ask(self, method: str, params: JSONObject) -> JSONValue:
        async with asyncio.timeout(5):
            return await self.peer.request(method, {"sessionId": SESSION, **params})

    async def call_tool(self, name: str, arguments: Any = None, *, id: str = "r-1") -> JSONValue:
        """Call a tool as the model does, and return its result."""
        self.tell("external_tool.requested", request_of(name, arguments, id))
        method, params = await self.asked()
        assert method == "session.tools.handlePendingToolCall"
        assert params["requestId"] == id
        assert "error" not in params
        return params["result"]


def request_of(name: str, arguments: Any = None, id: str = "r-1") -> JSONObject:
    return {
        "requestId": id,
        "sessionId": SESSION,
        "toolCallId": "call-1",
        "toolName": name,
        "arguments": arguments,
        "workingDirectory": "/project",
    }


@asynccontextmanager
async def contributing(
    *,
    canvases: Sequence[Canvas] = (),
    prepare: Callable[[FakeRuntime], object] = lambda runtime: None,
    **options: Unpack[JoinOptions],
) -> AsyncIterator[tuple[FakeRuntime, Session]]:
    """Join with these contributions."""
    runtime = FakeRuntime()
    prepare(runtime)
    handshake = Handshake.begin(
        canvases, Contributions(**options), session_id=SESSION, settings=Settings()
    )
    ours, theirs = memory_pair()
    runtime.peer = Peer(theirs, on_request=runtime.serve)
    runtime.peer.start()
    session = Session(handshake, ours, NoWeb())
    try:
        await session.join()
        yield runtime, session
    finally:
        await session.aclose()
        await runtime.peer.aclose()
