"""A session of the real Copilot CLI, by the official SDK: the one module that imports it.

Speaks JSON in both directions, as it crosses the wire, so that nobody else has to know the SDK's
classes. Knows no panel and no extension of ours.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_type_hints

from copilot import CopilotClient, CopilotSession, RuntimeConnection
from copilot.rpc import PermissionDecisionApproveOnce, PermissionDecisionReject

from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Ask", "CopilotHost", "Model", "Question"]

Question = Literal["permission", "form", "question"]
"""What the agent asks the person: may it do this, fill this in, what do you say."""

Ask = Callable[[Question, JSONObject], Awaitable[JSONObject]]
"""Gets what is asked, and returns what the person says: see `Transcript.ask`."""

# Whatever fails is raised, too, and said in words of ours: not also written to the terminal, with
# a traceback, where nobody has set up logging. A Ctrl-C ends the CLI as well, and did just that.
logging.getLogger("copilot").addHandler(logging.NullHandler())

PING_EVERY: Final = 2.0
"""Seconds."""

MODEL: Final = "gpt-5"
"""What a model of one's own is taken for where it has no name."""


@dataclass(frozen=True, slots=True, repr=False)
class Model:
    """A model of one's own, at an OpenAI-compatible address. No repr: it would show the key."""

    url: str
    key: str
    name: str = MODEL


class CopilotHost:
    """One CLI process with one session. Call `start()`, and `aclose()` in the end.

    Args:
        binary: the program.
        home: its `COPILOT_HOME`; None: the user's own, with the user's login.
        model: who answers; None: Copilot's own models, which takes a login.
        model_name: which of Copilot's models.
        plugins: folders with `plugin.json` and `extensions/`.
    """

    def __init__(
        self,
        *,
        binary: Path,
        working_directory: str,
        home: Path | None,
        environment: Mapping[str, str],
        model: Model | None,
        model_name: str | None,
        plugins: Sequence[Path],
        on_event: Callable[[SessionEvent], None],
        on_gone: Callable[[], None],
        ask: Ask,
    ) -> None:
        self._client = CopilotClient(
            connection=RuntimeConnection.for_stdio(path=str(binary)),
            env=dict(environment),
            base_directory=None if home is None else str(home),
            working_directory=working_directory,
            use_logged_in_user=model is None,
        )
        self._model = model
        self._model_name = model_name
        self._working_directory = working_directory
        self._plugins = [str(folder) for folder in plugins]
        self._on_event = on_event
        self._on_gone = on_gone
        self._watching: asyncio.Task[None] | None = None
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._session: CopilotSession | None = None

    @property
    def session_id(self) -> str:
        """Empty before it has one."""
        return "" if self._session is None else self._session.session_id

    async def start(self) -> None:
        """Start the program and a session in it.

        Raises:
            HostRefusal: it does not start, or has no model to offer.
        """
        try:
            await self._client.start()
            self._session = await self._client.create_session(
                **self._options(),
                working_directory=self._working_directory,
                plugin_directories=self._plugins,
                request_canvas_renderer=True,
                request_extensions=True,
                streaming=True,
                on_event=self._hear,
                on_permission_request=self._ask_permission,
                on_elicitation_request=self._ask_form,
                on_user_input_request=self._ask_question,
            )
        except Exception as error:
            raise HostRefusal(f"Copilot has not started: {_text(error)}") from error
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        """Ask now and then whether it is there: the SDK tells nobody of its end."""
        while True:
            await asyncio.sleep(PING_EVERY)
            try:
                async with asyncio.timeout(PING_EVERY):
                    await self._client.ping()
            except TimeoutError:
                # It is busy, or stopped, and may go on.
                continue
            except Exception:
                self._on_gone()
                return

    def _options(self) -> dict[str, Any]:
        if self._model is None:
            return {} if self._model_name is None else {"model": self._model_name}
        return {
            "model": self._model.name,
            "provider": {
                "type": "openai",
                "base_url": self._model.url,
                "api_key": self._model.key,
                "wire_api": "completions",
            },
        }

    async def send(self, prompt: str) -> None:
        """Give the agent something to do. It is queued where a turn is under way."""
        await self._refusing(self._live.send(prompt))

    async def abort(self) -> None:
        """End the turn that is under way."""
        await self._refusing(self._live.abort())

    async def request(self, *path: str, **params: JSONValue) -> JSONValue:
        """Call a method of the session, by the names it has there: `("canvas", "list_open")`.

        Raises:
            HostRefusal: the runtime refused; its own text.
        """
        call: Any = self._live.rpc
        for name in path:
            call = getattr(call, name)
        kind = _params_of(call)
        arguments = [] if kind is None else [kind.from_dict(params)]
        answer = await self._refusing(call(*arguments))
        return cast(JSONValue, answer.to_dict() if hasattr(answer, "to_dict") else answer)

    async def aclose(self, grace: float) -> None:
        """End the session and the program; after `grace` seconds by force."""
        if self._watching is not None:
            self._watching.cancel()
        try:
            async with asyncio.timeout(grace):
                if self._session is not None:
                    await self._session.disconnect()
                await self._client.stop()
        except Exception:
            # It hangs, or is gone already.
            with suppress(Exception):
                await self._client.force_stop()

    @property
    def _live(self) -> CopilotSession:
        if self._session is None:
            raise HostRefusal("Copilot is not running.")
        return self._session

    async def _refusing(self, work: Awaitable[Any]) -> Any:
        try:
            return await work
        except Exception as error:
            # An error of the runtime is no public type of the SDK; its text is what counts.
            raise HostRefusal(_text(error)) from error

    def _hear(self, event: Any) -> None:
        # The SDK may call from a thread of its own.
        self._loop.call_soon_threadsafe(self._on_event, cast(SessionEvent, event.to_dict()))

    async def _ask_permission(self, request: Any, invocation: object) -> Any:
        said = await self._ask("permission", request.to_dict())
        if said.get("allow") is True:
            return PermissionDecisionApproveOnce()
        return PermissionDecisionReject()

    async def _ask_form(self, context: Any) -> Any:
        return await self._ask("form", {name: context[name] for name in context})

    async def _ask_question(self, request: Any, invocation: object) -> Any:
        said = await self._ask("question", {name: request[name] for name in request})
        answer = str(said.get("answer", ""))
        return {"answer": answer, "wasFreeform": answer not in request.get("choices", ())}


def _params_of(call: Any) -> Any:
    """The class of a method's params; None if it takes none."""
    function = inspect.unwrap(getattr(call, "__func__", call))
    return get_type_hints(function).get("params")


def _text(error: Exception) -> str:
    return str(getattr(error, "message", "") or error) or type(error).__name__
