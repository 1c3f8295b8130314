"""Closing, going away, coming back and the end: on both runtimes, rule by rule.

The numbers are those of docs/reference/protocol-copilot.md.
"""

import asyncio
import time
from typing import Final, cast

import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.protocol.copilot import CanvasEvent
from canvas_provider.types import JSONObject
from tests.contracts.conftest import Start
from tests.support.copilot import until
from tests.support.hosts import (
    Host,
    canvas_events,
    refusal_of,
    wait_event,
    wait_listed,
    wait_open,
    wait_status,
)
from tests.support.puppets import canvas

pytestmark = pytest.mark.process

OPEN: Final = "Request session.canvas.open failed with message: "
INVOKE: Final = "Request session.canvas.action.invoke failed with message: "

RELOAD_GRACE: Final = 5.0
DISCONNECT_GRACE: Final = 1.0


def about(host: Host, instance_id: str) -> list[str]:
    """The kinds of the events about an instance."""
    return [kind for kind, data in canvas_events(host) if data.get("instanceId") == instance_id]


async def start_again(host: Host) -> None:
    """Reload, and wait until every puppet has joined once more."""
    joined = {puppet: len(puppet.notes("joined")) for puppet in host.puppets.values()}
    await host.reload()
    for puppet, count in joined.items():
        await puppet.wait_noted("joined", count + 1)


# 5. Close, reload, crash, resume.


