"""`POST actions/NAME`: a person's call of an action, with the same handler as the agent's."""

import json
from typing import TYPE_CHECKING

from pydantic_core import from_json
from starlette.types import Receive, Scope, Send

from canvas_provider.canvas.surrogates import HalfPair, find_half_pair
from canvas_provider.errors import InvalidInput
from canvas_provider.serving.guards import header_values
from canvas_provider.serving.responses import send_json
from canvas_provider.state.version import Version
from canvas_provider.types import MISSING, JSONValue, Missing

if TYPE_CHECKING:
    from canvas_provider.canvas.instance import Instance

__all__ = ["invoke_action"]


async def invoke_action(
    instance: "Instance", name: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer `{"result": …, "revision": 8}`; what an action raises passes through.

    `If-Match: "7-1f0e3dad"` makes the first change of the action conditional on that version, as
    the ETag of `state` and the ids of events have it; `"7"` on that revision of whatever document.
    """
    expected = _expected_revision(scope)
    body = await _read_body(receive)
    if body is None:
        return
    outcome = await instance.invoke(name, _parse(body), author="person", expected_revision=expected)
    await send_json(send, {"result": outcome.result, "revision": outcome.revision})


def _expected_revision(scope: Scope) -> Version | None:
    match header_values(scope, b"if-match"):
        case [] | [b"*"]:
            return None
        case [value] if value[:1] == value[-1:] == b'"':
            if (version := Version.parse(value[1:-1].decode("latin-1"))) is not None:
                return version
    raise InvalidInput('If-Match has to be one revision in quotes, such as "7".')


async def _read_body(receive: Receive) -> bytes | None:
    """Read all of it; None if the client went away in the middle."""
    chunks = []
    while (message := await receive())["type"] == "http.request":
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return None


def _parse(body: bytes) -> JSONValue | Missing:
    if not body:
        return MISSING
    try:
        value: JSONValue = from_json(body, allow_inf_nan=False)
    except ValueError:
        # Not chained: the parser's text quotes the body.
        if (found := _find_half_pair(body)) is None:
            raise InvalidInput("The body is not JSON.") from None
        return found  # type: ignore[return-value]  # it is for `Validator` only
    return value


def _find_half_pair(body: bytes) -> HalfPair | None:
    try:
        return find_half_pair(json.loads(body.decode()))
    except (ValueError, RecursionError):
        return None
