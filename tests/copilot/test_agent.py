"""A whole turn of the real CLI: what the model is told, and what it reads back."""

import json
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.testing import CopilotCLI, ModelRequest, ScriptedModel, ToolCall
from tests.support.extension import KANBAN, write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]


async def test_a_model_works_on_the_board_and_reads_our_errors(cli: CopilotCLI) -> None:
    cli.install(KANBAN)

    def move(request: ModelRequest) -> ToolCall:
        card = json.loads(request.tool_results[-1])["result"]
        return ToolCall.invoke("board", "move_card", {"cardId": card["id"], "columnId": "done"})

    model = ScriptedModel(
        ToolCall.open("agentic-kanban", "board"),
        ToolCall.invoke("board", "get_board"),
        ToolCall.invoke("board", "add_card", {"title": "Ship it"}),
        move,
        ToolCall.invoke("board", "move_card", {"cardId": "card-9", "columnId": "done"}),
        ToolCall.invoke("board", "move_card", {"cardId": "card-1", "columnId": 7}),
        "It is on the board.",
    )
    async with model:
        session = await cli.create_session(model)
        assert await session.ask("Plan the release on the board.") == "It is on the board."

    opened, board, added, moved, missing, misfit = model.tool_results
    assert "<id>agentic-kanban</id>" in model.system_prompt
    assert json.loads(opened)["title"] == "Agentic Kanban"
    assert len(json.loads(board)["result"]) == 3
    assert json.loads(added)["result"]["id"].startswith("card-")
    assert json.loads(moved)["result"]["columnId"] == "done"
    assert "There is no card 'card-9'" in missing
    assert "columnId" in misfit


ANSWERS = """
from typing import Literal
from canvas_provider import CanvasError, ToolResult, create_canvas, run

canvas = create_canvas(id="answers", display_name="Answers", description="Every kind of answer.")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)

@canvas.action
async def count(number: int) -> dict[str, int]:
    "Count on."
    return {"next": number + 1}

@canvas.action
async def rest(hours: int = 8) -> int:
    "Rest for a while."
    return hours

@canvas.action
async def refuse() -> None:
    "Refuse on purpose."
    raise CanvasError("not_today", "Not today: try tomorrow.")

@canvas.action
async def break_down() -> None:
    "Fail by accident."
    raise ZeroDivisionError("the secret is hunter2")

@canvas.action
async def draw() -> ToolResult:
    "Draw a picture."
    return ToolResult("One dot.", images=[PIXEL])

@canvas.action
async def tell() -> ToolResult:
    "Tell a story."
    return ToolResult("Once upon a time.")

@canvas.action
async def give_up() -> ToolResult:
    "Give up."
    return ToolResult("It cannot be done.", failed=True)

if __name__ == "__main__":
    run(canvas)
"""

FAILED = (
    "Canvas operation failed: Request session.canvas.action.invoke failed with message: {message}"
)


async def test_the_model_reads_what_the_docs_promise_for_every_kind_of_answer(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    cli.install(write_extension(tmp_path, "answers", ANSWERS))

    def invoke(action: str, **input: Any) -> ToolCall:
        return ToolCall.invoke("one", action, input or None)

    model = ScriptedModel(
        ToolCall.capabilities("answers"),
        ToolCall.open("answers", "one"),
        invoke("count", number=1),
        invoke("rest"),
        invoke("count", number="one"),
        invoke("refuse"),
        invoke("break_down"),
        invoke("draw"),
        invoke("tell"),
        invoke("give_up"),
        "That was all.",
    )
    async with model:
        session = await cli.create_session(model)
        await session.ask("Try everything.")

    assert {"list_canvas_capabilities", "open_canvas", "invoke_canvas_action"} <= set(model.tools)
    told, opened, counted, rested, misfit, refused, broken, drawn, story, given_up = (
        model.tool_results
    )
    actions = {action["name"]: action for action in json.loads(told)["actions"]}
    assert actions["count"]["description"] == "Count on."
    assert actions["count"]["inputSchema"]["properties"]["number"]["type"] == "integer"
    assert actions["rest"]["inputSchema"]["type"] == ["object", "null"]
    assert "inputSchema" not in actions["refuse"]
    assert json.loads(opened)["url"].startswith("http://127.0.0.1:")
    assert json.loads(counted) == {"result": {"next": 2}}
    assert json.loads(rested) == {"result": 8}
    assert 'Invalid input for action "count" on canvas "answers": /number' in misfit
    assert refused == FAILED.format(message="Not today: try tomorrow.")
    assert broken.startswith(FAILED.format(message=""))
    assert "hunter2" not in broken and "ZeroDivision" not in broken
    assert drawn == "One dot."
    (picture,) = model.requests[-1].images
    assert picture.startswith("data:image/png;base64,iVBORw0KGgo")
    assert story == "Once upon a time."
    assert given_up == "It cannot be done."
    outcomes = [data["success"] for data in session.data_of("tool.execution_complete")]
    assert outcomes == [True] * 4 + [False] * 3 + [True, True, False]
    # Copilot asks its user for each call but the list of capabilities.
    asked = [request["toolName"] for request in session.permission_requests]
    assert asked == ["open_canvas"] + ["invoke_canvas_action"] * 8
