"""Long work in the real CLI: what its host is told, while it goes on and when it has ended."""

import asyncio
from pathlib import Path

import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.testing import CopilotCLI
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

CANVAS = """
import asyncio
from canvas_provider import CanvasContext, create_canvas, run

canvas = create_canvas(id="slow", display_name="Slow", description="Takes its time.")
over = asyncio.Event()

@canvas.action
async def load(ctx: CanvasContext) -> None:
    "Load."
    async with ctx.progress("Loading books", total=4) as p:
        p.advance(3)
        await over.wait()

@canvas.action
async def end(ctx: CanvasContext) -> None:
    "End the loading."
    over.set()

@canvas.action
async def fail(ctx: CanvasContext) -> None:
    "Fail."
    async with ctx.progress("Failing"):
        raise ValueError("secret")

run(canvas)
"""


async def test_the_person_hears_of_long_work_without_a_trace_in_the_session(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    cli.install(write_extension(tmp_path, "slow", CANVAS))
    session = await cli.create_session()
    await session.wait_listed("slow")
    await session.open("slow", "one")
    call = asyncio.ensure_future(session.invoke("one", "load"))
    line = await session.wait_for("session.info")
    assert line["message"] == "Loading books: 75%"
    await session.invoke("one", "end")
    await call
    assert (await session.wait_for("session.info"))["message"] == "Loading books: done"

    with pytest.raises(RemoteError):
        await session.invoke("one", "fail")
    assert (await session.wait_for("session.warning"))["message"] == "Failing: failed"
    lines = [
        event for event in session.events if event["type"] in ("session.info", "session.warning")
    ]
    assert [event.get("ephemeral") for event in lines] == [True] * 3
