"""Requests to a session of the SDK, by the name that they have on the wire.

Only public names of the SDK are used: `session.canvas.listOpen` is the typed method
`session.rpc.canvas.list_open`, with its params read from JSON and its answer made JSON again.
"""

import inspect
import re
import typing
from enum import Enum
from functools import cache
from typing import Any, cast

from copilot import CopilotSession

from canvas_provider.errors import MethodNotFound, RemoteError
from canvas_provider.protocol.copilot import Method
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import INTERNAL_ERROR, INVALID_PARAMS

__all__ = ["request"]


async def request(session: CopilotSession, method: str, params: JSONObject) -> JSONValue:
    """Call `session.canvas.listOpen` as `session.rpc.canvas.list_open`.

    What is kept of the session is no method of that kind there, but one of the session's own.

    Raises:
        MethodNotFound: the SDK has no such method.
        RemoteError: the params are not those of the method, or the runtime refused.
    """
    if method == Method.SESSION_GET_MESSAGES:
        return {"events": [event.to_dict() for event in await session.get_events()]}
    call: Any = session.rpc
    for name in method.removeprefix("session.").split("."):
        call = getattr(call, _to_snake(name), None)
    if not inspect.iscoroutinefunction(call):
        raise MethodNotFound(method)
    kind = _params_of(call.__func__)
    try:
        arguments = [] if kind is None else [kind.from_dict(params)]
    except (AssertionError, TypeError, ValueError, KeyError) as error:
        raise RemoteError(INVALID_PARAMS, f"{method} takes other params: {error}") from None
    try:
        answer = await call(*arguments)
    except Exception as error:
        # An error of the runtime is no public type of the SDK. An extension reads its text.
        raise RemoteError(INTERNAL_ERROR, getattr(error, "message", str(error))) from error
    return _to_json(answer)


def _to_json(answer: Any) -> JSONValue:
    if isinstance(answer, Enum):
        answer = answer.value
    return cast(JSONValue, answer.to_dict() if hasattr(answer, "to_dict") else answer)


@cache
def _params_of(function: Any) -> Any:
    """The class of a method's params; None if it takes none."""
    return typing.get_type_hints(function).get("params")


def _to_snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
