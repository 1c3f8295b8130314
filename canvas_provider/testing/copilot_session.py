"""A session of the real CLI, seen by its host.

Shapes are dicts, as they cross the wire, and every wait is bounded. What the runtime asks its host
(permission, forms) is answered here, by what the test said.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, cast

from canvas_provider.errors import CanvasProviderError, MethodNotFound
from canvas_provider.host.scripted_model import ScriptedModel
from canvas_provider.protocol.copilot import (
    DiscoveredCanvas,
    Method,
    OpenCanvas,
)
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.protocol.hosting import APPROVE, REJECT, HostMethod, RequestEvent
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from canvas_provider.wire.peer import Peer

__all__ = ["Answers", "CLISession", "TurnError"]

POLL: Final = 0.02
"""Seconds between two looks at what the CLI has no event for."""

Found = TypeVar("Found")

Handler: TypeAlias = Callable[[Any], Any | Awaitable[Any]]


class TurnError(CanvasProviderError):
    """The agent's turn ended with an error; the text is Copilot's."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the host answers when it is asked."""

    permission: Handler | None = None
    """A permission request to True, False, or a decision as on the wire; None approves all."""
    elicitation: Handler | None = None
    """A form to `{"action": "accept", "content": {…}}`; None: this host shows no forms."""
    requests: Mapping[str, Handler] = field(default_factory=dict)
    """Methods that the runtime may call, such as `userInput.request`: params to a result."""


