"""What clients are sent in the life of a canvas: frame for frame that of Copilot CLI 1.0.102."""

from typing import Any

from canvas_provider.types import JSONObject
from tests.support.ahp import ROOT, Client, Desk, hosted

CANVAS = {
    "instanceId": "b1",
    "extensionId": "project:demo",
    "extensionName": "demo",
    "canvasId": "board",
    "title": "My board",
}

URL = "http://127.0.0.1:1/t/"


def canvas_changed(**fields: str) -> dict[str, Any]:
    return {"type": "canvas/stateChanged", "canvas": {**CANVAS, **fields}}


def list_changed(*uris: str) -> dict[str, Any]:
    listed = {"canvases": [{"resource": uri} for uri in uris]} if uris else {}
    return {"type": "chat/canvasesChanged", **listed}


async def open_first(client: Client, desk: Desk) -> tuple[str, int]:
    """Have the agent open b1, and subscribe to it; return its URI and the newest number."""
    await desk.runtime.open("board", "b1")
    envelope = await client.action()
    (reference,) = envelope["action"]["canvases"]
    await client.subscribe(reference["resource"])
    return reference["resource"], envelope["serverSeq"]


async def test_opening_spends_a_number_on_the_channel_and_then_tells_the_chat() -> None:
    """Observed with Copilot CLI 1.0.102: canvas.open, new instance."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(ROOT, desk.chat)
        before = (await client.ask("subscribe", channel=ROOT))["snapshot"]["fromSeq"]
        before = max(
            before, (await client.ask("subscribe", channel=desk.chat))["snapshot"]["fromSeq"]
        )
        await desk.runtime.open("board", "b1")
        (frame,) = await client.idle()
        uri = frame["params"]["action"]["canvases"][0]["resource"]
        assert frame["params"] == {
            "channel": desk.chat,
            "action": list_changed(uri),
            "serverSeq": before + 2,
        }
        assert uri.startswith("ahp-canvas:/") and len(uri) == len("ahp-canvas:/") + 32
        snapshot = (await client.ask("subscribe", channel=uri))["snapshot"]
        assert snapshot == {
            "resource": uri,
            "state": {**CANVAS, "url": URL},
            "fromSeq": before + 1,
        }


async def test_opening_again_tells_the_canvas_and_not_the_chat() -> None:
    """Observed with Copilot CLI 1.0.102: canvas.open, same instanceId."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        uri, seq = await open_first(client, desk)
        desk.shown = {"url": "http://127.0.0.1:2/u/", "title": "Sprint 7", "status": "3 open"}
        await desk.runtime.open("board", "b1")
        (frame,) = await client.idle()
        assert frame["params"] == {
            "channel": uri,
            "action": canvas_changed(
                title="Sprint 7", status="3 open", url="http://127.0.0.1:2/u/"
            ),
            "serverSeq": seq + 1,
        }


async def test_closing_drops_the_url_then_the_reference_then_the_channel() -> None:
    """Observed with Copilot CLI 1.0.102: canvas.close."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        uri, seq = await open_first(client, desk)
        await desk.runtime.close("b1")
        frames = [frame["params"] for frame in await client.idle()]
        assert frames == [
            {"channel": uri, "action": canvas_changed(), "serverSeq": seq + 1},
            {"channel": desk.chat, "action": list_changed(), "serverSeq": seq + 2},
        ]
        assert await client.fail("subscribe", channel=uri) == -32008
        assert "canvases" not in await client.subscribe(desk.chat)


async def test_closing_one_of_two_lists_the_other() -> None:
    """Observed with Copilot CLI 1.0.102: full list, in the order of opening."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        first, _ = await open_first(client, desk)
        await desk.runtime.open("board", "b2")
        _, second = (each["resource"] for each in (await client.action())["action"]["canvases"])
        await desk.runtime.close("b1")
        frames = [frame["params"]["action"] for frame in await client.idle()]
        assert frames == [canvas_changed(), list_changed(second)]
        assert first != second


