"""Tools and commands on the real CLI: what the model reads, what the person is told."""

from pathlib import Path
from typing import Any

import pytest

from canvas_provider.testing import CopilotCLI, ScriptedModel, ToolCall
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

EXTENSION = """
import base64
from typing import Annotated
from canvas_provider import CanvasError, CommandContext, ToolContext, ToolResult, command, run, tool
from canvas_provider.canvas.results import Image

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

@tool
async def count_words(text: Annotated[str, "What to count"], least: int = 1) -> int:
    "Count the words of a text."
    return max(len(text.split()), least)

@tool(skip_permission=True)
def where(ctx: ToolContext) -> dict[str, object]:
    "Tell where it works."
    return {"folder": ctx.working_directory, "arguments": ctx.arguments}

@tool
async def draw() -> ToolResult:
    "Draw a dot."
    return ToolResult("A dot.", images=[Image(DOT, description="the dot")], session_log="drawn")

@tool
async def fail() -> ToolResult:
    "Fail."
    return ToolResult("It is locked.", failed=True)

@tool
async def refuse() -> None:
    "Refuse."
    raise CanvasError("locked", "There is no card 7.")

@tool
async def break_down() -> None:
    "Break down."
    raise ValueError("it is hunter")

@tool
async def interrupt() -> None:
    "Interrupt."
    raise KeyboardInterrupt

@command
async def deploy(ctx: CommandContext) -> None:
    "Deploy to a stage."
    if ctx.args == "nowhere":
        raise CanvasError("no_stage", "There is no such stage.")
    if ctx.args == "broken":
        raise ValueError("it is hunter")
    await ctx.session.log(f"deployed to {ctx.args} by {ctx.command}")

run(tools=[count_words, where, draw, fail, refuse, break_down, interrupt], commands=[deploy])
"""


async def test_the_model_and_the_person_read_what_tools_and_commands_say(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    cli.install(write_extension(tmp_path, "helper", EXTENSION))
    model = ScriptedModel(
        ToolCall("count_words", {"text": "one two three"}),
        ToolCall("count_words", {"text": 1, "most": 2}),
        ToolCall("where"),
        ToolCall("draw"),
        ToolCall("fail"),
        ToolCall("refuse"),
        ToolCall("break_down"),
        ToolCall("interrupt"),
        "Done.",
    )
    async with model:
        session = await cli.create_session(model)
        await session.ask("Help.")

    assert model.tools["count_words"]["description"] == "Count the words of a text."
    assert model.tools["count_words"]["parameters"]["required"] == ["text"]
    counted, misfit, place, drawn, failed, refused, broken, interrupted = model.tool_results
    assert counted == "3"
    assert "/text: must be a string" in misfit
    assert "/most: is not a field" in misfit
    assert place == f'{{"folder":"{cli.project}","arguments":{{}}}}'
    assert drawn == "A dot."
    (picture,) = model.requests[-1].images
    assert picture.startswith("data:image/png;base64,iVBORw0KGgo")
    assert failed == "It is locked."
    assert refused == "There is no card 7."
    assert broken.startswith('The tool "break_down" failed unexpectedly.')
    assert broken.split()[-1].strip(".") in cli.log()
    # It has not ended the extension: the commands below are answered.
    assert interrupted.startswith('The tool "interrupt" failed unexpectedly.')
    completed: list[Any] = session.data_of("tool.execution_complete")
    outcomes = [data["success"] for data in completed]
    assert outcomes == [True, False, True, True, False, False, False, False]
    assert completed[3]["result"]["detailedContent"] == "drawn"
    # Its load was approved once; its calls are not asked for.
    asked = [request.get("toolName", request["kind"]) for request in session.permission_requests]
    assert asked[:2] == ["extension-permission-access", "count_words"]
    assert "where" not in asked

    async def execute(args: str) -> Any:
        return await session.request(
            "session.commands.execute", {"commandName": "deploy", "args": args}
        )

    assert await execute("a  b") == {}
    assert "deployed to a  b by /deploy a  b" in str(session.data_of("session.info"))
    assert await execute("nowhere") == {"error": "There is no such stage."}
    down = await execute("broken")
    assert down["error"].startswith('The command "/deploy" failed unexpectedly.')
    assert "hunter" not in broken and "hunter" not in down["error"]