async def test_5_1_a_close_asks_the_provider_and_then_tells_twice(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    await host.close("i")
    reference = {"extensionId": "project:a", "canvasId": "v", "instanceId": "i"}
    await wait_event(host, "removed", "i")
    told = [data for kind, data in canvas_events(host, "closed", "removed")]
    assert told == [reference, reference]
    assert about(host, "i") == ["opened", "recorded", "closed", "removed"]
    assert len(host.puppets["a"].calls("canvas.close", "i")) == 1
    # What was closed is opened like anything new.
    await host.open("v", "i")
    await wait_event(host, "recorded", "i", 2)


async def test_5_1_an_instance_whose_provider_is_gone_can_be_closed(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    await host.open("v", "j")
    host.puppets["a"].kill()
    await wait_event(host, "unavailable", "i")
    await host.close("i")
    assert about(host, "i") == ["opened", "recorded", "unavailable", "closed", "removed"]
    await start_again(host)
    await wait_open(host, "j")
    assert host.puppets["a"].calls("canvas.close", "i") == []


async def test_5_2_only_an_explicit_close_is_told_to_the_provider(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    puppet = host.puppets["a"]
    await host.open("v", "i")
    await host.open("v", "closed")
    await host.close("closed")
    await start_again(host)
    await wait_open(host, "i")
    puppet.kill()
    await wait_event(host, "unavailable", "i", 2)
    await start_again(host)
    await wait_open(host, "i")
    await host.resume_cold()
    await puppet.wait_noted("joined", 4)
    await wait_open(host, "i")
    await host.aclose()
    await until(lambda: not puppet.is_running, 10, lambda: "it still runs")
    assert [call["instanceId"] for call in puppet.notes("canvas.close")] == ["closed"]


async def test_5_3_a_provider_that_is_gone_takes_its_canvases_and_leaves_its_instances(
    start: Start,
) -> None:
    host = await start(
        a={"canvases": [canvas("v")]},
        b={"canvases": [canvas("w")]},
    )
    await host.open("v", "i")
    await host.open("v", "j")
    await host.open("w", "other")
    before = len(canvas_events(host))
    host.puppets["a"].kill()
    await wait_status(host, "a", "failed")
    await wait_listed(host, "w")
    await wait_open(host, "other")
    told = canvas_events(host)[before:]
    assert sorted(str(data.get("instanceId")) for _, data in told[:2]) == ["i", "j"]
    assert [kind for kind, _ in told] == ["unavailable", "unavailable", "registry_changed"]
    listed = cast(list[JSONObject], told[-1][1]["canvases"])
    assert [each["canvasId"] for each in listed] == ["w"]
    assert await refusal_of(host.invoke("i", "echo")) == (
        f'{INVOKE}Canvas instance "i" cannot be reached: its owning provider "project:a" is not '
        "connected. Re-issue open_canvas to rehydrate."
    )
    assert await refusal_of(host.open("v", "i")) == f'{OPEN}No canvas "v" is registered.'
    assert len(host.puppets["a"].notes("start")) == 1


async def test_5_4_a_provider_that_returns_has_its_instances_opened_with_the_latest_input(
    start: Start,
) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i", {"n": 1})
    await host.open("v", "i", {"n": 2})
    await host.open("v", "bare")
    await host.open("v", "away")
    host.puppets["a"].kill()
    await wait_event(host, "unavailable", "away")
    await host.close("away")
    await start_again(host)
    await wait_open(host, "i", "bare")
    puppet = host.puppets["a"]
    assert puppet.inputs("i") == [{"n": 1}, {"n": 2}, {"n": 2}]
    assert puppet.inputs("bare") == ["absent", "absent"]
    assert puppet.inputs("away") == ["absent"]
    await wait_event(host, "opened", "i", 3)
    assert about(host, "i") == ["opened", "recorded", "opened", "unavailable", "opened"]


async def test_5_4_instances_are_opened_before_the_answer_to_the_join_which_waits_for_none(
    start: Start,
) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    puppet = host.puppets["a"]
    waiting = {"wait": "go"}
    opening = asyncio.ensure_future(host.open("v", "i", cast(JSONObject, waiting)))
    await host.open("v", "j")
    await puppet.wait_until(lambda: puppet.inputs("i") != [])
    await host.invoke("j", "release", {"for": "go"})
    await opening
    await start_again(host)
    # The new process has forgotten that it may go.
    await puppet.wait_until(lambda: len(puppet.inputs("i")) == 2)
    await wait_open(host, "j")
    await puppet.wait_noted("joined", 2)
    assert sorted(puppet.names()[:3]) == ["canvas.open", "canvas.open", "joined"]
    assert puppet.names()[2] == "joined"
    await host.invoke("j", "release", {"for": "go"})
    await wait_open(host, "i", "j")


async def test_5_5_a_restore_that_fails_is_silent_and_tried_again(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    puppet = host.puppets["a"]
    puppet.get_well()
    await host.open("v", "i", {"error": "not now"})
    await host.open("v", "j")
    puppet.fall_ill()
    await start_again(host)
    await puppet.wait_until(lambda: len(puppet.inputs("i")) == 2)
    await wait_open(host, "j")
    assert about(host, "i") == ["opened", "recorded", "unavailable"]
    # It is nevertheless asked.
    assert await host.invoke("i", "echo", 1) == 1
    puppet.get_well()
    await start_again(host)
    await wait_open(host, "i", "j")


async def test_5_5_input_that_no_longer_fits_is_silently_not_sent(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    puppet = host.puppets["a"]
    await host.open("v", "i", {"n": 1})
    await host.open("v", "j", {"n": "text"})
    newer: JSONObject = {"properties": {"n": {"type": "string"}}}
    puppet.configure({"canvases": [canvas("v", inputSchema=newer)]})
    await start_again(host)
    await wait_open(host, "j")
    assert len(puppet.inputs("i")) == 1
    assert about(host, "i") == ["opened", "recorded", "unavailable"]


@pytest.mark.parametrize("kill", [False, True], ids=["quit", "killed"])
async def test_5_6_a_cold_resume_opens_with_the_input_that_was_recorded_first(
    start: Start, kill: bool
) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    puppet = host.puppets["a"]
    await host.open("v", "i", {"n": 1})
    await host.open("v", "i", {"n": 99})
    await host.open("v", "bare")
    # 5.7: with this, Copilot keeps the session. Ours keeps it from the first open on.
    await host.open("v", "gone")
    await host.close("gone")
    await host.resume_cold(kill=kill)
    await puppet.wait_noted("joined", 2)
    await wait_open(host, "i", "bare")
    assert puppet.inputs("i") == [{"n": 1}, {"n": 99}, {"n": 1}]
    assert puppet.inputs("bare") == ["absent", "absent"]
    assert puppet.inputs("gone") == ["absent"]
    shown = {each["instanceId"]: each for each in await host.open_instances()}
    assert shown["i"]["input"] == {"n": 1}
    # What was restored is not recorded once more.
    await wait_event(host, "opened", "i")
    assert canvas_events(host, "recorded") == []


async def test_5_7_a_session_in_which_nothing_happened_but_an_open(start: Start) -> None:
    """On purpose different: without a turn or a close, Copilot forgets such a session.

    Ours has no turns, and whoever develops wants to go on where they were.
    """
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    if host.kind == "copilot":
        with pytest.raises(RemoteError, match="Session not found"):
            await host.resume_cold()
        await host.start()
    else:
        await host.resume_cold()
        await wait_open(host, "i")


async def test_5_8_what_is_recorded_and_removed_is_kept_and_the_rest_passes(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i", {"n": 1})
    await host.open("v", "j")
    await host.close("j")
    host.puppets["a"].kill()
    await wait_event(host, "unavailable", "i")
    await until(lambda: canvas_events(host)[-1][0] == "registry_changed", 10, lambda: "no event")
    kept = {CanvasEvent.RECORDED, CanvasEvent.REMOVED}
    seen = [event for event in host.events() if event["type"].startswith("session.canvas.")]
    assert {event["type"] for event in seen} == set(CanvasEvent)
    assert all(event.get("ephemeral", False) is (event["type"] not in kept) for event in seen)
    [first, _] = [data for kind, data in canvas_events(host, "recorded")]
    assert first == {
        "extensionId": "project:a",
        "canvasId": "v",
        "instanceId": "i",
        "title": "V",
        "input": {"n": 1},
    }


async def test_5_9_an_extension_may_have_itself_started_again(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    asking = asyncio.ensure_future(
        host.invoke("i", "call", {"method": "session.extensions.reload"})
    )
    await host.puppets["a"].wait_noted("joined", 2)
    await wait_open(host, "i")
    # Its own call ends with the process that asked.
    await asyncio.gather(asking, return_exceptions=True)
    assert await host.invoke("i", "echo", 1) == 1


# 10. Shutdown.


async def test_10_sigterm_comes_over_a_connection_that_works(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")], "sigterm": "leave"})
    puppet = host.puppets["a"]
    began = time.monotonic()
    await start_again(host)
    assert time.monotonic() - began < RELOAD_GRACE
    assert (puppet.notes("SIGTERM"), puppet.notes("answered")) == ([None], [True])


async def test_10_who_does_not_end_is_killed_after_5_s_at_a_reload_and_1_s_at_the_end(
    start: Start,
) -> None:
    host = await start(a={"canvases": [canvas("v")], "sigterm": "stay"})
    puppet = host.puppets["a"]
    first = puppet.pid
    await start_again(host)
    assert puppet.pid != first
    [asked], [_, again] = puppet.times("SIGTERM"), puppet.times("start")
    assert again - asked > RELOAD_GRACE - 0.5
    assert puppet.notes("closed") == []
    began = time.monotonic()
    await host.aclose()
    await until(lambda: not puppet.is_running, 10, lambda: "it still runs")
    assert DISCONNECT_GRACE - 0.5 < time.monotonic() - began < RELOAD_GRACE
    assert len(puppet.notes("SIGTERM")) == 2
