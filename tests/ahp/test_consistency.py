"""Whatever happens in whatever order, whoever follows the host has its state. Sans-IO."""

import json
import random
from typing import Any, Final

import pytest

from canvas_provider.ahp.hosting.core import HostCore
from canvas_provider.ahp.hosting.effect import Close, Cut, Open, Send
from canvas_provider.ahp.hosting.journal import Journal
from canvas_provider.ahp.hosting.outbox import Outbox
from canvas_provider.ahp.reducers import reduce
from canvas_provider.protocol.copilot import DiscoveredCanvas, OpenCanvas

ROOT: Final = "ahp-root://"
CHAT: Final = "ahp-chat:/s1"
SUBSCRIBE: Final = 10

TYPES: Final[list[DiscoveredCanvas]] = [
    {"extensionId": "e", "canvasId": name, "displayName": name, "description": ""}
    for name in ("board", "notes")
]


class Follower:
    """A client that keeps a mirror, and whose line is as slow and as bad as the test wants."""

    def __init__(self, world: "World", id: str, version: str) -> None:
        self.world = world
        self.id = id
        self.states: dict[str, Any] = {}
        self.seq = 0
        self.outbox = Outbox(lag=3)
        self.number = 0
        self.version = version
        self.begin()

    def begin(self) -> None:
        subscriptions = [ROOT, CHAT]
        self.connect(
            "initialize", protocolVersions=[self.version], initialSubscriptions=subscriptions
        )

    def connect(self, method: str, **params: Any) -> None:
        self.number = self.world.core.connect()
        self.world.followers[self.number] = self
        self.ask(1, method, channel=ROOT, clientId=self.id, **params)

    def ask(self, id: int, method: str, **params: Any) -> None:
        message = {"id": id, "method": method, "params": params}
        self.world.core.receive(self.number, json.dumps(message))

    def lose_the_line(self) -> None:
        """Lose what is under way, too; then come back with what was seen."""
        del self.world.followers[self.number]
        self.world.core.disconnect(self.number)
        self.outbox.clear()
        self.forget_unanswered()
        if CHAT in self.states:
            subscriptions = [*self.states]
            self.connect("reconnect", lastSeenServerSeq=self.seq, subscriptions=subscriptions)
        else:
            self.begin()

    def take(self, frames: int) -> None:
        for _ in range(frames):
            if (frame := self.outbox.take()) is None:
                return
            message = json.loads(frame)
            if "method" in message:
                self.apply(message["params"])
            else:
                self.note(message)

    def note(self, answer: Any) -> None:
        if "error" in answer and answer["id"] == SUBSCRIBE:
            self.forget_unanswered()
        result = answer.get("result") or {}
        snapshots = result.get("snapshots", [])
        if "snapshot" in result:
            snapshots = [result["snapshot"]]
        if result.get("type") == "snapshot":
            self.states = {}
        for uri in result.get("missing", []):
            # Dropped, and asked for anew if the chat still has it.
            self.states.pop(uri, None)
        for snapshot in snapshots:
            self.states[snapshot["resource"]] = snapshot["state"]
            self.seq = max(self.seq, snapshot["fromSeq"], result.get("serverSeq", 0))
        for envelope in result.get("actions", []):
            self.apply(envelope)
        self.follow()

    def forget_unanswered(self) -> None:
        """Forget channels of which there is no state yet."""
        self.states = {uri: state for uri, state in self.states.items() if state}

    def apply(self, envelope: Any) -> None:
        channel = envelope["channel"]
        self.seq = max(self.seq, envelope["serverSeq"])
        if channel in self.states and "rejectionReason" not in envelope:
            self.states[channel] = reduce(channel, self.states[channel], envelope["action"])
            self.follow()

    def follow(self) -> None:
        """Subscribe to what the chat lists, and forget what it does not."""
        listed = {each["resource"] for each in self.states.get(CHAT, {}).get("canvases", [])}
        for uri in listed - self.states.keys():
            self.states[uri] = {}
            self.ask(SUBSCRIBE, "subscribe", channel=uri)
        for uri in [uri for uri in self.states if uri.startswith("ahp-canvas")]:
            if uri not in listed:
                del self.states[uri]
                self.world.core.receive(
                    self.number,
                    json.dumps({"method": "unsubscribe", "params": {"channel": uri}}),
                )


