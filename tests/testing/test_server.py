"""Origins without sockets: reachable by their address only, and only while they are open."""

import asyncio
from typing import Any

import httpx
import pytest

from canvas_provider.testing.server import InProcessServers


def saying(text: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": text})

    return app


async def test_each_app_is_at_an_address_of_its_own() -> None:
    servers = InProcessServers()
    one, other = await servers.serve(saying(b"one")), await servers.serve(saying(b"other"))
    async with httpx.AsyncClient(transport=servers) as http:
        assert (await http.get(one.base)).text == "one"
        assert (await http.get(f"{other.base}/any/path")).text == "other"
        assert one.base == f"http://{one.host}" == f"http://127.0.0.1:{one.port}"


async def test_nobody_answers_at_another_address_or_after_the_close() -> None:
    servers = InProcessServers()
    origin = await servers.serve(saying(b"one"))
    async with httpx.AsyncClient(transport=servers) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(f"http://localhost:{origin.port}/")
        assert servers.has(origin.base)
        await origin.aclose()
        await origin.aclose()
        assert not servers.has(origin.base)
        with pytest.raises(httpx.ConnectError):
            await http.get(origin.base)


async def test_a_request_in_flight_gets_its_grace_and_no_more() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        reached.set()
        await go_on.wait()
        await saying(b"late")(scope, receive, send)

    servers = InProcessServers()
    async with asyncio.timeout(5), httpx.AsyncClient(transport=servers) as http:
        origin = await servers.serve(slow)
        answer = asyncio.create_task(http.get(origin.base))
        await reached.wait()
        closing = asyncio.create_task(origin.aclose(grace=5))
        go_on.set()
        assert (await answer).text == "late"
        await closing

        reached.clear()
        go_on.clear()
        origin = await servers.serve(slow)
        answer = asyncio.create_task(http.get(origin.base))
        await reached.wait()
        await origin.aclose(grace=0)
        with pytest.raises(httpx.RemoteProtocolError, match="closed"):
            await answer
