"""What AHP clients see of either runtime: frame for frame the same."""

from collections.abc import Callable
from typing import Any, Final, cast

import aiohttp
import pytest

from canvas_provider.ahp.host import AHPHost
from canvas_provider.ahp.hosting.chat_source import SourceListener
from canvas_provider.protocol.copilot import DiscoveredCanvas, OpenCanvas
from canvas_provider.types import JSONObject
from tests.contracts.conftest import Start
from tests.support.ahp import ROOT, Client
from tests.support.hosts import Host, wait_event, wait_listed, wait_open, wait_status
from tests.support.puppets import canvas

pytestmark = pytest.mark.process

CHAT: Final = "ahp-chat:/s1"

MINE: Final = "ahp-canvas:/mine"


class HostChat:
    """A `ChatSource` over a contract's host, which passes events on when it is told to."""

    session_id = "s1"
    title = "Contract"
    has_backing = True

    def __init__(self, host: Host) -> None:
        self.working_directory = str(host.folder)
        self.declared: list[DiscoveredCanvas] | None = None
        self._host = host
        self._seen = 0
        self._listeners: list[SourceListener] = []

    def canvases(self) -> list[DiscoveredCanvas] | None:
        return self.declared

    def instances(self) -> list[OpenCanvas]:
        return []

    def subscribe(self, listener: SourceListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def pump(self) -> None:
        """Pass on what has happened since."""
        events = self._host.events()
        for event in events[self._seen :]:
            data = cast(JSONObject, event.get("data") or {})
            if event["type"] == "session.canvas.registry_changed":
                self.declared = cast(Any, data)["canvases"]
            for listener in self._listeners:
                listener(event["type"], data)
        self._seen = len(events)

    async def materialize(self) -> None:
        self.declared = await self._host.canvases()

    async def open(self, canvas_id: str, instance_id: str, extension_id: str) -> None:
        await self._host.open(canvas_id, instance_id, extension_id=extension_id)
        await wait_event(self._host, "opened", instance_id)
        self.pump()

    async def close(self, instance_id: str) -> None:
        await self._host.close(instance_id)
        await wait_event(self._host, "closed", instance_id)
        self.pump()


def short(frames: list[Any]) -> list[tuple[str, str]]:
    """Return what each action is about, and its type; a canvas's with whether it has a URL."""
    found = []
    for params in (frame["params"] for frame in frames if "params" in frame):
        type = params["action"]["type"].partition("/")[2]
        url = params["action"].get("canvas", {}).get("url")
        found.append((params["channel"], type if url is None else f"{type} {url}"))
    return found


async def test_the_life_of_a_canvas_is_told_alike(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    chat = HostChat(host)
    async with await AHPHost.start([chat]) as ahp, aiohttp.ClientSession() as http:
        client = Client(await http.ws_connect(ahp.url))
        await client.initialize(ROOT, CHAT)
        await ask_for_the_registry(client)

        opening = {"channel": MINE, "chat": CHAT, "extensionId": "project:a", "canvasId": "v"}
        frames = await client.run("openCanvas", **opening)
        assert short(frames) == [(CHAT, "canvasesChanged")]
        assert frames[-1]["result"] is None
        instance_id = (await client.subscribe(MINE))["instanceId"]

        await host.open("v", instance_id, {"answer": {"url": "http://127.0.0.1:1/a/"}})
        await wait_event(host, "opened", instance_id, 2)
        chat.pump()
        assert short(await client.idle()) == [(MINE, "stateChanged http://127.0.0.1:1/a/")]

        host.puppets["a"].kill()
        await wait_status(host, "a", "failed")
        await wait_listed(host)
        chat.pump()
        told = short(await client.idle())
        assert told == [(MINE, "stateChanged"), (CHAT, "canvasRegistryChanged")]

        await host.reload()
        await wait_open(host, instance_id)
        await wait_event(host, "opened", instance_id, 3)
        chat.pump()
        told = short(await client.idle())
        assert told[0] == (CHAT, "canvasRegistryChanged")
        assert told[-1] == (MINE, "stateChanged http://127.0.0.1:1/a/")

        frames = await client.run("disposeCanvas", channel=MINE)
        assert short(frames) == [(MINE, "stateChanged"), (CHAT, "canvasesChanged")]
        assert frames[-1]["result"] is None
        await open_as_the_agent_does(host, chat, client)
        await client.aclose()


async def ask_for_the_registry(client: Client) -> None:
    await client.dispatch(CHAT, "chat/canvasRegistryRequested")
    echo, changed = await client.action(), await client.action()
    assert "origin" in echo
    (extension,) = changed["action"]["canvasRegistry"]["extensions"]
    assert extension["extensionId"] == "project:a"
    (declared,) = extension["canvases"]
    assert (declared["canvasId"], declared["requiresInput"]) == ("v", False)


async def open_as_the_agent_does(host: Host, chat: HostChat, client: Client) -> None:
    """Open, close, and open again: at the same URI, which the host has chosen."""
    uris = []
    for count in (1, 2):
        await host.open("v", "i")
        await wait_event(host, "opened", "i", count)
        chat.pump()
        uris.append((await client.action())["action"]["canvases"][0]["resource"])
        await host.close("i")
        await wait_event(host, "closed", "i", count)
        chat.pump()
        assert short(await client.idle()) == [(CHAT, "canvasesChanged")]
    assert uris[0] == uris[1]
