"""Open, dispose, and the registry: what the rules leave open."""

import pytest

from canvas_provider.types import JSONObject
from tests.support.ahp import BOARD, EXTENSION, Client, Desk, hosted

MINE = "ahp-canvas:/mine"


def open_params(desk: Desk, uri: str = MINE, canvas_id: str = "board") -> JSONObject:
    return {
        "channel": uri,
        "chat": desk.chat,
        "extensionId": EXTENSION,
        "canvasId": canvas_id,
    }


async def open_canvas(client: Client, desk: Desk, uri: str = MINE) -> None:
    assert "result" in (await client.run("openCanvas", **open_params(desk, uri)))[-1]


async def test_the_list_of_the_chat_comes_before_the_answer() -> None:
    """Ours: whoever has the answer can subscribe."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        listed, answer = await client.run("openCanvas", **open_params(desk))
        assert listed["params"]["action"]["canvases"] == [{"resource": MINE}]
        assert answer["result"] is None
        listed, answer = await client.run("disposeCanvas", channel=MINE)
        assert listed["params"]["action"] == {"type": "chat/canvasesChanged"}
        assert answer["result"] is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"chat": "ahp-chat:/nowhere"}, -32008),
        ({"canvasId": "unknown"}, -32008),
        ({"extensionId": "user:demo"}, -32008),
        ({"canvasId": "report"}, -32602),
        ({"channel": "ahp-chat:/mine"}, -32602),
        ({"channel": "ahp-canvas:"}, -32602),
        ({"channel": "ahp-canvas:///"}, -32602),
        ({"channel": "http://127.0.0.1/"}, -32602),
        ({"channel": "ahp-canvas:/" + "x" * 5000}, -32602),
        ({"chat": None}, -32602),
        ({"extensionId": 7}, -32602),
        ({"canvasId": ["board"]}, -32602),
    ],
)
async def test_what_cannot_be_opened_is_refused_and_reaches_no_provider(
    change: JSONObject, code: int
) -> None:
    """Specification: Conflict and requiresInput; the other codes are ours."""
    async with hosted(desk := Desk()) as it:
        client = await it.client()
        assert await client.fail("openCanvas", **{**open_params(desk), **change}) == code
        assert desk.calls == []


async def test_a_provider_that_refuses_is_quoted_and_leaves_the_uri_free() -> None:
    """Ours."""
    async with hosted(desk := Desk()) as it:
        await desk.declare(BOARD, {**BOARD, "id": "notes"})
        client = await it.client(desk.chat)
        desk.refusal = "The disk is full."
        error = await client.failure("openCanvas", **open_params(desk))
        assert (error["code"], error["message"]) == (-32603, "The disk is full.")
        assert await client.fail("disposeCanvas", channel=MINE) == -32008
        desk.refusal = ""
        frames = await client.run("openCanvas", **open_params(desk, canvas_id="notes"))
        assert frames[-1]["result"] is None


async def test_two_clients_that_open_the_same_at_once_get_one_canvas() -> None:
    """Ours."""
    async with hosted(desk := Desk()) as it:
        one, two = await it.client(), await it.client(id="c2")
        desk.gate.clear()
        ids = [await each.begin("openCanvas", **open_params(desk)) for each in (one, two)]
        await one.idle()
        await two.idle()
        assert await two.fail("openCanvas", **open_params(desk, canvas_id="report")) == -32011
        assert await two.fail("disposeCanvas", channel=MINE) == -32011
        assert await two.fail("subscribe", channel=MINE) == -32008
        desk.gate.set()
        for client, id in zip((one, two), ids, strict=True):
            assert await client.take() == {"jsonrpc": "2.0", "id": id, "result": None}
        assert [method for method, _ in desk.calls] == ["canvas.open"]
        assert len((await one.subscribe(desk.chat))["canvases"]) == 1


async def test_canvases_are_listed_in_the_order_in_which_they_were_there() -> None:
    """Observed with Copilot CLI 1.0.102: not in that in which they were asked for."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        desk.gate.clear()
        await client.begin("openCanvas", **open_params(desk))
        await client.idle()
        event: JSONObject = {"instanceId": "b1", "extensionId": EXTENSION, "canvasId": "board"}
        desk.tell("session.canvas.opened", event)
        (first,) = (await client.action())["action"]["canvases"]
        desk.gate.set()
        assert (await client.action())["action"]["canvases"] == [first, {"resource": MINE}]


async def test_a_client_that_is_gone_leaves_its_canvas_open() -> None:
    """Ours: what was begun goes on, and is there for whoever comes."""
    async with hosted(desk := Desk()) as it:
        client, other = await it.client(), await it.client(desk.chat, id="c2")
        desk.gate.clear()
        await client.begin("openCanvas", **open_params(desk))
        await client.idle()
        await client.aclose()
        desk.gate.set()
        assert (await other.action())["action"]["canvases"] == [{"resource": MINE}]


