"""A client of any Agent Host Protocol host: it sees the canvases of chats, opens and closes them.

    async with AHPClient("ws://127.0.0.1:4100/?tkn=…") as client:
        chat = await client.find_chat()
        await client.follow(chat)
        registry = await client.request_registry(chat)
        board = await client.open_canvas(chat, "project:kanban", "kanban")
        page = await client.read(board)
        async for change in client.changes():
            ...

It keeps a copy of each channel that it has subscribed to. When the connection is lost, it connects
again, makes up what was missed and goes on; calls that wait for an answer get it then. What an
agent host does not claim to support is not tried.
"""

import asyncio
import weakref
from contextlib import suppress
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from canvas_provider.ahp.answers import read_chats, read_sessions
from canvas_provider.ahp.backoff import Backoff
from canvas_provider.ahp.calls import Calls
from canvas_provider.ahp.change import Change
from canvas_provider.ahp.changes import Changes
from canvas_provider.ahp.dialogue import Dialogue
from canvas_provider.ahp.event import Answered, Ended, Event, Failed, Ready
from canvas_provider.ahp.following import canvases_of
from canvas_provider.ahp.line import Line, host_of
from canvas_provider.ahp.reader import Reader
from canvas_provider.ahp.reducers import scheme_of
from canvas_provider.ahp.registry_requests import RegistryRequests
from canvas_provider.ahp.resource import Resource
from canvas_provider.errors import (
    ConnectionClosed,
    InvalidAnswer,
    NotFound,
    Unavailable,
    Unsupported,
    WireError,
)
from canvas_provider.protocol.ahp import ROOT, ErrorCode, Method, Scheme, SessionSummary
from canvas_provider.protocol.ahp_canvases import (
    REGISTRY,
    CanvasMethod,
    CanvasRegistry,
    has_canvases,
)
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["AHPClient"]

TIMEOUT: Final = 30.0
"""Seconds for an answer, a new connection included."""

REGISTRY_TIMEOUT: Final = 60.0
"""Seconds for a cold chat to start its providers."""

MAX_SESSIONS: Final = 1000

