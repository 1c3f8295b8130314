"""Talking to the agent of the real CLI: each thing that `session` can, seen from its other side."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.testing import CopilotCLI, ModelRequest, ScriptedModel, ToolCall
from canvas_provider.types import JSONObject, JSONValue
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

TALKER = """
import asyncio
import sys
from typing import Any

from canvas_provider import CanvasContext, CanvasProviderError, create_canvas, join_session
from canvas_provider.errors import RemoteError, TurnFailed

canvas = create_canvas(id="talker", display_name="Talker", description="Talks.")
heard = []
replies = {}

@canvas.action
async def refresh(ctx: CanvasContext, times: int) -> list[str]:
    return await asyncio.gather(
        *(ctx.session.send("Refresh.", dedupe="refresh") for _ in range(times))
    )

@canvas.action
def send(ctx: CanvasContext, prompt: str, options: dict[str, Any]) -> str:
    return ctx.run(ctx.session.send(prompt, **options))

@canvas.action
async def ask_in_handler(ctx: CanvasContext) -> str:
    try:
        await ctx.session.send_and_wait("Deadlock?")
    except CanvasProviderError as error:
        return str(error)
    return "no error"

@canvas.action
async def ask(ctx: CanvasContext, prompt: str) -> None:
    questions.put_nowait(prompt)

@canvas.action
async def reply_to(ctx: CanvasContext, prompt: str) -> str | None:
    return replies.get(prompt)

@canvas.action
async def log(ctx: CanvasContext) -> list[str]:
    return [
        await ctx.session.log("plain"),
        await ctx.session.log("careful", level="warning", url="https://example.com/x"),
        await ctx.session.log("gone", level="error", ephemeral=True),
    ]

@canvas.action
async def events(ctx: CanvasContext) -> list[str]:
    return heard

@canvas.action
async def messages(ctx: CanvasContext) -> list[str]:
    kept = await ctx.session.messages()
    return [event["data"]["content"] for event in kept if event["type"] == "user.message"]

@canvas.action
async def confirm(ctx: CanvasContext) -> bool | str:
    try:
        return await ctx.session.ui.confirm("Deploy?")
    except CanvasProviderError as error:
        return type(error).__name__

@canvas.action
async def fill(ctx: CanvasContext) -> list[Any]:
    ui = ctx.session.ui
    return [await ui.select("Which?", ["a", "b"]), await ui.input("Name?", min_length=1)]

@canvas.action
async def offer(ctx: CanvasContext) -> None:
    await ctx.session.send_attachments(
        [{"type": "extension_context", "title": "Card", "payload": {"id": 7}}]
    )

@canvas.action
async def abort(ctx: CanvasContext) -> None:
    await ctx.session.abort()

@canvas.action
async def rpc(ctx: CanvasContext, method: str, params: dict[str, Any]) -> Any:
    try:
        return await ctx.session.rpc(method, params)
    except RemoteError as error:
        return error.message

@canvas.action
async def extensions(ctx: CanvasContext) -> list[str]:
    return [each["id"] for each in await ctx.session.extensions.list()]

@canvas.action
async def set_model(ctx: CanvasContext, model: str) -> str:
    return (await ctx.session.set_model(model))["modelId"]

@canvas.action
async def reload(ctx: CanvasContext) -> None:
    await ctx.session.extensions.reload()

async def main() -> None:
    global questions
    questions = asyncio.Queue()
    session = await join_session(canvases=[canvas])
    session.on("assistant.message", lambda event: heard.append(event["data"]["content"]))

    async def answer():
        while True:
            prompt = await questions.get()
            try:
                message = await session.send_and_wait(prompt)
                replies[prompt] = None if message is None else message["data"]["content"]
            except TurnFailed as error:
                replies[prompt] = f"{error.kind}: {error}"
            await session.log(f"replied to {prompt}", ephemeral=True)

    answering = asyncio.create_task(answer())
    await session.wait_closed()
    answering.cancel()

