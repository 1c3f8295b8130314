"""The two responses everything here is answered with: JSON, and an error as JSON.

An error is always `{"error": {"code": "...", "message": "..."}}`. Neither names what the caller
sent: a token, a path and an input stay out of it.
"""

from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import to_json
from starlette.types import Send

__all__ = ["NOT_FOUND", "Header", "encode_json", "send_error", "send_json", "send_response"]

Header = tuple[bytes, bytes]

NOT_FOUND: Final = (404, "not_found", "There is nothing here.")
"""The same for a wrong token and a wrong path: the answer tells nobody which it was."""


def encode_json(value: Any) -> bytes:
    """Encode what has been checked to be JSON already; pydantic-core's encoder checks no NaN."""
    return to_json(value)


async def send_response(
    send: Send, status: int, body: bytes, content_type: bytes, headers: Iterable[Header] = ()
) -> None:
    length = str(len(body)).encode()
    start = [(b"content-type", content_type), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def send_json(
    send: Send, value: Any, *, status: int = 200, headers: Iterable[Header] = ()
) -> None:
    await send_response(send, status, encode_json(value), b"application/json", headers)


async def send_error(
    send: Send,
    status: int,
    code: str,
    message: str,
    *,
    headers: Iterable[Header] = (),
    revision: int | None = None,
) -> None:
    """Answer with an error.

    Args:
        revision: the state's, where the error is that it is another than the caller thought.
    """
    # An author's text may quote half of a surrogate pair, which nothing can encode.
    code, message = (text.encode(errors="replace").decode() for text in (code, message))
    error: dict[str, str | int] = {"code": code, "message": message}
    if revision is not None:
        error["revision"] = revision
    body = encode_json({"error": error})
    await send_response(send, status, body, b"application/json", headers)
