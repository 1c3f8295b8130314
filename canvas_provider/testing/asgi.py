"""An httpx transport that runs an ASGI app in this process and streams its answer.

The one idea: the app runs in a task of its own, and what it sends reaches the client at once. So
an endless event stream can be read, a page that goes away is seen by the app as a disconnect, and
a reader that stops reading makes the app wait, all without a socket. (`httpx.ASGITransport`
collects the whole body first: a test of an event stream hangs.)

It behaves as uvicorn does where an app can tell the difference: `http.disconnect` comes after the
whole response, `send` to a client that is gone does nothing, a `HEAD` has no body. It runs no
lifespan and speaks no WebSocket.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import httpx

__all__ = ["ASGIApp", "StreamingASGITransport"]

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

BUFFER_SIZE: Final = 64 * 1024
"""Bytes an app may be ahead of its reader before `send` waits: asyncio's high-water mark."""

GRACE: Final = 1.0
"""Seconds an app gets to notice that its client is gone, before it is cancelled."""


class StreamingASGITransport(httpx.AsyncBaseTransport):
    """Send the requests of an `httpx.AsyncClient` to `app`.

        async with httpx.AsyncClient(transport=StreamingASGITransport(app), base_url=…) as http:
            async with http.stream("GET", "events", timeout=None) as response:
                async for line in response.aiter_lines():
                    …

    The client's read timeout holds for the start of the response and for each piece of its body,
    as it does on a socket.

    Args:
        app: Any ASGI 3 application.
        raise_app_exceptions: What the app raises is raised to the client; otherwise it becomes
            a 500 or, once the response has begun, `httpx.RemoteProtocolError`.
        client: The address that the app sees.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        raise_app_exceptions: bool = True,
        client: tuple[str, int] = ("127.0.0.1", 50000),
    ) -> None:
        self._app = app
        self._raise_app_exceptions = raise_app_exceptions
        self._client = client
        self._exchanges: set[_Exchange] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = _Exchange(request, self._exchanges.discard)
        self._exchanges.add(exchange)
        exchange.begin(self._app, _scope(request, self._client))
        try:
            status, headers = await exchange.response_started()
        except httpx.TransportError:
            await exchange.aclose()
            raise
        except Exception:
            await exchange.aclose()
            if self._raise_app_exceptions:
                raise
            return httpx.Response(500, request=request)
        except BaseException:
            await exchange.aclose()
            raise
        stream = _Body(exchange, raise_app_exceptions=self._raise_app_exceptions)
        return httpx.Response(status, headers=headers, stream=stream, request=request)

    async def aclose(self, grace: float = 0.0) -> None:
        """End every exchange that is still open; nothing of the app runs afterwards.

        Args:
            grace: Seconds that they get to end by themselves.
        """
        if self._exchanges and grace:
            running = [exchange.task for exchange in self._exchanges]
            await asyncio.wait(running, timeout=grace)
        for exchange in tuple(self._exchanges):
            await exchange.abort()


def _scope(request: httpx.Request, client: tuple[str, int]) -> Scope:
    url = request.url
    port = url.port or (443 if url.scheme == "https" else 80)
    return {
        "type": "http",
        # 2.3 as uvicorn says: with 2.4, `send` would have to raise once the client is gone.
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": client,
        "server": (url.host, port),
        "state": {},
    }


class _Exchange:
    """One request and its response, between the app's task and the client's."""

    def __init__(self, request: httpx.Request, on_done: "Callable[[_Exchange], None]") -> None:
        self._request = request
        self._on_done = on_done
        self._timeout: float | None = request.extensions.get("timeout", {}).get("read")
        self._body = aiter(request.stream)  # type: ignore[arg-type]  # an AsyncClient's always is
        self._body_read = False
        self._start: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._complete = False
        self._error: Exception | None = None
        self._finished = False
        self._gone = asyncio.Event()  # no one reads any more, or there is nothing left to read
        self._news = asyncio.Event()  # wakes the client
        self._room = asyncio.Event()  # wakes the app

    def begin(self, app: ASGIApp, scope: Scope) -> None:
        self.task = asyncio.create_task(self._run(app, scope), name="asgi exchange")
        self.task.add_done_callback(lambda _: self._on_done(self))

    # The app's side

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception as exc:
            self._error = exc
        finally:
            self._finished = True
            self._news.set()

    async def _receive(self) -> Message:
        if not self._body_read and not self._gone.is_set():
            try:
                chunk = await anext(self._body)
            except StopAsyncIteration:
                self._body_read = True
                return {"type": "http.request", "body": b"", "more_body": False}
            return {"type": "http.request", "body": chunk, "more_body": True}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self._gone.is_set():
            return
        if message["type"] == "http.response.start":
            self._start = (message["status"], list(message.get("headers", ())))
        elif message["type"] == "http.response.body":
            if self._start is None:
                raise RuntimeError("http.response.body was sent before http.response.start")
            self._take(message.get("body", b""))
            if not message.get("more_body", False):
                self._complete = True
                self._gone.set()
        else:
            raise RuntimeError(f"Unexpected ASGI message {message['type']!r}")
        self._news.set()
        while self._buffered > BUFFER_SIZE and not self._gone.is_set():
            self._room.clear()
            await self._room.wait()

    def _take(self, body: bytes) -> None:
        if body and self._request.method != "HEAD":
            self._chunks.append(body)
            self._buffered += len(body)

    # The client's side

    async def response_started(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        await self._wait_for(lambda: self._start is not None)
        if self._start is not None:
            return self._start
        raise self._error or RuntimeError("The app returned without a response.")

    async def next_chunk(self) -> bytes | None:
        """Wait for the next piece of the body; None at its end."""
        await self._wait_for(lambda: bool(self._chunks) or self._complete)
        if self._chunks:
            chunk = self._chunks.popleft()
            self._buffered -= len(chunk)
            self._room.set()
            return chunk
        if self._complete:
            return None
        raise self._error or httpx.RemoteProtocolError(
            "The app returned before the end of its response.", request=self._request
        )

    async def _wait_for(self, ready: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                while not ready() and not self._finished:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            text = f"The app sent nothing for {self._timeout} s."
            raise httpx.ReadTimeout(text, request=self._request) from None

    async def aclose(self) -> None:
        """Go away as a client does; what the app raised after its response is raised here.

        An app that is still at work after a whole response (a background task) is left to it.
        """
        reading = not self._complete
        self._gone.set()
        self._room.set()
        await asyncio.wait({self.task}, timeout=GRACE)
        if reading and not self.task.done():
            await self.abort()
        if self._complete and self._error is not None:
            raise self._error

    async def abort(self) -> None:
        """Cut it off, as a server that closes its connections does."""
        if not self._complete and self._error is None:
            text = "The connection was closed before the response was whole."
            self._error = httpx.RemoteProtocolError(text, request=self._request)
        self._gone.set()
        self._room.set()
        self.task.cancel()
        await asyncio.wait({self.task})


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: _Exchange, *, raise_app_exceptions: bool) -> None:
        self._exchange = exchange
        self._raise_app_exceptions = raise_app_exceptions

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                chunk = await self._exchange.next_chunk()
            except httpx.TransportError:
                raise
            except Exception as exc:
                if self._raise_app_exceptions:
                    raise
                raise httpx.RemoteProtocolError("The app failed in mid-response.") from exc
            if chunk is None:
                return
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._exchange.aclose()
        except Exception:
            if self._raise_app_exceptions:
                raise