asyncio.run(main())
"""


DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def install(cli: CopilotCLI, folder: Path) -> None:
    cli.install(write_extension(folder, "talker", TALKER))


def prompts_of(model: ScriptedModel) -> list[str]:
    """The last user message of each request, without what the CLI adds to it."""
    found = []
    for request in model.requests:
        texts = [str(each["content"]) for each in request.messages if each["role"] == "user"]
        found.append(texts[-1])
    return found


async def test_prompts_turns_events_and_the_rest_reach_the_agent_and_come_back(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    install(cli, tmp_path)
    model = ScriptedModel(
        ToolCall.invoke("t", "refresh", {"times": 5}),
        "Asked for.",
        "Refreshed.",
        "Refreshed again.",
        "Listened.",
        "It is four.",
    )
    async with model:
        session = await cli.create_session(model)
        await session.wait_listed("talker")
        await session.open("talker", "t")

        # Five clicks in a turn make one prompt, which is the next turn.
        await session.ask("Click five times.")
        ids = json.loads(model.requests[1].tool_results[-1])["result"]
        assert len(set(ids)) == 1
        sent = [data for data in session.data_of("user.message") if data["content"] == "Refresh."]
        assert [data["messageId"] for data in sent] == ids[:1]
        assert [data["delivery"] for data in sent] == ["queued"]
        again = await session.invoke("t", "refresh", {"times": 1})
        assert again != ids[:1]
        await session.wait_for("user.message", lambda data: data.get("messageId") == again[0])
        await session.wait_for("session.idle")

        # Out of a thread, with every kind of attachment and another text for the timeline.
        attachments = make_attachments(cli.project)
        options: JSONObject = {"attachments": attachments, "display_prompt": "Look."}
        await session.invoke("t", "send", {"prompt": "Look at it.", "options": options})
        await session.wait_for("assistant.message", lambda data: data["content"] == "Listened.")
        told = prompts_of(model)[-1]
        assert "Look at it." in told
        assert '<extension_context extensionId="project:talker" canvasId="talker"' in told
        assert "<payload>{&quot;id&quot;:7}</payload>" in told
        assert f"* {cli.project}/note.txt (3 lines)" in told
        assert f"* {cli.project}/docs (0 items)" in told
        assert "text selected in their IDE" in told
        assert "note.txt (line 2)" in told
        assert model.requests[-1].images == [f"data:image/png;base64,{DOT}"]
        await session.wait_for("session.idle")

        # Waiting for the agent: from a task, not from a handler.
        refused = await session.invoke("t", "ask_in_handler")
        assert "would wait for itself" in refused
        await session.invoke("t", "ask", {"prompt": "Two and two?"})
        await session.wait_for(
            "session.info", lambda data: data["message"] == "replied to Two and two?"
        )
        assert await session.invoke("t", "reply_to", {"prompt": "Two and two?"}) == "It is four."

        assert await session.invoke("t", "events") == [
            "",
            "Asked for.",
            "Refreshed.",
            "Refreshed again.",
            "Listened.",
            "It is four.",
        ]
        assert await session.invoke("t", "messages") == [
            "Click five times.",
            "Refresh.",
            "Refresh.",
            "Look.",
            "Two and two?",
        ]
        await check_the_rest(session)


def make_attachments(project: Path) -> list[JSONValue]:
    """Put into the project what they point to, and return one of each kind."""
    note, docs = project / "note.txt", project / "docs"
    note.write_text("The first line.\nThe second.\n", encoding="utf-8")
    docs.mkdir()
    place: JSONObject = {
        "start": {"line": 1, "character": 0},
        "end": {"line": 1, "character": 11},
    }
    return [
        {"type": "extension_context", "title": "Card", "payload": {"id": 7}},
        {"type": "file", "path": str(note)},
        {"type": "directory", "path": str(docs)},
        {
            "type": "selection",
            "filePath": str(note),
            "displayName": "note.txt",
            "text": "The second.",
            "selection": place,
        },
        {"type": "blob", "data": DOT, "mimeType": "image/png", "displayName": "dot.png"},
    ]


async def check_the_rest(session: Any) -> None:
    """What needs no agent: the timeline, attachments, extensions, the model, any method."""
    ids = await session.invoke("t", "log")
    logged = [event for event in session.events if event.get("id") in ids]
    assert [event["type"] for event in logged] == [
        "session.info",
        "session.warning",
        "session.error",
    ]
    assert [event.get("ephemeral", False) for event in logged] == [False, False, True]
    assert logged[1]["data"]["url"] == "https://example.com/x"

    await session.invoke("t", "offer")
    (pushed,) = session.data_of("session.extensions.attachments_pushed")
    (attachment,) = pushed["attachments"]
    assert attachment["payload"] == {"id": 7}
    assert attachment["instanceId"] == "t"

    assert await session.invoke("t", "confirm") == "Unsupported"
    assert await session.invoke("t", "extensions") == ["project:talker"]
    assert await session.invoke("t", "set_model", {"model": "gpt-4"}) == "gpt-4"
    plain = {"method": "name.set", "params": {"name": "Mine"}}
    assert await session.invoke("t", "rpc", plain) is None
    named = await session.invoke("t", "rpc", {"method": "session.name.get", "params": {}})
    assert named["name"] == "Mine"
    unknown = await session.invoke("t", "rpc", {"method": "no.such", "params": {}})
    assert "session.no.such" in unknown

    (before,) = await session.extensions()
    with pytest.raises(RemoteError, match="connection closed|is closing"):
        await session.invoke("t", "reload")
    await session.wait_for("session.canvas.unavailable")
    await session.wait_for("session.canvas.opened")
    (after,) = await session.extensions()
    assert after["status"] == "running"
    assert after["pid"] != before["pid"]


class OutOfOrderError(Exception):
    """What the model's script is told to fail with."""


