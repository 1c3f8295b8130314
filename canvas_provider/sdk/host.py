"""`CanvasHost`: the app is host and provider in one process.

For each session of the app a provider session of ours runs over a pair of memory pipes, exactly as
it runs over stdio in an extension: the same instances, pages, guards and stores, and the same
`ctx.session`. This module carries messages between those pipes and the SDK: the callbacks of the
runtime in, the requests and events of the session across.

Checked with github-copilot-sdk 1.0.27.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NotRequired, Self, TypedDict, cast

from copilot import CopilotSession
from copilot.canvas import (
    CanvasAction,
    CanvasDeclaration,
    CanvasHandler,
    CanvasProviderIdentity,
)
from copilot.canvas import CanvasError as SDKCanvasError
from copilot.rpc import (
    CanvasProviderCloseRequest,
    CanvasProviderInvokeActionRequest,
    CanvasProviderOpenRequest,
    CanvasProviderOpenResult,
)

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.config import Settings
from canvas_provider.errors import ConnectionClosed, JoinError, RemoteError
from canvas_provider.protocol.copilot import PROTOCOL_VERSION, Method
from canvas_provider.sdk.rpc import request
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.session import Session
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.web.loopback import LoopbackWeb
from canvas_provider.wire.connection import INTERNAL_ERROR
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair

__all__ = ["CanvasHost", "SessionOptions"]

DEFAULT_ID: Final = "app:canvas-provider"

WARNED_AFTER: Final = 5.0
"""Seconds from a session's first canvas until a log line says that the app has not attached it."""

REFUSED_AFTER: Final = 30.0
"""Seconds that what a handler asks of its session waits for `attach`. Restoring may take long."""

_NOT_ATTACHED: Final = (
    "the app has not called host.attach(session): do it right after create_session() or "
    "resume_session() has returned"
)

logger = logging.getLogger("canvas_provider.sdk")


class SessionOptions(TypedDict):
    """What `create_session` and `resume_session` of the SDK take for canvases."""

    canvases: list[CanvasDeclaration]
    canvas_handler: CanvasHandler
    canvas_provider: CanvasProviderIdentity
    request_canvas_renderer: NotRequired[bool]


