"""A board for one day, kept by a person and an agent together.

Tasks with progress notes, counters, one task in focus, a place for loose thoughts, and what
happened so far. What is not finished comes along to the next day. Nothing on it is ever late.

Each action is one typed function: the agent's and the page's, with the same checks and texts.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypedDict, TypeVar

from canvas_provider import (
    CanvasContext,
    CanvasError,
    CanvasProviderError,
    JSONFileStore,
    Opened,
    create_canvas,
    run,
)

TITLE_LIMIT = 200
TEXT_LIMIT = 4_000
"""In characters. Long enough for people, short enough to be read by a model."""

TASK_LIMIT = 200
NOTE_LIMIT = 100
COUNTER_LIMIT = 24
THOUGHT_LIMIT = 200
"""How many there can be on one board; notes: on one task."""
FEED_LIMIT = 60
"""The feed forgets what is older: it is there to be glanced at."""
COUNT_LIMIT = 1_000_000_000

DAYS_BACK = 7
"""How many earlier boards are looked through for what is not finished."""

Status = Literal["todo", "doing", "done"]
Who = Literal["agent", "person", "system"]
STATUS_NAMES: dict[Status, str] = {"todo": "To do", "doing": "In progress", "done": "Done"}


# Dataclasses, because they need no pydantic: Copilot waits for every extension to start. Most
# fields have defaults, so that a board can be edited by hand without knowing all of them.


@dataclass
class Note:
    id: str
    text: str
    at: str = ""
    who: Who = "person"


@dataclass
class Task:
    id: str
    title: str
    status: Status = "todo"
    notes: list[Note] = field(default_factory=list)
    done_at: str = ""
    came_from: str = ""
    """The day and the id it had there, as in `2026-11-30/task-4`."""
    carried_to: str = ""
    """The day it moved on to. It is kept here as a memory."""


@dataclass
class Counter:
    id: str
    name: str
    value: int = 0
    target: int = 0
    """0: just counting."""
    step: int = 1


@dataclass
class Thought:
    id: str
    text: str
    came_from: str = ""


@dataclass
class Moment:
    """One line of the feed."""

    id: str
    at: str
    who: Who
    kind: str
    about: str
    """The id of the task or counter, if it is about one."""
    text: str


def first_counters() -> list[Counter]:
    return [
        Counter("water", "Glasses of water", target=8),
        Counter("steps", "Steps", target=8_000, step=500),
        Counter("pages", "Pages read", target=20, step=5),
    ]


@dataclass
class Board:
    date: str = ""
    """The day it is for. Empty: a board with a name, which belongs to no day."""
    name: str = ""
    follows: str = ""
    """The day whose counters it took over."""
    focus: str = ""
    """The id of the task in focus."""
    tasks: list[Task] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=first_counters)
    thoughts: list[Thought] = field(default_factory=list)
    feed: list[Moment] = field(default_factory=list)
    """What happened, newest first."""
    serial: int = 0
    """The number of the newest id. Numbers are not used twice."""


class TaskLine(TypedDict):
    """A task in an overview: its notes are counted, not told."""

    id: str
    title: str
    status: Status
    notes: int
    carried_to: str


class Overview(TypedDict):
    date: str
    name: str
    focus: str
    tasks: list[TaskLine]
    counters: list[Counter]
    thoughts: list[Thought]
    latest: list[str]


class Carried(TypedDict):
    to: str
    tasks: list[str]
    """Their titles."""


@dataclass
class Diary:
    """Where the boards are kept, and what day it is. A test has its own."""

    folder: Path
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    shown: dict[tuple[str, str], str] = field(default_factory=dict)
    """What the open panels show whose input says neither which day nor which board."""

    @property
    def today(self) -> str:
        return self.now().date().isoformat()

    def days_before(self, day: str) -> list[str]:
        """Return the days before this one that have a board, the latest first."""
        names = (path.stem for path in self.folder.glob("????-??-??.json"))
        return sorted((name for name in names if to_day(name) and name < day), reverse=True)


def home() -> Path:
    """Return the folder where Copilot's extensions keep what belongs to the user."""
    copilot = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    return copilot / "extensions" / Path(__file__).resolve().parent.name / "artifacts"