async def test_an_abort_and_an_error_end_the_turn_that_is_waited_for(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    install(cli, tmp_path)
    asked, forever = asyncio.Event(), asyncio.Event()

    async def think(request: ModelRequest) -> str:
        asked.set()
        await forever.wait()
        return "Too late."

    def fail(request: ModelRequest) -> str:
        raise OutOfOrderError("The model is out of order.")

    with pytest.raises(OutOfOrderError):
        async with ScriptedModel(think, fail) as model:
            session = await cli.create_session(model)
            await session.wait_listed("talker")
            await session.open("talker", "t")
            await session.invoke("t", "ask", {"prompt": "Think."})
            async with asyncio.timeout(20):
                await asked.wait()
            await session.invoke("t", "abort")
            await session.wait_for(
                "session.info", lambda data: data["message"] == "replied to Think."
            )
            assert await session.invoke("t", "reply_to", {"prompt": "Think."}) is None
            (idle,) = session.data_of("session.idle")
            assert idle["aborted"] is True
            forever.set()
            await session.invoke("t", "ask", {"prompt": "Fail."})
            await session.wait_for(
                "session.info", lambda data: data["message"] == "replied to Fail."
            )
            said = await session.invoke("t", "reply_to", {"prompt": "Fail."})
            assert said.startswith("query: ")
            assert "out of order" in said


async def test_an_immediate_prompt_steers_the_turn(cli: CopilotCLI, tmp_path: Path) -> None:
    install(cli, tmp_path)
    steer: JSONObject = {"prompt": "Use the other one.", "options": {"mode": "immediate"}}
    model = ScriptedModel(ToolCall.invoke("t", "send", steer), "Steered.")
    async with model:
        session = await cli.create_session(model)
        await session.wait_listed("talker")
        await session.open("talker", "t")
        assert await session.ask("Take one.") == "Steered."
        delivered = [data["delivery"] for data in session.data_of("user.message")]
        assert delivered == ["idle", "steering"]
        assert "Use the other one." in model.requests[1].prompt


async def test_a_host_with_dialogs_answers_them(cli: CopilotCLI, tmp_path: Path) -> None:
    install(cli, tmp_path)
    answers: list[JSONObject] = [
        {"action": "accept", "content": {"confirmed": True}},
        {"action": "decline"},
        {"action": "accept", "content": {"selection": "b"}},
        {"action": "accept", "content": {"value": "Ada"}},
    ]
    session = await cli.create_session(on_elicitation=lambda asked: answers.pop(0))
    await session.wait_listed("talker")
    await session.open("talker", "t")
    assert await session.invoke("t", "confirm") is True
    assert await session.invoke("t", "confirm") is False
    assert await session.invoke("t", "fill") == ["b", "Ada"]
