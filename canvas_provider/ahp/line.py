"""One WebSocket after the other, for as long as a client wants to be connected.

The one place where a client's bytes are: everything they mean is in `dialogue`. The address is
never named in a log or an exception, because the token is in it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import aiohttp
from yarl import URL

from canvas_provider.ahp.backoff import Backoff
from canvas_provider.errors import ConnectionClosed, WireError

__all__ = ["Line", "host_of"]

HANDSHAKE: Final = 10.0
"""Seconds for a connection to be made."""

HEARTBEAT: Final = 30.0
"""Seconds between pings; a host that does not answer one is gone."""

FAREWELL: Final = 1.0
"""Seconds for a host to say goodbye."""

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes. A larger frame ends the connection."""

MAX_WAITING: Final = 10_000
"""Texts that a host does not take, while it keeps sending; more end the connection."""

FINAL: Final = frozenset({400, 401, 403, 404, 421})
"""What another attempt would not change."""


class Line:
    """Connects, reads and writes texts, and connects again.

    Args:
        begin: called when there is a connection; it may put texts already.
        receive: called with each text.
        lose: called when the connection is gone.
    """

    def __init__(
        self,
        url: str,
        backoff: Backoff,
        *,
        begin: Callable[[], None],
        receive: Callable[[str], None],
        lose: Callable[[], None],
    ) -> None:
        self._url = URL(url)
        self._backoff = backoff
        self._begin = begin
        self._receive = receive
        self._lose = lose
        self._texts: deque[str] = deque()
        self._to_write = asyncio.Event()
        self._worked_since: float | None = None
        self._refusal: WireError | None = None

    def put(self, texts: list[str]) -> None:
        """Write these next."""
        self._texts.extend(texts)
        self._to_write.set()

    def note_success(self) -> None:
        """Take note that the host talks to us: from now on, a loss is followed by an attempt."""
        self._worked_since = asyncio.get_running_loop().time()

    def stop(self, error: WireError) -> None:
        """Take note that the host will not have us, and that another attempt is of no use."""
        self._refusal = error

    async def run(self) -> None:
        """Stay connected, until cancelled.

        Raises:
            ConnectionClosed: there was no connection at first, or none any more for too long.
            WireError: what `stop` was called with.
        """
        loop = asyncio.get_running_loop()
        worked = False
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            while True:
                self._worked_since = None
                error = await self._connect(http)
                worked |= self._worked_since is not None
                since = self._worked_since
                lasted = 0.0 if since is None else loop.time() - since
                delay = self._backoff.next(lasted) if worked else None
                if self._refusal is not None or delay is None:
                    raise self._refusal or error
                await asyncio.sleep(delay)

    async def _connect(self, http: aiohttp.ClientSession) -> ConnectionClosed:
        """Hold one connection, and return what ended it."""
        try:
            async with asyncio.timeout(HANDSHAKE):
                socket = await http.ws_connect(
                    self._url,
                    heartbeat=HEARTBEAT,
                    max_msg_size=MAX_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=FAREWELL),
                )
        except aiohttp.WSServerHandshakeError as refusal:
            text = f"The host refused the connection ({refusal.status})"
            if refusal.status not in FINAL:
                return ConnectionClosed(f"{text}.")
            raise ConnectionClosed(f"{text}: is the token right?") from None
        except (aiohttp.ClientError, OSError, ValueError):
            return ConnectionClosed("The host cannot be reached.")
        try:
            await self._talk(socket)
        finally:
            self._lose()
            await socket.close()
        return ConnectionClosed("The host has ended the connection.")

    async def _talk(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._texts.clear()
        self._begin()
        writing = asyncio.create_task(self._write(socket))
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._receive(message.data)
                if self._refusal is not None or len(self._texts) > MAX_WAITING:
                    break
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    async def _write(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            while self._texts:
                try:
                    await socket.send_str(self._texts.popleft())
                except (aiohttp.ClientError, OSError):
                    return  # the reader sees the end, too
            self._to_write.clear()
            await self._to_write.wait()


def host_of(url: str) -> str | None:
    """Return the name in a host's address.

    Raises:
        ValueError: the address is none of a host. Not shown: there is a token in it.
    """
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.scheme not in ("ws", "wss") or not parsed.host:
        raise ValueError("an agent host has an address like ws://127.0.0.1:4100/?tkn=TOKEN")
    return parsed.host