diary = Diary(home())


def key_of(ctx: CanvasContext) -> str:
    """Pick the document: the board that the input names, else the one of its day, else today's."""
    path, day = ctx.input.get("path", "").strip(), ctx.input.get("date", "").strip()
    if path and day:
        raise CanvasError("path_or_date", "Pass a path or a date, not both.")
    if path:
        return board_name(path)
    if not day:
        return diary.shown.get((ctx.session_id, ctx.instance_id), diary.today)
    if (known := to_day(day)) is None:
        raise CanvasError("invalid_date", f"The date is no day: write it as {diary.today}.")
    return known.isoformat()


def board_name(path: str) -> str:
    """Read the name of a board file. No folders, no dots: nothing that leads out of ours."""
    name = path.lower().removesuffix(".json")
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name) is None:
        raise CanvasError(
            "invalid_path",
            "The path is the name of a board file in the boards' own folder, such as"
            " side-project.json: letters, digits, - and _, at most 64.",
        )
    return name


def to_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


def new_board(ctx: CanvasContext) -> Board:
    key = key_of(ctx)
    return Board(date=key) if to_day(key) else Board(name=key)


@asynccontextmanager
async def panel(ctx: CanvasContext) -> AsyncIterator[None]:
    """Let an open panel keep its day when midnight passes, whatever is typed in it."""
    panel_id = ctx.session_id, ctx.instance_id
    if not ctx.input.get("path") and not ctx.input.get("date"):
        diary.shown[panel_id] = key_of(ctx)
    try:
        yield
    finally:
        diary.shown.pop(panel_id, None)


focus_board = create_canvas(
    id="focus-board",
    display_name="Daily Focus Board",
    description=(
        "A calm board for one day that a person and an agent keep together: tasks with progress"
        " notes, counters, one task in focus, a brain dump and a recap. Use it to plan a day, to"
        " report progress while working, and to carry over what is left to the next day."
    ),
    state=new_board,
    store=JSONFileStore(diary.folder),
    state_key=key_of,
    lifespan=panel,
    page=Path(__file__).parent / "page",
)

TaskId = Annotated[str, "The task's id, such as task-7; get_board lists them."]
CounterId = Annotated[str, "The counter's id, such as water; get_board lists them."]
ThoughtId = Annotated[str, "The thought's id, such as thought-7; get_board lists them."]
Title = Annotated[str, "One line of text."]
Target = Annotated[int, "What the day aims at. 0: just count."]
Step = Annotated[int, "What one press of + or - counts."]


@focus_board.on_open
async def opened(
    ctx: CanvasContext[Board],
    date: Annotated[str, "The day to show, as YYYY-MM-DD. Left out: today."] = "",
    path: Annotated[
        str,
        "A board of its own that belongs to no day: the name of its file, such as"
        " side-project.json. Left out: the board of the day.",
    ] = "",
) -> Opened:
    board = ctx.state.value
    # The board of a later day is a plan, and that of an earlier one a memory.
    if board.date == diary.today or (board.date > diary.today and ctx.state.revision == 0):
        for earlier in diary.days_before(board.date)[:DAYS_BACK]:
            try:
                await follow(ctx, earlier)
            except CanvasProviderError:
                # That board cannot be read, and stays as it is: no reason to be without today's.
                continue
    return Opened(title=f"Focus: {spoken(board)}", status="ready")


@focus_board.action
async def get_board(board: Board) -> Overview:
    """Show the whole board: tasks, focus, counters, thoughts and what happened last.

    Notes are only counted: get_task tells them.
    """
    return {
        "date": board.date,
        "name": board.name,
        "focus": board.focus,
        "tasks": [
            {
                "id": task.id,
                "title": task.title,
                "status": task.status,
                "notes": len(task.notes),
                "carried_to": task.carried_to,
            }
            for task in board.tasks
        ],
        "counters": board.counters,
        "thoughts": board.thoughts,
        "latest": [f"{clock(one.at)} {one.who}: {one.text}" for one in board.feed[:10]],
    }


