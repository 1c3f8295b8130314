"""What the runtime asks of an extension besides canvases, led to whoever handles it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from canvas_provider.errors import MethodNotFound
from canvas_provider.session.command import CommandCalls
from canvas_provider.session.contributions import Contributions
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

    def notice(self, kind: str, event: JSONObject) -> None:
        """Hear of an event; those that ask for nothing of ours cost a look-up."""
        handle = self._events.get(kind)
        if handle is not None and isinstance(data := event.get("data"), dict):
            handle(data)

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        """Answer a request.

        Raises:
            MethodNotFound: nobody handles it.
        """
        raise MethodNotFound(method)

    async def aclose(self) -> None:
        """End what still runs."""
        await self._runner.aclose()
