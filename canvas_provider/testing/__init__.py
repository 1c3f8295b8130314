"""For tests of canvases: both users of a canvas in one process, without a socket or a browser.

from canvas_provider.testing import open_canvas

async def test_the_agent_moves_a_card():
    async with open_canvas(kanban, input={}) as panel:
        card = await panel.person.add_card(title="Ship it")
        await panel.agent.move_card(card_id=card["id"], column="done")
        assert panel.state["cards"][0]["column"] == "done"
"""

from canvas_provider.testing.asgi import StreamingASGITransport
from canvas_provider.testing.events import PageEvent, PageEvents
from canvas_provider.testing.panel import Panel, User, open_canvas

__all__ = ["PageEvent", "PageEvents", "Panel", "StreamingASGITransport", "User", "open_canvas"]