SCHEMES: Final = frozenset(Scheme)

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class AHPClient:
    """Use it as `async with AHPClient(url) as client:`.

    Args:
        url: of the host, `ws://` or `wss://`, with its token. It is kept to itself.
        client_id: what the host knows this client by; another one with the same takes its place.
        direct: read canvases without the host where that is possible: on the same machine.
        timeout: Seconds for an answer, also while there is no connection.
        backoff: how long to wait before connecting again.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str | None = None,
        direct: bool = True,
        timeout: float = TIMEOUT,
        backoff: Backoff | None = None,
    ) -> None:
        near = direct and host_of(url) in LOOPBACK
        self._reader = Reader(self._request, direct=near)
        self._timeout = timeout
        self._dialogue = Dialogue(client_id or uuid4().hex, {"name": "canvas_provider"})
        self._line = Line(
            url,
            backoff or Backoff(),
            begin=self._begin,
            receive=self._receive,
            lose=self._dialogue.lose,
        )
        self._registries = RegistryRequests(self._dialogue.dispatch)
        self._calls = Calls()
        self._readers: weakref.WeakSet[Changes] = weakref.WeakSet()
        self._running: asyncio.Task[None] | None = None
        self._end: WireError | None = None
        self._ready = asyncio.Event()

    def __repr__(self) -> str:
        state = "connected" if self.is_connected else "not connected"
        return f"<AHPClient {state}, {len(self._dialogue.mirror.channels)} channels>"

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    # The connection.

    async def connect(self) -> None:
        """Connect, and agree on a version.

        Raises:
            ConnectionClosed: the host cannot be reached, or does not let us in.
            UnsupportedVersion: it speaks none of our versions.
            AuthRequired: it wants to know first who asks.
            TimeoutError: it does not introduce itself.
        """
        if self._running is not None:
            raise RuntimeError("a client is connected once: make another one")
        self._running = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(self._timeout):
                await self._ready.wait()
        except BaseException:
            await self.aclose()
            raise
        if self._end is not None:
            await self.aclose()
            raise self._end

    async def aclose(self) -> None:
        """Disconnect. What waits for an answer gets `ConnectionClosed`. May be called twice."""
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await asyncio.wait([self._running])
        await self._reader.aclose()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now. If not, there may be one again."""
        return self._dialogue.is_ready

    @property
    def version(self) -> str | None:
        """The version of the protocol that was agreed on."""
        return self._dialogue.version

    # What the host has.

    @property
    def supports_canvases(self) -> bool:
        """Whether the host says that its types of canvases can be listed and opened."""
        return has_canvases(self.state(ROOT))

    def state(self, channel: str) -> JSONObject | None:
        """Return a channel's state as it is known now; None if it is not subscribed to, or gone.

        States share their structure: read it, never write to it.
        """
        return self._dialogue.mirror.state(channel)

    def canvases(self, chat: str) -> dict[str, JSONObject | None]:
        """Return the open canvases of a chat that is followed, in order.

        The state of one that has just been opened may still be on its way.
        """
        return {uri: self.state(uri) for uri in canvases_of(self.state(chat))}

    def registry(self, chat: str) -> CanvasRegistry | None:
        """Return the types of canvases that a chat offers; None: not known, or unavailable."""
        return CanvasRegistry.from_json((self.state(chat) or {}).get(REGISTRY))

    def changes(self) -> Changes:
        """Return the changes from now on, for `async for`.

        A reader who is slow gets fewer changes, and always the latest state.
        """
        changes = Changes(self.state)
        if self._end is not None or (self._running is not None and self._running.done()):
            changes.end(self._end)
        self._readers.add(changes)
        return changes

    # Channels.

    async def subscribe(self, channel: str) -> JSONObject:
        """Keep a copy of a channel from now on, and return its state.

        Raises:
            ValueError: no channel that this client understands.
            NotFound: there is no such channel.
        """
        return await self._subscribe(channel, follow=False)

    async def follow(self, chat: str) -> JSONObject:
        """Subscribe to a chat, and to its canvases for as long as it has them."""
        if scheme_of(chat) != Scheme.CHAT:
            raise ValueError("only chats can be followed")
        return await self._subscribe(chat, follow=True)

    def unsubscribe(self, channel: str) -> None:
        """Forget a channel; with a chat that was followed, also its canvases."""
        self._dialogue.unsubscribe(channel)
        self._flush()

    async def list_sessions(self) -> list[SessionSummary]:
        """Return the sessions of the host, the most recent first, and no more than a thousand."""
        sessions: list[SessionSummary] = []
        params: JSONObject = {"channel": ROOT}
        while len(sessions) < MAX_SESSIONS:
            found = read_sessions(await self._request(Method.LIST_SESSIONS, params))
            if found is None:
                raise InvalidAnswer("the host answered without a list of sessions")
            page, cursor = found
            sessions += page
            if cursor is None or not page:
                break
            params = {"channel": ROOT, "cursor": cursor}
        return sessions

    async def find_chat(self, session: str | None = None) -> str:
        """Return the first chat of a session, or of the most recent one.

        Raises:
            NotFound: there is none.
        """
        if session is None:
            found = read_sessions(await self._request(Method.LIST_SESSIONS, {"channel": ROOT}))
            session = found[0][0]["resource"] if found and found[0] else None
        chats = [] if session is None else read_chats(await self.subscribe(session))
        if chats:
            return chats[0]
        raise NotFound(ErrorCode.NOT_FOUND, "The host has no chat.")

    # Canvases.

    async def request_registry(
        self,
        chat: str,
        *,
        timeout: float = REGISTRY_TIMEOUT,  # noqa: ASYNC109
    ) -> CanvasRegistry | None:
        """Return the types of canvases that a chat offers; a cold chat starts its providers first.

        None means that the host has none to tell.

        Raises:
            Unsupported: the host does not claim to know them.
            PermissionDenied: it rejected the request.
            TimeoutError: nothing came. A host has no other way to say that it failed.
        """
        self._require_canvases()
        if self.state(chat) is None:
            await self.subscribe(chat)
        known = self.registry(chat)
        if known is not None:
            return known
        self._require_connection()
        asked = self._registries.ask(chat)
        self._flush()
        async with asyncio.timeout(timeout):
            # The future is not cancelled: somebody else may wait longer.
            return await asyncio.shield(asked)

    async def open_canvas(
        self, chat: str, extension_id: str, canvas_id: str, *, uri: str | None = None
    ) -> str:
        """Open a canvas, wait for its state, and return its URI.

        Args:
            uri: of a canvas that is open already, to focus it.

        Raises:
            Unsupported: the host does not claim to open canvases.
            Conflict: the URI belongs to another chat or type.
            NotFound: there is no such chat or type.
        """
        self._require_canvases()
        uri = uri or f"{Scheme.CANVAS}:/{uuid4().hex}"
        params: JSONObject = {
            "channel": uri,
            "chat": chat,
            "extensionId": extension_id,
            "canvasId": canvas_id,
        }
        await self._request(CanvasMethod.OPEN_CANVAS, params)
        if self.state(uri) is None:
            await self.subscribe(uri)
        return uri

    async def dispose_canvas(self, uri: str) -> None:
        """Close a canvas. One that is closed already is no error.

        Raises:
            Unsupported: the host does not claim to close canvases.
        """
        self._require_canvases()
        with suppress(NotFound):
            await self._request(CanvasMethod.DISPOSE_CANVAS, {"channel": uri})
        self.unsubscribe(uri)

    async def read(
        self, canvas: str, reference: str = "", *, base: Resource | None = None
    ) -> Resource:
        """Read a canvas's page, or what that refers to.

        Args:
            canvas: its URI; it has to be subscribed to, or followed.
            reference: as it stands in the page: relative to it, or absolute.
            base: where it stands instead, such as a style sheet.

        Raises:
            Unavailable: the canvas has no source now.
            NotFound: it has no such resource.
            PermissionDenied: the host does not read it; one does not read other origins.
        """
        source = (self.state(canvas) or {}).get("url")
        if not isinstance(source, str):
            raise Unavailable("The canvas has no source now.")
        return await self._reader.read(source, reference, base)

    # Inside.

    async def _subscribe(self, channel: str, *, follow: bool) -> JSONObject:
        if scheme_of(channel) not in SCHEMES:
            raise ValueError("no channel that this client understands")
        state = await self._answer(self._dialogue.subscribe(channel, follow=follow))
        assert isinstance(state, dict), "that is what the dialogue answers with"
        return state

    async def _request(self, method: str, params: JSONObject) -> JSONValue:
        return await self._answer(self._dialogue.request(method, params))

    async def _answer(self, id: int) -> JSONValue:
        future = self._calls.begin(id)
        try:
            self._require_connection()
            self._flush()
            async with asyncio.timeout(self._timeout):
                return await future
        finally:
            self._calls.end(id)
            self._dialogue.forget(id)

    def _require_connection(self) -> None:
        if self._running is None or self._running.done():
            raise self._end or ConnectionClosed("The client is not connected.")

    def _require_canvases(self) -> None:
        if not self.supports_canvases:
            raise Unsupported(
                "The host has no canvases to open: it does not claim the capability `canvases`. "
                "Those that are open can be followed."
            )

    async def _run(self) -> None:
        try:
            await self._line.run()
        except WireError as error:
            self._end = error
        finally:
            gone = self._end or ConnectionClosed("The client was closed.")
            self._calls.fail(gone)
            self._registries.fail(gone)
            for reader in list(self._readers):
                reader.end(self._end)
            self._ready.set()

    def _begin(self) -> None:
        self._dialogue.begin()
        self._flush()

    def _receive(self, text: str) -> None:
        self._dialogue.receive(text)
        self._flush()

    def _flush(self) -> None:
        """Carry on what the dialogue has to say to both sides."""
        for event in self._dialogue.events():
            self._registries.take(event)
            self._tell(event)
        self._line.put(self._dialogue.texts_to_send())

    def _tell(self, event: Event) -> None:
        match event:
            case Change():
                for reader in list(self._readers):
                    reader.put(event)
            case Answered(id, value):
                self._calls.answer(id, value)
            case Failed(id, error):
                self._calls.answer(id, error)
            case Ready():
                self._line.note_success()
                self._ready.set()
            case Ended(error):
                self._line.stop(error)
