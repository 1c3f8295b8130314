"""What an extension may ask of its session: the same for `Session` and for `ctx.session`."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Literal, TypeVar, Unpack, cast

from canvas_provider.canvas.threads import start_in_loop
from canvas_provider.canvas.view import ModelOptions, SendOptions
from canvas_provider.protocol.copilot import Method, SessionCapabilities
from canvas_provider.protocol.events import AssistantMessage, EventName, SessionEvent
from canvas_provider.protocol.requests import Attachment, ModelSwitched
from canvas_provider.session.canvases import SessionCanvases
from canvas_provider.session.events import Events, EventStream, Listener, to_event, warn_of_unknown
from canvas_provider.session.extensions import SessionExtensions
from canvas_provider.session.facts import Facts
from canvas_provider.session.prompts import Panel, Prompts, check_options, to_text
from canvas_provider.session.ui import SessionUI
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer

__all__ = ["SessionAPI", "SessionParts"]

T = TypeVar("T")

_PREFIX: Final = "session."


class SessionParts:
    """What every view of one session shares."""

    def __init__(self, peer: Peer, session_id: str) -> None:
        self.session_id: Final = session_id
        self.loop: Final = asyncio.get_running_loop()
        self._peer = peer
        self.facts: Final = Facts()
        self.events: Final = Events()
        self.prompts: Final = Prompts(self.request, self.events)
        self.canvas: Final = SessionCanvases(peer, session_id)
        self.ui: Final = SessionUI(self.request, self.facts)
        self.extensions: Final = SessionExtensions(self.request)
        self.events.on("capabilities.changed", self.facts.change)

    async def request(self, method: str, params: JSONObject) -> JSONValue:
        """Call a method of the session; `sessionId` is filled in."""
        return await self._peer.request(method, {**params, "sessionId": self.session_id})

    def end(self) -> None:
        """Let go of whoever waits for something: the connection is closed."""
        self.prompts.end()
        self.events.end()


class SessionAPI:
    """Each coroutine raises `RemoteError` where the runtime refuses, `ConnectionClosed` at the end.

    They belong to the event loop. A `def` handler, which runs in a thread, calls them as
    `ctx.run(ctx.session.send("…"))`, a thread of your own as `session.run(session.send("…"))`.
    """

    def __init__(self, parts: SessionParts, panel: Panel | None = None) -> None:
        self._parts = parts
        self._panel = panel

    # --- What it is

    @property
    def session_id(self) -> str:
        return self._parts.session_id

    @property
    def workspace_path(self) -> str | None:
        """A folder that belongs to this session, absolute; None if the host has none."""
        return self._parts.facts.workspace_path

    @property
    def capabilities(self) -> SessionCapabilities:
        """What the host can do now; `{"ui": {"canvases": True}}` if it renders canvases."""
        return self._parts.facts.capabilities

    @property
    def canvas(self) -> SessionCanvases:
        """The runtime's canvases: `list`, `list_open`, `open`, `close`, `invoke`."""
        return self._parts.canvas

    @property
    def ui(self) -> SessionUI:
        """Dialogs: `elicitation`, `confirm`, `select`, `input`."""
        return self._parts.ui

    @property
    def extensions(self) -> SessionExtensions:
        """The session's extensions: `list`, `reload`, `enable`, `disable`."""
        return self._parts.extensions

    # --- The timeline and the agent

    async def log(
        self,
        message: str,
        *,
        level: Literal["info", "warning", "error"] = "info",
        ephemeral: bool = False,
        url: str | None = None,
    ) -> str:
        """Show a line in the session's timeline and return its event id.

        Args:
            ephemeral: the line is not kept with the session.
            url: where a person finds more.
        """
        params: JSONObject = {"message": message, "level": level}
        if ephemeral:
            params["ephemeral"] = True
        if url is not None:
            params["url"] = url
        return to_text(await self._parts.request(Method.SESSION_LOG, params), "eventId")

    async def send(self, prompt: str, **options: Unpack[SendOptions]) -> str:
        """Send a prompt to the agent, as if the user had typed it, and return the message id.

        It starts a turn, and does not wait for it.

        Args:
            mode: during a turn, `enqueue` (the default) makes it the next one and `immediate`
                steers the running one.
            dedupe: a key of your choice, such as `"refresh"`. From the first prompt of a key until
                its turn is over, further ones are not sent: they return the id of the first.
                `ctx.session` of two panels holds two keys.
            options: see `SendOptions`.
        """
        return await self._parts.prompts.send(prompt, options, self._panel)

    async def send_and_wait(
        self,
        prompt: str,
        *,
        timeout: float | None = 60.0,  # noqa: ASYNC109  # None costs nothing, as a wrapper would
        **options: Unpack[SendOptions],
    ) -> AssistantMessage | None:
        """Send a prompt, wait until its turn is over, and return the agent's last message.

        None if there was none, as after an abort. Refused inside a handler, which the agent's turn
        may wait for.

        Args:
            timeout: seconds, queueing included. The turn goes on afterwards.

        Raises:
            TurnFailed: the turn ended with an error.
            TimeoutError: it is not over yet.
            CanvasProviderError: called from inside a handler.
        """
        prompts = self._parts.prompts
        return await prompts.send_and_wait(prompt, options, self._panel, timeout)

    async def send_attachments(
        self, attachments: Sequence[Attachment], *, instance_id: str | None = None
    ) -> None:
        """Offer the person attachments for their next message. Starts no turn.

        The host has to show them; one that knows nothing of it does nothing.

        Args:
            instance_id: the panel they come from; `ctx.session` fills in its own.
        """
        params: JSONObject = {"attachments": cast("list[JSONValue]", list(attachments))}
        if instance_id is None and self._panel is not None:
            instance_id = self._panel.instance_id
        if instance_id is not None:
            params["instanceId"] = instance_id
        await self._parts.request(Method.SESSION_EXTENSIONS_SEND_ATTACHMENTS, params)

    async def abort(self) -> None:
        """End the agent's turn. With none under way nothing happens."""
        await self._parts.request(Method.SESSION_ABORT, {})

    async def messages(self) -> list[SessionEvent]:
        """Return the session's history: the events that are kept, oldest first."""
        result = await self._parts.request(Method.SESSION_GET_MESSAGES, {})
        found = result.get("events") if isinstance(result, dict) else None
        events = map(to_event, found if isinstance(found, list) else ())
        return [event for event in events if event is not None]

    # --- Events

    def on(self, event: EventName | Literal["*"], listener: Listener) -> Callable[[], None]:
        """Call `listener` with each session event of this type; `"*"` is every type.

        A coroutine function is started as a task. What a listener raises is logged, nothing more.
        A name that Copilot is not known to send is logged once and listened to all the same.

        Returns:
            A function that stops it; calling that twice does no harm.
        """
        warn_of_unknown((event,))
        return self._parts.events.on(event, listener)

    def events(self, *names: EventName) -> EventStream:
        """Iterate over the session's events of these types, or of all, from now on.

        async for event in session.events("assistant.message"):
            print(event["data"]["content"])
        """
        warn_of_unknown(names)
        return self._parts.events.stream(names)

    # --- Everything else

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Do what has to be awaited, from another thread than the event loop's.

        Raises:
            CanvasProviderError: called in the event loop, where you `await` instead.
            Closing: the loop has ended.
        """
        return start_in_loop(coroutine, self._parts.loop).result()

    async def set_model(self, model: str, **options: Unpack[ModelOptions]) -> ModelSwitched:
        """Change the session's model, from the next prompt on.

        The answer says what came of it: during a turn the change is `deferred`. Copilot CLI 1.0.102
        takes any name, and fails at the next prompt.
        """
        check_options("set_model", options, ModelOptions)
        params: JSONObject = {"modelId": model}
        for name, value in options.items():
            head, *rest = name.split("_")
            params[head + "".join(map(str.capitalize, rest))] = cast(JSONValue, value)
        result = await self._parts.request(Method.SESSION_MODEL_SWITCH_TO, params)
        return cast(ModelSwitched, result if isinstance(result, dict) else {})

    async def set_auto_tier(self, auto_tier: str | None) -> JSONObject:
        """Change how the model `auto` picks one; None is the provider's default."""
        params: JSONObject = {"autoTier": auto_tier}
        result = await self._parts.request(Method.SESSION_MODEL_SWITCH_AUTO_TIER, params)
        return result if isinstance(result, dict) else {}

    async def rpc(self, method: str, params: JSONObject | None = None) -> JSONValue:
        """Call any method of the session that has no name of its own here.

            await session.rpc("plan.read")

        Args:
            method: with or without `session.` before it; see Copilot's `api.schema.json`.
            params: without `sessionId`, which is filled in.
        """
        name = method if method.startswith(_PREFIX) else _PREFIX + method
        return await self._parts.request(name, {} if params is None else params)
