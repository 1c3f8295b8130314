"""Who waits for the registry of a chat, and when the wait is over. Pure but for its futures.

The host may take long, and has no way to say that it failed. A request ends when a registry comes,
when the host says that there is none, when it rejects the request, or when the chat goes. A
connection that is lost may have taken the request with it, so it is sent again on the next one.
"""

import asyncio
from collections.abc import Callable

from canvas_provider.ahp.change import Change
from canvas_provider.ahp.event import Event, Ready, Rejected
from canvas_provider.errors import NotFound, PermissionDenied
from canvas_provider.protocol.ahp import ErrorCode
from canvas_provider.protocol.ahp_canvases import (
    REGISTRY,
    CanvasAction,
    CanvasRegistry,
    registry_requested,
)
from canvas_provider.types import JSONObject

__all__ = ["RegistryRequests"]


class RegistryRequests:
    """The requests of one client, at most one for each chat.

    Args:
        dispatch: sends an action and returns its `clientSeq`, or None while it cannot be sent.
    """

    def __init__(self, dispatch: Callable[[str, JSONObject], int | None]) -> None:
        self._dispatch = dispatch
        self._waiting: dict[str, asyncio.Future[CanvasRegistry | None]] = {}
        self._numbers: dict[int, str] = {}

    def ask(self, chat: str) -> asyncio.Future[CanvasRegistry | None]:
        """Ask, also if others have asked already: the host takes it as one, and so do they."""
        future = self._waiting.setdefault(chat, asyncio.get_running_loop().create_future())
        self._send(chat)
        return future

    def take(self, event: Event) -> None:
        """Look at what has happened."""
        match event:
            case Ready():
                self._numbers.clear()
                for chat in self._waiting:
                    self._send(chat)
            case Rejected(seq, _) if seq in self._numbers:
                text = "the host rejected the request for the types of canvases"
                error = PermissionDenied(ErrorCode.PERMISSION_DENIED, text)
                self._finish(self._numbers[seq], error)
            case Change(chat, "gone") if chat in self._waiting:
                self._finish(chat, NotFound(ErrorCode.NOT_FOUND, "the chat is gone"))
            case Change(chat, _, state, action) if chat in self._waiting:
                registry = CanvasRegistry.from_json((state or {}).get(REGISTRY))
                told = action is not None and action["type"] == CanvasAction.REGISTRY_CHANGED
                if registry is not None or told:
                    self._finish(chat, registry)

    def fail(self, error: Exception) -> None:
        """End every wait."""
        for chat in list(self._waiting):
            self._finish(chat, error)

    def _send(self, chat: str) -> None:
        seq = self._dispatch(chat, registry_requested())
        if seq is not None:
            self._numbers[seq] = chat

    def _finish(self, chat: str, outcome: CanvasRegistry | None | Exception) -> None:
        future = self._waiting.pop(chat)
        self._numbers = {seq: each for seq, each in self._numbers.items() if each != chat}
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
            # Whoever waited may have gone.
            future.exception()
        else:
            future.set_result(outcome)
