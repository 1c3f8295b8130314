"""Prompts to the agent: one for five clicks, and one that is waited for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider import CanvasContext, CanvasProviderError, create_canvas
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.errors import ConnectionClosed, RemoteError, TurnFailed
from canvas_provider.session.prompts import HELD, KEYS, Prompts
from canvas_provider.session.session import Session
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import EXTENSION, make_session


class Agent:
    """The runtime, whose agent does what a test says."""

    def __init__(self) -> None:
        self.sent: list[JSONObject] = []
        self.refusal: RemoteError | None = None
        self.before_the_answer: Callable[[], None] | None = None
        self.peer: Peer
        self.session: Session

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        if method != "session.send":
            return {"sessionId": "s-1"}
        self.sent.append(params)
        if self.refusal is not None:
            raise self.refusal
        if self.before_the_answer is not None:
            self.before_the_answer()
        return {"messageId": f"m{len(self.sent)}"}

    def tell(self, kind: str, **data: JSONValue) -> None:
        """Send an event."""
        params: JSONObject = {"sessionId": "s-1", "event": {"type": kind, "data": data}}
        self.peer.notify("session.event", params)

    def take_turn(self, number: int, text: str, *, delivery: str = "idle") -> None:
        """Work on one prompt up to its last word; the agent is not idle yet."""
        self.tell("user.message", messageId=f"m{number}", delivery=delivery)
        self.tell("assistant.message", content=text, originatingMessageId=f"m{number}")

    async def settle(self) -> None:
        """Wait until the session has heard everything."""
        async with asyncio.timeout(5):
            await self.session.rpc("mode.get")


@asynccontextmanager
async def agent(*canvases: Canvas) -> AsyncIterator[Agent]:
    given = canvases or (create_canvas(id="c", display_name="C", description="A canvas."),)
    ours, theirs = memory_pair()
    it = Agent()
    it.peer = Peer(theirs, on_request=it.answer)
    it.peer.start()
    it.session = make_session(given, ours)
    await it.session.join()
    try:
        yield it
    finally:
        await it.session.aclose()
        await it.peer.aclose()


async def test_send_carries_every_option_and_refuses_one_that_does_not_exist() -> None:
    async with agent() as it:
        await it.session.send(
            "Look.",
            mode="immediate",
            attachments=[{"type": "file", "path": "/a"}],
            display_prompt="…",
            agent_mode="plan",
            source="system",
            request_headers={"X-A": "1"},
        )
        assert it.sent == [
            {
                "sessionId": "s-1",
                "prompt": "Look.",
                "mode": "immediate",
                "attachments": [{"type": "file", "path": "/a"}],
                "displayPrompt": "…",
                "agentMode": "plan",
                "source": "system",
                "requestHeaders": {"X-A": "1"},
            }
        ]
        wrong: Any = {"dedup": "x"}
        with pytest.raises(TypeError, match="no option 'dedup': there are mode, attachments"):
            await it.session.send("Look.", **wrong)
        with pytest.raises(TypeError, match="set_model.. has no option 'dedup': there are reason"):
            await it.session.set_model("m", **wrong)


async def test_data_of_ours_says_where_it_comes_from() -> None:
    """Schema: else the runtime drops it; observed with Copilot CLI 1.0.102."""
    board = create_canvas(id="c", display_name="C", description="A canvas.")
    context: Any = {"type": "extension_context", "title": "Card", "payload": 7}

    @board.action
    async def tell(ctx: CanvasContext) -> None:
        await ctx.session.send("Look.", attachments=[context])

    async with agent(board) as it:
        with pytest.raises(ValueError, match='"extensionId": "project:kanban"'):
            await it.session.send("Look.", attachments=[context])
        call: JSONObject = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "c"}
        call["instanceId"] = "p"
        await it.peer.request("canvas.open", call)
        await it.peer.request("canvas.action.invoke", {**call, "actionName": "tell"})
        (sent,) = it.sent
        attachments: Any = sent["attachments"]
        assert attachments[0].pop("capturedAt").endswith("Z")
        where = {"extensionId": EXTENSION, "canvasId": "c", "instanceId": "p"}
        assert attachments == [context | where]


async def test_five_clicks_make_one_prompt_until_its_turn_is_over() -> None:
    async with agent() as it:
        clicks = [it.session.send("Refresh.", dedupe="refresh") for _ in range(5)]
        assert await asyncio.gather(*clicks) == ["m1"] * 5
        it.take_turn(1, "Fresh.")
        await it.settle()
        assert await it.session.send("Refresh.", dedupe="refresh") == "m1"
        assert await it.session.send("Other.", dedupe="other") == "m2"
        it.tell("session.idle")
        await it.settle()
        assert await it.session.send("Refresh.", dedupe="refresh") == "m3"
        assert [sent["prompt"] for sent in it.sent] == ["Refresh.", "Other.", "Refresh."]


@pytest.mark.parametrize(
    "ending",
    [
        ("session.idle", {"aborted": True}),
        ("session.error", {"errorType": "query", "message": "No model."}),
        ("user.message", {"messageId": "m9", "delivery": "queued"}),
    ],
    ids=["an abort", "an error", "the next turn"],
)
async def test_a_key_is_free_again_however_its_turn_ends(ending: tuple[str, JSONObject]) -> None:
    async with agent() as it:
        await it.session.send("Refresh.", dedupe="refresh")
        it.take_turn(1, "Fresh.")
        kind, data = ending
        it.tell(kind, **data)
        await it.settle()
        assert await it.session.send("Refresh.", dedupe="refresh") == "m2"


@pytest.mark.parametrize(
    "event",
    [
        ("user.message", {"messageId": "m9", "delivery": "steering"}),
        ("session.idle", {"mode": "autopilot"}),
        ("session.error", {}),
        ("session.error", {"originatingMessageId": "m0"}),
    ],
    ids=["steering", "autopilot", "an error of the turn before", "an error that says so"],
)
async def test_a_key_is_held_over_what_does_not_end_its_turn(event: tuple[str, JSONObject]) -> None:
    async with agent() as it:
        await it.session.send("Refresh.", dedupe="refresh")
        if event[0] != "session.error":
            it.take_turn(1, "Fresh.")
        it.tell(event[0], **event[1])
        await it.settle()
        assert await it.session.send("Refresh.", dedupe="refresh") == "m1"


async def test_an_idle_agent_of_the_turn_before_does_not_free_a_key() -> None:
    """Events that the runtime sent before it took the prompt come before its answer."""
    async with agent() as it:
        it.before_the_answer = lambda: it.tell("session.idle")
        await it.session.send("Refresh.", dedupe="refresh")
        await it.settle()
        assert await it.session.send("Refresh.", dedupe="refresh") == "m1"


async def test_a_turn_that_was_over_before_the_answer_was_read_frees_its_key() -> None:
    async with agent() as it:

        def hurry() -> None:
            it.take_turn(1, "Fresh.")
            it.tell("session.idle")

        it.before_the_answer = hurry
        await it.session.send("Refresh.", dedupe="refresh")
        it.before_the_answer = None
        assert await it.session.send("Refresh.", dedupe="refresh") == "m2"


async def test_a_refused_prompt_frees_its_key_and_everybody_learns_of_it() -> None:
    async with agent() as it:
        it.refusal = RemoteError(-32603, "no")
        clicks = [it.session.send("Refresh.", dedupe="refresh") for _ in range(3)]
        refused = await asyncio.gather(*clicks, return_exceptions=True)
        assert [str(error) for error in refused] == ["no"] * 3
        it.refusal = None
        assert await it.session.send("Refresh.", dedupe="refresh") == "m2"


async def test_a_click_that_is_cancelled_takes_no_other_with_it() -> None:
    async with agent() as it:
        first = asyncio.ensure_future(it.session.send("Refresh.", dedupe="refresh"))
        second = asyncio.ensure_future(it.session.send("Refresh.", dedupe="refresh"))
        await asyncio.sleep(0)  # noqa: TID251  # one step: both are under way
        first.cancel()
        async with asyncio.timeout(5):
            assert await second == "m1"


async def test_keys_are_given_up_after_an_hour_and_the_oldest_beyond_their_number() -> None:
    async with agent() as it:
        now = 0.0
        parts = it.session._parts
        prompts = Prompts(parts.request, parts.events, now=lambda: now)
        assert await prompts.send("x", {"dedupe": "0"}, None) == "m1"
        now = HELD - 1
        assert await prompts.send("x", {"dedupe": "0"}, None) == "m1"
        now = HELD
        assert await prompts.send("x", {"dedupe": "0"}, None) == "m2"
        for number in range(1, KEYS + 1):
            await prompts.send("x", {"dedupe": str(number)}, None)
        assert await prompts.send("x", {"dedupe": str(KEYS)}, None) == f"m{KEYS + 2}"
        assert await prompts.send("x", {"dedupe": "0"}, None) == f"m{KEYS + 3}"
        prompts.end()
        assert set(parts.events._listeners) == {"capabilities.changed"}


@pytest.mark.parametrize("cause", ["time", "number"])
async def test_who_waits_for_a_turn_learns_of_its_end_although_its_key_was_given_up(
    cause: str,
) -> None:
    async with agent() as it, asyncio.timeout(5):
        now = 0.0
        parts = it.session._parts
        prompts = Prompts(parts.request, parts.events, now=lambda: now)
        clicks = [
            asyncio.ensure_future(prompts.send_and_wait("x", {"dedupe": "0"}, None, None))
            for _ in range(2)
        ]
        await it.settle()
        if cause == "time":
            now = HELD
            assert await prompts.send("x", {"dedupe": "0"}, None) == "m2"
        else:
            for number in range(1, KEYS + 1):
                await prompts.send("x", {"dedupe": str(number)}, None)
        it.take_turn(1, "Done.")
        it.tell("session.idle")
        replies = await asyncio.gather(*clicks)
        assert [reply and reply["data"]["content"] for reply in replies] == ["Done."] * 2
        prompts.end()
        assert set(parts.events._listeners) == {"capabilities.changed"}


async def test_two_panels_hold_two_keys() -> None:
    board = create_canvas(id="c", display_name="C", description="A canvas.")

    @board.action
    async def refresh(ctx: CanvasContext) -> str:
        return await ctx.session.send("Refresh.", dedupe="refresh")

    async with agent(board) as it:
        call: JSONObject = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "c"}
        got: list[JSONValue] = []
        for panel in ("p1", "p2"):
            await it.peer.request("canvas.open", {**call, "instanceId": panel})
        for panel in ("p1", "p2", "p1"):
            params: JSONObject = {**call, "instanceId": panel, "actionName": "refresh"}
            got.append(await it.peer.request("canvas.action.invoke", params))
        assert got == ["m1", "m2", "m1"]


async def test_send_and_wait_returns_the_last_message_of_its_own_turn() -> None:
    async with agent() as it:
        waiting = asyncio.ensure_future(it.session.send_and_wait("Second."))
        await it.settle()
        it.take_turn(0, "First.")
        it.take_turn(1, "Working on it.", delivery="queued")
        it.tell("assistant.message", content="Done.", originatingMessageId="m1")
        params: JSONObject = {"content": "A helper's.", "originatingMessageId": "m1"}
        event: JSONObject = {"type": "assistant.message", "data": params, "agentId": "a"}
        it.peer.notify("session.event", {"sessionId": "s-1", "event": event})
        it.take_turn(2, "Third.", delivery="queued")
        async with asyncio.timeout(5):
            reply = await waiting
        assert reply is not None
        assert reply["data"]["content"] == "Done."


async def test_send_and_wait_of_a_turn_without_a_word_is_none() -> None:
    async with agent() as it:
        waiting = asyncio.ensure_future(it.session.send_and_wait("Go."))
        await it.settle()
        it.tell("user.message", messageId="m1")
        it.tell("session.idle", aborted=True)
        async with asyncio.timeout(5):
            assert await waiting is None


async def test_send_and_wait_raises_what_ended_the_turn() -> None:
    async with agent() as it:
        waiting = asyncio.ensure_future(it.session.send_and_wait("Go."))
        await it.settle()
        it.tell("session.error", errorType="quota", message="No.", originatingMessageId="m0")
        it.tell("session.error", errorType="quota", message="No quota.", originatingMessageId="m1")
        async with asyncio.timeout(5):
            with pytest.raises(TurnFailed, match=r"No quota\.") as caught:
                await waiting
        assert caught.value.kind == "quota"


async def test_send_and_wait_is_bounded_and_lets_go_of_the_turn() -> None:
    async with agent() as it:
        with pytest.raises(TimeoutError, match="not over after 0.01 s; it goes on"):
            await it.session.send_and_wait("Go.", timeout=0.01)
        assert set(it.session._parts.events._listeners) == {"capabilities.changed"}


async def test_send_and_wait_ends_with_the_session() -> None:
    async with agent() as it:
        waiting = asyncio.ensure_future(it.session.send_and_wait("Go.", timeout=None))
        keyed = asyncio.ensure_future(it.session.send_and_wait("Go.", dedupe="k"))
        await it.settle()
        await it.session.aclose()
        async with asyncio.timeout(5):
            for each in (waiting, keyed):
                with pytest.raises(ConnectionClosed):
                    await each


async def test_send_and_wait_of_a_key_under_way_waits_for_its_turn() -> None:
    async with agent() as it:
        await it.session.send("Go.", dedupe="k")
        waiting = asyncio.ensure_future(it.session.send_and_wait("Go.", dedupe="k"))
        await it.settle()
        it.take_turn(1, "Gone.")
        it.tell("session.idle")
        async with asyncio.timeout(5):
            reply = await waiting
        assert reply is not None
        assert (reply["data"]["content"], len(it.sent)) == ("Gone.", 1)


async def test_send_and_wait_inside_a_handler_is_refused_before_anything_is_sent() -> None:
    refusals: list[str] = []
    later: list[asyncio.Task[Any]] = []
    board = create_canvas(id="c", display_name="C", description="A canvas.")

    async def ask(ctx: CanvasContext) -> None:
        try:
            await ctx.session.send_and_wait("Go.")
        except CanvasProviderError as error:
            refusals.append(str(error))

    @board.on_open
    async def opened(ctx: CanvasContext) -> None:
        await ask(ctx)

    @board.on_close
    async def closed(ctx: CanvasContext) -> None:
        await ask(ctx)

    @board.action
    async def act(ctx: CanvasContext) -> None:
        await asyncio.gather(ask(ctx), ask(ctx))

    @board.action
    def act_in_a_thread(ctx: CanvasContext) -> None:
        ctx.run(ask(ctx))

    @board.action
    async def start(ctx: CanvasContext) -> None:
        may = asyncio.Event()

        async def ask_later() -> None:
            await may.wait()
            await ctx.session.send_and_wait("Later.")

        later.append(asyncio.ensure_future(ask_later()))
        asyncio.get_running_loop().call_later(0, may.set)

    async with agent(board) as it:
        call: JSONObject = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "c"}
        call["instanceId"] = "p"
        await it.peer.request("canvas.open", call)
        for name in ("act", "act_in_a_thread"):
            await it.peer.request("canvas.action.invoke", {**call, "actionName": name})
        assert len(refusals) == 4
        assert "inside on_open would wait for itself" in refusals[0]
        assert "inside an action would wait for itself" in refusals[3]
        assert it.sent == []
        await it.peer.request("canvas.action.invoke", {**call, "actionName": "start"})
        await it.settle()
        it.take_turn(1, "Yes.")
        it.tell("session.idle")
        async with asyncio.timeout(5):
            await later[0]
        assert [sent["prompt"] for sent in it.sent] == ["Later."]
        await it.peer.request("canvas.close", call)
        assert len(refusals) == 5
