"""Clients that lose their connection, and clients that are slow: both end with the host's state."""

import asyncio
import json
import socket
from typing import Any, Literal

from canvas_provider.ahp.hosting.chat_source import LiveURLs
from canvas_provider.ahp.hosting.client_link import ClientLink
from canvas_provider.ahp.reducers import reduce
from canvas_provider.protocol.ahp import ResourceReadResult
from tests.support.ahp import ROOT, Client, Desk, hosted

CHANGES = 1000

BATCH = 50
"""So many changes at once that a client that reads sees each of them."""


class Mirror:
    """The states that a client arrives at by what it is sent."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}
        self.seq = 0

    def load(self, snapshots: list[Any]) -> None:
        for snapshot in snapshots:
            self.states[snapshot["resource"]] = snapshot["state"]
            self.seq = max(self.seq, snapshot["fromSeq"])

    def apply(self, envelope: Any) -> None:
        assert envelope["serverSeq"] > self.seq
        self.seq = envelope["serverSeq"]
        channel = envelope["channel"]
        self.states[channel] = reduce(channel, self.states[channel], envelope["action"])


async def follow(client: Client, mirror: Mirror, frames: int) -> None:
    for _ in range(frames):
        mirror.apply(await client.action())


async def begin(client: Client, desk: Desk, id: str) -> tuple[Mirror, str]:
    """Initialize a client, and have it follow the chat and its one canvas."""
    mirror = Mirror()
    welcome = await client.initialize(ROOT, desk.chat, id=id)
    mirror.load(welcome["snapshots"])
    (reference,) = mirror.states[desk.chat]["canvases"]
    uri = str(reference["resource"])
    mirror.load([(await client.ask("subscribe", channel=uri))["snapshot"]])
    return mirror, uri


async def test_a_slow_and_a_reconnecting_client_end_with_the_state_of_the_host() -> None:
    """Ours: two clients on one chat, in the middle of 1,000 changes."""
    async with hosted(desk := Desk()) as it:
        await desk.runtime.open("board", "b1")
        slow, leaving = await it.connect(), await it.connect()
        slow_mirror, uri = await begin(slow, desk, "slow")
        mirror, _ = await begin(leaving, desk, "leaving")
        shrink_buffers(next(iter(it.host._links.values())))
        transport = slow.socket._response.connection.transport  # type: ignore[union-attr]
        transport.pause_reading()  # type: ignore[union-attr]

        for _ in range(CHANGES // 4 // BATCH):
            desk.show_many("b1", BATCH)
            await follow(leaving, mirror, BATCH)
        await leaving.aclose()
        desk.show_many("b1", CHANGES // 4)
        back = await it.connect()
        missed = await back.reconnect(mirror.seq, *mirror.states, id="leaving")
        assert missed["type"] == "replay" and missed["missing"] == []
        for envelope in missed["actions"]:
            mirror.apply(envelope)
        desk.show_many("b1", CHANGES // 2)
        await desk.runtime.open("board", "b2")

        truth = await it.client(id="truth")
        expected = {each: await truth.subscribe(each) for each in (desk.chat, uri)}
        transport.resume_reading()  # type: ignore[union-attr]
        for client, its in ((slow, slow_mirror), (back, mirror)):
            for frame in await client.idle():
                its.apply(frame["params"])
            assert {each: its.states[each] for each in expected} == expected
        assert expected[uri]["title"] == f"Change {CHANGES // 2 - 1}"


async def test_a_client_that_does_not_read_cannot_grow_the_hosts_memory() -> None:
    """Ours: what waits for it is bounded, and what is more than that ends its connection."""
    async with hosted(desk := Desk()) as it:
        await desk.runtime.open("board", "b1")
        client = await it.connect()
        _, uri = await begin(client, desk, "c1")
        (link,) = it.host._links.values()
        transport = client.socket._response.connection.transport  # type: ignore[union-attr]
        transport.pause_reading()  # type: ignore[union-attr]
        shrink_buffers(link)
        most = 0
        for _ in range(10):
            desk.show_many("b1", 1000)
            await asyncio.sleep(0)  # noqa: TID251 - the host is to write what it can
            most = max(most, link._outbox.size)
        assert most < 100_000
        # Answers cannot be left out.
        for _ in range(3000):
            it.host._core.receive(1, json.dumps({"id": 1, "method": "ping"}))
        it.host._apply_effects()
        assert len(link._outbox) == 0
        transport.resume_reading()  # type: ignore[union-attr]
        assert await client.wait_closed() == 1006
        # It can come back, to the state as it is.
        back = await it.connect()
        resumed = await back.reconnect(1, uri, desk.chat)
        assert resumed["type"] == "snapshot"
        mirror = Mirror()
        mirror.load(resumed["snapshots"])
        assert mirror.states[uri]["title"] == "Change 999"


class LargeReader:
    """Reads what is large, at once."""

    def __init__(self) -> None:
        self.reads = 0

    async def read(
        self, uri: str, sources: LiveURLs, encoding: Literal["utf-8", "base64"] | None = None
    ) -> ResourceReadResult:
        self.reads += 1
        return {"data": "x" * 4_000_000, "encoding": "utf-8"}

    async def aclose(self) -> None: ...


async def test_what_is_read_for_a_client_that_does_not_take_it_waits() -> None:
    """Ours: two resources at a time, however many are asked for."""
    async with hosted(Desk(), reader=(reader := LargeReader())) as it:
        client, witness = await it.client(), await it.client(id="witness")
        transport = client.socket._response.connection.transport  # type: ignore[union-attr]
        ids = [await client.begin("resourceRead", channel=ROOT, uri="http://x/") for _ in range(20)]
        transport.pause_reading()  # type: ignore[union-attr]
        for _ in range(20):
            await witness.idle()
        assert reader.reads <= 4
        transport.resume_reading()  # type: ignore[union-attr]
        assert [(await client.take())["id"] for _ in ids] == ids
        assert reader.reads == 20


def shrink_buffers(link: ClientLink) -> None:
    """Let the kernel take little, so that a client that does not read is noticed soon."""
    connection = link._transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


async def test_a_client_that_is_unknown_is_sent_to_initialize() -> None:
    """Observed with Copilot CLI 1.0.102: -32008."""
    async with hosted(Desk()) as it:
        client = await it.connect()
        params: Any = {"lastSeenServerSeq": 0, "subscriptions": []}
        assert await client.fail("reconnect", channel=ROOT, clientId="x", **params) == -32008
        await client.initialize(id="x")
        assert (await client.reconnect(0, id="x"))["type"] == "replay"


async def test_the_same_client_on_another_socket_ends_the_older_one() -> None:
    """Observed with Copilot CLI 1.0.102: the older one sees 1006."""
    async with hosted(desk := Desk()) as it:
        first = await it.client(desk.chat)
        second = await it.client()
        assert await first.wait_closed() == 1006
        third = await it.connect()
        seq = (await third.reconnect(4, desk.chat))["type"]
        assert seq == "replay"
        assert await second.wait_closed() == 1006
        await desk.runtime.open("board", "b1")
        assert (await third.action())["channel"] == desk.chat


async def test_a_canvas_that_was_closed_and_opened_again_meanwhile_is_made_up_for() -> None:
    """Ours: the replay begins its state anew."""
    async with hosted(desk := Desk()) as it:
        await desk.runtime.open("board", "b1")
        client = await it.connect()
        mirror, uri = await begin(client, desk, "c1")
        await client.aclose()
        await desk.runtime.close("b1")
        await desk.runtime.open("board", "b1")
        back = await it.connect()
        result = await back.reconnect(mirror.seq, uri, desk.chat)
        assert result["missing"] == []
        for envelope in result["actions"]:
            mirror.apply(envelope)
        for each in (uri, desk.chat):
            assert mirror.states[each] == await back.subscribe(each)
        await desk.runtime.close("b1")
        await back.idle()
        again = await it.connect()
        assert (await again.reconnect(mirror.seq, uri, desk.chat))["missing"] == [uri]


async def test_a_number_of_another_host_gets_snapshots() -> None:
    """Ours: what it has seen was never here."""
    async with hosted(desk := Desk()) as it:
        await it.client(id="c1")
        back = await it.connect()
        result = await back.reconnect(10**9, ROOT, desk.chat, "ahp-chat:/gone")
        assert result["type"] == "snapshot"
        assert [each["resource"] for each in result["snapshots"]] == [ROOT, desk.chat]


async def test_nothing_is_sent_of_a_channel_after_unsubscribing() -> None:
    """Observed with Copilot CLI 1.0.102."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await client.notify("unsubscribe", channel=desk.chat)
        await client.idle()
        await desk.runtime.open("board", "b1")
        assert await client.idle() == []
