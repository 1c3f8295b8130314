"""An AHP host on the loopback interface: any client of the protocol can watch and drive canvases.

The edge of `hosting.core`: sockets, tasks and time. Whoever knows `url` may do everything; it holds
the token and is never logged.
"""

import asyncio
import hmac
import logging
import secrets
import socket
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Self, assert_never, cast

from aiohttp import WSMsgType, web

from canvas_provider.ahp.hosting.chat_source import ChatSource, ResourceReader
from canvas_provider.ahp.hosting.client_link import ClientLink
from canvas_provider.ahp.hosting.core import HostCore
from canvas_provider.ahp.hosting.effect import Close, Cut, Effect, Materialize, Open, Read, Send
from canvas_provider.ahp.relay import Relay
from canvas_provider.errors import RemoteError
from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.ahp import ClientInfo, ErrorCode
from canvas_provider.protocol.copilot import CanvasEvent, OpenCanvas
from canvas_provider.types import JSONObject, JSONValue, Token

__all__ = ["AHPHost"]

logger = logging.getLogger("canvas_provider.ahp")

LOOPBACK: Final = "127.0.0.1"

TOKEN: Final = "tkn"
"""The query parameter, as of Copilot CLI 1.0.102 and VS Code."""

MAX_CONNECTIONS: Final = 64

AGENT: Final = ("canvas-provider", "canvas_provider")


