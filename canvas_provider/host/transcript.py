"""What the agent and the person say to each other, put together from a session's events.

Sans-IO: events in, entries out, each of which replaces the one with its number. A text that is
streamed is one entry that grows. What the agent asks is an entry, too, until it is answered.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Transcript"]

MAX_ENTRIES: Final = 500

MAX_TEXT: Final = 100_000
"""Characters of one entry: a panel is for reading."""

Listener = Callable[[JSONObject], None]


class Transcript:
    """Calls `tell` with each entry that is new or has changed.

    Entries have a `number` and a `kind`:

    - `prompt`: `text`, and `source` where it was not the person who wrote it;
    - `answer`: `text`, and `done` once it is complete;
    - `tool`: `name`, `title`, `arguments`, `status` (`running`, `done`, `failed`), `result`;
    - `permission`, `form`, `question`: `request`, and `reply` once it is answered;
    - `error`: `text`.
    """

    def __init__(self, tell: Listener) -> None:
        self._tell = tell
        self._entries: dict[int, JSONObject] = {}
        self._last = 0
        self._by_key: dict[str, int] = {}
        """The numbers of what later events go on with: messages and tool calls."""
        self._waiting: dict[int, asyncio.Future[JSONObject]] = {}
        self.is_busy = False
        """Whether a turn is under way."""

    @property
    def entries(self) -> list[JSONValue]:
        """The last ones, oldest first."""
        return list(self._entries.values())

    def take(self, event: SessionEvent) -> None:
        """Read an event. What says nothing, or is not as expected, is left out."""
        data = event.get("data")
        if not isinstance(data, dict):
            return
        # What a sub-agent says is not said to the person.
        is_own = "agentId" not in event
        match event["type"]:
            case "user.message":
                self._add("prompt", text=_text(data, "content"), source=data.get("source"))
            case "assistant.turn_start":
                self.is_busy = True
            case "session.idle" | "abort":
                self.end_turn()
            case "assistant.message_delta" if is_own:
                self._extend(_text(data, "messageId"), _text(data, "deltaContent"))
            case "assistant.message" if is_own and _text(data, "content"):
                text = _text(data, "content")
                self._put(_text(data, "messageId"), "answer", text=text, done=True)
            case "tool.execution_start":
                self._put(
                    _text(data, "toolCallId"),
                    "tool",
                    name=_text(data, "toolName"),
                    title=data.get("toolTitle"),
                    arguments=data.get("arguments"),
                    status="running",
                )
            case "tool.execution_complete" if _text(data, "toolCallId") in self._by_key:
                status = "done" if data.get("success") is True else "failed"
                self._put(_text(data, "toolCallId"), "tool", status=status, result=_result_of(data))
            case "session.error":
                self._add("error", text=_text(data, "message"))

    def end_turn(self) -> None:
        """Note that nothing more comes of what is under way."""
        self.is_busy = False
        self._end_unfinished()

    # What the person is asked

    async def ask(self, kind: str, request: JSONObject) -> JSONObject:
        """Show what is asked, and wait for `answer`. Cancelled, it counts as answered."""
        number = self._add(kind, request=request)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            said: JSONObject = await waiting
            return said
        finally:
            del self._waiting[number]
            if not waiting.done() or waiting.cancelled():
                self._change(number, reply={"withdrawn": True})

    def answer(self, number: int, reply: JSONObject) -> None:
        """Answer what was asked.

        Raises:
            HostRefusal: nobody waits for it any more.
        """
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            raise HostRefusal("Nobody waits for this answer any more.")
        self._change(number, reply=reply)
        waiting.set_result(reply)

    # Entries

    def _add(self, kind: str, **fields: JSONValue) -> int:
        self._last += 1
        self._entries[self._last] = {"number": self._last, "kind": kind}
        # What still waits for an answer stays, or nobody could give it.
        spare = (each for each in list(self._entries) if each not in self._waiting)
        while len(self._entries) > MAX_ENTRIES and (oldest := next(spare, None)) is not None:
            del self._entries[oldest]
        self._change(self._last, **fields)
        return self._last

    def _change(self, number: int, **fields: JSONValue) -> None:
        if number in self._entries:
            self._entries[number] = {**self._entries[number], **fields}
            self._tell(self._entries[number])

    def _put(self, key: str, kind: str, **fields: JSONValue) -> None:
        """Change the entry of this key, or begin one."""
        if key in self._by_key:
            self._change(self._by_key[key], **fields)
        else:
            self._by_key[key] = self._add(kind, **fields)

    def _extend(self, key: str, more: str) -> None:
        known = self._entries.get(self._by_key.get(key, 0), {})
        text = cast(str, known.get("text", ""))
        if len(text) < MAX_TEXT:
            self._put(key, "answer", text=text + more, done=False)

    def _end_unfinished(self) -> None:
        for number, entry in list(self._entries.items()):
            if entry.get("done") is False:
                self._change(number, done=True)
            elif entry.get("status") == "running":
                self._change(number, status="failed", result="The turn has ended.")
        self._by_key.clear()


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _result_of(data: dict[str, Any]) -> JSONValue:
    """What the tool gave the agent, or why it failed."""
    for name, inner in (("error", "message"), ("result", "content")):
        found = data.get(name)
        if isinstance(found, dict) and isinstance(found.get(inner), str):
            return _text(found, inner)
    return None