class World:
    """A session in which anything can happen."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.core = HostCore(
            server={"name": "h"}, agent=("a", "A"), journal=Journal(max_entries=12)
        )
        self.core.add_session(
            session_id="s1", title="S", working_directory="/w", created="2026-11-30T12:00:00Z"
        )
        self.open: dict[str, OpenCanvas] = {}
        self.followers: dict[int, Follower] = {}
        self.count = 0

    def show(self, instance_id: str, canvas_id: str) -> None:
        self.count += 1
        known = self.open.get(instance_id)
        instance: OpenCanvas = {
            "instanceId": instance_id,
            "extensionId": "e",
            "canvasId": known["canvasId"] if known else canvas_id,
            "title": f"t{self.count}",
            "url": f"http://127.0.0.1:1/{self.count}/",
        }
        self.open[instance_id] = instance
        self.core.note_opened("s1", instance)

    def happen(self) -> None:
        rng = self.rng
        names = [*self.open] or ["i0"]
        match rng.randrange(7):
            case 0 | 1:
                self.show(f"i{rng.randrange(4)}", rng.choice(["board", "notes"]))
            case 2:
                self.show(rng.choice(names), "board")
            case 3:
                name = rng.choice(names)
                self.open.pop(name, None)
                self.core.note_closed("s1", name)
            case 4:
                self.core.note_unavailable("s1", rng.choice(names))
            case 5:
                types = rng.choice([None, [], TYPES[:1], TYPES])
                self.core.note_registry("s1", types, has_backing=True)
            case 6:
                follower = rng.choice([*self.followers.values()])
                uri = f"ahp-canvas:/{rng.randrange(3)}"
                opening = {"chat": CHAT, "extensionId": "e", "canvasId": "board"}
                method = rng.choice(["openCanvas", "disposeCanvas"])
                follower.ask(3, method, channel=uri, **opening)

    def settle(self) -> None:
        while effects := self.core.effects():
            for effect in effects:
                self.carry_out(effect)

    def carry_out(self, effect: object) -> None:
        match effect:
            case Send(number, frame, key):
                if number in self.followers:
                    assert self.followers[number].outbox.put(frame, key)
            case Open(ticket, _, canvas_id, instance_id, _):
                self.show(instance_id, canvas_id)
                self.core.answered(ticket)
            case Close(ticket, _, instance_id):
                self.open.pop(instance_id, None)
                self.core.note_closed("s1", instance_id)
                self.core.answered(ticket)
            case Cut(number):
                pytest.fail(f"{number} was cut")


@pytest.mark.parametrize("seed", range(40))
def test_every_follower_ends_with_the_state_of_the_host(seed: int) -> None:
    rng = random.Random(seed)
    world = World(rng)
    followers = [Follower(world, f"c{n}", v) for n, v in enumerate(["1.1.0", "1.1.0", "1.0.0"])]
    for _ in range(150):
        world.happen()
        world.settle()
        for follower in followers:
            if rng.random() < 0.05:
                follower.lose_the_line()
            follower.take(rng.choice([0, 0, 1, 5]))
            world.settle()
    while any(len(follower.outbox) for follower in followers):
        for follower in followers:
            follower.take(100)
        world.settle()
    for follower, version in zip(followers, ["1.1.0", "1.1.0", "1.0.0"], strict=True):
        truth = Follower(world, f"truth of {follower.id}", version)
        world.settle()
        while len(truth.outbox):
            truth.take(100)
            world.settle()
        assert follower.states == truth.states
    listed = followers[0].states[CHAT].get("canvases", [])
    assert len(listed) == len(world.open)
