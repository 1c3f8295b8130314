"""Who may connect, and how the host ends."""

import asyncio

import aiohttp
import pytest

from canvas_provider.ahp import host as module
from canvas_provider.ahp.host import AHPHost
from tests.support.ahp import ROOT, Desk, hosted


@pytest.mark.parametrize("query", ["", "?tkn=", "?tkn=wrong", "?tkn=%ff", "?token=x"])
async def test_without_the_token_nobody_gets_in(query: str) -> None:
    async with hosted() as it, aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{it.host.port}/{query}"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(url)
        assert refused.value.status == 403


async def test_the_token_is_another_one_for_each_host() -> None:
    async with hosted() as one, hosted() as two:
        assert one.host.url.partition("=")[2] != two.host.url.partition("=")[2]
        assert len(one.host.url.partition("=")[2]) >= 43


async def test_a_port_that_is_taken_is_an_error_that_leaves_nothing() -> None:
    async with hosted() as it:
        with pytest.raises(OSError):
            await AHPHost.start(port=it.host.port)


async def test_a_plain_request_is_no_connection() -> None:
    async with hosted() as it, aiohttp.ClientSession() as http:
        async with http.get(it.host.url.replace("ws:", "http:")) as response:
            assert response.status == 400
        async with http.get(f"http://127.0.0.1:{it.host.port}/else") as response:
            assert response.status == 404


async def test_only_so_many_clients_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 2)
    async with hosted() as it:
        first, _ = await it.connect(), await it.connect()
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await it.connect()
        assert refused.value.status == 503
        await first.aclose()
        # The host answers the close when it is done with the client.
        await it.connect()


async def test_the_host_ends_while_clients_are_connected_and_wait() -> None:
    desk = Desk()
    async with hosted(desk) as it:
        client = await it.client(ROOT)
        desk.gate.clear()
        params = {"chat": desk.chat, "extensionId": "project:demo", "canvasId": "board"}
        await client.begin("openCanvas", channel="ahp-canvas:/x", **params)
        await client.idle()
        async with asyncio.timeout(5):
            await it.host.aclose()
            await it.host.aclose()
        await client.wait_closed()


async def test_sessions_come_and_go() -> None:
    async with hosted(first := Desk("s1")) as it, Desk("s2") as second:
        client = await it.client(ROOT)
        await second.start()
        it.host.add(second)
        added = await client.take()
        assert added["method"] == "root/sessionAdded"
        assert added["params"]["channel"] == ROOT
        listed = await client.ask("listSessions", channel=ROOT)
        assert listed["items"][0] == added["params"]["summary"]
        summary = listed["items"][1]
        assert summary["resource"] == "ahp-session:/s1"
        assert summary["defaultChat"] == first.chat
        assert summary["workingDirectories"] == ["/work"]
        state = await client.subscribe(summary["resource"])
        assert state["lifecycle"] == "ready" and state["chats"] == summary["chats"]
        with pytest.raises(ValueError, match="shown already"):
            it.host.add(second)
        page = await client.ask("listSessions", channel=ROOT, limit=1)
        assert [page["items"][0]["resource"], page["nextCursor"]] == ["ahp-session:/s2", "1"]
        page = await client.ask("listSessions", channel=ROOT, limit=1, cursor="1")
        assert page == {"items": [summary]}
        for wrong in ({"limit": "1"}, {"limit": -1}, {"cursor": "x"}, {"cursor": 1}):
            assert await client.fail("listSessions", channel=ROOT, **wrong) == -32602
        it.host.remove("s2")
        removed = await client.take()
        assert removed["params"] == {"channel": ROOT, "session": "ahp-session:/s2"}
