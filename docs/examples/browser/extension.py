"""A browser window that the agent drives, with a canvas beside it that shows what it sees.

The browser belongs to the panel: `lifespan=` starts it when the panel opens, and ends it when the
panel closes, reloads, or the session is over. It is spoken to over a pipe, so no port is open that
another program on this machine could drive it by.
"""

import asyncio
import base64
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import Response

from canvas_provider import CanvasContext, CanvasError, ToolResult, create_canvas, run

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
LOADED = "new Promise(r => document.readyState === 'complete' ? r() : addEventListener('load', r))"
ANSWER = 20.0
"""Seconds that the browser may take for an answer."""


class Browser:
    """A Chromium, by the Chrome DevTools Protocol: JSON messages, each ended by a null byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._session = ""
        self._serial = 0
        self._turn = asyncio.Lock()
        self.picture = b""
        """The page as it was last seen, as PNG."""

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; one at a time is enough here."""
        async with self._turn, asyncio.timeout(ANSWER):
            self._serial += 1
            message = {"id": self._serial, "method": method, "params": params}
            if self._session:
                message["sessionId"] = self._session
            os.write(self._writer, json.dumps(message).encode() + b"\0")
            while True:
                answer = json.loads((await self._reader.readuntil(b"\0"))[:-1])
                if answer.get("id") == self._serial:
                    break
        if "error" in answer:
            raise CanvasError("browser_refused", answer["error"]["message"])
        return dict(answer["result"])

    async def attach(self) -> None:
        """Take the window's one page."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", **target, flatten=True)
        self._session = attached["sessionId"]


@asynccontextmanager
async def browser(ctx: CanvasContext) -> AsyncIterator[Browser]:
    """Start a browser for one panel."""
    found = [path for path in map(shutil.which, PROGRAMS) if path is not None]
    program = os.environ.get("BROWSER_PROGRAM") or next(iter(found), None)
    if program is None:
        raise CanvasError("no_browser", "There is no Chromium on PATH: install one.")
    from_browser, theirs = os.pipe()
    ours, to_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run"]
        options += os.environ.get("BROWSER_OPTIONS", "").split()
        # The browser reads from descriptor 3 and writes to 4, whatever their numbers are here.
        redirect = f'exec "$@" 3</dev/fd/{ours} 4>/dev/fd/{theirs}'
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", redirect, "sh", program, *options),
            pass_fds=(ours, theirs),
            stderr=asyncio.subprocess.DEVNULL,
        )
        os.close(ours)
        os.close(theirs)
        reader = asyncio.StreamReader(limit=2**26)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_browser, "rb", 0)
        )
        try:
            driven = Browser(reader, to_browser)
            await driven.attach()
            yield driven
        finally:
            transport.close()
            os.close(to_browser)  # it ends with its pipe
            try:
                await asyncio.wait_for(process.wait(), 0.3)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


@dataclass
class Window:
    url: str = ""
    title: str = ""


window = create_canvas(
    id="browser",
    display_name="Browser",
    description="A browser window of its own. Use it to open pages with the user and look at them.",
    state=Window,
    lifespan=browser,
    page=Path(__file__).with_name("page.html"),
)


@window.action
async def go(
    ctx: CanvasContext[Window], url: Annotated[str, "With http:// or https://."]
) -> ToolResult:
    """Open a page, and look at it."""
    if not url.startswith(("http://", "https://")):
        raise CanvasError("not_a_url", "Write the whole address, with http:// or https://.")
    outcome = await ctx.lifespan.call("Page.navigate", url=url)
    if error := outcome.get("errorText"):
        raise CanvasError("not_opened", f"The browser could not open it: {error}.")
    return await look(ctx)


@window.action
async def click(ctx: CanvasContext[Window], selector: Annotated[str, "CSS."]) -> ToolResult:
    """Click an element, and look at the page."""
    element = f"document.querySelector({json.dumps(selector)})"
    if not await evaluate(ctx, f"{element} !== null && ({element}.click(), true)"):
        raise CanvasError("not_found", f"Nothing on the page is {selector!r}.")
    return await look(ctx)


@window.action
async def look(ctx: CanvasContext[Window]) -> ToolResult:
    """Look at the page as it is now."""
    await evaluate(ctx, LOADED)
    url, title = await evaluate(ctx, "[location.href, document.title]")
    shot = await ctx.lifespan.call("Page.captureScreenshot", format="png")
    ctx.lifespan.picture = base64.b64decode(shot["data"])
    async with ctx.state.change() as state:
        state.url, state.title = url, title
    return ToolResult(f"{title}\n{url}", images=[ctx.lifespan.picture])


@window.route("/picture")
async def picture(request: Request, ctx: CanvasContext[Window]) -> Response:
    return Response(ctx.lifespan.picture, media_type="image/png")


async def evaluate(ctx: CanvasContext[Window], script: str) -> Any:
    outcome = await ctx.lifespan.call(
        "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
    )
    return outcome["result"].get("value")


if __name__ == "__main__":
    run(window)
