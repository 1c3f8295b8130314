"""The remembered traffic: pairs, durations, bounds."""

import json
from typing import Literal

from canvas_provider.host.link import Message
from canvas_provider.host.traffic import Entry, TrafficLog
from canvas_provider.types import JSONObject


def message(
    direction: Literal["in", "out"], extension_id: str = "project:f", **fields: object
) -> Message:
    return Message(extension_id, direction, json.dumps(fields).encode())


def record(log: TrafficLog, message: Message, now: float) -> Entry:
    entry = log.record(message, now)
    assert entry is not None
    return entry


def test_an_answer_has_the_method_of_its_request_and_the_time_between() -> None:
    log = TrafficLog()
    log.record(message("out", id=3, method="canvas.open", params={"instanceId": "one"}), 10.0)
    answer = record(log, message("in", id=3, result={}), 10.5)
    assert answer.describe() == {
        "number": 2,
        "time": 10.5,
        "extensionId": "project:f",
        "direction": "in",
        "kind": "result",
        "method": "canvas.open",
        "id": 3,
        "duration": 0.5,
        "instanceId": "one",
        "pair": 1,
        "summary": "",
        "size": len(answer.body),
    }
    assert log.find(2) is answer


def test_both_sides_may_use_one_id_at_once() -> None:
    log = TrafficLog()
    log.record(message("out", id=0, method="canvas.open"), 1.0)
    log.record(message("in", id=0, method="session.log"), 2.0)
    log.record(message("in", id=0, method="session.send", extension_id="project:g"), 3.0)
    ours = record(log, message("in", id=0, error={"message": "no"}), 4.0)
    theirs = record(log, message("out", id=0, result=1), 5.0)
    assert (ours.kind, ours.method, ours.duration, ours.summary) == (
        "error",
        "canvas.open",
        3.0,
        "no",
    )
    assert (theirs.kind, theirs.method, theirs.duration) == ("result", "session.log", 3.0)


def test_a_new_connection_is_not_paired_with_the_old_one() -> None:
    log = TrafficLog()
    log.record(message("out", id=0, method="canvas.open"), 1.0)
    log.forget_pending("project:f")
    stray = record(log, message("in", id=0, result=1), 9.0)
    assert (stray.method, stray.duration, stray.pair) == ("", None, None)


def test_a_summary_says_what_a_message_is_about() -> None:
    log = TrafficLog()
    params: JSONObject = {"canvasId": "b", "instanceId": "one", "actionName": "move"}
    event: JSONObject = {"event": {"type": "session.canvas.opened"}}
    invoke = record(log, message("out", id=1, method="canvas.action.invoke", params=params), 0)
    opened = record(log, message("out", method="session.event", params=event), 0)
    assert (invoke.kind, invoke.summary) == ("request", "b · one · move")
    assert (opened.kind, opened.summary) == ("notification", "session.canvas.opened")


def test_what_only_the_development_host_asks_is_left_out() -> None:
    """Copilot says nothing of it."""
    log = TrafficLog()
    assert log.record(message("out", id=1, method="canvas_provider.history"), 0) is None
    assert log.record(message("in", id=1, result={}), 0) is None
    assert record(log, message("out", id=2, method="canvas.open"), 0).number == 1


def test_an_event_belongs_to_the_instance_that_it_is_about() -> None:
    log = TrafficLog()
    event: JSONObject = {"type": "session.canvas.opened", "data": {"instanceId": "one"}}
    told = record(log, message("out", method="session.event", params={"event": event}), 0)
    assert told.instance_id == "one"


def test_whatever_passes_is_recorded() -> None:
    log = TrafficLog()
    for body in (b"\xff", b"[1]", b"{}", b'{"id": [], "result": 1}', b'{"error": 5, "id": true}'):
        log.record(Message("project:f", "in", body), 0)
    assert [entry.kind for entry in log.entries] == [
        "invalid",
        "invalid",
        "invalid",
        "result",
        "error",
    ]


def test_the_oldest_go_first_when_there_are_too_many_or_too_much() -> None:
    log = TrafficLog(max_entries=3, max_bytes=200)
    for number in range(5):
        log.record(message("in", method="m", params={"message": str(number)}), 0)
    assert [entry.number for entry in log.entries] == [3, 4, 5]
    log.record(message("in", method="m", params={"message": "x" * 190}), 0)
    assert [entry.number for entry in log.entries] == [6]
    assert log.find(5) is None
