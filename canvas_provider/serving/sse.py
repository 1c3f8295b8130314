"""sse-starlette, without what importing it does to the process.

Its import replaces `uvicorn.Server.handle_exit`, so that every uvicorn server of the process would
end its streams; our streams end by their instance's own event, and an application that embeds us
may run servers of its own. So the original goes back at once. Import it from here only.
"""

import uvicorn
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import AppStatus, EventSourceResponse

__all__ = ["EventSourceResponse", "ServerSentEvent", "encode_event"]

if AppStatus.original_handler is not None:
    uvicorn.Server.handle_exit = AppStatus.original_handler  # type: ignore[method-assign]


def encode_event(event: str, data: str, *, id: str | None = None) -> bytes:
    """Encode one event of a `text/event-stream` (HTML Standard section 9.2.5)."""
    return ServerSentEvent(data, event=event, id=id, sep="\n").encode()
