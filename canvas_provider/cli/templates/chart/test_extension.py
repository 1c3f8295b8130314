"""The chart as the agent and the page use it: no Copilot, no browser, no socket."""

import pytest
from canvas_provider import CanvasError
from canvas_provider.testing import open_canvas

from extension import canvas

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_person_corrects_what_the_agent_drew() -> None:
    async with open_canvas(canvas) as panel:
        points = [{"label": "cold", "value": 560}, {"label": "warm", "value": 110}]
        await panel.agent.draw(title="Start-up", unit="ms", points=points)
        await panel.person.set_point(label="warm", value=85.5)
        assert panel.state["points"][1] == {"label": "warm", "value": 85.5}
        assert panel.revision == 2


async def test_a_label_is_there_once() -> None:
    async with open_canvas(canvas) as panel:
        points = [{"label": "cold", "value": 1}, {"label": "cold", "value": 2}]
        with pytest.raises(CanvasError, match="cold"):
            await panel.agent.draw(title="Start-up", points=points)
        assert panel.revision == 0