@focus_board.action
async def get_task(board: Board, task_id: TaskId) -> Task:
    """Show one task with all of its notes."""
    return find(board.tasks, task_id, "task")


@focus_board.action
async def add_task(
    ctx: CanvasContext,
    board: Board,
    title: Title,
    status: Status = "todo",
    note: Annotated[str, "A first note, if there is something to know."] = "",
) -> Task:
    """Add a task to the day."""
    title, note = one_line(title, "title"), limited(note, "note")
    task = new_task(board, title, status)
    if note:
        task.notes.append(Note(next_id(board, "note"), note, stamp(), ctx.author))
    tell(ctx, board, "added", task.id, f"Added {quoted(title)}")
    return find(board.tasks, task.id, "task")


@focus_board.action
async def edit_task(ctx: CanvasContext, board: Board, task_id: TaskId, title: Title) -> Task:
    """Say differently what a task is. For progress, add a note instead."""
    task, title = find_open(board, task_id), one_line(title, "title")
    if title != task.title:
        task.title = title
        tell(ctx, board, "edited", task.id, f"Reworded {quoted(title)}")
    return task


@focus_board.action
async def move_task(
    ctx: CanvasContext,
    board: Board,
    task_id: TaskId,
    status: Annotated[Status, "Its new status, or the one it has, to change only its place."],
    position: Annotated[int | None, "The place in its group, 0 is the top. Left out: end."] = None,
) -> Task:
    """Start a task, finish it, set it back, or move it within its group."""
    task = find_open(board, task_id)
    before = task.status
    if before == status and position is None:
        return task
    place(board, task, status, position)
    task = find(board.tasks, task_id, "task")
    if before != status:
        task.done_at = stamp() if status == "done" else ""
        if status == "done" and board.focus == task.id:
            board.focus = ""
        said = {"todo": "Set back", "doing": "Started", "done": "Finished"}[status]
        tell(ctx, board, status, task.id, f"{said} {quoted(task.title)}")
    return task


@focus_board.action
async def remove_task(ctx: CanvasContext, board: Board, task_id: TaskId) -> Task:
    """Let a task go for good, and answer what it said."""
    task = copied(find(board.tasks, task_id, "task"))
    board.tasks.remove(find(board.tasks, task_id, "task"))
    if board.focus == task_id:
        board.focus = ""
    tell(ctx, board, "removed", task_id, f"Let go of {quoted(task.title)}")
    return task


@focus_board.action
async def add_note(
    ctx: CanvasContext,
    board: Board,
    task_id: TaskId,
    text: Annotated[str, "What happened, was found out or comes next."],
) -> Note:
    """Add a progress note to a task."""
    task, text = find_open(board, task_id), limited(text, "note", required=True)
    check_room(task.notes, NOTE_LIMIT, "notes on this task")
    note = Note(next_id(board, "note"), text, stamp(), ctx.author)
    task.notes.append(note)
    tell(ctx, board, "noted", task.id, f"Noted on {quoted(task.title)}: {shortened(text)}")
    return note


@focus_board.action
async def remove_note(
    board: Board, task_id: TaskId, note_id: Annotated[str, "As get_task lists it."]
) -> None:
    """Remove a note from a task."""
    task = find_open(board, task_id)
    task.notes.remove(find(task.notes, note_id, "note"))


@focus_board.action
async def focus_on(ctx: CanvasContext, board: Board, task_id: TaskId) -> Task:
    """Put one task in the middle, with its notes, and let the others step back. Starts it."""
    task = find_open(board, task_id)
    if task.status == "done":
        raise CanvasError(
            "task_is_done",
            f"{quoted(task.title)} is done: move_task to doing first, if there is more to it.",
        )
    if board.focus == task_id:
        return task
    if task.status == "todo":
        place(board, task, "doing", 0)
    board.focus = task_id
    task = find(board.tasks, task_id, "task")
    tell(ctx, board, "focused", task_id, f"Focused on {quoted(task.title)}")
    return task


