"""An embedded Copilot runtime for canvases: the engine, given time, ids and connections.

Plays the other end of the canvas protocol for any number of providers, over any transport: the
development host uses it over pipes, tests of canvases in memory. There is no model in it; whoever
holds the `Runtime` is agent and host at once.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final, Self, TypeVar, cast

from canvas_provider.errors import ConnectionClosed, MethodNotFound, RemoteError
from canvas_provider.host.contributions import Contributions
from canvas_provider.host.conversation import Conversation
from canvas_provider.host.effect import Answer, Call, Emit, Refuse, Warn
from canvas_provider.host.engine import CONNECTION_CLOSED, Engine
from canvas_provider.host.link import Message, MessageListener, ProviderLink
from canvas_provider.host.registry import HostRefusal, describe_type
from canvas_provider.host.secrets import Secrets
from canvas_provider.host.turns import Turns
from canvas_provider.protocol.copilot import (
    PROTOCOL_VERSION,
    CanvasEvent,
    CanvasRecorded,
    DiscoveredCanvas,
    Method,
    OpenCanvas,
)
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from canvas_provider.wire.connection import INTERNAL_ERROR, encode_json
from canvas_provider.wire.transports import Transport

__all__ = ["HostRefusal", "Message", "ProviderLink", "Runtime"]

logger = logging.getLogger("canvas_provider.host")

_Listener = TypeVar("_Listener")

_PERSISTED: Final = frozenset({CanvasEvent.RECORDED, CanvasEvent.REMOVED})

EventListener = Callable[[SessionEvent], None]
Service = Callable[["Runtime", ProviderLink, JSONObject], Awaitable[JSONValue]]


class Runtime:
    """One session with its providers and open canvases.

    Args:
        working_directory: What providers are told as the session's working directory.
        workspace_path: A folder of the session's own, absolute; the caller owns it.
        session_id: A new uuid, if not given.
        records: What the session had open when it was last running.
        secrets: Variables of the host that providers may ask for; by default there are none.
    """

    def __init__(
        self,
        *,
        working_directory: str,
        workspace_path: str,
        session_id: str | None = None,
        records: Iterable[CanvasRecorded] = (),
        secrets: Secrets | None = None,
    ) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        self.working_directory = working_directory
        self.workspace_path = workspace_path
        self._engine = self._create_engine(records)
        self._links: dict[str, ProviderLink] = {}
        self._waiting: dict[int, asyncio.Future[JSONValue]] = {}
        self._listeners: list[EventListener] = []
        self._message_listeners: list[MessageListener] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_event_id: str | None = None  # of those that would be persisted
        self._start_time = _timestamp()
        self._secrets = secrets or Secrets({})
        self._turns = Turns(lambda: self._engine.is_busy)
        self.conversation = Conversation(self._publish, self.list_open)
        self.contributions = Contributions(
            self._publish, session_id=self.session_id, working_directory=working_directory
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def resume_cold(self) -> None:
        """Go on as a new runtime does with a session on disk: its records are what is left.

        Every provider has to be detached.
        """
        self._engine = self._create_engine(self._engine.records())

    def _create_engine(self, records: Iterable[CanvasRecorded]) -> Engine:
        return Engine(
            session_id=self.session_id,
            working_directory=self.working_directory,
            records=records,
        )

    async def aclose(self) -> None:
        """End every connection and wait for what that sets in motion."""
        for link in list(self._links.values()):
            await link.aclose()
        while self._tasks:
            await asyncio.gather(*self._tasks)

    # Providers.

    async def attach(
        self,
        transport: Transport,
        *,
        extension_id: str,
        extension_name: str,
        extension_directory: str = "",
    ) -> ProviderLink:
        """Serve a provider from now on; `wait_joined()` of the link says when it has declared.

        Raises:
            HostRefusal: a provider with this id is connected already.
        """
        self._engine.attach(extension_id, extension_name, extension_directory)
        link = ProviderLink(
            transport,
            extension_id=extension_id,
            extension_name=extension_name,
            serve=self._serve,
            tap=self._tap,
        )
        self._links[extension_id] = link
        link.peer.start()
        self._spawn(self._watch(link))
        return link

    # What a host and its agent can do.

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        extension_id: str | None = None,
    ) -> OpenCanvas:
        """Open, re-open or focus an instance.

        Raises:
            HostRefusal: the runtime or the provider refused; the text is what an agent reads.
        """
        await self._turns.wait_for_declarations()
        ticket = self._engine.open(canvas_id, instance_id, input, extension_id)
        return cast(OpenCanvas, await self._outcome(ticket))

    async def invoke(
        self, instance_id: str, action_name: str, input: JSONValue | Missing = MISSING
    ) -> JSONValue:
        """Call an action as the agent would, and return its result.

        Raises:
            HostRefusal: the runtime or the provider refused; the text is what an agent reads.
        """
        await self._turns.wait_for_declarations()
        return await self._outcome(self._engine.invoke(instance_id, action_name, input))

    async def close(self, instance_id: str) -> None:
        """Close an instance. Succeeds even if its provider fails to.

        Raises:
            HostRefusal: no such instance is open.
        """
        await self._turns.wait_for_declarations()
        await self._outcome(self._engine.close(instance_id))

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with every session event; returns what ends that."""
        return _subscribe(self._listeners, listener)

    def subscribe_messages(self, listener: MessageListener) -> Callable[[], None]:
        """Call `listener` with every JSON-RPC message; returns what ends that."""
        return _subscribe(self._message_listeners, listener)

    def records(self) -> list[CanvasRecorded]:
        """What was opened and never closed, as it was opened first."""
        return self._engine.records()

    def list_open(self) -> list[OpenCanvas]:
        """Every instance that its provider has opened."""
        return self._engine.open_canvases()

    def list(self) -> list[DiscoveredCanvas]:
        """Every canvas of every connected provider."""
        return self._engine.canvases()

    # The engine's effects.

    async def _outcome(self, ticket: int) -> JSONValue:
        future: asyncio.Future[JSONValue] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = future
        self._apply_effects()
        try:
            return await future
        finally:
            del self._waiting[ticket]

    def _apply_effects(self) -> None:
        for effect in self._engine.effects():
            match effect:
                case Call():
                    self._spawn(self._call(self._links[effect.extension_id], effect))
                case Emit(type, data):
                    self._publish(type, data, ephemeral=type not in _PERSISTED)
                case Answer(ticket, value):
                    if (future := self._find_waiting(ticket)) is not None:
                        future.set_result(value)
                case Refuse(ticket, reason):
                    if (future := self._find_waiting(ticket)) is not None:
                        future.set_exception(reason)
                case Warn(message):
                    logger.warning("%s", message)
                    self._notify(Method.HOST_EVENT, {"level": "warning", "message": message})

        self._turns.note_change()

    def _find_waiting(self, ticket: int) -> asyncio.Future[JSONValue] | None:
        """Find who asked; they may have given up, which no provider is ever told."""
        future = self._waiting.get(ticket)
        return None if future is None or future.done() else future

    async def _call(self, link: ProviderLink, call: Call) -> None:
        try:
            value = await link.peer.request(call.method, call.params)
            # "\ud800" in JSON is half a character: it can be read, but not be passed on.
            encode_json(value)
        except RemoteError as error:
            self._engine.receive_error(call.call, error.message, error.data)
        except ConnectionClosed:
            self._engine.receive_error(call.call, CONNECTION_CLOSED)
        except (TypeError, ValueError, RecursionError):
            self._engine.receive_error(call.call, "the input or the answer is not valid JSON")
        else:
            self._engine.receive_answer(call.call, value)
        self._apply_effects()

    async def _watch(self, link: ProviderLink) -> None:
        await link.peer.wait_closed()
        del self._links[link.extension_id]
        link.settle(ConnectionClosed("the extension ended before it had joined the session"))
        self.contributions.forget(link.extension_id)
        self._engine.detach(link.extension_id)
        self._apply_effects()
        link.detached.set()

    def _publish(self, type: str, data: JSONObject, *, ephemeral: bool) -> str:
        event: SessionEvent = {
            "type": type,
            "data": data,
            "id": str(uuid.uuid4()),
            "timestamp": _timestamp(),
            "parentId": self._last_event_id,
        }
        if ephemeral:
            event["ephemeral"] = True
        else:
            self._last_event_id = event["id"]
            self.conversation.remember(event)
        params = {"sessionId": self.session_id, "event": cast(JSONValue, event)}
        self._notify(Method.SESSION_EVENT, params)
        for listener in tuple(self._listeners):
            listener(event)
        return event["id"]

    def _notify(self, method: Method, params: JSONObject) -> None:
        for link in self._links.values():
            if link.is_joined:
                link.peer.notify(method, params)

    def _tap(self, message: Message) -> None:
        for listener in tuple(self._message_listeners):
            listener(message)

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What a provider may ask of its session.

    async def _serve(self, link: ProviderLink, method: str, params: JSONObject) -> JSONValue:
        if method == Method.CONNECT:
            return {"ok": True, "protocolVersion": PROTOCOL_VERSION}
        talk = self.conversation.services.get(method) or self.contributions.services.get(method)
        serve = self._services.get(method)
        if talk is None and serve is None:
            raise MethodNotFound(method)
        try:
            self._check_session(method, params.get("sessionId"))
            if talk is not None:
                return await talk(link, params)
            assert serve is not None
            return await serve(self, link, params)
        except HostRefusal as refusal:
            wrapped = HostRefusal(refusal.message, method=method)
            raise RemoteError(INTERNAL_ERROR, str(wrapped)) from refusal

    def _check_session(self, method: str, session_id: JSONValue) -> None:
        if not isinstance(session_id, str):
            raise HostRefusal(f"Missing sessionId in {method} request")
        if session_id != self.session_id:
            raise HostRefusal(f"Session not found for sessionId: {session_id}")

    async def _serve_resume(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        async with self._turns.alone(link.extension_id):
            try:
                granted = self._secrets.grant(link.extension_id, params)
                self.contributions.declare(link.extension_id, params)
                self._engine.declare(link.extension_id, params.get("canvases"))
            except HostRefusal as refusal:
                link.settle(refusal)
                raise
            link.is_joined = True
            self._apply_effects()
        # Instances that are still open are asked for before this answer: the calls start here.
        await asyncio.sleep(0)
        # Whoever waits for the join may open canvases: after the answer, or they seem restored.
        asyncio.get_running_loop().call_soon(link.settle, None)
        ui: JSONObject = {"elicitation": False, "mcpApps": False, "canvases": True}
        return {
            "sessionId": self.session_id,
            "startTime": self._start_time,
            "isRemote": False,
            "mode": "interactive",
            "workspacePath": self.workspace_path,
            "capabilities": {"ui": ui, "extensions": False},
            **({"grantedEnvironmentVariables": {**granted}} if granted else {}),
        }

    async def _serve_list(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        await self._turns.wait_for_declarations()
        return {"canvases": cast(JSONValue, self.list())}

    async def _serve_list_open(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        await self._turns.wait_for_declarations()
        return {"openCanvases": cast(JSONValue, self.list_open())}

    async def _serve_open(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        what = "canvas.open"
        canvas_id, instance_id = (
            _field(what, params, "canvasId"),
            _field(what, params, "instanceId"),
        )
        given = params.get("extensionId") is not None
        extension_id = _field(what, params, "extensionId") if given else None
        input = params.get("input", MISSING)
        return cast(JSONValue, await self.open(canvas_id, instance_id, input, extension_id))

    async def _serve_close(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        instance_id = params.get("instanceId")
        if not isinstance(instance_id, str):
            raise HostRefusal("missing or non-string parameter 'instanceId'")
        await self.close(instance_id)
        return None

    async def _serve_invoke(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        field = partial(_field, "canvas.action.invoke", params)
        input = params.get("input", MISSING)
        return {"result": await self.invoke(field("instanceId"), field("actionName"), input)}

    _services: Final[Mapping[str, Service]] = {
        Method.SESSION_RESUME: _serve_resume,
        Method.SESSION_CANVAS_LIST: _serve_list,
        Method.SESSION_CANVAS_LIST_OPEN: _serve_list_open,
        Method.SESSION_CANVAS_OPEN: _serve_open,
        Method.SESSION_CANVAS_CLOSE: _serve_close,
        Method.SESSION_CANVAS_ACTION_INVOKE: _serve_invoke,
    }


def _field(what: str, params: JSONObject, name: str) -> str:
    """Take a required string out of `params`, or refuse as the runtime's parser does."""
    if name not in params:
        raise HostRefusal(f"invalid {what} params: missing field `{name}`")
    if not isinstance(value := params[name], str):
        found = describe_type(value)
        raise HostRefusal(f"invalid {what} params: invalid type: {found}, expected a string")
    return value


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _subscribe(listeners: list[_Listener], listener: _Listener) -> Callable[[], None]:
    listeners.append(listener)

    def unsubscribe() -> None:
        if listener in listeners:
            listeners.remove(listener)

    return unsubscribe
