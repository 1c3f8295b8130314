"""The board as the agent and the page use it: no Copilot, no browser, no socket."""

import pytest
from canvas_provider import CanvasError
from canvas_provider.testing import open_canvas

from extension import canvas

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_agent_moves_a_task_that_a_person_added() -> None:
    async with open_canvas(canvas) as panel:
        task = await panel.person.add_task(title="Ship it")
        await panel.agent.move_task(task_id=task["id"], column="done")
        assert panel.state["tasks"] == [{"id": "task-1", "title": "Ship it", "column": "done"}]
        assert panel.revision == 2


async def test_a_task_that_is_not_there_is_named() -> None:
    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError, match="There is no task 'task-9'"):
            await panel.agent.delete_task(task_id="task-9")
        assert panel.revision == 0
