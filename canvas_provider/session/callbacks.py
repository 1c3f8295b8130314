"""What the runtime asks of an extension besides canvases, led to whoever handles it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from canvas_provider.errors import MethodNotFound
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.command_calls import CommandCalls
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.events import Events
from canvas_provider.session.hook_calls import HookCalls
from canvas_provider.session.request_calls import RequestCalls
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
        requests = RequestCalls(contributions.handlers, self._runner)
        self._events: Final[dict[str, Callable[[JSONObject], None]]] = {
            **ToolCalls(contributions.tools, self._runner).events,
            **CommandCalls(contributions.commands, self._runner).events,
            **requests.events,
        }
        self._requests: Final = dict(requests.requests)
        if contributions.hooks is not None:
            hooks = HookCalls(contributions.hooks, self._runner)
            self._requests[Method.HOOKS_INVOKE] = hooks.invoke
        self._wants_mcp_auth = requests.wants_mcp_auth

    async def joined(self) -> None:
        """Say what the runtime does only for those who want it."""
        if self._wants_mcp_auth:
            interest: JSONObject = {"eventType": ContributionEvent.MCP_OAUTH_REQUIRED}
            await self._runner.reply(Method.SESSION_EVENT_LOG_REGISTER_INTEREST, interest)

    def listen(self, events: Events) -> None:
        """Hear of the events that ask for something of ours, and of no others."""
        for kind, handle in self._events.items():
            events.on(kind, partial(_hand_over, handle))

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        """Answer a request.

        Raises:
            MethodNotFound: nobody handles it.
            RemoteError: the handler failed.
        """
        handle = self._requests.get(method)
        if handle is None:
            raise MethodNotFound(method)
        return await handle(params)

    async def aclose(self) -> None:
        """End what still runs."""
        await self._runner.aclose()


def _hand_over(handle: Callable[[JSONObject], None], event: SessionEvent) -> None:
    handle(event["data"])