@focus_board.action
async def end_focus(board: Board) -> None:
    """Show all tasks alike again. The task that was in focus stays in progress."""
    board.focus = ""


@focus_board.action
async def add_counter(
    ctx: CanvasContext, board: Board, name: Title, target: Target = 0, step: Step = 1
) -> Counter:
    """Add something to count: steps, pages, glasses of water. It comes back every day, at 0."""
    check_room(board.counters, COUNTER_LIMIT, "counters")
    name = free_name(board, name)
    counter = Counter(
        free_id(board, name),
        name,
        target=in_range(target, "target", 0),
        step=in_range(step, "step", 1),
    )
    board.counters.append(counter)
    tell(ctx, board, "added", counter.id, f"Began to count {quoted(name)}")
    return counter


@focus_board.action
async def count(
    ctx: CanvasContext,
    board: Board,
    counter_id: CounterId,
    by: Annotated[int | None, "How many; less than 0 takes away. Left out: one step."] = None,
) -> Counter:
    """Count up or down. A counter never goes below 0."""
    counter = find(board.counters, counter_id, "counter")
    more = counter.step if by is None else in_range(by, "number", -COUNT_LIMIT)
    value = max(0, min(counter.value + more, COUNT_LIMIT))
    if value != counter.value:
        counter.value = value
        tell(ctx, board, "counted", counter.id, standing(counter))
    return counter


@focus_board.action
async def edit_counter(
    ctx: CanvasContext,
    board: Board,
    counter_id: CounterId,
    name: Title | None = None,
    value: Annotated[int | None, "Where it stands."] = None,
    target: Target | None = None,
    step: Step | None = None,
) -> Counter:
    """Change a counter, or set where it stands. What is left out stays as it is."""
    counter = find(board.counters, counter_id, "counter")
    if name is not None:
        counter.name = free_name(board, name, counter_id)
    if target is not None:
        counter.target = in_range(target, "target", 0)
    if step is not None:
        counter.step = in_range(step, "step", 1)
    if value is not None and value != counter.value:
        counter.value = in_range(value, "value", 0)
        tell(ctx, board, "counted", counter.id, standing(counter))
    return counter


@focus_board.action
async def remove_counter(board: Board, counter_id: CounterId) -> None:
    """Stop counting something."""
    board.counters.remove(find(board.counters, counter_id, "counter"))


@focus_board.action
async def capture(
    ctx: CanvasContext, board: Board, text: Annotated[str, "Each line becomes a thought."]
) -> list[Thought]:
    """Put thoughts down, to get them out of the head. Nothing has to become of them."""
    lines = [one_line(line, "thought") for line in text.splitlines() if line.strip()]
    if not lines:
        raise CanvasError("text_missing", "The text is empty: write at least one line.")
    check_room(board.thoughts, THOUGHT_LIMIT, "thoughts", len(lines))
    added = [Thought(next_id(board, "thought"), line) for line in lines]
    board.thoughts.extend(added)
    what = "a thought" if len(added) == 1 else f"{len(added)} thoughts"
    tell(ctx, board, "captured", added[-1].id, f"Put down {what}")
    return added


@focus_board.action
async def promote(
    ctx: CanvasContext, board: Board, thought_id: ThoughtId, status: Status = "todo"
) -> Task:
    """Make a thought a task."""
    thought = find(board.thoughts, thought_id, "thought")
    task = new_task(board, thought.text, status)
    board.thoughts.remove(thought)
    tell(ctx, board, "added", task.id, f"Made {quoted(task.title)} a task")
    return task


@focus_board.action
async def let_go(board: Board, thought_id: ThoughtId) -> None:
    """Let a thought go. It needs no reason."""
    board.thoughts.remove(find(board.thoughts, thought_id, "thought"))


