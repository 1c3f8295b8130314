"""Shows a canvas of an Agent Host Protocol host in a browser that may be on another machine.

    python docs/examples/viewer/viewer.py ws://127.0.0.1:4000/?tkn=TOKEN ahp-canvas:/3b1e

Each byte comes through the host, by `resourceRead`. That is like a GET without an answer that goes
on: the page shows its state as it is when it is loaded, and its buttons reach nobody. Pages that
use relative addresses only, as those with `canvas.js` do, need nothing else.
"""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from canvas_provider.ahp.client import AHPClient
from canvas_provider.errors import CanvasProviderError

HEADERS = {
    # The host tells the type of a resource, and none of its other headers: these are ours.
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: blob:; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@asynccontextmanager
async def serve(client: AHPClient, canvas: str) -> AsyncIterator[str]:
    """Show a canvas that the client follows; yield the address, which is a secret."""
    root = f"/{secrets.token_urlsafe(32)}/"

    async def show(request: web.Request) -> web.Response:
        # As it was sent, and always below the page: "//evil.test/x" is just a strange name.
        name = request.raw_path.removeprefix(root)
        try:
            resource = await client.read(canvas, f"./{name}" if name else "")
        except (CanvasProviderError, TimeoutError):
            raise web.HTTPNotFound from None
        content_type = resource.content_type or "application/octet-stream"
        return web.Response(body=resource.body, headers={**HEADERS, "Content-Type": content_type})

    app = web.Application()
    app.router.add_get(f"{root}{{name:.*}}", show)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{root}"
    finally:
        await runner.cleanup()


async def main(url: str, canvas: str) -> None:
    async with AHPClient(url, direct=False) as client:
        await client.subscribe(canvas)
        async with serve(client, canvas) as address:
            print(address)  # noqa: T201
            async for _ in client.changes():
                pass  # until Ctrl-C, or until the host is gone for good


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
