"""For tests of canvases.

`open_canvas` has both users of a canvas in one process, without a socket or a browser:

    async with open_canvas(kanban, input={}) as panel:
        card = await panel.person.add_card(title="Ship it")
        await panel.agent.move_card(card_id=card["id"], column="done")
        assert panel.state["cards"][0]["column"] == "done"

`CopilotCLI` is the real Copilot, offline, with a `ScriptedModel` for an agent:

    model = ScriptedModel(ToolCall.open("kanban", "board"), "The board is open.")
    async with model, CopilotCLI() as copilot:
        copilot.install("extension.py")
        session = await copilot.create_session(model)
        assert await session.ask("Open the board.") == "The board is open."
"""

from canvas_provider.host.copilot_binary import CopilotCLINotFound, find_copilot_cli
from canvas_provider.host.script import ModelRequest, ScriptError, Step, ToolCall
from canvas_provider.host.scripted_model import ScriptedModel
from canvas_provider.testing.asgi import StreamingASGITransport
from canvas_provider.testing.copilot_cli import CopilotCLI
from canvas_provider.testing.copilot_session import CLISession, TurnError
from canvas_provider.testing.events import PageEvent, PageEvents
from canvas_provider.testing.panel import Panel, User, open_canvas
from canvas_provider.testing.timeline import Timeline, TimelineLine

__all__ = [
    "CLISession",
    "CopilotCLI",
    "CopilotCLINotFound",
    "ModelRequest",
    "PageEvent",
    "PageEvents",
    "Panel",
    "ScriptError",
    "ScriptedModel",
    "Step",
    "StreamingASGITransport",
    "Timeline",
    "TimelineLine",
    "ToolCall",
    "TurnError",
    "User",
    "find_copilot_cli",
    "open_canvas",
]
