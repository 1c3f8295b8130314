"""`Session`: this process as a member of a Copilot session, over any transport.

It answers the runtime's callbacks and offers what an extension may ask of the runtime. It knows
nothing of stdio, signals or the exit: that is `process.py`.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

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
    SessionCapabilities,
    SessionEvent,
    SessionResumeResult,
)
from canvas_provider.session.canvases import SessionCanvases
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.instances import Instances, Served
from canvas_provider.session.view import InstanceSession
from canvas_provider.types import JSONObject, JSONValue, Missing
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import Transport

if TYPE_CHECKING:
    from canvas_provider.session.callbacks import Callbacks

__all__ = ["Session", "WebStack"]

logger = logging.getLogger("canvas_provider.session")

INTERNAL_ERROR: Final = -32603
INVALID_PARAMS: Final = -32602

EVERY_EVENT: Final = "*"

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


class Session:
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
        on_lost: Callable[[], None] = _nothing,
        on_closed: Callable[[], None] = _nothing,
    ) -> None:
        self.session_id: Final = handshake.session_id
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
        self._instances = Instances(
            handshake.canvases,
            serve=web.serve,
            view=lambda: InstanceSession(self),
            reopen=self._open_again,
            slow_after=handshake.settings.slow_action,
        )
        self._resumed: SessionResumeResult | None = None
        self._listeners: dict[str, list[Callable[[SessionEvent], object]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._waiting = 0
        self.canvas: Final = SessionCanvases(self._peer, self.session_id)
        """The runtime's canvases: `list`, `list_open`, `open`, `close`, `invoke`."""
        self._callbacks = self._contribute()

    def _contribute(self) -> "Callbacks | None":
        contributions = self._handshake.contributions
        if contributions is None:
            return None
        from canvas_provider.session.callbacks import Callbacks

        if contributions.on_event is not None:
            self.on(EVERY_EVENT, contributions.on_event)
        return Callbacks(contributions, self, self._peer)

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
        # Both, or the error of the one nobody looked at would be reported as forgotten.
        await asyncio.wait((connected, resumed))
        try:
            connected.result()
            self._resumed = cast(SessionResumeResult, resumed.result())
            self._take_environment(self._resumed)
        except RemoteError as error:
            await self.aclose()
            raise JoinError(f"Copilot refused this extension: {error.message}") from None
        except ConnectionClosed:
            await self.aclose()
            raise JoinError("the connection to Copilot closed before the join was done") from None

    def _take_environment(self, resumed: SessionResumeResult) -> None:
        """Put what was granted where the program looks for it, and keep no second copy."""
        granted: object = resumed.pop("grantedEnvironmentVariables", None)
        contributions = self._handshake.contributions
        if contributions is None or not isinstance(granted, dict):
            return
        for name in contributions.environment:
            if isinstance(value := granted.get(name), str):
                os.environ[name] = value

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
        return self._resumed is not None

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
            self._closed.set()
            self._on_closed()

    # --- What an extension may ask

    @property
    def workspace_path(self) -> str | None:
        """A folder that belongs to this session, absolute; None if the host has none."""
        return None if self._resumed is None else self._resumed.get("workspacePath")

    @property
    def capabilities(self) -> SessionCapabilities:
        """What the host can do; `{"ui": {"canvases": True}}` if it renders canvases."""
        return {} if self._resumed is None else self._resumed.get("capabilities", {})

    async def log(
        self,
        message: str,
        *,
        level: Literal["info", "warning", "error"] = "info",
        ephemeral: bool = False,
    ) -> str:
        """Show a line in the session's timeline and return its event id.

        Args:
            ephemeral: the line is not kept with the session.
        """
        params: JSONObject = {"message": message, "level": level}
        if ephemeral:
            params["ephemeral"] = True
        result = await self._request(Method.SESSION_LOG, params)
        return _text(result, "eventId")

    async def send(self, prompt: str, *, mode: Literal["enqueue", "immediate"] = "enqueue") -> str:
        """Send a prompt to the agent, as if the user had typed it, and return the message id.

        It starts a turn. During a turn, `enqueue` makes it the next one and `immediate` steers the
        running one. The call does not wait for the agent.
        """
        result = await self._request(Method.SESSION_SEND, {"prompt": prompt, "mode": mode})
        return _text(result, "messageId")

    def on(self, event: str, listener: Callable[[SessionEvent], object]) -> Callable[[], None]:
        """Call `listener` with each session event of this type; `"*"` is every type.

        A coroutine function is started as a task. What a listener raises is logged, nothing more.

        Returns:
            A function that stops it; calling that twice does no harm.
        """
        listeners = self._listeners.setdefault(event, [])
        listeners.append(listener)

        def stop() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return stop

    async def _request(self, method: Method, params: JSONObject) -> JSONValue:
        return await self._peer.request(method, {"sessionId": self.session_id, **params})

    async def _open_again(self, instance: Instance, input: JSONValue | Missing) -> None:
        await self.canvas.open(
            instance.canvas.id,
            instance.instance_id,
            input,
            extension_id=instance.extension_id,
        )

    # --- What the runtime asks of us

    async def _answer(self, method: str, params: JSONObject) -> JSONValue:
        fields = _CALL_FIELDS.get(cast(Method, method))
        if fields is None:
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
                    cast(CanvasOpenParams, params), restoring=not self.joined
                )
                return cast(JSONValue, opened)
            await self._instances.close(cast(CanvasCloseParams, params))
            return None
        except CanvasError as error:
            # The runtime forwards only `message`; `data` is for hosts that keep it, in the shape
            # of copilot-sdk's `toCanvasRpcError`.
            data: ErrorData = {"code": error.code, "message": error.message}
            raise RemoteError(INTERNAL_ERROR, error.message, cast(JSONObject, data)) from None

    def _notice(self, method: str, params: JSONValue) -> None:
        """Hear a notification. Those nobody listens to cost next to nothing."""
        if method != Method.SESSION_EVENT or not (self._listeners or self._callbacks):
            return
        event = params.get("event") if isinstance(params, dict) else None
        if not isinstance(event, dict) or not isinstance(kind := event.get("type"), str):
            return
        if self._callbacks is not None:
            self._callbacks.notice(kind, event)
        for name in (kind, EVERY_EVENT):
            for listener in tuple(self._listeners.get(name, ())):
                self._tell(listener, cast(SessionEvent, event))

    def _tell(self, listener: Callable[[SessionEvent], object], event: SessionEvent) -> None:
        try:
            outcome = listener(event)
        except (Exception, SystemExit):
            logger.exception("a listener for %s failed", event["type"])
            return
        if asyncio.iscoroutine(outcome):
            self._spawn(self._listen(outcome, event["type"]))

    async def _listen(self, outcome: Coroutine[Any, Any, object], kind: str) -> None:
        try:
            await outcome
        except (Exception, SystemExit):
            logger.exception("a listener for %s failed", kind)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _text(result: JSONValue, name: str) -> str:
    value = result.get(name) if isinstance(result, dict) else None
    return value if isinstance(value, str) else ""
