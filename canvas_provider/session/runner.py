"""Runs what authors contributed, and carries the answers back.

Whatever it starts ends with the session. An answer nobody waits for any longer is no failure: the
user or another client may have been faster.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from canvas_provider.canvas.dispatch import is_failure, translate
from canvas_provider.canvas.handling import Handling
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.signature import is_async
from canvas_provider.canvas.threads import Workers
from canvas_provider.errors import ConnectionClosed, RemoteError
from canvas_provider.protocol.copilot import Method
from canvas_provider.session.shape import Shape
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

__all__ = ["Runner"]

logger = logging.getLogger("canvas_provider.session")


class Runner:
    """The loop and the threads for everything that was contributed to one session."""

    def __init__(self, session: "Session", peer: Peer) -> None:
        self.session: Final = session
        self.workers: Final = Workers()
        self._peer = peer
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call an author's function: a coroutine here, a `def` in a thread."""
        if is_async(function):
            return await function(*arguments)
        result = await self.workers.run(partial(function, *arguments))
        return await result if inspect.isawaitable(result) else result

    async def ask(
        self,
        subject: str,
        handler: Callable[..., Any],
        asked: JSONObject,
        said: Shape,
        *,
        optional: bool = False,
    ) -> JSONValue:
        """Call a handler with what is asked and the session, and return its answer.

        Args:
            optional: None is an answer, too.

        Raises:
            CanvasError: the author's own, or `HandlerError` for everything that went wrong and is
                logged.
        """
        try:
            with Handling(subject):
                answer = to_json_value(await self.call(handler, asked, self.session))
            if answer is None and optional:
                return None
            if (misfit := said.find_misfit(answer)) is not None:
                raise TypeError(f"its answer is none: {misfit}")
        except BaseException as error:
            if not is_failure(error):
                raise
            raise translate(error, subject) from None
        if isinstance(answer, dict) and (unknown := answer.keys() - said.fields):
            logger.warning("%s: Copilot may not know %s", subject, ", ".join(sorted(unknown)))
        return answer

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start a task that is cancelled when the session ends."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def reply(self, method: Method, answer: Mapping[str, JSONValue]) -> None:
        """Answer a request that came as an event."""
        try:
            await self._peer.request(method, {"sessionId": self.session.session_id, **answer})
        except (RemoteError, ConnectionClosed) as error:
            logger.debug("%s: the answer was not taken (%s)", method, type(error).__name__)

    async def aclose(self) -> None:
        """Cancel all that still runs. A thread is left to itself; its result is dropped."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