async def test_a_provider_that_dies_takes_the_url_with_it_and_leaves_the_reference() -> None:
    """Observed with Copilot CLI 1.0.102: provider process dies."""
    async with hosted(desk := Desk(), has_registry=False) as it:
        client = await it.client(desk.chat)
        uri, seq = await open_first(client, desk)
        await desk.kill()
        (frame,) = await client.idle()
        assert frame["params"] == {
            "channel": uri,
            "action": canvas_changed(),
            "serverSeq": seq + 1,
        }
        assert await client.subscribe(uri) == CANVAS
        assert (await client.subscribe(desk.chat))["canvases"] == [{"resource": uri}]


async def test_a_provider_that_returns_brings_a_fresh_url() -> None:
    """Observed with Copilot CLI 1.0.102: extensions reload."""
    async with hosted(desk := Desk(), has_registry=False) as it:
        client = await it.client(desk.chat)
        uri, _ = await open_first(client, desk)
        await desk.kill()
        desk.shown = {"url": "http://127.0.0.1:2/u/", "title": "My board"}
        await desk.start()
        gone, back = [await client.action(), await client.action()]
        assert [gone["channel"], back["channel"]] == [uri, uri]
        assert gone["action"] == canvas_changed()
        assert back["action"] == canvas_changed(url="http://127.0.0.1:2/u/")


async def test_opening_after_a_close_has_the_same_uri() -> None:
    """Observed with Copilot CLI 1.0.102: reopen after close."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        first, _ = await open_first(client, desk)
        await client.notify("unsubscribe", channel=first)
        await client.idle()
        await desk.runtime.close("b1")
        await client.idle()
        again, _ = await open_first(client, desk)
        assert again == first


async def test_whoever_still_listens_to_a_canvas_that_was_closed_hears_of_the_next_one() -> None:
    """Ours: a client that is told of both at once cannot know that it was away."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        uri, seq = await open_first(client, desk)
        await desk.runtime.close("b1")
        await client.idle()
        await desk.runtime.open("board", "b1")
        frames = [frame["params"] for frame in await client.idle()]
        assert frames == [
            {"channel": uri, "action": canvas_changed(url=URL), "serverSeq": seq + 3},
            {"channel": desk.chat, "action": list_changed(uri), "serverSeq": seq + 4},
        ]
        await client.notify("unsubscribe", channel=uri)
        await desk.runtime.open("board", "b1")
        assert await client.idle() == []


async def test_what_was_open_before_the_host_is_shown_from_the_start() -> None:
    """Ours."""
    async with hosted() as it, Desk() as desk:
        await desk.start()
        await desk.runtime.open("board", "b1")
        it.host.add(desk)
        client = await it.client(ROOT, desk.chat)
        (reference,) = (await client.subscribe(desk.chat))["canvases"]
        assert await client.subscribe(reference["resource"]) == {**CANVAS, "url": URL}
        it.host.remove(desk.session_id)
        removed = await client.take()
        assert removed["method"] == "root/sessionRemoved"
        assert await client.fail("subscribe", channel=desk.chat) == -32008
        assert await client.fail("subscribe", channel=reference["resource"]) == -32008


async def test_events_that_make_no_sense_change_nothing() -> None:
    """Ours: a runtime of another version may send anything."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        for type in ("opened", "unavailable", "closed"):
            for data in ({}, {"instanceId": None}, {"instanceId": "b1"}, {"instanceId": "b\ud800"}):
                desk.tell(f"session.canvas.{type}", {**data})
        desk.tell("session.newer", {"instanceId": "b1"})
        assert await client.idle() == []
        odd: JSONObject = {
            "instanceId": "b\ud800",
            "extensionId": "e",
            "canvasId": "c",
            "title": 7,
            "url": [],
        }
        desk.tell("session.canvas.opened", odd)
        (reference,) = (await client.action())["action"]["canvases"]
        state = await client.subscribe(reference["resource"])
        assert state == {"instanceId": "b?", "extensionId": "e", "canvasId": "c"}
