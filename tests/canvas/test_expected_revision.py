"""A handler that changes only what it has read: `expected_revision=` on `ctx.state`."""

from typing import Literal

import pytest

from canvas_provider import Canvas, CanvasContext, CanvasError, create_canvas
from canvas_provider.testing import open_canvas

Way = Literal["change", "update", "undo", "redo"]


@pytest.fixture
def canvas() -> Canvas:
    canvas = create_canvas(id="c", display_name="C", description="Counts.", state=dict)

    @canvas.action
    async def write(ctx: CanvasContext, way: Way, expected: int | None = None) -> None:
        """Write in one of the ways there are."""
        match way:
            case "change":
                async with ctx.state.change(expected_revision=expected) as state:
                    state["n"] = state.get("n", 0) + 1
            case "update":
                await ctx.state.update(lambda state: state.update(n=9), expected_revision=expected)
            case "undo":
                await ctx.state.undo(expected_revision=expected)
            case "redo":
                await ctx.state.redo(expected_revision=expected)

    return canvas


@pytest.mark.parametrize("way", ["change", "update", "undo", "redo"])
async def test_a_change_that_expects_another_revision_is_refused(canvas: Canvas, way: Way) -> None:
    async with open_canvas(canvas) as panel:
        await panel.agent.write(way="change")
        await panel.agent.write(way="change")
        await panel.agent.write(way="undo")
        with pytest.raises(CanvasError, match="at revision 3, not 2") as caught:
            await panel.agent.write(way=way, expected=2)
        assert caught.value.code == "revision_conflict"
        assert panel.revision == 3
        await panel.agent.write(way=way, expected=3)
        assert panel.revision == 4


async def test_the_pages_own_condition_holds_beside_it(canvas: Canvas) -> None:
    async with open_canvas(canvas) as panel:
        await panel.agent.write(way="change")
        headers = {"If-Match": '"1"'}
        for expected, status in ((2, 412), (1, 200)):
            body = {"way": "change", "expected": expected}
            answer = await panel.http.post("actions/write", json=body, headers=headers)
            assert answer.status_code == status
