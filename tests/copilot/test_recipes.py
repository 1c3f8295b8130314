"""Two recipes in the real Copilot CLI: a button that asks the agent, and a picture that it sees."""

from pathlib import Path

import httpx
import pytest

from canvas_provider.testing import CopilotCLI, ScriptedModel, ToolCall

pytestmark = pytest.mark.copilot

RECIPES = Path(__file__).parents[2] / "docs" / "examples"


async def test_the_agent_answers_the_button_and_looks_at_the_picture(cli: CopilotCLI) -> None:
    for name in ("orb", "picture"):
        cli.install(RECIPES / name)
    model = ScriptedModel(
        [ToolCall.open("orb", "orb"), ToolCall.open("picture", "picture")],
        "Both are open.",
        ToolCall.invoke("orb", "set_color", {"color": "#1a7f37", "mood": "calm"}),
        ToolCall.invoke("picture", "look"),
        "It is calm, and the picture is white.",
    )
    async with model:
        session = await cli.create_session(model)
        await session.ask("Open the orb and the picture.")
        urls = {shown["instanceId"]: shown["url"] for shown in await session.open_instances()}
        # What the button on the page sends.
        async with httpx.AsyncClient(trust_env=False) as page:
            answer = await page.post(f"{urls['orb']}actions/ask", json={})
        assert answer.is_success, answer.text
        await session.wait_for("assistant.message", lambda data: "calm" in str(data["content"]))
    asked = model.requests[2]
    assert "show it on the orb with set_color (instance orb)" in asked.prompt
    assert "The picture, in 1 colours." in model.tool_results[-1]