@focus_board.action
async def carry_over(
    ctx: CanvasContext[Board],
    task_ids: Annotated[
        list[str] | None, "Which tasks. Left out: all that are not finished."
    ] = None,
) -> Carried:
    """Let unfinished tasks wait on the next day's board. Nothing is late: it is another day."""
    board = ctx.state.value
    day = day_of(board)
    tasks = unfinished(board)
    if task_ids is not None:
        tasks = [find_open(board, task_id) for task_id in dict.fromkeys(task_ids)]
    tasks = [task for task in tasks if task.status != "done"]
    if not tasks:
        raise CanvasError("nothing_to_carry", "Nothing here is left to be carried over: rest well.")
    target = max((day + timedelta(days=1)).isoformat(), diary.today)
    first = Board(date=target, follows=board.date, counters=fresh(board.counters))
    # The other board comes first: a task that is on both is found, one on neither is lost.
    async with ctx.open_state(target, initial=lambda: first) as there:
        await there.update(lambda other: arrive(other, board.date, tasks, ()))
    ids = {task.id for task in tasks}

    def leave(draft: Board) -> None:
        depart(draft, ids, target)
        text = quoted(tasks[0].title) if len(tasks) == 1 else f"{len(tasks)} tasks"
        tell(ctx, draft, "carried", "", f"Left {text} for {weekday(target)}")

    await ctx.state.update(leave)
    return {"to": target, "tasks": [task.title for task in tasks]}


@focus_board.action
async def bring_back(ctx: CanvasContext[Board], task_id: TaskId) -> Task:
    """Take a task back that was carried over, with the notes it got there."""
    board = ctx.state.value
    task = find(board.tasks, task_id, "task")
    if not task.carried_to:
        raise CanvasError("task_is_here", f"{quoted(task.title)} is on this board already.")
    origin, notes = f"{board.date}/{task_id}", [copy_note(note) for note in task.notes]

    def take(other: Board) -> None:
        for there in other.tasks:
            if there.came_from == origin:
                break
        else:
            return
        if there.status == "done" or there.carried_to:
            what = "done" if there.status == "done" else "carried on"
            raise CanvasError("task_moved_on", f"It is {what} on the board of {other.date}.")
        notes[:] = [copy_note(note) for note in there.notes if note.who != "system"]
        other.tasks.remove(there)
        if other.focus == there.id:
            other.focus = ""

    def settle(draft: Board) -> Task:
        here = find(draft.tasks, task_id, "task")
        here.carried_to = ""
        here.notes = [Note(next_id(draft, "note"), n.text, n.at, n.who) for n in notes]
        tell(ctx, draft, "added", here.id, f"Took {quoted(here.title)} back")
        return copied(here)

    async with ctx.open_state(
        task.carried_to, initial=lambda: Board(date=task.carried_to)
    ) as there:
        await there.update(take)
    return await ctx.state.update(settle)


@focus_board.action
async def recap(board: Board) -> str:
    """Tell the day as Markdown: what was done, what goes on, counters and thoughts."""
    here = [task for task in board.tasks if not task.carried_to]
    done = sum(task.status == "done" for task in here)
    lines = [f"# {spoken(board)}", "", f"{done} of {len(here)} tasks done."]

    def section(title: str, items: Iterable[str]) -> None:
        if known := list(items):
            lines.extend(["", f"## {title}", "", *known])

    for status in ("done", "doing", "todo"):
        section(STATUS_NAMES[status], (tell_task(t) for t in here if t.status == status))
    carried = [task for task in board.tasks if task.carried_to]
    section(
        "Carried over",
        (f"- {task.title} (waits on {weekday(task.carried_to)})" for task in carried),
    )
    section("Counters", (f"- {standing(counter)}" for counter in board.counters if counter.value))
    section("On my mind", (f"- {thought.text}" for thought in board.thoughts))
    return "\n".join(lines) + "\n"


# From day to day ---------------------------------------------------------------------------------