class AHPHost:
    """Made by `start`; close it in the end, or use it as an async context manager."""

    def __init__(self, server: ClientInfo, reader: ResourceReader, *, has_registry: bool) -> None:
        self._token = Token(secrets.token_urlsafe(32))
        self._core = HostCore(server=server, agent=AGENT, has_registry=has_registry)
        self._reader = reader
        self._sources: dict[str, ChatSource] = {}
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self._links: dict[int, ClientLink] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self.port = 0

    @classmethod
    async def start(
        cls,
        sources: Iterable[ChatSource] = (),
        *,
        port: int = 0,
        reader: ResourceReader | None = None,
        has_registry: bool = True,
        server: ClientInfo | None = None,
    ) -> Self:
        """Serve some sessions at a port of the loopback interface; 0: any.

        Args:
            reader: What reads resources for clients, closed with the host; a `Relay`, if not given.
            has_registry: Whether clients may see the types of canvases, open and dispose. Without
                it they can only watch, as with Copilot CLI 1.0.102.
            server: What clients are told of who this is.

        Raises:
            OSError: the port is taken.
        """
        server = server or {"name": AGENT[1]}
        host = cls(server, reader or Relay(), has_registry=has_registry)
        try:
            await host._listen(port)
        except BaseException:
            await host._reader.aclose()
            raise
        for source in sources:
            host.add(source)
        return host

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AHPHost(port={self.port}, sessions={len(self._sources)})"

    @property
    def url(self) -> str:
        """Where clients connect: a secret, because it holds the token."""
        return f"ws://{LOOPBACK}:{self.port}/?{TOKEN}={self._token}"

    async def aclose(self) -> None:
        """End every connection and everything that clients have begun. Idempotent."""
        for session_id in list(self._sources):
            self._unsubscribe.pop(session_id)()
            del self._sources[session_id]
        for link in self._links.values():
            link.close(flush=False)
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        await self._reader.aclose()

    # Sessions.

    def add(self, source: ChatSource) -> None:
        """Show one session more, with what is open in it.

        Raises:
            ValueError: it is shown already.
        """
        session_id = source.session_id
        if session_id in self._sources:
            raise ValueError("this session is shown already")
        self._sources[session_id] = source
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._core.add_session(
            session_id=session_id,
            title=source.title,
            working_directory=source.working_directory,
            created=now,
        )
        self._note_registry(source)
        for instance in source.instances():
            self._core.note_opened(session_id, instance)
        self._unsubscribe[session_id] = source.subscribe(
            lambda type, data: self._note_event(source, type, data)
        )
        self._apply_effects()

    def remove(self, session_id: str) -> None:
        """Show a session no longer. Nothing is closed in it.

        Raises:
            KeyError: it is not shown.
        """
        del self._sources[session_id]
        self._unsubscribe.pop(session_id)()
        self._core.remove_session(session_id)
        self._apply_effects()

    def _note_event(self, source: ChatSource, type: str, data: JSONObject) -> None:
        session_id = source.session_id
        match type, data:
            case CanvasEvent.REGISTRY_CHANGED, _:
                self._note_registry(source)
            case (
                CanvasEvent.OPENED,
                {"instanceId": str(), "extensionId": str(), "canvasId": str()},
            ):
                self._core.note_opened(session_id, cast(OpenCanvas, data))
            case CanvasEvent.UNAVAILABLE, {"instanceId": str(instance_id)}:
                self._core.note_unavailable(session_id, instance_id)
            case CanvasEvent.CLOSED, {"instanceId": str(instance_id)}:
                self._core.note_closed(session_id, instance_id)
        self._apply_effects()

    def _note_registry(self, source: ChatSource) -> None:
        self._core.note_registry(
            source.session_id, source.canvases(), has_backing=source.has_backing
        )

    # The core's effects.

    def _apply_effects(self) -> None:
        for effect in self._core.effects():
            self._apply(effect)

    def _apply(self, effect: Effect) -> None:
        match effect:
            case Send(number, frame, key):
                if (link := self._links.get(number)) is not None and not link.send(frame, key):
                    logger.warning("an AHP client is too slow and was cut off")
                    self._core.disconnect(number)
            case Cut(number, flush):
                if (link := self._links.get(number)) is not None:
                    link.close(flush=flush)
            case Materialize(session_id):
                self._spawn(self._materialize(session_id))
            case Open() | Close():
                self._spawn(self._command(effect))
            case Read(connection=number):
                link = self._links[number]
                link.begin(self._read(link, effect))
            case _ as unreachable:
                assert_never(unreachable)

    async def _materialize(self, session_id: str) -> None:
        source = self._sources.get(session_id)
        if source is not None:
            try:
                await source.materialize()
            except Exception as error:
                # Its text may hold anything: the kind is enough for a log.
                logger.warning("a chat could not be materialized: %s", type(error).__name__)
            if self._sources.get(session_id) is source:
                self._note_registry(source)
        self._core.materialized(session_id)
        self._apply_effects()

    async def _command(self, command: Open | Close) -> None:
        try:
            await self._carry_out(command)
        except HostRefusal as refusal:
            self._core.refused(command.ticket, ErrorCode.INTERNAL_ERROR, refusal.message)
        except Exception as error:
            logger.warning("a canvas command failed: %s", type(error).__name__)
            text = "the host could not do that"
            self._core.refused(command.ticket, ErrorCode.INTERNAL_ERROR, text)
        else:
            self._core.answered(command.ticket)
        self._apply_effects()

    async def _carry_out(self, command: Open | Close) -> None:
        source = self._sources.get(command.session_id)
        if source is None:
            raise HostRefusal("the session is gone")
        match command:
            case Open():
                await source.open(command.canvas_id, command.instance_id, command.extension_id)
            case Close():
                await source.close(command.instance_id)

    async def _read(self, link: ClientLink, read: Read) -> None:
        async with link.reading:
            value: JSONValue = None
            try:
                result = await self._reader.read(read.uri, self._core.urls, read.encoding)
                value = cast(JSONObject, result)
            except RemoteError as error:
                self._core.refused(read.ticket, error.code, error.message)
            except Exception as error:
                logger.warning("a resource could not be read: %s", type(error).__name__)
                text = "the resource could not be read"
                self._core.refused(read.ticket, ErrorCode.INTERNAL_ERROR, text)
            else:
                self._core.answered(read.ticket, value)
            self._apply_effects()
            # The next one only when this one is on its way: they are what is large.
            await link.wait_sent()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Sockets.

    async def _listen(self, port: int) -> None:
        app = web.Application()
        app.router.add_get("/", self._serve)
        # An access log would print the token.
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=0.2
        )
        await self._runner.setup()
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # Whatever the system: a port again at once after a close, and never two listeners.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        try:
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
            listener.bind((LOOPBACK, port))
            self.port = listener.getsockname()[1]
            await web.SockSite(self._runner, listener).start()
        except BaseException:
            listener.close()
            await self._runner.cleanup()
            raise

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        given = request.query.get(TOKEN, "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise web.HTTPForbidden
        if len(self._links) >= MAX_CONNECTIONS:
            raise web.HTTPServiceUnavailable
        link = await ClientLink.accept(request)
        number = self._core.connect()
        self._links[number] = link
        try:
            async for message in link.socket:
                if message.type is WSMsgType.TEXT:
                    self._core.receive(number, message.data)
                elif message.type is WSMsgType.BINARY:
                    self._core.receive_binary(number)
                self._apply_effects()
        finally:
            self._core.disconnect(number)
            del self._links[number]
            with suppress(asyncio.CancelledError):
                await link.aclose()
        return link.socket
