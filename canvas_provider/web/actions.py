"""`POST actions/NAME`: a person's call of an action, with the same handler as the agent's."""

from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from canvas_provider.errors import InvalidInput
from canvas_provider.serving.guards import header_values
from canvas_provider.serving.responses import send_json
from canvas_provider.state.version import Version
from canvas_provider.web.body import parse_json, read_body

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
    body = await read_body(scope, receive)
    if body is None:
        return
    # A `HalfPair` fits no schema: it is refused in the same words as the agent's.
    given: Any = parse_json(body)
    outcome = await instance.invoke(name, given, author="person", expected_revision=expected)
    await send_json(send, {"result": outcome.result, "revision": outcome.revision})


def _expected_revision(scope: Scope) -> Version | None:
    match header_values(scope, b"if-match"):
        case [] | [b"*"]:
            return None
        case [value] if value[:1] == value[-1:] == b'"':
            if (version := Version.parse(value[1:-1].decode("latin-1"))) is not None:
                return version
    raise InvalidInput('If-Match has to be one revision in quotes, such as "7".')
