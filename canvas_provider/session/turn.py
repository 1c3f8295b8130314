"""One prompt of ours, from the moment it is sent until the agent has dealt with it. No I/O.

Prompts queue up, and a turn's events do not all say whose they are. What is known, as observed with
Copilot CLI 1.0.102: `session.send` answers first; `user.message` with the prompt's `messageId`
begins its turn; `session.idle` comes when the turn is over and no prompt waits; if one does, its
`user.message` comes instead.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, cast

from canvas_provider.errors import TurnFailed
from canvas_provider.protocol.events import AssistantMessage, EventName, SessionEvent

__all__ = ["Turn"]


class Turn:
    """Feed it the events of these `KINDS` from before the prompt is sent; then `over` tells."""

    KINDS: Final[Sequence[EventName]] = (
        "user.message",
        "assistant.message",
        "session.idle",
        "session.error",
    )

    def __init__(self) -> None:
        self.over: asyncio.Future[AssistantMessage | None] = (
            asyncio.get_running_loop().create_future()
        )
        """Gives the agent's last message; raises `TurnFailed`."""
        self._message_id: str | None = None
        self._early: list[SessionEvent] = []
        self._has_started = False
        self._reply: AssistantMessage | None = None

    def accept(self, message_id: str) -> None:
        """Take the answer to `session.send`."""
        self._message_id = message_id
        for event in self._early:
            # Until our turn has begun, an idle agent is that of the turn before.
            if self._has_started or event["type"] != "session.idle":
                self._follow(event)
        self._early.clear()

    def hear(self, event: SessionEvent) -> None:
        """Take an event. Those that come before the answer to `session.send` are kept for it."""
        if self.over.done():
            return
        if self._message_id is None:
            self._early.append(event)
        else:
            self._follow(event)

    def fail(self, error: Exception) -> None:
        """End it; nobody needs to be interested in why."""
        if not self.over.done():
            self.over.set_exception(error)
            self.over.exception()

    def _follow(self, event: SessionEvent) -> None:
        data = event["data"]
        match event["type"]:
            case "user.message":
                if data.get("messageId") == self._message_id:
                    self._has_started = True
                elif self._has_started and data.get("delivery") in ("idle", "queued"):
                    self._finish()
            case "assistant.message":
                if self._is_ours(event) and isinstance(data.get("content"), str):
                    self._reply = cast(AssistantMessage, event)
            case "session.idle":
                # As the Node SDK does: between two steps of an autopilot nothing is over.
                if data.get("mode") != "autopilot":
                    self._finish()
            case "session.error":
                prompt = data.get("originatingMessageId")
                if prompt == self._message_id or (prompt is None and self._has_started):
                    self.fail(to_error(event))

    def _is_ours(self, event: SessionEvent) -> bool:
        """Say whether the main agent says this in our turn, to us or to who steered it."""
        if "agentId" in event:
            return False
        prompt = event["data"].get("originatingMessageId")
        return self._has_started or prompt is None or prompt == self._message_id

    def _finish(self) -> None:
        if not self.over.done():
            self.over.set_result(self._reply)


def to_error(event: SessionEvent) -> TurnFailed:
    """Read a `session.error`, forgiving whatever is wrong with it."""
    kind, message = event["data"].get("errorType"), event["data"].get("message")
    return TurnFailed(
        kind if isinstance(kind, str) else "unknown",
        message if isinstance(message, str) else "The agent's turn failed without a reason.",
    )