async def follow(ctx: CanvasContext[Board], earlier: str) -> None:
    """Begin a day with the counters of an earlier one, and with what is not finished there.

    Tasks and thoughts come along to today's board only.
    """
    async with ctx.open_state(earlier) as state:
        before = state.value
        is_today = ctx.state.value.date == diary.today
        tasks = unfinished(before) if is_today else []
        thoughts = list(before.thoughts) if is_today else []
        is_new = ctx.state.revision == 0
        if not (tasks or thoughts or is_new):
            return

        def begin(board: Board) -> None:
            if is_new and not board.follows:
                board.follows, board.counters = earlier, fresh(before.counters)
            arrive(board, earlier, tasks, thoughts)

        await ctx.state.update(begin)
        if tasks or thoughts:
            ids, thought_ids = {task.id for task in tasks}, {thought.id for thought in thoughts}
            today = ctx.state.value.date

            def leave(draft: Board) -> None:
                depart(draft, ids, today)
                draft.thoughts = [one for one in draft.thoughts if one.id not in thought_ids]

            await state.update(leave)


def arrive(board: Board, day: str, tasks: Iterable[Task], thoughts: Iterable[Thought]) -> None:
    """Take in what comes along from another day; what did already is left alone."""
    known = {task.came_from for task in board.tasks} | {one.came_from for one in board.thoughts}
    for task in tasks:
        if (origin := f"{day}/{task.id}") in known:
            continue
        new = Task(next_id(board, "task"), task.title, came_from=origin)
        # Only the last arrival is told: nobody counts how often a task came along.
        notes = [note for note in task.notes if note.who != "system"]
        new.notes = [Note(next_id(board, "note"), n.text, n.at, n.who) for n in notes]
        text = f"Came along from {weekday(day)}. A new day, a fresh start."
        new.notes.append(Note(next_id(board, "note"), text, stamp(), "system"))
        board.tasks.append(new)
    for thought in thoughts:
        if (origin := f"{day}/{thought.id}") not in known:
            board.thoughts.append(Thought(next_id(board, "thought"), thought.text, origin))


def depart(board: Board, ids: set[str], day: str) -> None:
    """Mark tasks as carried over."""
    for task in board.tasks:
        if task.id in ids and task.status != "done":
            task.carried_to = day
    if board.focus in ids:
        board.focus = ""


def unfinished(board: Board) -> list[Task]:
    return [task for task in board.tasks if task.status != "done" and not task.carried_to]


def fresh(counters: Iterable[Counter]) -> list[Counter]:
    return [Counter(one.id, one.name, 0, one.target, one.step) for one in counters]


def day_of(board: Board) -> date:
    if (day := to_day(board.date)) is None:
        raise CanvasError(
            "no_next_day",
            "This board has a name and belongs to no day: its tasks stay here as they are.",
        )
    return day


# What the actions are made of --------------------------------------------------------------------


