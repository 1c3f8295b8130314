"""__TITLE__: a board of tasks that a person and an agent work on together."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from canvas_provider import CanvasError, JSONFileStore, create_canvas, run

Column = Literal["todo", "doing", "done"]


@dataclass
class Task:
    id: str
    title: str
    column: Column = "todo"


@dataclass
class Board:
    tasks: list[Task] = field(default_factory=list)
    serial: int = 0
    """The number of the newest task. Numbers are not used twice."""


canvas = create_canvas(
    id="__ID__",
    display_name="__TITLE__",
    # The agent decides by this sentence whether it is the canvas that it needs.
    description="A shared board of tasks. Use it to plan work with the user and to keep track.",
    state=Board,
    page=Path(__file__).with_name("page.html"),
    store=JSONFileStore(),
    # One board for all panels and sessions. Without this, each panel has its own.
    state_key=lambda ctx: "main",
)

TaskId = Annotated[str, "The task's id, such as task-7; list_tasks shows them."]


@canvas.action
async def list_tasks(board: Board, column: Column | None = None) -> list[Task]:
    """List the tasks, all or those of one column."""
    return [task for task in board.tasks if column in (None, task.column)]


@canvas.action
async def add_task(board: Board, title: str, column: Column = "todo") -> Task:
    """Add a task."""
    title = " ".join(title.split())
    if not title:
        raise CanvasError("title_missing", "The title is empty: say it in a few words.")
    board.serial += 1
    task = Task(f"task-{board.serial}", title, column)
    board.tasks.append(task)
    return task


@canvas.action
async def move_task(board: Board, task_id: TaskId, column: Column) -> Task:
    """Move a task to another column."""
    task = find(board, task_id)
    task.column = column
    return task


@canvas.action
async def delete_task(board: Board, task_id: TaskId) -> None:
    """Delete a task for good."""
    board.tasks.remove(find(board, task_id))


def find(board: Board, task_id: str) -> Task:
    for task in board.tasks:
        if task.id == task_id:
            return task
    raise CanvasError("task_not_found", f"There is no task {task_id!r}: list_tasks shows them.")


if __name__ == "__main__":
    run(canvas)
