"""Several agents at work on one board, and a person who makes things go wrong to see what they do.

A coordinator plans tasks, workers claim and finish them. Each action can be made to fail or to hang
by the person, which is how one finds out whether the agents cope.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from canvas_provider import CanvasContext, CanvasError, create_canvas, run

Fault = Literal["none", "refuse", "crash", "hang"]


@dataclass
class Task:
    id: str
    text: str
    worker: str = ""
    status: Literal["open", "claimed", "done", "failed"] = "open"
    result: str = ""


@dataclass
class Crew:
    tasks: list[Task] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    """What befalls the next call of an action, by its name."""


crew = create_canvas(
    id="crew",
    display_name="Crew",
    description="A board for several agents that share tasks. Claim one before working on it.",
    state=Crew,
    page=Path(__file__).with_name("page.html"),
)

TaskId = Annotated[str, "Such as task-1; list_tasks shows them."]
Worker = Annotated[str, "The name of the agent that works on it."]
TIMEOUT = 10.0


async def befall(ctx: CanvasContext[Crew]) -> None:
    """Let the fault happen that the person has set for this action, once."""
    name = ctx.action_name or ""
    async with ctx.state.change() as crew:
        fault = crew.faults.pop(name, "none")
    if fault == "refuse":
        raise CanvasError("try_again", "This failed on purpose: call it again.")
    if fault == "crash":
        raise RuntimeError("a crash on purpose")
    if fault == "hang":
        await asyncio.Event().wait()


@crew.action(timeout=TIMEOUT)
async def plan(
    ctx: CanvasContext[Crew], texts: Annotated[list[str], "One task each."]
) -> list[str]:
    """Add tasks, and return their ids."""
    await befall(ctx)
    async with ctx.state.change() as crew:
        new = [Task(f"task-{len(crew.tasks) + n}", text) for n, text in enumerate(texts, 1)]
        crew.tasks.extend(new)
    return [task.id for task in new]


@crew.action
async def list_tasks(crew: Crew) -> list[Task]:
    """Read all tasks, who works on them, and what came of it."""
    return list(crew.tasks)


@crew.action(timeout=TIMEOUT)
async def claim(ctx: CanvasContext[Crew], task_id: TaskId, worker: Worker) -> None:
    """Take a task, so that no other agent works on it."""
    await befall(ctx)
    async with ctx.state.change() as crew:
        task = find(crew, task_id)
        if task.status != "open":
            raise CanvasError("task_taken", f"{task_id} is {task.status}: claim another one.")
        task.status, task.worker = "claimed", worker


@crew.action(timeout=TIMEOUT)
async def finish(ctx: CanvasContext[Crew], task_id: TaskId, worker: Worker, result: str) -> None:
    """Say what came of a task."""
    await settle(ctx, task_id, worker, "done", result)


@crew.action(timeout=TIMEOUT)
async def give_up(ctx: CanvasContext[Crew], task_id: TaskId, worker: Worker, reason: str) -> None:
    """Say why a task cannot be done."""
    await settle(ctx, task_id, worker, "failed", reason)


@crew.action(audience="person")
async def set_fault(
    crew: Crew, action: Literal["plan", "claim", "finish", "give_up"], fault: Fault
) -> None:
    """Let the next call of an action go wrong."""
    crew.faults[action] = fault


@crew.action
async def undo(ctx: CanvasContext[Crew]) -> int:
    """Take back the latest change, and return the revision that was undone."""
    revision = await ctx.state.undo()
    assert revision.reverts is not None
    return revision.reverts


async def settle(
    ctx: CanvasContext[Crew],
    task_id: str,
    worker: str,
    status: Literal["done", "failed"],
    result: str,
) -> None:
    await befall(ctx)
    async with ctx.state.change() as crew:
        task = find(crew, task_id)
        if task.status != "claimed" or task.worker != worker:
            raise CanvasError("not_yours", f"{task_id} is not claimed by {worker}: claim it first.")
        task.status, task.result = status, result


def find(crew: Crew, task_id: str) -> Task:
    for task in crew.tasks:
        if task.id == task_id:
            return task
    raise CanvasError("task_not_found", f"There is no {task_id!r}: list_tasks shows the tasks.")


if __name__ == "__main__":
    run(crew)
