"""Requests and their answers, on one connection after the other. Sans-IO."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from canvas_provider.ahp.frames import Failure, Result, encode_notification, encode_request
from canvas_provider.types import JSONObject

__all__ = ["Answer", "Exchange"]

Answer: TypeAlias = Result | Failure

logger = logging.getLogger("canvas_provider.ahp")


class Exchange:
    """Lasting requests outlive a connection: `resend` sends them again. Others end with it."""

    def __init__(self) -> None:
        self._next_id = 0
        self._lasting: dict[int, tuple[str, JSONObject, Callable[[int, Answer], None]]] = {}
        self._passing: dict[int, Callable[[Answer], None]] = {}
        self._texts: list[str] = []

    def texts_to_send(self) -> list[str]:
        """Hand over what is to be written, in order."""
        texts, self._texts = self._texts, []
        return texts

    def put(self, text: str) -> None:
        self._texts.append(text)

    def notify(self, method: str, params: JSONObject) -> None:
        self.put(encode_notification(method, params))

    def ask(self, method: str, params: JSONObject, then: Callable[[Answer], None]) -> None:
        """Send a request of this connection."""
        id = self._new_id()
        self._passing[id] = then
        self.put(encode_request(id, method, params))

    def ask_lastingly(
        self, method: str, params: JSONObject, then: Callable[[int, Answer], None], *, now: bool
    ) -> int:
        """Send a lasting request, or only keep it for `resend`; return its id.

        Args:
            then: called with the id and the answer.
        """
        id = self._new_id()
        self._lasting[id] = (method, params, then)
        if now:
            self.put(encode_request(id, method, params))
        return id

    def forget(self, id: int) -> None:
        """Wait no longer for the answer to a lasting request."""
        self._lasting.pop(id, None)

    def take(self, answer: Answer) -> None:
        """Give an answer to who waits for it, if somebody does."""
        id = answer.id
        if not isinstance(id, int):
            logger.warning("the host could not read a message of ours")
        elif (then := self._passing.pop(id, None)) is not None:
            then(answer)
        elif (kept := self._lasting.pop(id, None)) is not None:
            kept[2](id, answer)

    def lose(self) -> None:
        """Take note that the connection is gone."""
        self._passing.clear()
        self._texts.clear()

    def resend(self) -> None:
        """Send on a new connection what has no answer."""
        for id, (method, params, _) in self._lasting.items():
            self.put(encode_request(id, method, params))

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id
