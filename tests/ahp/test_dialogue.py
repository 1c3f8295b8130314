"""The client's core against hosts that make no sense: whatever they send, it goes on."""

import json
import random
from typing import Any

from canvas_provider.ahp.change import Change
from canvas_provider.ahp.dialogue import Dialogue
from canvas_provider.ahp.event import Answered, Ready
from canvas_provider.protocol.ahp import ROOT, Method
from tests.support.ahp_host import (
    CANVAS,
    CHAT,
    SESSION,
    canvas_state,
    canvases_changed,
    chat_state,
    root_state,
    snapshot,
    state_changed,
)

CHANNELS = [ROOT, CHAT, CANVAS, SESSION, "ahp-canvas:/other", "x", ""]

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [{}],
    {"resource": CHAT},
]


class Nonsense:
    """Messages that are nearly right, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, *values: Any) -> Any:
        """One of them, and once in a while something odd."""
        return self._random.choice(ODD if self._random.random() < 0.1 else values)

    def number(self) -> Any:
        return self.choose(self._random.randrange(40))

    def action(self) -> Any:
        return self.choose(
            canvases_changed(*self._random.sample(CHANNELS, 3)),
            state_changed(str(self.number())),
            {"type": "session/chatAdded", "summary": {"resource": self.choose(CHAT)}},
            {"type": "session/chatRemoved", "chat": self.choose(CHAT)},
            {"type": "chat/canvasRegistryChanged", "canvasRegistry": self.choose({})},
            {"type": self.choose("x")},
        )

    def envelope(self) -> Any:
        envelope = {
            "channel": self.choose(*CHANNELS),
            "action": self.action(),
            "serverSeq": self.number(),
        }
        if self._random.random() < 0.2:
            envelope["origin"] = self.choose({"clientId": "c", "clientSeq": self.number()})
            envelope["rejectionReason"] = self.choose("no")
        return envelope

    def snapshot(self) -> Any:
        state = self.choose(root_state(), canvas_state(), chat_state(*CHANNELS[:4]))
        return self.choose(snapshot(self.choose(*CHANNELS), state, self.number()))

    def result(self) -> Any:
        many = range(self._random.randrange(4))
        return self.choose(
            {"snapshot": self.snapshot()},
            {
                "protocolVersion": self.choose("1.1.0"),
                "serverSeq": self.number(),
                "snapshots": self.choose([self.snapshot() for _ in many]),
            },
            {
                "type": self.choose("replay"),
                "actions": self.choose([self.envelope() for _ in many]),
                "missing": self.choose(CHANNELS[:3]),
            },
            {"type": "snapshot", "snapshots": self.choose([self.snapshot() for _ in many])},
        )

    def message(self, last_id: int) -> Any:
        id = self.choose(self._random.randrange(last_id + 2))
        return self.choose(
            {"method": "action", "params": self.choose(self.envelope())},
            {"method": "action", "params": self.envelope()},
            {"id": id, "result": self.result()},
            {"id": id, "error": {"code": self.choose(-32008), "message": self.choose("no")}},
            {"id": id, "method": self.choose("resourceRead"), "params": self.choose({})},
            {"method": "root/sessionAdded", "params": self.choose({"channel": ROOT})},
        )


def last_id(dialogue: Dialogue, known: int) -> int:
    ids = [json.loads(text).get("id") for text in dialogue.texts_to_send()]
    return max([known, *(id for id in ids if isinstance(id, int))])


def test_no_host_brings_a_client_down() -> None:
    for seed in range(50):
        nonsense = Nonsense(seed)
        dialogue = Dialogue("c", {})
        known = 0
        for step in range(120):
            if step % 40 == 0:
                dialogue.lose()
                dialogue.begin()
            if step % 15 == 5:
                dialogue.subscribe(CHAT, follow=True)
                dialogue.forget(dialogue.subscribe(CANVAS))
                dialogue.request("x", {})
            if step % 33 == 32:
                dialogue.unsubscribe(CHAT)
            known = last_id(dialogue, known)
            dialogue.receive(json.dumps(nonsense.message(known)))
            for event in dialogue.events():
                assert not isinstance(event, Change) or event.channel in CHANNELS


def test_after_nonsense_a_host_that_makes_sense_is_understood() -> None:
    for seed in range(50):
        nonsense = Nonsense(seed)
        dialogue = Dialogue("c", {})
        dialogue.begin()
        dialogue.subscribe(CHAT, follow=True)
        known = 0
        for _ in range(60):
            known = last_id(dialogue, known)
            dialogue.receive(json.dumps(nonsense.message(known)))
        dialogue.lose()
        states = {ROOT: root_state(), CHAT: chat_state(CANVAS), CANVAS: canvas_state("At last")}
        answer_sensibly(dialogue, states)
        assert dialogue.is_ready
        id = dialogue.subscribe(CHAT, follow=True)
        answer_all(dialogue, states)
        events = dialogue.events()
        assert any(isinstance(event, Ready) for event in events)
        assert Answered(id, states[CHAT]) in events
        assert {uri: dialogue.mirror.state(uri) for uri in states} == states


def test_a_subscription_that_nobody_waits_for_leaves_nothing() -> None:
    dialogue = Dialogue("c", {})
    answer_sensibly(dialogue, {ROOT: root_state()})
    first, second = dialogue.subscribe(CANVAS), dialogue.subscribe(CANVAS)
    dialogue.forget(first)
    assert CANVAS in dialogue.mirror
    dialogue.forget(second)
    assert CANVAS not in dialogue.mirror


def answer_sensibly(dialogue: Dialogue, states: dict[str, Any]) -> None:
    """Be a host that has been started anew."""
    dialogue.begin()
    answer_all(dialogue, states)


def answer_all(dialogue: Dialogue, states: dict[str, Any]) -> None:
    while texts := dialogue.texts_to_send():
        for text in texts:
            request = json.loads(text)
            if "id" in request:
                answer = {"jsonrpc": "2.0", "id": request["id"], **answer_to(request, states)}
                dialogue.receive(json.dumps(answer))


def answer_to(request: Any, states: dict[str, Any]) -> Any:
    channel = request["params"]["channel"]
    match request["method"]:
        case Method.INITIALIZE:
            root = snapshot(ROOT, states[ROOT], 1)
            return {"result": {"protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": [root]}}
        case Method.SUBSCRIBE if channel in states:
            return {"result": {"snapshot": snapshot(channel, states[channel], 1)}}
    return {"error": {"code": -32008, "message": "no"}}