class Named(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T")
N = TypeVar("N", bound=Named)


def find(items: list[N], id: str, what: str) -> N:
    """Find one by its id, or say which ones there are."""
    for item in items:
        if item.id == id:
            return item
    shown = ", ".join(item.id for item in items[:40]) or "none yet"
    more = f" and {len(items) - 40} more" if len(items) > 40 else ""
    raise CanvasError(
        f"{what}_not_found", f"There is no {what} {shortened(id)!r}. There are: {shown}{more}."
    )


def find_open(board: Board, task_id: str) -> Task:
    """Find a task that can be worked on here."""
    task = find(board.tasks, task_id, "task")
    if task.carried_to:
        raise CanvasError(
            "task_carried_over",
            f"{quoted(task.title)} waits on the board of {task.carried_to}: bring_back takes it"
            " back.",
        )
    return task


def new_task(board: Board, title: str, status: Status) -> Task:
    check_room(board.tasks, TASK_LIMIT, "tasks")
    task = Task(next_id(board, "task"), title, status, done_at=stamp() if status == "done" else "")
    board.tasks.append(task)
    return find(board.tasks, task.id, "task")


def place(board: Board, task: Task, status: Status, position: int | None) -> None:
    """Put a task among those of a status, as near to the position as there is room."""
    board.tasks.remove(task)
    task.status = status
    group = [i for i, one in enumerate(board.tasks) if one.status == status and not one.carried_to]
    at = len(group) if position is None else max(0, position)
    board.tasks.insert(group[at] if at < len(group) else len(board.tasks), task)


def copied(task: Task) -> Task:
    notes = [copy_note(note) for note in task.notes]
    return Task(
        task.id, task.title, task.status, notes, task.done_at, task.came_from, task.carried_to
    )


def copy_note(note: Note) -> Note:
    return Note(note.id, note.text, note.at, note.who)


def tell(ctx: CanvasContext, board: Board, kind: str, about: str, text: str) -> None:
    """Put a line on top of the feed. Counting on is one line, however often + is pressed."""
    latest = board.feed[0] if board.feed else None
    if (
        latest is not None
        and kind == "counted"
        and (latest.kind, latest.about, latest.who) == (kind, about, ctx.author)
    ):
        latest.text, latest.at = text, stamp()
        return
    moment = Moment(next_id(board, "moment"), stamp(), ctx.author, kind, about, text)
    board.feed.insert(0, moment)
    if len(board.feed) > FEED_LIMIT:
        del board.feed[FEED_LIMIT:]


def next_id(board: Board, what: str) -> str:
    board.serial += 1
    return f"{what}-{board.serial}"


def stamp() -> str:
    return diary.now().isoformat(timespec="seconds")


def clock(at: str) -> str:
    """Return the time of day of a stamp; of one written by hand, perhaps nothing."""
    return at[11:16]


def spoken(board: Board) -> str:
    day = to_day(board.date)
    return board.name if day is None else f"{day:%A}, {day.day} {day:%B %Y}"


def weekday(day: str) -> str:
    known = to_day(day)
    return day if known is None else f"{known:%A}, {known.day} {known:%B}"


def standing(counter: Counter) -> str:
    goal = f" of {counter.target:,}" if counter.target else ""
    return f"{counter.name}: {counter.value:,}{goal}"


def tell_task(task: Task) -> str:
    notes = (
        f"  - {clock(note.at)} {note.who}: {note.text}".replace("\n", "\n    ")
        for note in task.notes
        if note.who != "system"
    )
    return "\n".join([f"- {task.title}", *notes])


def quoted(text: str) -> str:
    return f"“{shortened(text)}”"


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def limited(text: str, name: str, limit: int = TEXT_LIMIT, *, required: bool = False) -> str:
    text = text.strip()
    if required and not text:
        raise CanvasError("text_missing", f"The {name} is empty: say it in a few words.")
    if len(text) > limit:
        raise CanvasError("text_too_long", f"The {name} has {len(text)} characters, of {limit}.")
    return text


def one_line(text: str, name: str) -> str:
    return limited(" ".join(text.split()), name, TITLE_LIMIT, required=True)


def in_range(number: int, name: str, least: int) -> int:
    if not least <= number <= COUNT_LIMIT:
        raise CanvasError(
            "number_out_of_range", f"The {name} goes from {least} to {COUNT_LIMIT}, not {number}."
        )
    return number


def check_room(items: list[T], limit: int, what: str, more: int = 1) -> None:
    if len(items) + more > limit:
        raise CanvasError(
            "board_full", f"There is room for {limit} {what}, and there are {len(items)}."
        )


def free_name(board: Board, name: str, counter_id: str | None = None) -> str:
    """Refuse a second counter of that name: neither people nor agents could tell them apart."""
    name = one_line(name, "name")
    for other in board.counters:
        if other.id != counter_id and other.name.casefold() == name.casefold():
            raise CanvasError(
                "counter_exists", f"There is a counter {other.name!r}: its id is {other.id}."
            )
    return name


def free_id(board: Board, name: str) -> str:
    """Make a readable id: `Glasses of water` becomes `glasses-of-water`."""
    words = "".join(c if c.isalnum() else " " for c in name.casefold()).split()
    base = "-".join(words) or "counter"
    taken = {counter.id for counter in board.counters}
    return base if base not in taken else next_id(board, base)


if __name__ == "__main__":
    run(focus_board)
