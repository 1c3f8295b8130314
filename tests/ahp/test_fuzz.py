"""Frames that no client would send: the host stands, and no provider hears of them."""

import json
import random
from typing import Any, Final

import pytest
from aiohttp import WSMsgType

from canvas_provider.ahp.hosting.core import HostCore
from canvas_provider.ahp.hosting.effect import Close, Cut, Materialize, Open, Read, Send
from canvas_provider.protocol.copilot import DiscoveredCanvas
from tests.support.ahp import EXTENSION, ROOT, Desk, hosted

CHAT: Final = "ahp-chat:/s1"

WORDS: Final = [
    *(ROOT, CHAT, "ahp-session:/s1", "ahp-canvas:/x", "ahp-canvas:/y", "ahp-canvas:", ""),
    *("chat/canvasRegistryRequested", "chat/canvasesChanged", "canvas/stateChanged", "x/y"),
    *("1.1.0", "1.0.0", "0.9.0", "1.x", "c1", "c2", "e", "board", "report", "utf-8", "base64"),
    *("http://127.0.0.1:1/t/", "ñ", "\u0000", "\U0001f600"),
]

KEYS: Final = [
    *("channel", "protocolVersions", "clientId", "initialSubscriptions", "subscriptions"),
    *("lastSeenServerSeq", "clientSeq", "action", "chat", "extensionId", "canvasId", "uri"),
    *("encoding", "limit", "cursor", "type", "canvases", "x"),
]

METHODS: Final = [
    *("ping", "initialize", "reconnect", "subscribe", "unsubscribe", "dispatchAction"),
    *("listSessions", "resourceRead", "createChat", "", *["openCanvas", "disposeCanvas"] * 3),
]

FITTING: Final[dict[str, Any]] = {
    "channel": ["ahp-canvas:/x", "ahp-canvas:/y", CHAT, ROOT],
    "protocolVersions": [["1.1.0"], ["1.0.0"]],
    "clientId": ["c1", "c2"],
    "subscriptions": [[CHAT, "ahp-canvas:/x"]],
    "lastSeenServerSeq": [0, 5],
    "clientSeq": [1],
    "action": [{"type": "chat/canvasRegistryRequested"}, {"type": "chat/canvasesChanged"}],
    "chat": [CHAT],
    "extensionId": ["e"],
    "canvasId": ["board", "board", "report"],
    "uri": ["http://127.0.0.1:1/t/"],
}


def some_value(rng: random.Random, depth: int = 3) -> Any:
    match rng.randrange(8 if depth else 5):
        case 0 | 1:
            return rng.choice(WORDS)
        case 2:
            return rng.choice([None, True, False])
        case 3:
            return rng.choice([0, 1, -1, 2**53, 10**30, 0.5, -1e300])
        case 4:
            return "x" * rng.choice([1, 5000])
        case 5 | 6:
            return [some_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): some_value(rng, depth - 1) for _ in range(rng.randrange(4))}


def some_frame(rng: random.Random) -> str:
    """Make a frame: mostly one that nearly fits."""
    if rng.random() < 0.1:
        return json.dumps(some_value(rng))[: rng.choice([None, 3])]
    fits = {key: rng.choice(values) for key, values in FITTING.items()}
    for _ in range(rng.choice([0, 0, 1, 2])):
        fits[rng.choice(KEYS)] = some_value(rng)
    message = {"method": rng.choice(METHODS), "params": fits, "id": rng.randrange(100)}
    if rng.random() < 0.3:
        message[rng.choice([*message])] = some_value(rng)
    if message["method"] in ("unsubscribe", "dispatchAction") and rng.random() < 0.9:
        del message["id"]
    return json.dumps(message)


INITIALIZE: Final = json.dumps(
    {
        "id": 1,
        "method": "initialize",
        "params": {"channel": ROOT, "protocolVersions": ["1.1.0"], "clientId": "c1"},
    }
)

CANVASES: Final[list[DiscoveredCanvas]] = [
    {"extensionId": "e", "canvasId": "board", "displayName": "Board", "description": "B."},
    {
        "extensionId": "e",
        "canvasId": "report",
        "displayName": "Report",
        "description": "R.",
        "inputSchema": {"type": "object", "required": ["month"]},
    },
]


