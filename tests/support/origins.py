"""Web servers on real sockets, of which a test decides each byte and sees each request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

__all__ = ["OK", "Origin", "open_origin", "reply"]

OK: Final = "200 OK"


@dataclass
class Origin:
    """A server that is there."""

    port: int
    pages: dict[str, bytes] = field(default_factory=dict)
    """Target of the request to the whole answer, its head included."""
    requests: list[bytes] = field(default_factory=list)
    """The head of each request, as it came."""
    on_request: Callable[[], None] = lambda: None
    """Called before each answer."""
    connected: int = 0
    """How many connections were made, also without a request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [head.split(b" ")[1].decode() for head in self.requests]


def reply(
    body: bytes = b"",
    content_type: str | None = "text/plain",
    *,
    status: str = OK,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Make a whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def open_origin(pages: dict[str, bytes] | None = None) -> AsyncIterator[Origin]:
    """Serve `pages`; what is not in it is 404. A connection stays open until the reader leaves."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        origin.connected += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            origin.requests.append(head)
            origin.on_request()
            missing = reply(b"no", status="404 Not Found")
            writer.write(origin.pages.get(head.split(b" ")[1].decode(), missing))
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    origin = Origin(server.sockets[0].getsockname()[1], pages or {})
    async with server:
        yield origin