class CLISession:
    """One session. `CopilotCLI.create_session` and `resume_session` make it.

    What the runtime refuses raises `RemoteError` with its text, as its host reads it.
    """

    def __init__(
        self,
        peer: Peer,
        session_id: str,
        *,
        model: ScriptedModel | None,
        answers: Answers,
        timeout: float,
    ) -> None:
        self.session_id: Final = session_id
        self.events: Final[list[SessionEvent]] = []
        """Every event of the session, oldest first."""
        self.permission_requests: Final[list[JSONObject]] = []
        """What permission was asked for: `{"kind": "custom-tool", "toolName": …}` and others."""
        self.info: JSONObject = {}
        """What the runtime answered when the session was created: `capabilities` and more."""
        self._peer = peer
        self._model = model
        self._answers = answers
        self._timeout = timeout
        self._waited_for = 0
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<CLISession {self.session_id}>"

    # The agent

    async def ask(
        self,
        prompt: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        **options: Any,
    ) -> str:
        """Send a prompt, wait for the end of the turn, and return the agent's last words.

        Args:
            timeout: Seconds for the turn; default, as everywhere here: that of `CopilotCLI`.
            options: More fields of `session.send`, as on the wire.

        Raises:
            ScriptError: the model's script does not fit.
            TurnError: the turn ended with another error.
        """
        start = len(self.events)
        await self.send(prompt, **options)
        await self._wait(lambda: self._ended(start), "the end of the turn", timeout)
        if self._model is not None:
            self._model.check()
        said = ""
        for event in self.events[start:]:
            data = _data(event)
            if event["type"] == "session.error":
                raise TurnError(str(data.get("message", data)))
            if event["type"] == "assistant.message" and "agentId" not in event:
                said = str(data.get("content", ""))
        return said

    async def send(self, prompt: str, **options: Any) -> str:
        """Send a prompt without waiting for the agent, and return the message's id."""
        result = await self.request(Method.SESSION_SEND, {"prompt": prompt, **options})
        return str(cast(JSONObject, result)["messageId"])

    async def wait_for(
        self,
        kind: str,
        where: Callable[[JSONObject], bool] = lambda data: True,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> JSONObject:
        """Return the data of the next event of this type, which may be here already.

        Each call goes on after the event that the one before returned.

        Args:
            where: What else has to be true of its data.
        """

        def find() -> JSONObject | None:
            for index in range(self._waited_for, len(self.events)):
                event = self.events[index]
                if event["type"] == kind and where(_data(event)):
                    self._waited_for = index + 1
                    return _data(event)
            return None

        return await self._wait(find, f"an event {kind!r}", timeout)

    def data_of(self, kind: str) -> list[JSONObject]:
        """The data of every event of this type so far."""
        return [_data(event) for event in self.events if event["type"] == kind]

    # Canvases, as the host has them

    async def canvases(self) -> list[DiscoveredCanvas]:
        """What every extension has declared."""
        listed = await self.request(Method.SESSION_CANVAS_LIST)
        return cast(list[DiscoveredCanvas], cast(JSONObject, listed)["canvases"])

    async def open_instances(self) -> list[OpenCanvas]:
        listed = await self.request(Method.SESSION_CANVAS_LIST_OPEN)
        return cast(list[OpenCanvas], cast(JSONObject, listed)["openCanvases"])

    async def open(
        self, canvas_id: str, instance_id: str, input: JSONValue | Missing = MISSING
    ) -> OpenCanvas:
        """Open an instance, or open it again. Left out, `input` is absent."""
        params: JSONObject = {"canvasId": canvas_id, "instanceId": instance_id}
        opened = await self.request(Method.SESSION_CANVAS_OPEN, params | _input(input))
        return cast(OpenCanvas, opened)

    async def invoke(
        self, instance_id: str, action_name: str, input: JSONValue | Missing = MISSING
    ) -> Any:
        """Invoke an action and return its result. Left out, `input` is absent."""
        params: JSONObject = {"instanceId": instance_id, "actionName": action_name}
        answer = await self.request(Method.SESSION_CANVAS_ACTION_INVOKE, params | _input(input))
        return cast(JSONObject, answer).get("result")

    async def close(self, instance_id: str) -> None:
        await self.request(Method.SESSION_CANVAS_CLOSE, {"instanceId": instance_id})

    async def wait_listed(
        self,
        canvas_id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> DiscoveredCanvas:
        """Wait until an extension has declared this canvas."""

        async def find() -> DiscoveredCanvas | None:
            canvases = await self.canvases()
            return next((each for each in canvases if each["canvasId"] == canvas_id), None)

        return await self._poll(find, f"canvas {canvas_id!r} to be listed", timeout)

    async def wait_open(
        self,
        instance_id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> OpenCanvas:
        """Wait until the runtime has opened this instance, or opened it again."""

        async def find() -> OpenCanvas | None:
            instances = await self.open_instances()
            return next((each for each in instances if each["instanceId"] == instance_id), None)

        return await self._poll(find, f"instance {instance_id!r} to be open", timeout)

    # Extensions

    async def extensions(self) -> list[JSONObject]:
        """Every extension of the session: `name`, `status`, `pid` and more."""
        listed = await self.request(HostMethod.SESSION_EXTENSIONS_LIST)
        return cast(list[JSONObject], cast(JSONObject, listed)["extensions"])

    async def wait_status(
        self,
        extension: str,
        status: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> JSONObject:
        """Wait until the runtime reports this status: starting, running, failed."""

        async def find() -> JSONObject | None:
            extensions = await self.extensions()
            found = next((each for each in extensions if each["name"] == extension), None)
            return found if found is not None and found["status"] == status else None

        return await self._poll(find, f"extension {extension!r} to be {status}", timeout)

    async def reload(self) -> None:
        """Restart every extension."""
        await self.request(HostMethod.SESSION_EXTENSIONS_RELOAD)

    # The session

    async def request(
        self, method: str, params: Mapping[str, JSONValue] | None = None
    ) -> JSONValue:
        """Call any method of the runtime for this session: what has no method of its own here."""
        return await self._peer.request(
            method, {"sessionId": self.session_id, **(params or {})}, timeout=self._timeout
        )

    async def disconnect(self) -> None:
        """Let go of the session; what is on disk stays, and its extensions end."""
        await self.request(HostMethod.SESSION_DETACH)

    # What the runtime tells and asks

    def _note(self, event: SessionEvent) -> None:
        self.events.append(event)
        self._news.set()
        if event["type"] == RequestEvent.PERMISSION:
            self._spawn(self._answer_permission(_data(event)))
        elif event["type"] == RequestEvent.ELICITATION and self._answers.elicitation is not None:
            self._spawn(self._answer_elicitation(_data(event), self._answers.elicitation))

    async def _answer(self, method: str, params: JSONObject) -> JSONValue:
        handler = self._answers.requests.get(method)
        if handler is None:
            raise MethodNotFound(method)
        return cast(JSONValue, await _call(handler, params))

    async def _answer_permission(self, data: JSONObject) -> None:
        if data.get("resolvedByHook"):
            return
        asked = cast(JSONObject, data.get("permissionRequest", {}))
        self.permission_requests.append(asked)
        handler = self._answers.permission
        said = True if handler is None else await _call(handler, asked)
        decision = said if isinstance(said, dict) else (APPROVE if said else REJECT)
        await self._reply(HostMethod.ANSWER_PERMISSION, data, cast(JSONObject, decision))

    async def _answer_elicitation(self, data: JSONObject, handler: Handler) -> None:
        await self._reply(HostMethod.ANSWER_ELICITATION, data, await _call(handler, data))

    async def _reply(self, method: str, data: JSONObject, result: JSONValue) -> None:
        await self.request(method, {"requestId": data["requestId"], "result": result})

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _aclose(self) -> None:
        """End what is still being answered."""
        for task in (tasks := tuple(self._tasks)):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # Waiting

    def _ended(self, start: int) -> bool | None:
        # An extension's prompts make turns of their own: those of sub-agents end without idling.
        return any(event["type"] == "session.idle" for event in self.events[start:]) or None

    async def _wait(
        self,
        find: Callable[[], Found | None],
        what: str,
        timeout: float | None,  # noqa: ASYNC109
    ) -> Found:
        """Look again after each event, until there is something."""
        seconds = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                while (found := find()) is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            seen = ", ".join(event["type"] for event in self.events[-10:]) or "nothing"
            raise TimeoutError(f"Waited {seconds} s for {what}; last came: {seen}") from None
        return found

    async def _poll(
        self,
        find: Callable[[], Awaitable[Found | None]],
        what: str,
        timeout: float | None,  # noqa: ASYNC109
    ) -> Found:
        seconds = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                while (found := await find()) is None:  # noqa: ASYNC110  # there is no event
                    await asyncio.sleep(POLL)
        except TimeoutError:
            raise TimeoutError(f"Waited {seconds} s for {what}.") from None
        return found


def _data(event: SessionEvent) -> JSONObject:
    data = event.get("data")
    return data if isinstance(data, dict) else {}


def _input(input: JSONValue | Missing) -> JSONObject:
    return {} if isinstance(input, Missing) else {"input": input}


async def _call(handler: Handler, asked: JSONObject) -> Any:
    said = handler(asked)
    return await said if inspect.isawaitable(said) else said
