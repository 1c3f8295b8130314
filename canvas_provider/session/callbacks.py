"""What the runtime asks of an extension besides canvases, led to whoever handles it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from canvas_provider.errors import MethodNotFound
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.command import CommandCalls
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.events import Events
from canvas_provider.session.runner import Runner
from canvas_provider.session.tool_calls import ToolCalls
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

__all__ = ["Callbacks"]


class Callbacks:
    """The contributions of one session, at work."""

    def __init__(self, contributions: Contributions, session: "Session", peer: Peer) -> None:
        self._runner = Runner(session, peer)
        self._events: Final[dict[str, Callable[[JSONObject], None]]] = {
            **ToolCalls(contributions.tools, self._runner).events,
            **CommandCalls(contributions.commands, self._runner).events,
        }

    def listen(self, events: Events) -> None:
        """Hear of the events that ask for something of ours, and of no others."""
        for kind, handle in self._events.items():
            events.on(kind, partial(_hand_over, handle))

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        """Answer a request.

        Raises:
            MethodNotFound: nobody handles it.
        """
        raise MethodNotFound(method)

    async def aclose(self) -> None:
        """End what still runs."""
        await self._runner.aclose()


def _hand_over(handle: Callable[[JSONObject], None], event: SessionEvent) -> None:
    handle(event["data"])
