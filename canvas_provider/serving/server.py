"""Many small web servers on the loopback interface, for the price of one.

Each app gets a port, and with it an origin, of its own. They share one uvicorn configuration and
one ticker. `uvicorn.Server` is not used: it takes over signals, ends the process when a port is
taken, and wakes ten times a second for each server. What is used is its HTTP protocol class, one
object per connection.
"""

import asyncio
import logging
import os
import socket
import weakref
from collections.abc import Callable
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from canvas_provider.serving.forked import drop_sockets
from canvas_provider.serving.ticker import TICKER, Ticker

__all__ = ["LOOPBACK", "LoopbackServers", "Origin"]

logger = logging.getLogger("canvas_provider.serving")
logger.setLevel(logging.ERROR)
"""For what an app raises. What uvicorn warns of is what any stranger can send, and as often as it
likes: bytes that are no request, an upgrade to something else."""

LOOPBACK: Final = "127.0.0.1"

BACKLOG: Final = 128

MAX_HEAD: Final = 64 * 1024
"""Bytes of a request line and its headers, or of trailers. The parser itself has no limit."""

BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})

LAST_GRACE: Final = 0.1
"""Seconds that a request that was cut off gets to clean up."""


class LoopbackServers:
    """The servers of one event loop."""

    def __init__(self, *, ticker: Ticker | None = None) -> None:
        self.ticker = Ticker() if ticker is None else ticker
        self._config = _create_config()
        self._origins: set[Origin] = set()
        _servers.add(self)

    async def serve(self, app: ASGIApp, *, port: int = 0) -> "Origin":
        """Serve `app` at `127.0.0.1`, on a port from the kernel unless one is given.

        Raises:
            OSError: the port is taken.
        """
        origin = Origin(app, self._config, self.ticker, self._origins.discard)
        await origin._listen(port)
        self._origins.add(origin)
        return origin

    async def aclose(self, grace: float = 0.5) -> None:
        """Close every origin at once; see `Origin.aclose`."""
        await asyncio.gather(*(origin.aclose(grace) for origin in tuple(self._origins)))


_servers: Final[weakref.WeakSet[LoopbackServers]] = weakref.WeakSet()


def _leave_to_parent() -> None:
    drop_sockets(origin.port for servers in _servers for origin in servers._origins)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


class Origin:
    """One app at one port."""

    def __init__(
        self, app: ASGIApp, config: Config, ticker: Ticker, on_close: "Callable[[Origin], None]"
    ) -> None:
        self._app = app
        self._config = config
        self._scope_state = {TICKER: ticker}
        self._on_close = on_close
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def host(self) -> str:
        """What a browser sends as Host."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def base(self) -> str:
        return f"http://{self.host}"

    async def aclose(self, grace: float = 0.5) -> None:
        """Free the port, let requests finish for `grace` seconds, then cut them off. Idempotent.

        An open event stream has to be ended by its owner before, or it is cut off.
        """
        server, self._server = self._server, None
        if server is None:
            return
        self._on_close(self)
        server.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if tasks := set(self._state.tasks):
            _, late = await asyncio.wait(tasks, timeout=grace)
            await self._cut_off(late)
        # The loop closes sockets in its next step, but for those with something left to send.
        await asyncio.sleep(0)
        for connection in self._state.connections:
            asyncio.get_running_loop().call_later(grace, connection.transport.abort)

    async def _cut_off(self, tasks: "set[asyncio.Task[None]]") -> None:
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        # In this step the apps learn that their client is gone; most end by themselves.
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_GRACE)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            # Cut off by `aclose`, and no failure of the app that uvicorn should report.
            if self._server is not None:
                raise

    async def _listen(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        # Named by protocol: on an accepted socket of protocol 0, asyncio leaves Nagle's algorithm
        # on, and every POST waits 40 ms for it.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # Whatever the system: a port again at once after a close, and never two listeners.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        try:
            listener.setblocking(False)
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
            listener.bind((LOOPBACK, port))
            self.port = listener.getsockname()[1]
            self._server = await loop.create_server(
                self._create_protocol, sock=listener, backlog=BACKLOG
            )
        except BaseException:
            listener.close()
            raise

    def _create_protocol(self) -> "_Protocol":
        protocol = _Protocol(self._config, self._state, self._scope_state)
        protocol.app = self._run
        return protocol


class _Protocol(HttpToolsProtocol):
    """uvicorn's, without its access log, which would print tokens, and without its loopholes."""

    def __init__(self, config: Config, state: ServerState, scope_state: dict[str, Any]) -> None:
        super().__init__(config, state, scope_state)
        self.logger = logger
        self.access_log = False
        self._in_head = False
        self._is_further = False
        self._held = 0
        self._running: RequestResponseCycle | None = None

    def data_received(self, data: bytes) -> None:
        self._is_further = False
        super().data_received(data)
        # What leads to no head and no body is kept by the parser: a head or trailers without end.
        self._held = 0 if self._is_further else self._held + len(data)
        if self._held > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are no headers (RFC 9110 section 6.5.1): the guards have decided without them.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._is_further = False, True
        if self.parser.should_upgrade() and any(name in BODY_HEADERS for name, _ in self.headers):
            # The parser takes the body for the other protocol, so an app would see none.
            raise ValueError("An upgrade with a body.")
        # `GET http://other/ HTTP/1.1`: the target's host counts, not the header's (RFC 9112
        # section 3.2.2), but an app never sees it. As a second Host header, a guard does.
        if not self.url.startswith(b"/"):
            self.headers.append((b"host", self.url))
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._is_further = True
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn tells the newest of pipelined requests, which may not even have begun.
        if self._running is not None and self._running is not self.cycle:
            self._running.disconnected = True
            self._running.message_event.set()


def _create_config() -> Config:
    config = Config(
        _unserved,
        http=HttpToolsProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    config.load()
    return config


async def _unserved(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("Each connection is given its own app.")
