"""Requests to a person, answered by handlers of ours.

Some come as a request, some as an event with a request id. Every client of the session hears of the
latter, and the first answer counts.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from canvas_provider.errors import CanvasError, HandlerError, RemoteError
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.session.requests import HANDLERS
from canvas_provider.session.runner import Runner
from canvas_provider.session.shape import Shape
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import INTERNAL_ERROR, INVALID_PARAMS

__all__ = ["RequestCalls"]

logger = logging.getLogger("canvas_provider.session")


class RequestCalls:
    """The request handlers of one session."""

    def __init__(self, handlers: Mapping[str, Callable[..., Any]], runner: Runner) -> None:
        self.events: Final[dict[str, Callable[[JSONObject], None]]] = {}
        self.requests: Final[dict[str, Callable[[JSONObject], Awaitable[JSONValue]]]] = {}
        self.wants_mcp_auth: Final = "on_mcp_auth_request" in handlers
        for option, handler in handlers.items():
            one = _Handler(option, handler, runner)
            if one.kind.reply is None:
                self.requests[one.kind.asks] = one.answer
            else:
                self.events[one.kind.asks] = one.begin


class _Handler:
    """One handler, and what it is asked."""

    def __init__(self, option: str, handler: Callable[..., Any], runner: Runner) -> None:
        self.kind: Final = HANDLERS[option]
        self._option = option
        self._handler = handler
        self._runner = runner
        self._is_mcp_auth = self.kind.asks == ContributionEvent.MCP_OAUTH_REQUIRED
        self._extra: JSONObject = {"kind": "token"} if self._is_mcp_auth else {}
        self._asked = Shape(self.kind.asked)
        self._said = Shape(self.kind.said)

    async def answer(self, params: JSONObject) -> JSONValue:
        """Answer a request.

        Raises:
            RemoteError: it is none, or the handler failed.
        """
        asked = self._asked.drop_nulls(params)
        if (misfit := self._asked.find_misfit(asked)) is not None:
            raise RemoteError(INVALID_PARAMS, misfit)
        try:
            said = await self._ask(asked)
        except CanvasError as error:
            raise RemoteError(INTERNAL_ERROR, error.message) from None
        return {"response": said} if self.kind.asks == Method.AUTO_MODE_SWITCH_REQUEST else said

    def begin(self, data: JSONObject) -> None:
        """Hear of an event that asks. One that makes no sense is left to others."""
        asked: JSONValue = data
        if self.kind.asks == ContributionEvent.PERMISSION_REQUESTED:
            if data.get("resolvedByHook"):
                return
            asked = data.get("permissionRequest")
        request_id = data.get("requestId")
        if not isinstance(request_id, str) or not isinstance(asked, dict):
            return
        asked = self._asked.drop_nulls(asked)
        if (misfit := self._asked.find_misfit(asked)) is not None:
            logger.warning("%s was not called: %s", self._option, misfit)
            return
        self._runner.spawn(self._run(request_id, asked))

    async def _run(self, request_id: str, asked: JSONObject) -> None:
        assert self.kind.reply is not None
        result = dict(self.kind.failed)
        try:
            said = await self._ask(asked)
        except HandlerError:
            pass  # it is logged
        except CanvasError as error:
            logger.error("%s failed: %s", self._option, error)
        else:
            if isinstance(said, dict):
                result = {**self._extra, **said}
        if result == {"kind": "no-result"}:
            return
        await self._runner.reply(self.kind.reply, {"requestId": request_id, "result": result})

    async def _ask(self, asked: JSONObject) -> JSONValue:
        return await self._runner.ask(
            self._option, self._handler, asked, self._said, optional=self._is_mcp_auth
        )
