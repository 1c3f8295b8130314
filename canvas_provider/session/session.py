"""`Session`: this process as a member of a Copilot session, over any transport.

It answers the runtime's callbacks and offers what an extension may ask of the runtime. It knows
nothing of stdio, signals or the exit: that is `process.py`.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from canvas_provider.canvas.instance import Instance
from canvas_provider.errors import (
    CanvasError,
    Closing,
    ConnectionClosed,
    JoinError,
    MethodNotFound,
    RemoteError,
)
from canvas_provider.protocol.copilot import (
    CanvasActionInvokeParams,
    CanvasCloseParams,
    CanvasOpenParams,
    ErrorData,
    Method,
    SessionResumeResult,
)
from canvas_provider.protocol.development import PREFIX
from canvas_provider.session.api import SessionAPI, SessionParts
from canvas_provider.session.events import EVERY_EVENT
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.instances import Instances, Served
from canvas_provider.session.view import InstanceSession
from canvas_provider.session.watch import Clock, ListingWatch, PageWatch
from canvas_provider.types import JSONObject, JSONValue, Missing
from canvas_provider.wire.connection import INTERNAL_ERROR, INVALID_PARAMS
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import Transport

if TYPE_CHECKING:
    from canvas_provider.session.callbacks import Callbacks

__all__ = ["Session", "WebStack"]

logger = logging.getLogger("canvas_provider.session")

_CALL_FIELDS: Final = {
    Method.CANVAS_OPEN: ("instanceId", "canvasId", "extensionId", "sessionId"),
    Method.CANVAS_CLOSE: ("instanceId",),
    Method.CANVAS_ACTION_INVOKE: ("instanceId", "actionName"),
}
"""What each callback must carry, each a string."""


def _nothing() -> None:
    """Nobody outside cares when the session ends."""


class WebStack(Protocol):
    """Puts pages on the air: the loopback servers, or what a test has in their place."""

    async def serve(self, instance: Instance) -> Served:
        """Serve one instance until its `aclose`."""

    async def aclose(self) -> None:
        """Free every port."""


class Session(SessionAPI):
    """A joined session.

    Get one from `join_session`; a handler finds it as `ctx.session`. It ends when the runtime
    closes the connection, on SIGTERM, or by `aclose`: each page gets `closed`, each `lifespan` is
    left, and every store is flushed.
    """

    def __init__(
        self,
        handshake: Handshake,
        transport: Transport,
        web: WebStack,
        *,
        clock: Clock | None = None,
        on_lost: Callable[[], None] = _nothing,
        on_closed: Callable[[], None] = _nothing,
    ) -> None:
        self._handshake = handshake
        self._web = web
        self._on_lost = on_lost
        self._on_closed = on_closed
        self._peer = Peer(
            transport,
            on_request=self._answer,
            on_notification=self._notice,
            connection=handshake.connection,
        )
        parts = SessionParts(self._peer, handshake.session_id)
        super().__init__(parts)
        handshake.connection.ignores = parts.events.ignores
        self._clock: Clock = asyncio.get_running_loop() if clock is None else clock
        self._pages = PageWatch(self._clock, lambda: parts.facts.has_canvases)
        self._listing: ListingWatch | None = None
        self._instances = Instances(
            handshake.canvases,
            serve=web.serve,
            view=lambda panel: InstanceSession(parts, panel),
            reopen=self._open_again,
            slow_after=handshake.settings.slow_action,
            pages=self._pages,
            memory_directory=handshake.settings.memory_directory,
        )
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._waiting = 0
        self._is_resumed = False
        self._callbacks = self._contribute()

    def _contribute(self) -> "Callbacks | None":
        contributions = self._handshake.contributions
        if contributions is None:
            return None
        from canvas_provider.session.callbacks import Callbacks

        events = self._parts.events
        if contributions.on_event is not None:
            events.on(EVERY_EVENT, contributions.on_event)
        callbacks = Callbacks(contributions, self, self._peer)
        callbacks.listen(events)
        return callbacks

    # --- Joining and leaving

    async def join(self) -> None:
        """Wait until Copilot has taken us in. Callbacks are answered from the first byte on.

        Raises:
            JoinError: Copilot refused, or went away. The session is closed then.
        """
        self._peer.start()
        self._spawn(self._close_with_connection())
        connected = self._peer.response_to(self._handshake.connect_id)
        resumed = self._peer.response_to(self._handshake.resume_id)
        # In the order of messages: an open right behind the answer is none that restores.
        resumed.add_done_callback(self._note_resumed)
        try:
            # Both, or the error of the one nobody looked at would be reported as forgotten.
            answer = (await asyncio.gather(connected, resumed))[1]
            self._take_in(cast(SessionResumeResult, answer if isinstance(answer, dict) else {}))
            if self._callbacks is not None:
                await self._callbacks.joined()
        except BaseException as error:
            await self.aclose()
            if isinstance(error, RemoteError):
                text = f"Copilot refused this extension: {error.message}"
                raise JoinError(text) from None
            if isinstance(error, ConnectionClosed):
                text = "the connection to Copilot closed before the join was done"
                raise JoinError(text) from None
            raise

    def _note_resumed(self, _: object) -> None:
        self._is_resumed = True

    def _take_in(self, resumed: SessionResumeResult) -> None:
        self._take_environment(resumed)
        self._parts.facts.join(resumed)
        self._listing = ListingWatch(
            self._handshake.canvases,
            list_ids=self._list_ids,
            declare=self._declare_again,
            clock=self._clock,
        )

    def _take_environment(self, resumed: SessionResumeResult) -> None:
        """Put what was granted where the program looks for it, and nowhere else.

        Raises:
            JoinError: the system cannot hold it; the text names the variable, not the value.
        """
        granted: object = resumed.get("grantedEnvironmentVariables")
        contributions = self._handshake.contributions
        if contributions is None or not isinstance(granted, dict):
            return
        for name in contributions.environment:
            if not isinstance(value := granted.get(name), str):
                continue
            try:
                os.environ[name] = value
            except (ValueError, OSError):
                raise JoinError(
                    f"Copilot granted a value of {name} that no environment can hold, such as a "
                    "text with a NUL in it: set the variable to another one"
                ) from None

    async def wait_closed(self) -> None:
        """Return when the session has ended and everything of ours is stored and closed."""
        self._waiting += 1
        try:
            await self._closed.wait()
        finally:
            self._waiting -= 1

    @property
    def joined(self) -> bool:
        """True once Copilot has taken us in, also after the end."""
        return self._parts.facts.is_joined

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    @property
    def is_awaited(self) -> bool:
        """True while somebody is in `wait_closed`, so that the program ends by itself."""
        return self._waiting > 0

    async def aclose(self) -> None:
        """Leave the session. Calling it again waits for the same end."""
        await asyncio.shield(self.begin_close())

    def begin_close(self) -> asyncio.Task[None]:
        """Start to leave, without waiting; the task ends when `wait_closed` does."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._shut_down())
        return self._closing

    async def _close_with_connection(self) -> None:
        await self._peer.wait_closed()
        if self._closing is None:
            self._on_lost()
        await self.aclose()

    async def _shut_down(self) -> None:
        """One deadline over everything: Copilot kills 1.0 s after SIGTERM."""
        deadline = self._handshake.settings.shutdown_deadline
        self._pages.end()
        if self._listing is not None:
            self._listing.end()
        try:
            async with asyncio.timeout(deadline * 0.9):
                if self._callbacks is not None:
                    await self._callbacks.aclose()
                await self._instances.aclose()
                await self._web.aclose()
        except TimeoutError:
            logger.warning("the shutdown did not finish within %.1f s", deadline)
        except Exception:
            logger.exception("the shutdown failed in part")
        finally:
            await self._peer.aclose()
            self._parts.end()
            self._closed.set()
            self._on_closed()

    async def _open_again(self, instance: Instance, input: JSONValue | Missing) -> None:
        await self.canvas.open(
            instance.canvas.id,
            instance.instance_id,
            input,
            extension_id=instance.extension_id,
        )

    async def _list_ids(self) -> set[str]:
        return {canvas["canvasId"] for canvas in await self.canvas.list()}

    async def _declare_again(self) -> None:
        declared = cast(JSONObject, self._handshake.declared)
        await self._parts.request(Method.SESSION_RESUME, declared)

    # --- What the runtime asks of us

    async def _answer(self, method: str, params: JSONObject) -> JSONValue:
        fields = _CALL_FIELDS.get(cast(Method, method))
        if fields is None:
            if method.startswith(PREFIX) and self._handshake.settings.development:
                return await self._answer_host(method, params)
            if self._callbacks is not None:
                return await self._callbacks.answer(method, params)
            raise MethodNotFound(method)
        for name in fields:
            if type(params.get(name)) is not str:
                raise RemoteError(INVALID_PARAMS, f"{method} needs {name}, a string")
        try:
            if self._closing is not None:
                raise Closing("The extension is shutting down.")
            if method == Method.CANVAS_ACTION_INVOKE:
                return await self._instances.invoke(cast(CanvasActionInvokeParams, params))
            if method == Method.CANVAS_OPEN:
                opened = await self._instances.open(
                    cast(CanvasOpenParams, params), restoring=not self._is_resumed
                )
                return cast(JSONValue, opened)
            await self._instances.close(cast(CanvasCloseParams, params))
            return None
        except CanvasError as error:
            # The runtime forwards only `message`; `data` is for hosts that keep it, in the shape
            # of copilot-sdk's `toCanvasRpcError`.
            data: ErrorData = {"code": error.code, "message": error.message}
            raise RemoteError(INTERNAL_ERROR, error.message, cast(JSONObject, data)) from None

    async def _answer_host(self, method: str, params: JSONObject) -> JSONValue:
        """Answer our own development host."""
        from canvas_provider.session.development import answer

        try:
            return await answer(method, params, self._handshake.canvases, self._instances)
        except CanvasError as error:
            raise RemoteError(INTERNAL_ERROR, error.message, {"code": error.code}) from None

    def _notice(self, method: str, params: JSONValue) -> None:
        """Hear a notification. Of most events not even this much is done: see `Events.ignores`."""
        if method == Method.SESSION_EVENT:
            self._parts.events.tell(params)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
