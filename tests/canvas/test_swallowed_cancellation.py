"""A handler that takes no notice of its time being up: it is answered, and commits nothing."""

import asyncio
from typing import Any, Literal

import pytest

from canvas_provider import Canvas, CanvasContext, CanvasError, create_canvas
from canvas_provider.testing import open_canvas


async def out_of_time() -> None:
    """Wait until the cancellation comes, and swallow it."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 5)
    except asyncio.CancelledError:
        return


@pytest.fixture
def canvas() -> Canvas:
    canvas = create_canvas(id="c", display_name="C", description="Stubborn.", state=dict)

    @canvas.action(timeout=0.02)
    async def injected(state: dict[str, Any]) -> str:
        """Write, and go on."""
        state["n"] = 1
        await out_of_time()
        return "done"

    @canvas.action(timeout=0.02)
    async def block(ctx: CanvasContext, where: Literal["around", "after"]) -> str:
        """Write in a block that is open when the time is up, or begun after it."""
        if where == "after":
            await out_of_time()
        async with ctx.state.change() as state:
            state["n"] = 1
            if where == "around":
                await out_of_time()
        return "done"

    @canvas.action(timeout=0.02)
    async def nothing() -> str:
        """Write nothing, and go on."""
        await out_of_time()
        return "done"

    return canvas


@pytest.mark.parametrize(
    ("action", "input"),
    [
        ("injected", {}),
        ("block", {"where": "around"}),
        ("block", {"where": "after"}),
        ("nothing", {}),
    ],
)
@pytest.mark.parametrize("caller", ["agent", "person"])
async def test_its_time_is_up_all_the_same(
    canvas: Canvas, action: str, input: Any, caller: str
) -> None:
    async with open_canvas(canvas) as panel:
        with pytest.raises(CanvasError, match="took longer than 0.02 s"):
            await getattr(panel, caller)(action, input)
        assert (panel.state, panel.revision) == ({}, 0)
        # Nobody holds the document any more.
        with pytest.raises(CanvasError, match="took longer"):
            await panel.agent.injected()
