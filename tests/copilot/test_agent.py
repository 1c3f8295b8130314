"""A whole turn of the real CLI: what the model is told, and what it reads back."""

import json
from typing import Any

import pytest

from tests.support.copilot_cli import CopilotCLI
from tests.support.extension import KANBAN, install
from tests.support.model import scripted_model

pytestmark = [pytest.mark.copilot, pytest.mark.process]


async def test_a_model_works_on_the_board_and_reads_our_errors(cli: CopilotCLI) -> None:
    install(KANBAN, cli.project)

    def invoke(action: str, input: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        arguments = {"instanceId": "board", "actionName": action, "input": input}
        return "invoke_canvas_action", arguments

    async with scripted_model(
        # Models send null for "nothing", as the description of the tool tells them.
        ("open_canvas", {"canvasId": "agentic-kanban", "instanceId": "board", "input": None}),
        invoke("get_board", None),
        invoke("add_card", {"title": "Ship it"}),
        invoke("move_card", {"cardId": "card-1", "columnId": "done"}),
        invoke("move_card", {"cardId": "card-9", "columnId": "done"}),
        invoke("move_card", {"cardId": "card-1", "columnId": 7}),
    ) as model:
        session = await cli.create_session(model.url)
        await session.wait_listed("agentic-kanban")
        await session.turn("Plan the release on the board.")

    opened, board, added, moved, missing, misfit = model.tool_results
    assert "<id>agentic-kanban</id>" in model.system_prompt
    assert json.loads(opened)["title"] == "Agentic Kanban"
    assert len(json.loads(board)["result"]) == 3
    assert json.loads(added)["result"]["id"] == "card-1"
    assert json.loads(moved)["result"]["columnId"] == "done"
    assert "There is no card 'card-9'" in missing
    assert "columnId" in misfit
