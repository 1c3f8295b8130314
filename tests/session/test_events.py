"""Events of the session: who hears them, and that nothing in them can hurt."""

import asyncio
import gc
import json
import logging
import random
from typing import Any

import pytest

from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.events import BACKLOG, Events, warn_of_unknown
from canvas_provider.session.turn import Turn
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import Connection, Invalid, Request
from canvas_provider.wire.framing import encode_frame


def event(kind: str, **data: JSONValue) -> JSONObject:
    """A whole notification, in the order of Copilot CLI 1.0.102."""
    inner: JSONObject = {"type": kind, "data": data, "id": "e1", "parentId": None}
    params: JSONObject = {"sessionId": "s-1", "event": inner}
    return {"jsonrpc": "2.0", "method": "session.event", "params": params}


def body(message: JSONObject) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def ignore(said: SessionEvent) -> None:
    """A listener that does nothing."""


def test_an_event_that_nobody_listens_to_is_not_parsed() -> None:
    parsed: list[bytes] = []

    def loads(raw: bytes) -> JSONValue:
        parsed.append(raw)
        value: JSONValue = json.loads(raw)
        return value

    events = Events()
    stop = events.on("session.idle", ignore)
    connection = Connection(loads=loads, ignores=events.ignores)
    wanted, unwanted = body(event("session.idle")), body(event("system.message", content="x" * 9))
    connection.receive_data(encode_frame(unwanted) + encode_frame(wanted + b"\n"))
    assert parsed == [wanted + b"\n"]
    stop()
    connection.receive_data(encode_frame(wanted))
    assert len(parsed) == 1
    events.on("*", ignore)
    connection.receive_data(encode_frame(unwanted))
    assert parsed[1:] == [unwanted]


def test_a_function_that_listens_twice_is_stopped_once_per_stop() -> None:
    heard: list[SessionEvent] = []
    events = Events()
    stop, stop_other = events.on("session.idle", heard.append), events.on("*", heard.append)
    again = events.on("session.idle", heard.append)
    for _ in range(2):
        stop()
        stop_other()
    events.tell({"event": {"type": "session.idle", "data": {}}})
    assert len(heard) == 1
    again()
    assert events.ignores(body(event("session.idle")))


def test_no_request_is_ever_taken_for_an_event_in_whatever_order_its_members_come() -> None:
    """Property test: every order, whitespace, and ids and parameters that look like an event."""
    randomly = random.Random(4)
    events = Events()
    seen = 0
    for _ in range(3000):
        message: dict[str, Any] = event("system.message", deep={"a": {"b": {"c": {}}}})
        message["id"] = randomly.choice([0, 7, "}}}", 'x","event":{"type":"y"}}}', "session.event"])
        if randomly.random() < 0.5:
            message["method"] = randomly.choice(["canvas.open", "session.event"])
        members = list(message.items())
        randomly.shuffle(members)
        spaces = randomly.choice([(",", ":"), (", ", ": ")])
        raw = json.dumps(dict(members), separators=spaces).encode() + randomly.choice([b"", b"\n"])
        connection = Connection(ignores=events.ignores)
        connection.receive_data(encode_frame(raw))
        (found,) = connection.events_received()
        assert isinstance(found, Request)
        assert found.id == message["id"]
        seen += 1
    assert seen == 3000


def test_what_is_no_event_by_its_first_bytes_is_read_and_judged() -> None:
    events = Events()
    connection = Connection(ignores=events.ignores)
    whole = body(event("system.message"))
    connection.receive_data(encode_frame(whole[:-1]))
    (found,) = connection.events_received()
    assert isinstance(found, Invalid)


def test_events_with_anything_missing_or_wrong_reach_a_listener_whole_or_not_at_all() -> None:
    """Property test: each key gone, or of each other type, at every place."""
    randomly = random.Random(7)
    junk: list[JSONValue] = [None, True, 0, 1.5, "", "x", [], [1], {}, {"type": 3}, {"ui": []}]
    kinds = ["capabilities.changed", "model.x"]
    kinds.extend(Turn.KINDS)
    heard: list[SessionEvent] = []
    events = Events()
    events.on("*", heard.append)

    async def run() -> None:
        turns = [Turn() for _ in range(3)]
        turns[0].accept("m1")
        for turn in turns:
            for each in Turn.KINDS:
                events.on(each, turn.hear)
        for _ in range(5000):
            kind = randomly.choice(kinds)
            message = event(kind, content="x", messageId="m1", mode="interactive", ui={"a": True})
            params = message["params"]
            assert isinstance(params, dict)
            _damage(params, junk, randomly)
            events.tell(params)
            turns[2].accept("m1")

    asyncio.run(run())
    assert len(heard) > 1000
    for said in heard:
        assert isinstance(said["type"], str)
        assert isinstance(said["data"], dict)
        assert isinstance(said.get("id", ""), str)
        assert isinstance(said.get("parentId"), str | None)


def _damage(value: dict[str, Any], junk: list[JSONValue], randomly: random.Random) -> None:
    """Drop or replace one member, at any depth, and sometimes add one."""
    name = randomly.choice(list(value))
    inner = value[name]
    if isinstance(inner, dict) and inner and randomly.random() < 0.8:
        _damage(inner, junk, randomly)
    elif randomly.random() < 0.3:
        del value[name]
    else:
        value[name] = randomly.choice(junk)
    if randomly.random() < 0.2:
        value["new"] = randomly.choice(junk)


async def test_a_stream_gives_the_events_it_was_made_for_and_ends_with_the_session() -> None:
    events = Events()
    stream = events.stream(("session.info", "session.idle"))
    for kind in ("session.info", "session.warning", "session.idle"):
        events.tell(event(kind)["params"])
    events.end()
    assert [said["type"] async for said in stream] == ["session.info", "session.idle"]
    assert [said async for said in events.stream(("session.info",))] == []


async def test_a_stream_wakes_up_whoever_waits_for_it() -> None:
    events = Events()
    with events.stream(()) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)  # noqa: TID251  # one step: it waits now
        events.tell(event("model.x")["params"])
        async with asyncio.timeout(5):
            assert (await waiting)["type"] == "model.x"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_stream_that_nobody_holds_any_more_keeps_no_events() -> None:
    events = Events()
    stream = events.stream(("session.idle",))
    assert not events.ignores(body(event("session.idle")))
    del stream
    gc.collect()
    assert events.ignores(body(event("session.idle")))


async def test_a_stream_that_is_read_too_slowly_drops_the_oldest_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = Events()
    stream = events.stream(("session.info",))
    for number in range(BACKLOG + 3):
        events.tell(event("session.info", number=number)["params"])
    events.end()
    numbers = [said["data"]["number"] async for said in stream]
    assert numbers == list(range(3, BACKLOG + 3))
    assert caplog.text.count("read too slowly") == 1


def test_a_misspelt_name_is_logged_with_the_nearest_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_unknown(("session.idle", "*", "model.call_start2", "assistant.mesage"))
    (record,) = caplog.records
    assert "'assistant.mesage'; did you mean 'assistant.message'?" in record.message
