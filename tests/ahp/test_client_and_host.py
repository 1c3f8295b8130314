"""Our client and our host, over real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from canvas_provider.ahp.backoff import Backoff
from canvas_provider.ahp.client import AHPClient
from canvas_provider.errors import (
    Conflict,
    NotFound,
    PermissionDenied,
    RemoteError,
    Unavailable,
    Unsupported,
)
from canvas_provider.protocol.copilot import CanvasEvent
from canvas_provider.types import JSONObject
from tests.support.ahp import EXTENSION, Desk, Hosted, hosted
from tests.support.ahp_host import begin, until, until_gone, within
from tests.support.origins import open_origin, reply
from tests.support.tunnel import open_tunnel

CANVAS = "ahp-canvas:/mine"


@asynccontextmanager
async def following(it: Hosted, chat: str, **options: Any) -> AsyncIterator[AHPClient]:
    async with AHPClient(it.host.url, **options) as client:
        await within(client.follow(chat))
        yield client


async def test_a_cold_chat_is_woken_and_a_canvas_opened_used_and_closed() -> None:
    async with hosted(desk := Desk(is_cold=True)) as it, AHPClient(it.host.url) as client:
        assert (client.version, client.supports_canvases) == ("1.1.0", True)
        assert await within(client.find_chat()) == desk.chat
        await within(client.follow(desk.chat))
        assert client.registry(desk.chat) is None
        asking = [begin(client.request_registry(desk.chat)) for _ in range(2)]
        registries = [await within(each) for each in asking]
        assert registries[0] == registries[1] and desk.starts == 1
        assert [(type.canvas_id, type.requires_input) for _, type in registries[0] or ()] == [
            ("board", False),
            ("report", True),
        ]
        uri = await within(client.open_canvas(desk.chat, EXTENSION, "board"))
        assert list(client.canvases(desk.chat)) == [uri]
        state = client.state(uri)
        assert state is not None and state["title"] == "My board"
        again = await within(client.open_canvas(desk.chat, EXTENSION, "board", uri=uri))
        assert again == uri and len(desk.runtime.list_open()) == 1
        changes = client.changes()
        await within(client.dispose_canvas(uri))
        await until_gone(changes, uri)
        await within(client.dispose_canvas(uri))
        assert client.canvases(desk.chat) == {} and desk.runtime.list_open() == []


async def test_what_cannot_be_opened_says_why() -> None:
    async with (
        hosted(desk := Desk(), other := Desk("s2")) as it,
        following(it, desk.chat) as client,
    ):
        uri = await within(client.open_canvas(desk.chat, EXTENSION, "board", uri=CANVAS))
        with pytest.raises(Conflict):
            await within(client.open_canvas(other.chat, EXTENSION, "board", uri=uri))
        with pytest.raises(NotFound):
            await within(client.open_canvas(desk.chat, EXTENSION, "nothing"))
        with pytest.raises(NotFound):
            await within(client.open_canvas("ahp-chat:/none", EXTENSION, "board"))
        with pytest.raises(RemoteError):
            await within(client.open_canvas(desk.chat, EXTENSION, "report"))
        desk.refusal = "The disk is full."
        with pytest.raises(RemoteError, match="disk"):
            await within(client.open_canvas(desk.chat, EXTENSION, "board"))
        with pytest.raises(NotFound):
            await within(client.follow("ahp-chat:/none"))


async def test_a_host_that_only_shows_canvases_is_only_watched() -> None:
    async with (
        hosted(desk := Desk(), has_registry=False) as it,
        following(it, desk.chat) as client,
    ):
        changes = client.changes()
        await desk.runtime.open("board", "b1")
        change = await until(changes, next(iter(await listed(client, desk.chat))))
        assert change.state is not None and change.state["instanceId"] == "b1"
        with pytest.raises(Unsupported):
            await client.open_canvas(desk.chat, EXTENSION, "board")


async def listed(client: AHPClient, chat: str) -> dict[str, Any]:
    """The canvases of the chat, as soon as there are some."""
    changes = client.changes()
    while not client.canvases(chat):
        await within(changes.__anext__())
    return client.canvases(chat)


async def test_a_provider_that_dies_takes_its_address_and_one_that_returns_has_another() -> None:
    async with (
        open_origin({"/one/": reply(b"first"), "/two/": reply(b"second")}) as origin,
        hosted(desk := Desk()) as it,
        following(it, desk.chat, direct=False) as client,
    ):
        desk.shown = {"url": f"{origin.url}/one/", "title": "One"}
        uri = await within(client.open_canvas(desk.chat, EXTENSION, "board"))
        assert (await within(client.read(uri))).text == "first"
        changes = client.changes()
        await desk.kill()
        while "url" in (client.state(uri) or {}):
            await until(changes, uri)
        with pytest.raises(Unavailable):
            await client.read(uri)
        desk.shown = {"url": f"{origin.url}/two/", "title": "Two"}
        await desk.start()
        while "url" not in (client.state(uri) or {}):
            await until(changes, uri)
        assert (await within(client.read(uri))).text == "second"
        with pytest.raises(PermissionDenied):
            await within(client.read(uri, "http://127.0.0.1:1/"))


async def test_two_clients_end_with_the_state_of_the_host_though_one_comes_and_goes() -> None:
    async with (
        hosted(desk := Desk()) as it,
        open_tunnel(it.host.port) as tunnel,
        following(it, desk.chat) as steady,
    ):
        url = it.host.url.replace(str(it.host.port), str(tunnel.port))
        async with AHPClient(url, backoff=Backoff(first=0, attempts=1000)) as leaving:
            await within(leaving.follow(desk.chat))
            uri = await within(steady.open_canvas(desk.chat, EXTENSION, "board", uri=CANVAS))
            (instance,) = desk.runtime.list_open()
            changes, news = leaving.changes(), steady.changes()
            for number in range(20):
                desk.show_many(instance["instanceId"], 50)
                tunnel.cut()
                data = cast(JSONObject, {**instance, "title": f"Round {number}"})
                desk.tell(CanvasEvent.OPENED, data)
                await until(changes, uri, title=f"Round {number}")
            await until(news, uri, title="Round 19")
            assert steady.state(uri) == leaving.state(uri)


async def test_canvases_that_come_and_go_while_a_client_is_away_are_made_up_for() -> None:
    async with (
        hosted(desk := Desk()) as it,
        open_tunnel(it.host.port) as tunnel,
    ):
        url = it.host.url.replace(str(it.host.port), str(tunnel.port))
        async with AHPClient(url, backoff=Backoff(first=0, attempts=10**6)) as client:
            await within(client.follow(desk.chat))
            await desk.runtime.open("board", "b1")
            first = next(iter(await listed(client, desk.chat)))
            changes = client.changes()
            if client.state(first) is None:
                await until(changes, first)
            tunnel.is_open = False
            tunnel.cut()
            await desk.runtime.close("b1")
            await desk.runtime.open("board", "b2")
            tunnel.is_open = True
            await until_gone(changes, first)
            (second,) = await listed(client, desk.chat)
            while client.state(second) is None:
                await within(changes.__anext__())
            state = client.state(second)
            assert state is not None and state["instanceId"] == "b2"
            assert client.state(first) is None
