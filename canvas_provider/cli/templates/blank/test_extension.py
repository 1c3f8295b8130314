"""The canvas as the agent and the page use it: no Copilot, no browser, no socket."""

import pytest
from canvas_provider.testing import open_canvas

from extension import canvas

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_agent_reads_what_a_person_wrote() -> None:
    async with open_canvas(canvas) as panel:
        await panel.person.set_text(text="Hello\nthere")
        assert await panel.agent.get_text() == "Hello\nthere"
        assert panel.revision == 1
