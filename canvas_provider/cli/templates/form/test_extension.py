"""The form as the agent and the page use it: no Copilot, no browser, no socket."""

import pytest
from canvas_provider import CanvasError
from canvas_provider.testing import open_canvas

from extension import canvas

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_person_sends_what_the_agent_prepared() -> None:
    async with open_canvas(canvas) as panel:
        await panel.agent.fill_in(kind="problem", details="The door squeaks.")
        await panel.person.fill_in(name="Ana", email="ana@example.org")
        await panel.person.send()
        assert (await panel.agent.get_form())["sent"] is True


async def test_what_is_missing_is_named_and_nothing_is_sent() -> None:
    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError, match="name, email"):
            await panel.agent.fill_in(details="The door squeaks.")
            await panel.person.send()
        assert panel.state["sent"] is False
