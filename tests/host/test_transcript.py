"""What was said, from the events of a session."""

import asyncio
from typing import Any

import pytest

from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.transcript import MAX_ENTRIES, MAX_TEXT, Transcript
from canvas_provider.types import JSONObject


class Reader:
    def __init__(self) -> None:
        self.told: list[JSONObject] = []
        self.transcript = Transcript(self.told.append)

    def hear(self, kind: str, **data: Any) -> None:
        self.transcript.take({"type": kind, "data": data})

    @property
    def shown(self) -> list[JSONObject]:
        """The entries, without their numbers."""
        entries = [dict(entry) for entry in self.transcript.entries if isinstance(entry, dict)]
        for entry in entries:
            del entry["number"]
        return entries


def test_a_text_that_is_streamed_is_one_entry() -> None:
    it = Reader()
    it.hear("user.message", content="Hello", source="user")
    for part in ("Good ", "morning"):
        it.hear("assistant.message_delta", messageId="m", deltaContent=part)
    assert it.shown[1] == {"kind": "answer", "text": "Good morning", "done": False}
    it.hear("assistant.message", messageId="m", content="Good morning.")
    assert it.shown == [
        {"kind": "prompt", "text": "Hello", "source": "user"},
        {"kind": "answer", "text": "Good morning.", "done": True},
    ]
    assert [entry["number"] for entry in it.told] == [1, 2, 2, 2]


def test_a_tool_call_shows_how_it_ended() -> None:
    it = Reader()
    for call in ("a", "b"):
        it.hear("tool.execution_start", toolCallId=call, toolName="bash", arguments={"n": call})
    it.hear("tool.execution_complete", toolCallId="b", success=True, result={"content": "fine"})
    it.hear("tool.execution_complete", toolCallId="a", success=False, error={"message": "no"})
    assert [(each["status"], each["result"]) for each in it.shown] == [
        ("failed", "no"),
        ("done", "fine"),
    ]


def test_what_a_turn_leaves_unfinished_is_over_with_it() -> None:
    it = Reader()
    it.hear("assistant.turn_start")
    assert it.transcript.is_busy
    it.hear("assistant.message_delta", messageId="m", deltaContent="And")
    it.hear("tool.execution_start", toolCallId="a", toolName="bash")
    it.hear("session.idle")
    assert not it.transcript.is_busy
    assert (it.shown[0]["done"], it.shown[1]["status"]) == (True, "failed")


def test_what_a_sub_agent_says_is_not_said_to_the_person() -> None:
    it = Reader()
    for kind in ("assistant.message_delta", "assistant.message"):
        data = {"messageId": "m", "deltaContent": "x", "content": "x"}
        it.transcript.take({"type": kind, "agentId": "sub", "data": data})  # type: ignore[typeddict-item]
    assert it.shown == []


@pytest.mark.parametrize("data", [None, [], "text", {}, {"content": 1, "messageId": []}])
@pytest.mark.parametrize(
    "kind",
    [
        *("user.message", "assistant.message", "assistant.message_delta", "session.error"),
        *("tool.execution_start", "tool.execution_complete", "session.idle", "nothing.known"),
    ],
)
def test_an_event_of_any_shape_is_survived(kind: str, data: Any) -> None:
    it = Reader()
    it.transcript.take({"type": kind, "data": data})
    it.hear("user.message", content="after")
    assert it.shown[-1]["text"] == "after"


def test_it_is_bounded() -> None:
    it = Reader()
    for number in range(MAX_ENTRIES + 5):
        it.hear("user.message", content=str(number))
    assert len(it.shown) == MAX_ENTRIES
    assert it.shown[0]["text"] == "5"
    for _ in range(3):
        it.hear("assistant.message_delta", messageId="m", deltaContent="x" * MAX_TEXT)
    assert len(str(it.shown[-1]["text"])) <= 2 * MAX_TEXT


async def test_a_question_waits_for_its_answer() -> None:
    it = Reader()
    asking = asyncio.ensure_future(it.transcript.ask("permission", {"kind": "shell"}))
    await asyncio.sleep(0)  # noqa: TID251  # one step: it is asked
    assert it.shown == [{"kind": "permission", "request": {"kind": "shell"}}]
    it.transcript.answer(1, {"allow": True})
    async with asyncio.timeout(5):
        assert await asking == {"allow": True}
    assert it.shown[0]["reply"] == {"allow": True}
    for number in (1, 7):
        with pytest.raises(HostRefusal, match="Nobody waits"):
            it.transcript.answer(number, {})


async def test_a_question_stays_as_long_as_somebody_waits() -> None:
    it = Reader()
    asking = asyncio.ensure_future(it.transcript.ask("permission", {}))
    await asyncio.sleep(0)  # noqa: TID251  # one step: it is asked
    for number in range(MAX_ENTRIES + 5):
        it.hear("user.message", content=str(number))
    assert it.shown[0]["kind"] == "permission"
    assert len(it.shown) == MAX_ENTRIES
    it.transcript.answer(1, {"allow": False})
    async with asyncio.timeout(5):
        assert await asking == {"allow": False}


def test_a_tool_call_that_ends_after_its_turn_is_over_with_it() -> None:
    it = Reader()
    it.hear("tool.execution_start", toolCallId="a", toolName="bash")
    it.hear("session.idle")
    it.hear("tool.execution_complete", toolCallId="a", success=True)
    assert [entry["status"] for entry in it.shown] == ["failed"]


async def test_a_question_that_is_taken_back_is_shown_as_such() -> None:
    it = Reader()
    asking = asyncio.ensure_future(it.transcript.ask("question", {}))
    await asyncio.sleep(0)  # noqa: TID251  # one step: it is asked
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert it.shown[0]["reply"] == {"withdrawn": True}
    with pytest.raises(HostRefusal):
        it.transcript.answer(1, {})