class CanvasHost:
    """Canvases for the sessions of an app. Use it as a context manager, inside the client's.

        async with CopilotClient() as client, CanvasHost([board], id="app:boards") as host:
            session = await client.create_session(**host.options)
            host.attach(session)

    One host serves any number of sessions. Leaving the block ends every page, leaves each
    `lifespan` and flushes the stores; no `on_close` runs, as when Copilot quits. A session that
    ends earlier does the same for its own instances.

    Args:
        id: Whose canvases these are, for the runtime: what it restores when a session is resumed it
            looks for under this id, and stores without a folder of their own use what follows the
            last colon. So choose one, and keep it.

    Raises:
        DeclarationError: no canvas, or two of the same id.
    """

    def __init__(self, canvases: Sequence[Canvas], *, id: str = DEFAULT_ID) -> None:
        self._canvases = tuple(canvases)
        self._settings = Settings.from_environment()
        self._providers: dict[str, _Provider] = {}
        self._ended = False
        # Refuses at once what every session would refuse.
        Handshake.begin(self._canvases, session_id="", settings=self._settings)
        self.id: Final = id
        self.canvases: Final = [_declare(canvas) for canvas in self._canvases]
        """For `canvases=`."""
        self.handler: Final[CanvasHandler] = _Handler(self._provider)
        """For `canvas_handler=`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    @property
    def options(self) -> SessionOptions:
        """For `create_session(**host.options)` and `resume_session(id, **host.options)`.

        With these the agent gets the tools for canvases. An app that has no place to show them
        passes `canvases=` and `canvas_handler=` alone.
        """
        return {
            "canvases": self.canvases,
            "canvas_handler": self.handler,
            "canvas_provider": CanvasProviderIdentity(self.id),
            "request_canvas_renderer": True,
        }

    def attach(self, session: CopilotSession) -> None:
        """Put a session behind `ctx.session`. Call it as soon as the SDK has returned it.

        Until then, what the runtime opens is what it restores (`ctx.reopened` is true), and what a
        handler asks of its session waits. After 5 s a log line says so, after 30 s it is refused.
        """
        self._provider(session.session_id).attach(session)

    async def aclose(self) -> None:
        """Leave every session. Idempotent."""
        self._ended = True
        providers, self._providers = self._providers, {}
        await asyncio.gather(*(provider.aclose() for provider in providers.values()))

    def _provider(self, session_id: str) -> "_Provider":
        if self._ended:
            raise SDKCanvasError("closing", "This app is closing its canvases.")
        provider = self._providers.get(session_id)
        if provider is None:
            handshake = Handshake.begin(
                self._canvases, session_id=session_id, settings=self._settings
            )
            provider = self._providers[session_id] = _Provider(handshake, self._forget)
        return provider

    def _forget(self, provider: "_Provider") -> None:
        if self._providers.get(provider.session_id) is provider:
            del self._providers[provider.session_id]


class _Handler(CanvasHandler):
    """What the SDK calls: the three callbacks, each with the session it is for."""

    def __init__(self, find: Callable[[str], "_Provider"]) -> None:
        self._find = find

    async def on_open(self, ctx: CanvasProviderOpenRequest) -> CanvasProviderOpenResult:
        opened = await self._find(ctx.session_id).call(Method.CANVAS_OPEN, ctx.to_dict())
        return CanvasProviderOpenResult.from_dict(opened)

    async def on_action(self, ctx: CanvasProviderInvokeActionRequest) -> Any:
        return await self._find(ctx.session_id).call(Method.CANVAS_ACTION_INVOKE, ctx.to_dict())

    async def on_close(self, ctx: CanvasProviderCloseRequest) -> None:
        await self._find(ctx.session_id).call(Method.CANVAS_CLOSE, ctx.to_dict())


class _Provider:
    """A provider session of ours, and the runtime's end of its connection."""

    def __init__(self, handshake: Handshake, on_closed: Callable[["_Provider"], None]) -> None:
        ours, theirs = memory_pair()
        self.session_id: Final = handshake.session_id
        self._attached: asyncio.Future[CopilotSession] = asyncio.get_running_loop().create_future()
        self._stop_listening: Callable[[], None] = lambda: None
        self._peer = Peer(theirs, on_request=self._serve)
        self._peer.start()
        self._warning = asyncio.get_running_loop().call_later(WARNED_AFTER, self._warn)
        self._session = Session(handshake, ours, LoopbackWeb(), on_closed=lambda: on_closed(self))
        self._joining = asyncio.create_task(self._join(), name=f"canvases of {self.session_id}")

    def attach(self, session: CopilotSession) -> None:
        if not self._attached.done():
            self._warning.cancel()
            self._attached.set_result(session)
            self._stop_listening = session.on(self._forward)

    async def call(self, method: Method, params: JSONObject) -> JSONValue:
        """Pass a callback of the runtime on to the provider.

        Raises:
            copilot.canvas.CanvasError: with the code and the text that an extension answers.
        """
        try:
            return await self._peer.request(method, params)
        except RemoteError as error:
            data = error.data if isinstance(error.data, dict) else {}
            code = str(data.get("code", "canvas_handler_error"))
            raise SDKCanvasError(code, error.message) from None
        except ConnectionClosed:
            raise SDKCanvasError("closing", "This session is closing its canvases.") from None

    async def aclose(self) -> None:
        """Leave as an extension does whose Copilot quits. Idempotent."""
        self._warning.cancel()
        self._stop_listening()
        await self._session.aclose()
        await self._peer.aclose()
        await asyncio.wait({self._joining})
        self._attached.cancel()

    async def _join(self) -> None:
        try:
            await self._session.join()
            await self._session.wait_closed()
            await self._peer.aclose()
        except JoinError:
            pass  # closed before the app attached its session

    # What the provider asks of the session

    async def _serve(self, method: str, params: JSONObject) -> JSONValue:
        if method == Method.CONNECT:
            return {"ok": True, "protocolVersion": PROTOCOL_VERSION}
        if method == Method.SESSION_RESUME:
            return _describe(await asyncio.shield(self._attached))
        return await request(await self._wait_attached(), method, params)

    async def _wait_attached(self) -> CopilotSession:
        try:
            async with asyncio.timeout(REFUSED_AFTER):
                return await asyncio.shield(self._attached)
        except TimeoutError:
            raise RemoteError(INTERNAL_ERROR, _NOT_ATTACHED) from None

    def _warn(self) -> None:
        logger.warning("session %s has canvases, but %s", self.session_id, _NOT_ATTACHED)

    def _forward(self, event: Any) -> None:
        told = event.to_dict()
        self._peer.notify(Method.SESSION_EVENT, {"sessionId": self.session_id, "event": told})
        if told.get("type") == "session.shutdown":
            # The SDK has no other sign of the end. Who is told of it ends by itself.
            self._session.begin_close()


def _declare(canvas: Canvas) -> CanvasDeclaration:
    told = canvas.declaration
    return CanvasDeclaration(
        id=told["id"],
        display_name=told["displayName"],
        description=told["description"],
        input_schema=cast(Any, told.get("inputSchema")),
        actions=[
            CanvasAction(action["name"], action.get("description"), action.get("inputSchema"))
            for action in told.get("actions", [])
        ],
    )


def _describe(session: CopilotSession) -> JSONObject:
    """What the runtime answers to `session.resume`, as far as the SDK knows it."""
    described: JSONObject = {
        "sessionId": session.session_id,
        "capabilities": cast(JSONObject, dict(session.capabilities)),
    }
    if session.workspace_path is not None:
        described["workspacePath"] = str(session.workspace_path)
    return described