class Model:
    """A host whose sessions do at once whatever the core asks for."""

    def __init__(self) -> None:
        self.core = HostCore(server={"name": "host"}, agent=("a", "A"))
        self.core.add_session(
            session_id="s1", title="S", working_directory="/w", created="2026-11-30T12:00:00Z"
        )
        self.core.note_registry("s1", CANVASES, has_backing=True)
        self.live: set[str] = set()
        self.frames: list[Any] = []

    def settle(self) -> None:
        while effects := self.core.effects():
            for effect in effects:
                self.carry_out(effect)

    def carry_out(self, effect: object) -> None:
        match effect:
            case Send(_, frame):
                self.frames.append(json.loads(frame))
            case Open(ticket, "s1", "board", instance_id, "e"):
                self.live.add(instance_id)
                self.core.note_opened(
                    "s1", {"instanceId": instance_id, "extensionId": "e", "canvasId": "board"}
                )
                self.core.answered(ticket)
            case Close(ticket, "s1", instance_id):
                self.live.remove(instance_id)
                self.core.note_closed("s1", instance_id)
                self.core.answered(ticket)
            case Read(ticket, _, uri, _):
                self.core.refused(ticket, -32009, uri)
            case Cut(connection):
                self.core.disconnect(connection)
            case Materialize():
                pytest.fail("what is materialized was asked for again")
            case _:
                pytest.fail(f"the core asks for what no client may: {effect}")


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_client_sends_the_core_stands_and_asks_only_for_what_is_allowed(
    seed: int,
) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        feed([some_frame(rng) for _ in range(rng.randrange(40))])


def feed(frames: list[str]) -> None:
    model = Model()
    number = model.core.connect()
    model.core.receive(number, INITIALIZE)
    for frame in frames:
        model.core.receive(number, frame)
        model.settle()
    for message in model.frames:
        assert message["jsonrpc"] == "2.0"
        assert ("method" in message) != ("id" in message)
    # Everybody after that finds a host that knows what is live.
    model.frames.clear()
    other = model.core.connect()
    model.core.receive(other, INITIALIZE.replace("c1", "other"))
    ask = {"id": 2, "method": "subscribe", "params": {"channel": CHAT}}
    model.core.receive(other, json.dumps(ask))
    model.settle()
    state = model.frames[-1]["result"]["snapshot"]["state"]
    assert len(state.get("canvases", [])) == len(model.live)
    assert state["turns"] == [] and len(state["canvasRegistry"]["extensions"]) == 1


async def test_rubbish_on_the_socket_takes_nobody_down_and_reaches_no_provider() -> None:
    rng = random.Random(6)
    async with hosted(desk := Desk()) as it:
        witness = await it.client(desk.chat, id="witness")
        client = await it.client(desk.chat)
        for _ in range(200):
            data = rng.randbytes(rng.randrange(200))
            if rng.random() < 0.5:
                await client.socket.send_bytes(data)
            else:
                await client.send(data.decode("latin-1"))
        batch = [{"jsonrpc": "2.0", "id": 1, "method": "openCanvas", "params": {}}] * 100
        await client.send(json.dumps(batch))
        frames = await client.idle()
        assert {frame["error"]["code"] for frame in frames} == {-32700, -32600}
        assert all(frame["id"] is None for frame in frames)
        assert await witness.idle() == []
        assert desk.calls == []


@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        (b"x" * (2 * 1024 * 1024), WSMsgType.TEXT, 1009),
        (b"\xff\xfe", WSMsgType.TEXT, 1007),
        (b"", 3, 1002),
    ],
    ids=["too large", "no UTF-8", "no such opcode"],
)
async def test_what_is_no_websocket_frame_ends_that_connection_only(
    data: bytes, kind: Any, code: int
) -> None:
    async with hosted(desk := Desk()) as it:
        witness, client = await it.client(id="witness"), await it.client()
        await client.socket._writer.send_frame(data, kind)
        assert await client.wait_closed() == code
        assert await witness.idle() == []
        assert await witness.subscribe(desk.chat)
        assert desk.calls == []


async def test_more_requests_at_once_than_anybody_needs_are_refused() -> None:
    async with hosted(desk := Desk()) as it:
        client = await it.client()
        desk.gate.clear()
        params = {"channel": "ahp-canvas:/x", "chat": CHAT, "extensionId": EXTENSION}
        for number in range(300):
            message = {
                "id": number,
                "method": "openCanvas",
                "params": {**params, "canvasId": "board"},
            }
            await client.send(json.dumps(message))
        frames = await client.idle()
        assert len(frames) == 300 - 256
        assert {frame["error"]["message"] for frame in frames} == {"too many requests at once"}
        desk.gate.set()
        for _ in range(256):
            assert (await client.take())["result"] is None
        assert len(desk.calls) == 1
