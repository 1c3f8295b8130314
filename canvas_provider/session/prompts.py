"""Prompts to the agent: sent once, however often a button is clicked, and waited for.

A key of `dedupe=` is held from the first click until its turn is over. Nothing is listened to, and
so no event is parsed, while no prompt is followed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from canvas_provider.canvas.handling import current_handler
from canvas_provider.canvas.view import SendOptions
from canvas_provider.errors import CanvasProviderError, ConnectionClosed
from canvas_provider.protocol.copilot import Method
from canvas_provider.protocol.events import AssistantMessage
from canvas_provider.session.events import Events
from canvas_provider.session.turn import Turn
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Panel", "Prompts", "Request", "check_options", "to_text"]

Request = Callable[[Method, JSONObject], Awaitable[JSONValue]]
"""A method of the session and its parameters, without `sessionId`."""

Key = tuple[str | None, str]
"""Which panel holds a key of `dedupe=`, and the key: panels do not share theirs."""


class Panel(NamedTuple):
    """Whose `ctx.session` it is."""

    extension_id: str
    canvas_id: str
    instance_id: str


HELD: Final = 3600.0
"""Seconds after which a key is given up: an end that was missed must not kill a button for good."""

KEYS: Final = 256
"""How many are held at once; the oldest goes first."""

_MODES: Final = ("enqueue", "immediate")

_WIRE: Final = {
    "mode": "mode",
    "display_prompt": "displayPrompt",
    "agent_mode": "agentMode",
    "source": "source",
    "request_headers": "requestHeaders",
}


@dataclass(slots=True, eq=False)
class _Prompt:
    """A prompt that is followed, while its key is held or somebody waits for its end."""

    turn: Turn
    sent: "asyncio.Task[str]"
    since: float
    stops: list[Callable[[], None]]
    key: Key | None
    waiting: int = 0
    """How many wait for its end."""

    def drop(self) -> None:
        for stop in self.stops:
            stop()


class Prompts:
    """What a session has asked of its agent.

    Args:
        now: seconds, of any clock that does not jump.
    """

    def __init__(
        self, request: Request, events: Events, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._request = request
        self._events = events
        self._now = now
        self._followed: set[_Prompt] = set()
        self._keys: dict[Key, _Prompt] = {}

    async def send(self, prompt: str, options: SendOptions, panel: Panel | None) -> str:
        """Send a prompt, or not if one of the same key is under way; return the message id."""
        params = _to_params(prompt, options, panel)
        key = _to_key(options, panel)
        if key is None:
            return to_text(await self._request(Method.SESSION_SEND, params), "messageId")
        return await asyncio.shield(self._follow(params, key).sent)

    async def send_and_wait(
        self,
        prompt: str,
        options: SendOptions,
        panel: Panel | None,
        seconds: float | None,
    ) -> AssistantMessage | None:
        """Send a prompt and wait for the end of its turn.

        Raises:
            CanvasProviderError: in a handler.
            TurnFailed, TimeoutError, RemoteError, ConnectionClosed
        """
        if (handler := current_handler()) is not None:
            raise CanvasProviderError(
                f"send_and_wait() inside {handler} would wait for itself, because the agent's turn "
                "waits for the handler: use send(), and on('assistant.message', ...) for the answer"
            )
        followed = self._follow(_to_params(prompt, options, panel), _to_key(options, panel))
        followed.waiting += 1
        try:
            async with asyncio.timeout(seconds) as limit:
                await asyncio.shield(followed.sent)
                return await asyncio.shield(followed.turn.over)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(
                f"the agent's turn was not over after {seconds:g} s; it goes on"
            ) from None
        finally:
            followed.waiting -= 1
            self._let_go(followed)

    def end(self) -> None:
        """Give up on everything: the connection is closed, and with it what was not sent yet."""
        for followed in tuple(self._followed):
            followed.turn.fail(ConnectionClosed("the session ended before the agent's turn"))
            self._drop(followed)
        self._keys.clear()

    def _follow(self, params: JSONObject, key: Key | None) -> _Prompt:
        now = self._now()
        if key is not None and (held := self._keys.pop(key, None)) is not None:
            if not held.turn.over.done() and now - held.since < HELD:
                self._keys[key] = held
                return held
            self._let_go(held)
        turn = Turn()
        stops = [self._events.on(kind, turn.hear) for kind in Turn.KINDS]
        sent = asyncio.ensure_future(self._send(turn, params))
        followed = _Prompt(turn, sent, now, stops, key)
        self._followed.add(followed)
        if key is not None:
            self._keys[key] = followed
            if len(self._keys) > KEYS:
                self._let_go(self._keys.pop(next(iter(self._keys))))
        turn.over.add_done_callback(lambda _: self._drop(followed))
        # Whoever asked may be gone when it fails.
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        return followed

    async def _send(self, turn: Turn, params: JSONObject) -> str:
        try:
            message_id = to_text(await self._request(Method.SESSION_SEND, params), "messageId")
        except Exception as error:
            turn.fail(error)
            raise
        turn.accept(message_id)
        return message_id

    def _let_go(self, followed: _Prompt) -> None:
        """Follow it no longer, unless it still holds its key, or somebody waits for its end."""
        if not followed.waiting and not self._holds(followed):
            self._drop(followed)

    def _drop(self, followed: _Prompt) -> None:
        followed.drop()
        self._followed.discard(followed)
        if followed.key is not None and self._holds(followed):
            del self._keys[followed.key]

    def _holds(self, followed: _Prompt) -> bool:
        return followed.key is not None and self._keys.get(followed.key) is followed


def _to_key(options: SendOptions, panel: Panel | None) -> Key | None:
    key = options.get("dedupe")
    return None if key is None else (None if panel is None else panel.instance_id, key)


def _to_params(prompt: str, options: SendOptions, panel: Panel | None) -> JSONObject:
    given = cast(Mapping[str, Any], options)
    check_options("send", given, SendOptions)
    # The runtime takes all of it, and then does nothing, or something else, without a word.
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError("the prompt has to be a text that says something")
    if (mode := given.get("mode")) not in (None, *_MODES):
        raise ValueError(f"mode has to be one of {', '.join(_MODES)}, not {mode!r}")
    if any("type" not in each for each in given.get("attachments") or ()):
        raise ValueError('an attachment has to have a type, such as {"type": "file", "path": ...}')
    params: JSONObject = {"prompt": prompt, "mode": "enqueue"}
    for name, wire_name in _WIRE.items():
        if given.get(name) is not None:
            value = given[name]
            params[wire_name] = dict(value) if name == "request_headers" else value
    if given.get("attachments") is not None:
        params["attachments"] = [_complete(dict(each), panel) for each in given["attachments"]]
    return params


def _complete(attachment: dict[str, Any], panel: Panel | None) -> JSONValue:
    """Add to data of ours where it comes from: else the runtime drops it without a word.

    (Schema `AttachmentExtensionContext`; observed with Copilot CLI 1.0.102.)
    """
    if attachment.get("type") != "extension_context":
        return attachment
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    stamp: dict[str, Any] = {"capturedAt": now}
    if panel is not None:
        stamp["extensionId"] = panel.extension_id
        stamp["canvasId"] = panel.canvas_id
        stamp["instanceId"] = panel.instance_id
    elif "extensionId" not in attachment:
        raise ValueError(
            "outside of a handler nobody knows this extension's id: add it to the "
            'extension_context attachment, as in "extensionId": "project:kanban"'
        )
    return stamp | attachment


def check_options(name: str, given: Mapping[str, object], kind: type) -> None:
    """Refuse what a TypedDict of options does not have, as a signature would."""
    if unknown := sorted(given.keys() - kind.__annotations__.keys()):
        known = ", ".join(kind.__annotations__)
        raise TypeError(f"{name}() has no option {unknown[0]!r}: there are {known}")


def to_text(result: JSONValue, name: str) -> str:
    """Take a text out of an answer; empty if there is none."""
    value = result.get(name) if isinstance(result, dict) else None
    return value if isinstance(value, str) else ""
