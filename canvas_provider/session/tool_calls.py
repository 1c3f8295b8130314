"""Calls of our tools: each an event with a request id, answered by a request of ours.

The runtime hides from the model what it is sent as `error` ("Tool execution failed", observed with
Copilot CLI 1.0.102). So every failure goes out as a result of type `failure`, whose text the model
reads.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from canvas_provider.canvas.dispatch import is_failure, run_plan, translate
from canvas_provider.canvas.handling import Handling
from canvas_provider.canvas.results import ToolResult, to_json_value
from canvas_provider.canvas.signature import Plan
from canvas_provider.canvas.surrogates import find_half_pair, to_unicode
from canvas_provider.errors import CanvasError, MessageTooLarge
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.session.runner import Runner
from canvas_provider.session.tool import Tool, ToolContext
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import encode_json
from canvas_provider.wire.peer import RESULT_TOO_LARGE, tell_too_large

__all__ = ["ToolCalls"]

logger = logging.getLogger("canvas_provider.session")


class ToolCalls:
    """The tools of one session, and the calls that run."""

    def __init__(self, tools: Mapping[str, Tool], runner: Runner) -> None:
        self._tools = tools
        self._runner = runner
        self._running: dict[str, asyncio.Task[None]] = {}
        self.events: Final[Mapping[str, Callable[[JSONObject], None]]] = {
            ContributionEvent.TOOL_REQUESTED: self.begin,
            ContributionEvent.TOOL_COMPLETED: self.drop,
        }

    def begin(self, data: JSONObject) -> None:
        """Run a tool, if it is ours: every extension hears of every call."""
        request_id, name = data.get("requestId"), data.get("toolName")
        if not isinstance(request_id, str) or not isinstance(name, str):
            return
        tool = self._tools.get(name)
        if tool is None or tool.plan is None or request_id in self._running:
            return
        self._running[request_id] = self._runner.spawn(self._run(request_id, tool, tool.plan, data))

    def drop(self, data: JSONObject) -> None:
        """End a call that the runtime no longer waits for: the user has stopped the turn."""
        request_id = data.get("requestId")
        if isinstance(request_id, str) and (task := self._running.get(request_id)) is not None:
            task.cancel()

    async def _run(self, request_id: str, tool: Tool, plan: Plan, data: JSONObject) -> None:
        try:
            result = await self._call(tool, plan, data)
        finally:
            # From here on it is answered; that the runtime has heard of it is no reason to stop.
            del self._running[request_id]
        try:
            await self._reply(request_id, result)
        except MessageTooLarge as error:
            logger.error("the result of tool %r is too large: %s", tool.name, error)
            too_large = CanvasError(RESULT_TOO_LARGE, tell_too_large(error))
            await self._reply(request_id, _failure(too_large))

    async def _reply(self, request_id: str, result: JSONValue) -> None:
        answer: JSONObject = {"requestId": request_id, "result": result}
        await self._runner.reply(Method.SESSION_TOOLS_ANSWER, answer)

    async def _call(self, tool: Tool, plan: Plan, data: JSONObject) -> JSONValue:
        given = data.get("arguments")
        # Half of a surrogate pair in it could be neither stored nor sent: no input has it.
        checked: Any = {} if given is None else find_half_pair(given) or given
        context = ToolContext(
            self._runner.session,
            _text(data, "toolCallId") or "",
            tool.name,
            checked,
            _text(data, "workingDirectory"),
            _text(data, "traceparent"),
            _text(data, "tracestate"),
        )
        try:
            plan.validator.check(checked)
            with Handling("a tool"):
                result: JSONValue = await run_plan(
                    plan, checked, context, self._runner.workers, _to_result
                )
            return result
        except BaseException as error:
            if not is_failure(error):
                raise
            return _failure(translate(error, f'tool "{tool.name}"'))


def _to_result(value: object) -> JSONValue:
    """Text as it is, a `ToolResult` as it is, nothing as no text, everything else as JSON."""
    made = to_json_value(value)
    if made is None or isinstance(made, str):
        return made or ""
    if isinstance(made, dict) and made.keys() >= {"textResultForLlm", "resultType"}:
        return made
    return encode_json(made).decode()


def _failure(error: CanvasError) -> JSONValue:
    return cast(JSONValue, ToolResult(to_unicode(error.message), failed=True).to_wire())


def _text(data: JSONObject, name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) else None
