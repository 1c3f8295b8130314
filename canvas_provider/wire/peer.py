"""A JSON-RPC peer on asyncio: it asks, answers, tells and is told, all at the same time.

Adds to `connection` what needs an event loop: a task for each request of the other side, a future
for each of ours, and when to write. Knows methods as strings and params as JSON, nothing more.

Reading never waits for writing: were it otherwise, two peers that both had much to say would wait
for each other for ever. So a caller who tells without limit has to await `drain()`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Literal

from canvas_provider.errors import ConnectionClosed, MessageTooLarge, RemoteError
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import (
    INTERNAL_ERROR,
    Connection,
    End,
    Event,
    Failure,
    Invalid,
    Notification,
    Request,
    RequestId,
    Result,
    Tap,
)
from canvas_provider.wire.transports import Transport

__all__ = [
    "RESULT_TOO_LARGE",
    "NotificationHandler",
    "Peer",
    "RequestHandler",
    "tell_too_large",
]

RequestHandler = Callable[[str, JSONObject], Awaitable[JSONValue]]
"""Method and params to a result. What it raises becomes the answer."""

NotificationHandler = Callable[[str, JSONValue], None]

RESULT_TOO_LARGE: Final = "result_too_large"
"""The code of an answer that stands in for a result that was not sent."""

UNWRITABLE: Final = (TypeError, ValueError, RecursionError)
"""What a codec raises on a value that JSON cannot carry."""

logger = logging.getLogger("canvas_provider.wire")


class Peer:
    """One end of a conversation. Call `start()` first, and `aclose()` in the end.

    A handler that raises `RemoteError` (or `MethodNotFound`) answers with that error. Anything else
    it raises is logged and answered with -32603 and a text that tells nothing of it. So is a result
    that cannot be sent: that it is no JSON, or too large, ends one call and not the connection.

    Args:
        transport: Becomes the peer's own; `aclose()` closes it.
        on_request: Runs in a task per request, concurrently.
        on_notification: Called in the order of arrival; None ignores notifications.
        connection: One that is in use already; see `response_to()`.
        on_message: Sees the body of every message, in both directions.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        on_request: RequestHandler,
        on_notification: NotificationHandler | None = None,
        connection: Connection | None = None,
        on_message: Tap | None = None,
    ) -> None:
        self._transport = transport
        self._on_request = on_request
        self._on_notification = on_notification
        self._connection = connection or Connection()
        self._tap = on_message
        if on_message is not None or logger.isEnabledFor(logging.DEBUG):
            self._connection.on_message = self._observe
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_flush_scheduled = False
        # Each answers one request, and takes itself out.
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: dict[int, asyncio.Future[JSONValue]] = {}
        # Answers that came before anybody asked for them.
        self._early: dict[int, Result | Failure] = {}
        self._reason = ConnectionClosed("the connection is closed")
        self._closed = asyncio.Event()
        self._is_closing = False
        self._is_released = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether the other side is gone, or `aclose()` was called."""
        return self._closed.is_set()

    def start(self) -> None:
        """Begin to read and write, with what the connection has already received and queued."""
        self._loop = asyncio.get_running_loop()
        self._transport.start(self._receive_data, self._receive_eof)
        self._handle_events()
        self._flush()

    async def request(
        self,
        method: str,
        params: JSONValue = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # None costs nothing, as a wrapper would
    ) -> JSONValue:
        """Ask, and wait for the answer.

        Args:
            timeout: Seconds; None waits as long as the connection lives.

        Raises:
            RemoteError: the answer is an error.
            MessageTooLarge: it was not asked.
            ConnectionClosed: there will be no answer.
            TimeoutError: there was none in time. Should it still come, it is ignored.
        """
        if self.closed:
            raise self._to_error()
        request_id = self._connection.send_request(method, params)
        answer = self.response_to(request_id)
        self._schedule_flush()
        try:
            if timeout is None:
                return await answer
            async with asyncio.timeout(timeout):
                return await answer
        finally:
            self._waiting.pop(request_id, None)
            self._connection.forget_request(request_id)

    def response_to(self, request_id: int) -> asyncio.Future[JSONValue]:
        """Wait for the answer to a request that the connection has sent already.

        An answer that came first is kept until it is asked for here, once.

        Raises:
            LookupError: no such request is open.
        """
        future: asyncio.Future[JSONValue] = asyncio.get_running_loop().create_future()
        if (answer := self._early.pop(request_id, None)) is not None:
            _settle(future, answer)
        elif self._connection.is_unanswered(request_id):
            future = self._waiting.setdefault(request_id, future)
        elif self.closed:
            future.set_exception(self._to_error())
        else:
            raise LookupError(f"no request {request_id} is open")
        return future

    def notify(self, method: str, params: JSONValue = None) -> None:
        """Tell; nothing comes back, not even whether it arrived.

        Raises:
            MessageTooLarge: it was not told.
        """
        if not self.closed:
            self._connection.send_notification(method, params)
            self._schedule_flush()

    async def drain(self) -> None:
        """Wait while the other side is far behind with reading."""
        self._flush()
        await self._transport.drain()

    async def wait_closed(self) -> None:
        """Wait until the other side is gone, or `aclose()` was called."""
        await self._closed.wait()

    async def aclose(self) -> None:
        """Cancel what is being answered, write what is queued, close the transport. Idempotent.

        Waits for the other side to read, so a caller who cannot wait bounds it: cancelled, it
        closes at once.
        """
        if self._is_closing:
            await self._is_released.wait()
            return
        self._is_closing = True
        self._end(None)
        try:
            await self._cancel_running()
            self._flush()
            await self._transport.aclose()
        finally:
            self._transport.abort()
            self._is_released.set()

    async def _cancel_running(self) -> None:
        # A handler may close its own peer, but cannot wait for itself.
        tasks = [task for task in self._running if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # In.

    def _receive_data(self, data: bytes) -> None:
        self._connection.receive_data(data)
        self._handle_events()

    def _receive_eof(self, exception: Exception | None) -> None:
        self._connection.receive_eof(exception)
        self._handle_events()

    def _handle_events(self) -> None:
        for event in self._connection.events_received():
            if type(event) is not Request:
                self._handle_event(event)
            elif not self._is_closing:
                assert self._loop is not None
                self._running.add(self._loop.create_task(self._answer(*event)))

    def _handle_event(self, event: Event) -> None:
        match event:
            case Notification(method, params):
                self._handle_notification(method, params)
            case Result(request_id) | Failure(request_id):
                self._handle_answer(request_id, event)
            case Invalid(reason):
                logger.warning("ignored what the other side sent: %s", reason)
                self._schedule_flush()
            case End(exception):
                self._schedule_flush()
                self._end(exception)

    def _handle_notification(self, method: str, params: JSONValue) -> None:
        if self._on_notification is None or self._is_closing:
            return
        try:
            self._on_notification(method, params)
        except Exception:
            logger.exception("the handler of notification %s failed", method)

    def _handle_answer(self, request_id: int, answer: Result | Failure) -> None:
        future = self._waiting.pop(request_id, None)
        if future is None:
            self._early[request_id] = answer
        elif not future.done():
            _settle(future, answer)

    def _end(self, exception: Exception | None) -> None:
        if self.closed:
            return
        if exception is not None:
            logger.warning("the connection broke: %s", exception)
            self._reason = ConnectionClosed(f"the connection broke: {exception}")
        self._closed.set()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(self._to_error())
                # Whoever does not ask any more need not be told by asyncio's log.
                future.exception()

    def _to_error(self) -> ConnectionClosed:
        # A fresh one each time, lest its traceback grow with every raise.
        return ConnectionClosed(*self._reason.args)

    # Out.

    async def _answer(self, request_id: RequestId, method: str, params: JSONObject) -> None:
        try:
            result = await self._on_request(method, params)
        except RemoteError as error:
            self._send_error(request_id, error.code, error.message, error.data)
        except asyncio.CancelledError:
            self._send_error(request_id, INTERNAL_ERROR, f"{method} was cancelled.")
            raise
        except Exception:
            logger.exception("the handler of %s failed", method)
            self._send_error(request_id, INTERNAL_ERROR, f"{method} failed.")
        except BaseException:
            # It ends the program, perhaps; not before the other side is told.
            self._send_error(request_id, INTERNAL_ERROR, f"{method} failed.")
            raise
        else:
            self._send_result(request_id, method, result)
        finally:
            self._running.discard(asyncio.current_task(self._loop))
            # The last answer of a burst takes all the others along.
            if self._running:
                self._schedule_flush()
            else:
                self._flush()

    def _send_result(self, request_id: RequestId, method: str, result: JSONValue) -> None:
        try:
            self._connection.send_result(request_id, result)
        except MessageTooLarge as error:
            logger.error("the result of %s is too large: %s", method, error)
            text = tell_too_large(error)
            # In the shape of every refusal by an extension: a code for programs, and a text.
            data: JSONValue = {"code": RESULT_TOO_LARGE, "message": text}
            self._send_error(request_id, INTERNAL_ERROR, text, data)
        except UNWRITABLE as error:
            # Without the text, which may quote the value.
            logger.error("the result of %s is not JSON (%s)", method, type(error).__name__)
            text = f"The result of {method} cannot be written as JSON."
            self._send_error(request_id, INTERNAL_ERROR, text)

    def _send_error(
        self, request_id: RequestId, code: int, message: str, data: JSONValue = None
    ) -> None:
        try:
            self._connection.send_error(request_id, code, message, data)
        except (*UNWRITABLE, MessageTooLarge) as error:
            # Better a poor answer than none: the other side would wait for ever.
            is_large = isinstance(error, MessageTooLarge)
            text = f"The error {'is too large' if is_large else 'cannot be written as JSON'}."
            self._connection.send_error(request_id, code, text)

    def _schedule_flush(self) -> None:
        if self._loop is not None and not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_scheduled = False
        if data := self._connection.data_to_send():
            self._transport.write(data)

    def _observe(self, direction: Literal["in", "out"], body: bytes) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            self._log(direction, body)
        if self._tap is not None:
            self._tap(direction, body)

    def _log(self, direction: Literal["in", "out"], body: bytes) -> None:
        """Log direction, method, id and size: never what is inside."""
        message: JSONValue = None
        with suppress(ValueError, RecursionError):
            message = self._connection.loads(body)
        fields = message if isinstance(message, dict) else {}
        method, request_id = fields.get("method", "no method"), fields.get("id")
        logger.debug("%s: %s, id %s, %d bytes", direction, method, request_id, len(body))


def tell_too_large(error: MessageTooLarge) -> str:
    """Return what is told in place of a result that was not sent."""
    return f"It was done, but its result is too large to be told: {error}. Ask for less."


def _settle(future: asyncio.Future[JSONValue], answer: Result | Failure) -> None:
    if isinstance(answer, Result):
        future.set_result(answer.value)
    else:
        future.set_exception(RemoteError(answer.code, answer.message, answer.data))