async def test_a_canvas_that_the_agent_opened_can_be_focused_and_disposed_of() -> None:
    """Ours: its input stays, although a client has none to give."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await desk.runtime.open("report", "r1", {"month": "May"})
        uri = (await client.action())["action"]["canvases"][0]["resource"]
        await client.run("openCanvas", **open_params(desk, uri, "report"))
        assert [params["input"] for _, params in desk.calls] == [{"month": "May"}] * 2
        frames = await client.run("disposeCanvas", channel=uri)
        assert [frame.get("method") for frame in frames] == ["action", None]
        assert desk.runtime.list_open() == []
        assert await client.fail("disposeCanvas", channel=uri) == -32008


async def test_a_canvas_without_its_provider_can_be_disposed_of_and_not_be_focused() -> None:
    """Ours."""
    async with hosted(desk := Desk()) as it:
        client = await it.client()
        await open_canvas(client, desk)
        await desk.kill()
        assert await client.fail("openCanvas", **open_params(desk)) == -32008
        assert (await client.run("disposeCanvas", channel=MINE))[-1]["result"] is None
        assert "canvases" not in await client.subscribe(desk.chat)


async def test_what_the_agent_reopens_gets_a_uri_of_the_hosts_choice() -> None:
    """Ours: a URI is bound to a canvas while that is open, and free afterwards."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await open_canvas(client, desk)
        instance_id = (await client.subscribe(MINE))["instanceId"]
        await client.run("disposeCanvas", channel=MINE)
        await desk.runtime.open("board", instance_id)
        (reference,) = (await client.action())["action"]["canvases"]
        assert reference["resource"] != MINE
        assert await client.fail("openCanvas", **open_params(desk)) == -32011
        assert (await client.run("disposeCanvas", channel=reference["resource"]))[-1]
        await open_canvas(client, desk)


async def test_a_uri_of_the_hosts_that_a_client_took_first_is_not_given_away() -> None:
    """Ours."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await desk.runtime.open("board", "b1")
        uri = (await client.action())["action"]["canvases"][0]["resource"]
        await client.run("disposeCanvas", channel=uri)
        await open_canvas(client, desk, uri)
        await desk.runtime.open("board", "b1")
        listed = (await client.action())["action"]["canvases"]
        assert len({each["resource"] for each in listed}) == 2


async def test_an_instance_that_another_canvas_owns_now_is_another_canvas() -> None:
    """Ours."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        event: JSONObject = {"instanceId": "b1", "extensionId": EXTENSION, "canvasId": "board"}
        desk.tell("session.canvas.opened", event)
        first = (await client.action())["action"]["canvases"]
        desk.tell("session.canvas.opened", {**event, "canvasId": "report"})
        assert "canvases" not in (await client.action())["action"]
        second = (await client.action())["action"]["canvases"]
        assert first != second


async def test_the_registry_has_three_states() -> None:
    """Specification: absent, empty, populated."""
    async with hosted(desk := Desk(is_cold=True)) as it:
        client = await it.client(desk.chat)
        assert "canvasRegistry" not in await client.subscribe(desk.chat)
        desk.canvas_list = []
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        _, changed = await client.action(), await client.action()
        assert changed["action"]["canvasRegistry"] == {"extensions": []}
        await desk.declare(BOARD)
        changed = await client.action()
        assert changed["action"]["canvasRegistry"]["extensions"][0]["extensionId"] == EXTENSION
        desk.is_cold = True
        desk.tell("session.canvas.registry_changed", {})
        assert (await client.action())["action"] == {"type": "chat/canvasRegistryChanged"}
        assert "canvasRegistry" not in await client.subscribe(desk.chat)


async def test_concurrent_requests_for_a_registry_start_the_providers_once() -> None:
    """Specification: concurrent requests are one."""
    async with hosted(desk := Desk(is_cold=True)) as it:
        clients = [await it.client(desk.chat, id=f"c{number}") for number in range(3)]
        desk.start_gate.clear()
        for client in clients:
            await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
            await client.idle()
        desk.start_gate.set()
        for client in clients:
            while (await client.action())["action"]["type"] != "chat/canvasRegistryChanged":
                pass
        assert desk.starts == 1
        # What is known is not asked for again.
        await clients[0].dispatch(desk.chat, "chat/canvasRegistryRequested")
        assert [each["params"]["action"] for each in await clients[1].idle()] == [
            {"type": "chat/canvasRegistryRequested"}
        ]
        assert desk.starts == 1


async def test_a_chat_that_could_not_be_materialized_stays_cold_and_can_be_asked_again() -> None:
    """Ours: there is no channel for the failure."""
    async with hosted(desk := Desk(is_cold=True)) as it:
        client = await it.client(desk.chat)
        desk.refusal = "no"
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        assert (await client.action())["action"] == {"type": "chat/canvasRegistryRequested"}
        assert await client.idle() == []
        assert "canvasRegistry" not in await client.subscribe(desk.chat)
        desk.refusal = ""
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        _, changed = await client.action(), await client.action()
        assert changed["action"]["canvasRegistry"]["extensions"]
