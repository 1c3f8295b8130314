"""An AHP host over the embedded runtime, in memory, and a client that knows nothing but frames."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Self, cast

import aiohttp

from canvas_provider.ahp.host import AHPHost
from canvas_provider.ahp.hosting.chat_source import ResourceReader, SourceListener
from canvas_provider.errors import RemoteError
from canvas_provider.host.link import ProviderLink
from canvas_provider.host.runtime import Runtime
from canvas_provider.protocol.copilot import CanvasEvent, DiscoveredCanvas, OpenCanvas
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import MISSING, JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair

__all__ = ["BOARD", "EXTENSION", "ROOT", "Client", "Desk", "hosted"]

ROOT: Final = "ahp-root://"

EXTENSION: Final = "project:demo"

TIMEOUT: Final = 10.0
"""Seconds, for each wait."""

BOARD: Final[JSONObject] = {
    "id": "board",
    "displayName": "Board",
    "description": "Tasks.",
    "actions": [{"name": "move"}],
}

REPORT: Final[JSONObject] = {
    "id": "report",
    "displayName": "Report",
    "description": "Of a month.",
    "inputSchema": {
        "type": "object",
        "properties": {"month": {"type": "string"}},
        "required": ["month"],
    },
}


class Desk:
    """A session with one extension: a `ChatSource`, and what brings about its life.

    Args:
        session_id: Its chat is `ahp-chat:/<session_id>`.
        is_cold: Its extension starts when it is asked to.
        has_backing: False: nothing was ever said in it.
    """

    def __init__(
        self,
        session_id: str = "s1",
        *,
        is_cold: bool = False,
        has_backing: bool = True,
        extension_id: str = EXTENSION,
    ) -> None:
        self.extension_id = extension_id
        self.runtime = Runtime(
            working_directory="/work", workspace_path="/space", session_id=session_id
        )
        self.is_cold = is_cold
        self.has_backing = has_backing
        self.title = "Demo"
        self.working_directory = "/work"
        self.canvas_list: list[JSONValue] = [BOARD, REPORT]
        self.calls: list[tuple[str, JSONObject]] = []
        """What the extension was asked."""
        self.shown: JSONObject = {"url": "http://127.0.0.1:1/t/", "title": "My board"}
        """How it answers an open."""
        self.refusal = ""
        """Why it refuses to open."""
        self.gate = asyncio.Event()
        """Its opens wait for it."""
        self.gate.set()
        self.starts = 0
        self.start_gate = asyncio.Event()
        self.start_gate.set()
        self._peer: Peer | None = None
        self._link: ProviderLink | None = None
        self._listeners: list[SourceListener] = []
        self.runtime.subscribe(self._note)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    @property
    def session_id(self) -> str:
        return self.runtime.session_id

    @property
    def chat(self) -> str:
        return f"ahp-chat:/{self.session_id}"

    def canvases(self) -> list[DiscoveredCanvas] | None:
        return None if self.is_cold else self.runtime.list()

    def instances(self) -> list[OpenCanvas]:
        return self.runtime.list_open()

    def subscribe(self, listener: SourceListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def materialize(self) -> None:
        await self.start_gate.wait()
        if self.refusal:
            raise RuntimeError(self.refusal)
        await self.start()

    async def open(self, canvas_id: str, instance_id: str, extension_id: str) -> None:
        known = {each["instanceId"]: each for each in self.runtime.list_open()}
        input = known[instance_id].get("input", MISSING) if instance_id in known else MISSING
        await self.runtime.open(canvas_id, instance_id, input, extension_id)

    async def close(self, instance_id: str) -> None:
        await self.runtime.close(instance_id)

    # Its extension.

    async def start(self) -> None:
        """Start the extension and have it join."""
        self.starts += 1
        near, far = memory_pair()
        self._link = await self.runtime.attach(
            near, extension_id=self.extension_id, extension_name="demo"
        )
        self._peer = Peer(far, on_request=self._serve)
        self._peer.start()
        self.is_cold = False
        await self.declare(*self.canvas_list)
        await self._link.wait_joined()

    async def declare(self, *canvases: JSONValue) -> None:
        """Have the extension declare exactly these."""
        assert self._peer is not None
        params: JSONObject = {"sessionId": self.session_id, "canvases": [*canvases]}
        await self._peer.request("session.resume", params)

    async def kill(self) -> None:
        """End the extension, as a crash does."""
        if self._peer is not None and self._link is not None:
            await self._peer.aclose()
            await self._link.wait_closed()
            self._peer = None

    async def aclose(self) -> None:
        self.gate.set()
        await self.kill()
        await self.runtime.aclose()

    def show_many(self, instance_id: str, count: int) -> None:
        """Have an instance change so often, at once."""
        for number in range(count):
            data = {
                "instanceId": instance_id,
                "extensionId": self.extension_id,
                "canvasId": "board",
                "title": f"Change {number}",
                "url": "http://127.0.0.1:1/t/",
            }
            self.tell(CanvasEvent.OPENED, cast(JSONObject, data))

    def tell(self, type: str, data: JSONObject) -> None:
        """Tell the host of an event of the session."""
        for listener in tuple(self._listeners):
            listener(type, data)

    def _note(self, event: SessionEvent) -> None:
        self.tell(event["type"], cast(JSONObject, event.get("data") or {}))

    async def _serve(self, method: str, params: JSONObject) -> JSONValue:
        self.calls.append((method, params))
        if method == "canvas.open":
            await self.gate.wait()
            if self.refusal:
                raise RemoteError(-32603, self.refusal)
            return self.shown
        return None


class Client:
    """A client that sends what it is told, and takes frames one by one."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self._last_id = 0

    async def send(self, text: str) -> None:
        await self.socket.send_str(text)

    async def begin(self, method: str, **params: JSONValue) -> int:
        """Send a request; `answer` takes what comes of it."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        await self.send(json.dumps(message))
        return self._last_id

    async def ask(self, method: str, **params: JSONValue) -> Any:
        """Send a request; return its result, if the next frame is it."""
        id = await self.begin(method, **params)
        frame = await self.take()
        assert frame.get("id") == id, frame
        assert "result" in frame, frame
        return frame["result"]

    async def fail(self, method: str, **params: JSONValue) -> int:
        """Send a request; return the code of its error, if the next frame is it."""
        return int((await self.failure(method, **params))["code"])

    async def failure(self, method: str, **params: JSONValue) -> Any:
        id = await self.begin(method, **params)
        frame = await self.take()
        assert frame.get("id") == id, frame
        assert "error" in frame, frame
        return frame["error"]

    async def run(self, method: str, **params: JSONValue) -> list[Any]:
        """Send a request; return every frame up to its answer, which is the last one."""
        id = await self.begin(method, **params)
        frames = [await self.take()]
        while frames[-1].get("id") != id:
            frames.append(await self.take())
        return frames

    async def notify(self, method: str, **params: JSONValue) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def dispatch(self, channel: str, type: str, seq: int = 1, **rest: JSONValue) -> None:
        action: JSONObject = {"type": type, **rest}
        await self.notify("dispatchAction", channel=channel, clientSeq=seq, action=action)

    async def take(self) -> Any:
        """Take the next frame."""
        async with asyncio.timeout(TIMEOUT):
            return json.loads(await self.socket.receive_str())

    async def action(self) -> Any:
        """Take the next frame, which has to be an action."""
        frame = await self.take()
        assert frame.get("method") == "action", frame
        return frame["params"]

    async def idle(self) -> list[Any]:
        """Return what came until a ping was answered: everything that was under way."""
        return (await self.run("ping", channel=ROOT))[:-1]

    async def initialize(
        self, *subscriptions: str, versions: tuple[str, ...] = ("1.1.0",), id: str = "c1"
    ) -> Any:
        return await self.ask(
            "initialize",
            channel=ROOT,
            protocolVersions=[*versions],
            clientId=id,
            initialSubscriptions=[*subscriptions],
        )

    async def reconnect(self, seen: int, *subscriptions: str, id: str = "c1") -> Any:
        return await self.ask(
            "reconnect",
            channel=ROOT,
            clientId=id,
            lastSeenServerSeq=seen,
            subscriptions=[*subscriptions],
        )

    async def subscribe(self, channel: str) -> Any:
        """Subscribe, and return the state."""
        return (await self.ask("subscribe", channel=channel))["snapshot"]["state"]

    async def wait_closed(self) -> int | None:
        """Wait until the host ends the connection; return its code."""
        async with asyncio.timeout(TIMEOUT):
            while not (await self.socket.receive()).type.name.startswith("CLOS"):
                pass
        return self.socket.close_code

    async def aclose(self) -> None:
        await self.socket.close()


class Hosted:
    """A host with sessions, and as many clients as a test needs."""

    def __init__(self, host: AHPHost, stack: AsyncExitStack, http: aiohttp.ClientSession) -> None:
        self.host = host
        self._stack = stack
        self._http = http

    async def connect(self) -> Client:
        socket = await self._http.ws_connect(self.host.url, max_msg_size=0)
        client = Client(socket)
        self._stack.push_async_callback(client.aclose)
        return client

    async def client(self, *subscriptions: str, id: str = "c1", version: str = "1.1.0") -> Client:
        """Return a client that is initialized."""
        client = await self.connect()
        await client.initialize(*subscriptions, versions=(version,), id=id)
        return client


@asynccontextmanager
async def hosted(
    *desks: Desk, has_registry: bool = True, reader: ResourceReader | None = None
) -> AsyncIterator[Hosted]:
    """Serve the sessions; those that are not cold have their extension started."""
    async with AsyncExitStack() as stack:
        for desk in desks:
            stack.push_async_callback(desk.aclose)
            if not desk.is_cold:
                await desk.start()
        host = await AHPHost.start(desks, reader=reader, has_registry=has_registry)
        stack.push_async_callback(host.aclose)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield Hosted(host, stack, http)
