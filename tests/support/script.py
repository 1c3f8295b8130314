"""A canvas that says what a test wants it to say, for a page in a browser to cope with."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Page
from starlette.types import Receive, Scope, Send

from canvas_provider.serving.guards import header_values
from canvas_provider.serving.responses import send_error, send_json, send_response
from canvas_provider.serving.server import LoopbackServers, Origin
from canvas_provider.serving.sse import encode_event
from canvas_provider.serving.streams import EventStream
from canvas_provider.types import JSONValue
from canvas_provider.web.assets import read_asset

__all__ = ["HTML", "Script", "changes_of", "frame", "run_clock_until", "serve"]

HTML: Final = b"text/html; charset=utf-8"


@asynccontextmanager
async def serve(app: Callable[..., Any]) -> AsyncIterator[Origin]:
    servers = LoopbackServers()
    try:
        yield await servers.serve(app)
    finally:
        await servers.aclose(grace=0.1)


class Script:
    """A canvas that says exactly what a test wants it to say."""

    def __init__(self) -> None:
        self.opening = b""
        self.asked: list[str] = []
        """The query of each event stream that was opened."""
        self.tags: list[str] = []
        """The If-Match of each action that was called."""
        self.state: JSONValue = {"revision": 1, "state": {"from": "GET state"}}
        self.answer: JSONValue = None
        """What an action answers; None: something that is no JSON."""
        self.status = 200
        """With which status it answers that."""
        self.streaming = True
        self.stream = EventStream(opening=self._open, snapshot=lambda: b"")

    def _open(self, scope: Scope) -> bytes:
        return self.opening

    def say(self, event: str, **data: JSONValue) -> None:
        self.stream.publish(frame(event, **data))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/":
                await send_response(send, 200, SCRIPTED, HTML)
            case "/canvas.js":
                await send_response(send, 200, read_asset("canvas.js"), b"text/javascript")
            case "/state":
                await send_json(send, self.state)
            case "/events" if self.streaming:
                self.asked.append(scope["query_string"].decode())
                await self.stream(scope, receive, send)
            case "/events":
                self.asked.append(scope["query_string"].decode())
                await send_error(send, 404, "not_found", "No stream here.")
            case "/favicon.ico":
                await send_response(send, 204, b"", b"image/x-icon")
            case _ if self.answer is not None:
                await send_json(send, self.answer, status=self.status)
            case _:
                for value in header_values(scope, b"if-match"):
                    self.tags.append(value.decode())
                await send_response(send, 200, b"no JSON", b"text/plain")


SCRIPTED = b"""<!doctype html><title>Scripted</title>
<script type="module">
  import { connect } from "./canvas.js";
  window.changes = [];
  window.statuses = [];
  window.canvas = connect();
  canvas.subscribe((state, change) => changes.push([structuredClone(state), change]));
  canvas.onStatus((status) => statuses.push(status));
</script>
"""


def frame(event: str, **data: JSONValue) -> bytes:
    return encode_event(event, json.dumps(data))


async def changes_of(page: Page, count: int) -> list[Any]:
    await page.wait_for_function("count => window.changes?.length >= count", arg=count)
    changes: list[Any] = await page.evaluate("window.changes")
    assert len(changes) == count
    return changes


async def run_clock_until(page: Page, condition: str) -> None:
    """Let time pass in the page, in steps, so that its requests can be answered in between."""
    async with asyncio.timeout(20):
        while not await page.evaluate(condition):
            await page.clock.run_for(2000)
            await page.evaluate("fetch('./state').catch(() => {})")
