"""Ask an ASGI app one question, with any headers, also such as no HTTP client would send."""

import asyncio
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Scope


@dataclass
class Answer:
    """What an app sent."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    complete: bool = False

    def __getitem__(self, name: str) -> str:
        """The one value of a header."""
        (value,) = [value for key, value in self.headers if key == name.encode()]
        return value.decode()


def make_scope(
    method: str = "GET",
    path: str = "/",
    *,
    headers: Iterable[tuple[str, str]] = (),
    query: str = "",
    state: MutableMapping[str, Any] | None = None,
) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {} if state is None else state,
    }


async def ask(
    app: ASGIApp,
    method: str = "GET",
    path: str = "/",
    *,
    headers: Iterable[tuple[str, str]] = (),
    body: Iterable[bytes] = (),
    query: str = "",
) -> Answer:
    """Send a request whose body comes in these chunks, and wait for the whole response.

    Of an event stream, wait for what comes at once, then hang up.
    """
    answer = Answer()
    over = asyncio.Event()
    *first, last = [*body] or [b""]
    messages: list[Message] = [
        *({"type": "http.request", "body": chunk, "more_body": True} for chunk in first),
        {"type": "http.request", "body": last, "more_body": False},
    ]

    async def receive() -> Message:
        if messages:
            return messages.pop(0)
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = list(message["headers"])
            if any(value.startswith(b"text/event-stream") for _, value in answer.headers):
                over.set()
        else:
            answer.body += message["body"]
            if not message.get("more_body", False):
                answer.complete = True
                over.set()

    await app(make_scope(method, path, headers=headers, query=query), receive, send)
    return answer
