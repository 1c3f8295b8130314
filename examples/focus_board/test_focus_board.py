"""The board's rules, called as the agent and the page call them. No browser, no socket."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from canvas_provider import CanvasError, JSONFileStore
from canvas_provider.testing import Panel, open_canvas
from examples.focus_board.extension import (
    FEED_LIMIT,
    TASK_LIMIT,
    THOUGHT_LIMIT,
    Diary,
    diary,
    focus_board,
)

pytestmark = pytest.mark.anyio

Open = Callable[..., AbstractAsyncContextManager[Panel]]

MONDAY, TUESDAY, WEDNESDAY = "2026-11-30", "2026-12-01", "2026-12-02"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """It is the morning of 30 November, until a test says otherwise."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 9, 5, tzinfo=timezone(timedelta(hours=1)))

    def __call__(self) -> datetime:
        return self.now

    def sleep_over(self, days: int = 1) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Diary:
    """A diary in a folder of the test's own."""
    monkeypatch.setattr(diary, "folder", tmp_path)
    monkeypatch.setattr(diary, "now", clock)
    monkeypatch.setattr(diary, "shown", {})
    return diary


@pytest.fixture
def open_board(kept: Diary) -> Open:
    @asynccontextmanager
    async def open_board(**options: Any) -> AsyncIterator[Panel]:
        store = JSONFileStore(kept.folder)
        async with open_canvas(focus_board, store=store, **options) as panel:
            yield panel

    return open_board


def titles(panel: Panel) -> dict[str, list[str]]:
    """The titles by status: what one sees on the board."""
    groups: dict[str, list[str]] = {"todo": [], "doing": [], "done": [], "carried": []}
    for task in panel.state["tasks"]:
        groups["carried" if task["carried_to"] else task["status"]].append(task["title"])
    return groups


def feed(panel: Panel) -> list[tuple[str, str]]:
    return [(moment["who"], moment["text"]) for moment in panel.state["feed"]]


# One day


async def test_a_first_board_is_empty_and_has_things_to_count(open_board: Open) -> None:
    async with open_board() as panel:
        assert panel.state["date"] == MONDAY
        assert titles(panel) == {"todo": [], "doing": [], "done": [], "carried": []}
        assert [counter["id"] for counter in panel.state["counters"]] == ["water", "steps", "pages"]
        assert panel.title == "Focus: Monday, 30 November 2026"
        assert panel.revision == 0


async def test_a_task_goes_through_the_day(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="  Write\n the guide ")
        await panel.agent.move_task(task_id=task["id"], status="doing")
        await panel.agent.add_note(task_id=task["id"], text="Outline is there")
        done = await panel.person.move_task(task_id=task["id"], status="done")
        assert (done["title"], done["done_at"]) == ("Write the guide", "2026-11-30T09:05:00+01:00")
        assert [(note["who"], note["text"]) for note in done["notes"]] == [
            ("agent", "Outline is there")
        ]
        assert feed(panel) == [
            ("person", "Finished “Write the guide”"),
            ("agent", "Noted on “Write the guide”: Outline is there"),
            ("agent", "Started “Write the guide”"),
            ("person", "Added “Write the guide”"),
        ]


async def test_a_task_that_is_set_back_is_not_done_any_more(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.agent.add_task(title="Ship", status="done")
        assert task["done_at"]
        back = await panel.person.move_task(task_id=task["id"], status="todo")
        assert (back["status"], back["done_at"]) == ("todo", "")


@pytest.mark.parametrize(
    ("position", "order"),
    [(0, "CAB"), (1, "ACB"), (2, "ABC"), (9, "ABC"), (-9, "CAB"), (None, "ABC")],
)
async def test_a_task_moves_within_its_group(
    open_board: Open, position: int | None, order: str
) -> None:
    async with open_board() as panel:
        for title in "AxBxC":
            await panel.person.add_task(title=title, status="done" if title == "x" else "todo")
        await panel.agent.move_task(task_id=last(panel), status="todo", position=position)
        assert titles(panel)["todo"] == list(order)
        assert titles(panel)["done"] == ["x", "x"]


def last(panel: Panel) -> str:
    return str(panel.state["tasks"][-1]["id"])


async def test_one_task_is_in_focus_until_it_is_done(open_board: Open) -> None:
    async with open_board() as panel:
        first = await panel.person.add_task(title="First")
        await panel.person.add_task(title="Second", status="doing")
        focused = await panel.agent.focus_on(task_id=first["id"])
        assert focused["status"] == "doing"
        assert panel.state["focus"] == first["id"]
        assert titles(panel)["doing"] == ["First", "Second"]
        await panel.person.move_task(task_id=first["id"], status="done")
        assert panel.state["focus"] == ""


async def test_focus_can_be_left_without_finishing(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="First")
        await panel.person.focus_on(task_id=task["id"])
        await panel.agent.end_focus()
        assert (panel.state["focus"], titles(panel)["doing"]) == ("", ["First"])


async def test_a_removed_task_leaves_the_focus(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="First", note="Why")
        await panel.person.focus_on(task_id=task["id"])
        gone = await panel.agent.remove_task(task_id=task["id"])
        assert [note["text"] for note in gone["notes"]] == ["Why"]
        assert (panel.state["focus"], panel.state["tasks"]) == ("", [])


async def test_counters_count_in_steps_and_never_below_zero(open_board: Open) -> None:
    async with open_board() as panel:
        counter = await panel.agent.add_counter(name="Push-ups", target=30, step=10)
        assert counter == {
            "id": "push-ups",
            "name": "Push-ups",
            "value": 0,
            "target": 30,
            "step": 10,
        }
        await panel.person.count(counter_id="push-ups")
        await panel.person.count(counter_id="push-ups")
        assert (await panel.agent.count(counter_id="push-ups", by=-5))["value"] == 15
        assert (await panel.person.count(counter_id="push-ups", by=-100))["value"] == 0
        before = panel.revision
        await panel.person.count(counter_id="push-ups", by=-1)
        assert panel.revision == before
        edited = await panel.agent.edit_counter(counter_id="push-ups", value=7, target=0)
        assert (edited["value"], edited["target"], edited["step"]) == (7, 0, 10)
        await panel.person.remove_counter(counter_id="push-ups")
        assert len(panel.state["counters"]) == 3


async def test_counting_on_is_one_line_of_the_feed(open_board: Open) -> None:
    async with open_board() as panel:
        for _ in range(3):
            await panel.person.count(counter_id="water")
        await panel.agent.count(counter_id="water")
        assert feed(panel) == [
            ("agent", "Glasses of water: 4 of 8"),
            ("person", "Glasses of water: 3 of 8"),
        ]


async def test_thoughts_become_tasks_or_go(open_board: Open) -> None:
    async with open_board() as panel:
        thoughts = await panel.person.capture(text="Call Ben\n\n  Buy   milk \nWhy is it slow?")
        assert [one["text"] for one in thoughts] == ["Call Ben", "Buy milk", "Why is it slow?"]
        task = await panel.agent.promote(thought_id=thoughts[2]["id"], status="doing")
        assert task["title"] == "Why is it slow?"
        await panel.person.let_go(thought_id=thoughts[0]["id"])
        assert [one["text"] for one in panel.state["thoughts"]] == ["Buy milk"]


async def test_the_feed_forgets_what_is_old(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="Back and forth")
        for number in range(FEED_LIMIT + 5):
            await panel.person.edit_task(task_id=task["id"], title=f"Version {number}")
        assert len(panel.state["feed"]) == FEED_LIMIT
        assert panel.state["feed"][0]["text"] == f"Reworded “Version {FEED_LIMIT + 4}”"


async def test_the_overview_counts_the_notes(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="Ship it", note="A long story")
        overview = await panel.agent.get_board()
        assert overview["tasks"] == [
            {"id": task["id"], "title": "Ship it", "status": "todo", "notes": 1, "carried_to": ""}
        ]
        assert overview["latest"] == ["09:05 person: Added “Ship it”"]
        assert await panel.agent.get_task(task_id=task["id"]) == task


RECAP = """\
# Monday, 30 November 2026

1 of 2 tasks done.

## Done

- Write the guide
  - 09:05 agent: Two pages,
    both short

## In progress

- Port the exporter

## Carried over

- Call Ben (waits on Tuesday, 1 December)

## Counters

- Glasses of water: 2 of 8

## On my mind

- Why is it slow?
"""


async def test_the_recap_tells_the_day_as_markdown(open_board: Open) -> None:
    async with open_board() as panel:
        guide = await panel.person.add_task(title="Write the guide")
        await panel.agent.add_note(task_id=guide["id"], text="Two pages,\nboth short")
        await panel.agent.move_task(task_id=guide["id"], status="done")
        await panel.person.add_task(title="Port the exporter", status="doing")
        ben = await panel.person.add_task(title="Call Ben")
        await panel.person.carry_over(task_ids=[ben["id"]])
        await panel.person.count(counter_id="water", by=2)
        await panel.person.capture(text="Why is it slow?")
        before = panel.revision
        assert await panel.agent.recap() == RECAP
        assert await panel.person.recap() == RECAP
        assert panel.revision == before


# From day to day


async def test_a_new_day_takes_along_what_is_not_finished(open_board: Open, clock: Clock) -> None:
    async with open_board() as panel:
        done = await panel.person.add_task(title="Finished", status="done")
        await panel.person.add_task(title="Half done", status="doing", note="Page 3")
        await panel.person.capture(text="Buy milk")
        await panel.person.edit_counter(counter_id="steps", value=4000, target=6000)
        await panel.person.remove_counter(counter_id="pages")
        assert done["status"] == "done"
    clock.sleep_over()
    async with open_board() as panel:
        assert panel.state["date"] == TUESDAY
        assert titles(panel) == {"todo": ["Half done"], "doing": [], "done": [], "carried": []}
        [task] = panel.state["tasks"]
        assert [(note["who"], note["text"]) for note in task["notes"]] == [
            ("person", "Page 3"),
            ("system", "Came along from Monday, 30 November. A new day, a fresh start."),
        ]
        assert [one["text"] for one in panel.state["thoughts"]] == ["Buy milk"]
        counters = {one["id"]: (one["value"], one["target"]) for one in panel.state["counters"]}
        assert counters == {"water": (0, 8), "steps": (0, 6000)}
        assert panel.state["feed"] == []
    async with open_board(input={"date": MONDAY}) as panel:
        assert titles(panel)["carried"] == ["Half done"]
        assert titles(panel)["done"] == ["Finished"]
        assert panel.state["thoughts"] == []


async def test_nobody_counts_how_often_a_task_came_along(open_board: Open, clock: Clock) -> None:
    for _ in range(4):
        async with open_board() as panel:
            if not panel.state["tasks"]:
                await panel.person.add_task(title="Half done", note="Page 3")
            [task] = panel.state["tasks"]
        clock.sleep_over()
    assert [note["text"] for note in task["notes"]] == [
        "Page 3",
        "Came along from Wednesday, 2 December. A new day, a fresh start.",
    ]


async def test_what_was_let_go_does_not_come_along_again(open_board: Open, clock: Clock) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Half done")
    clock.sleep_over(days=20)
    async with open_board() as panel:
        [task] = panel.state["tasks"]
        await panel.person.remove_task(task_id=task["id"])
        await panel.reopen()
        assert panel.state["tasks"] == []


async def test_carried_tasks_wait_on_the_next_board(open_board: Open, clock: Clock) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Finished", status="done")
        task = await panel.person.add_task(title="Half done")
        await panel.person.focus_on(task_id=task["id"])
        carried = await panel.agent.carry_over()
        assert carried == {"to": TUESDAY, "tasks": ["Half done"]}
        assert titles(panel)["carried"] == ["Half done"]
        assert panel.state["focus"] == ""
        assert feed(panel)[0] == ("agent", "Left “Half done” for Tuesday, 1 December")
    clock.sleep_over()
    async with open_board() as panel:
        assert titles(panel)["todo"] == ["Half done"]
        assert panel.state["follows"] == MONDAY


async def test_a_carried_task_can_be_taken_back(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="Half done", note="Page 3")
        await panel.person.carry_over()
        async with open_board(input={"date": TUESDAY}, instance_id="tomorrow") as tomorrow:
            await tomorrow.agent.add_note(task_id=last(tomorrow), text="Page 4")
        back = await panel.person.bring_back(task_id=task["id"])
        assert [note["text"] for note in back["notes"]] == ["Page 3", "Page 4"]
        assert titles(panel)["todo"] == ["Half done"]
        async with open_board(input={"date": TUESDAY}, instance_id="tomorrow") as tomorrow:
            assert tomorrow.state["tasks"] == []


async def test_the_next_days_panel_is_told_at_once(open_board: Open) -> None:
    async with open_board() as panel, open_board(input={"date": TUESDAY}) as tomorrow:
        await tomorrow.person.add_task(title="Planned")
        await panel.person.add_task(title="Half done")
        await panel.agent.carry_over()
        await tomorrow.events.wait_for("patch", lambda event: event.data["author"] == "system")
        assert titles(tomorrow)["todo"] == ["Planned", "Half done"]
        await tomorrow.person.move_task(task_id=last(tomorrow), status="doing")
        assert titles(tomorrow)["doing"] == ["Half done"]


async def test_a_day_that_is_looked_back_at_stays_as_it_was(open_board: Open, kept: Diary) -> None:
    async with open_board(input={"date": "2026-11-28"}) as panel:
        await panel.person.add_task(title="Half done")
    async with open_board(input={"date": "2026-11-29"}) as panel:
        assert panel.revision == 0
    assert [path.name for path in sorted(kept.folder.glob("*.json"))] == ["2026-11-28.json"]


async def test_a_task_that_is_done_there_stays_there(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="Half done")
        await panel.person.carry_over()
        async with open_board(input={"date": TUESDAY}, instance_id="tomorrow") as tomorrow:
            await tomorrow.agent.move_task(task_id=last(tomorrow), status="done")
        with pytest.raises(CanvasError) as refusal:
            await panel.person.bring_back(task_id=task["id"])
        assert refusal.value.code == "task_moved_on"
        assert titles(panel)["carried"] == ["Half done"]


async def test_a_day_planned_ahead_takes_nothing_along_yet(open_board: Open, clock: Clock) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Half done")
    async with open_board(input={"date": WEDNESDAY}) as panel:
        assert titles(panel)["todo"] == []
        await panel.person.add_task(title="Planned")
    clock.sleep_over(days=2)
    async with open_board() as panel:
        assert titles(panel)["todo"] == ["Planned", "Half done"]


async def test_a_panel_keeps_its_day_past_midnight(open_board: Open, clock: Clock) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Late in the evening")
        clock.sleep_over()
        await panel.reopen()
        assert panel.state["date"] == MONDAY
        assert await panel.person.carry_over() == {"to": TUESDAY, "tasks": ["Late in the evening"]}
        await panel.reload()
        assert panel.state["date"] == TUESDAY
        assert titles(panel)["todo"] == ["Late in the evening"]


async def test_an_earlier_board_that_is_damaged_does_not_stop_the_day(
    open_board: Open, kept: Diary
) -> None:
    kept.folder.joinpath("2026-11-29.json").write_text("{", encoding="utf-8")
    kept.folder.joinpath("2026-11-28.json").write_text(
        json.dumps({"canvas_provider": 1, "revision": 1, "state": {"tasks": "none"}}),
        encoding="utf-8",
    )
    async with open_board() as panel:
        assert panel.state["date"] == MONDAY


# Which board, and its file


async def test_a_named_board_is_a_file_of_its_own(open_board: Open, kept: Diary) -> None:
    async with open_board(input={"path": "Side-Project.json"}) as panel:
        assert (panel.state["date"], panel.state["name"]) == ("", "side-project")
        await panel.person.add_task(title="Some day")
        with pytest.raises(CanvasError) as refusal:
            await panel.person.carry_over()
        assert refusal.value.code == "no_next_day"
    assert kept.folder.joinpath("side-project.json").is_file()
    async with open_board() as panel:
        assert panel.state["tasks"] == []


async def test_a_path_that_is_a_date_is_that_day(open_board: Open) -> None:
    async with open_board(input={"path": "2026-12-01.json"}) as panel:
        assert (panel.state["date"], panel.state["name"]) == (TUESDAY, "")


REFUSED_INPUTS: list[tuple[dict[str, str], str]] = [
    ({"path": "../../etc/passwd"}, "invalid_path"),
    ({"path": "folder/board.json"}, "invalid_path"),
    ({"path": "/tmp/board.json"}, "invalid_path"),
    ({"path": "..\\board"}, "invalid_path"),
    ({"path": ".hidden"}, "invalid_path"),
    ({"path": "board.json.json"}, "invalid_path"),
    ({"path": "x" * 65}, "invalid_path"),
    ({"date": "tomorrow"}, "invalid_date"),
    ({"date": "2026-02-30"}, "invalid_date"),
    ({"date": "20261130"}, "invalid_date"),
    ({"date": MONDAY, "path": "board"}, "path_or_date"),
]


@pytest.mark.parametrize(("input", "code"), REFUSED_INPUTS)
async def test_a_board_elsewhere_cannot_be_asked_for(
    open_board: Open, kept: Diary, input: dict[str, str], code: str
) -> None:
    with pytest.raises(CanvasError) as refusal:
        async with open_board(input=input):
            pass
    assert refusal.value.code == code
    assert list(kept.folder.iterdir()) == []


async def test_an_edit_of_the_file_shows_up(open_board: Open, kept: Diary) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Typd wrong")
        path = kept.folder / f"{MONDAY}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        content["state"]["tasks"][0]["title"] = "Typed right"
        content["state"]["tasks"].append({"id": "by-hand", "title": "In the editor"})
        path.write_text(json.dumps(content), encoding="utf-8")
        await panel.events.wait_for("patch", lambda event: event.data["author"] == "system")
        assert titles(panel)["todo"] == ["Typed right", "In the editor"]
        await panel.agent.move_task(task_id="by-hand", status="done")
        assert titles(panel)["done"] == ["In the editor"]


# What is refused

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("move_task", {"task_id": "task-9", "status": "done"}, "task_not_found", "task-1, task-2"),
    ("move_task", {"task_id": "task-1", "status": "late"}, "invalid_input", "status"),
    ("move_task", {"task_id": "task-1"}, "invalid_input", "status"),
    ("add_task", {"title": " \n "}, "text_missing", "title"),
    ("add_task", {"title": "x" * 201}, "text_too_long", "200"),
    ("add_note", {"task_id": "task-1", "text": " "}, "text_missing", "note"),
    ("add_note", {"task_id": "task-1", "text": "x" * 4001}, "text_too_long", "4000"),
    ("remove_note", {"task_id": "task-1", "note_id": "note-7"}, "note_not_found", "none yet"),
    ("focus_on", {"task_id": "task-2"}, "task_is_done", "move_task"),
    ("count", {"counter_id": "tea"}, "counter_not_found", "water, steps, pages"),
    ("count", {"counter_id": "water", "by": 1.5}, "invalid_input", "by"),
    ("add_counter", {"name": "STEPS"}, "counter_exists", "its id is steps"),
    ("add_counter", {"name": "Tea", "step": 0}, "number_out_of_range", "step"),
    ("edit_counter", {"counter_id": "water", "name": "steps"}, "counter_exists", "steps"),
    ("edit_counter", {"counter_id": "water", "value": -1}, "number_out_of_range", "value"),
    ("capture", {"text": "\n \n"}, "text_missing", "line"),
    ("capture", {"text": "x\n" * (THOUGHT_LIMIT + 1)}, "board_full", "200 thoughts"),
    ("promote", {"thought_id": "task-1"}, "thought_not_found", "none yet"),
    ("let_go", {"thought_id": "thought-1"}, "thought_not_found", "none yet"),
    ("carry_over", {"task_ids": ["task-2"]}, "nothing_to_carry", "rest well"),
    ("carry_over", {"task_ids": ["task-1", "nothing"]}, "task_not_found", "task-1"),
    ("bring_back", {"task_id": "task-1"}, "task_is_here", "already"),
]


@pytest.mark.parametrize("caller", ["agent", "person"])
@pytest.mark.parametrize(("action", "given", "code", "hint"), REFUSED)
async def test_a_refusal_says_why_and_changes_nothing(
    open_board: Open, caller: str, action: str, given: dict[str, Any], code: str, hint: str
) -> None:
    async with open_board() as panel:
        await panel.person.add_task(title="Open")
        await panel.person.add_task(title="Finished", status="done")
        given = {**given, "task_id": real_id(panel, given)} if "task_id" in given else given
        if "task_ids" in given:
            given = {"task_ids": [real_id(panel, {"task_id": one}) for one in given["task_ids"]]}
        before = panel.revision, panel.state
        with pytest.raises(CanvasError) as refusal:
            await getattr(getattr(panel, caller), action)(**given)
        assert refusal.value.code == code
        assert hint.replace("task-2", last(panel)) in refusal.value.message
        assert (panel.revision, panel.state) == before


def real_id(panel: Panel, given: dict[str, Any]) -> str:
    """In the table, task-2 is the second task; ids are counted over all kinds of things."""
    return last(panel) if given["task_id"] == "task-2" else str(given["task_id"])


async def test_a_carried_task_is_not_worked_on_here(open_board: Open) -> None:
    async with open_board() as panel:
        task = await panel.person.add_task(title="Half done")
        await panel.person.carry_over()
        with pytest.raises(CanvasError, match="bring_back") as refusal:
            await panel.agent.add_note(task_id=task["id"], text="More")
        assert refusal.value.code == "task_carried_over"


async def test_what_an_editor_has_added_to_a_task_stays_with_it(
    open_board: Open, kept: Diary
) -> None:
    task = {"id": "task-1", "title": "Write", "colour": "red"}
    file = kept.folder / f"{MONDAY}.json"
    state = {"date": MONDAY, "tasks": [task], "mood": "calm"}
    file.write_text(
        json.dumps({"canvas_provider": 1, "revision": 1, "state": state}), encoding="utf-8"
    )
    async with open_board() as panel:
        await panel.person.add_task(title="Read", status="doing")
        await panel.agent.move_task(task_id="task-1", status="doing", position=0)
        await panel.agent.focus_on(task_id="task-1")
        assert titles(panel)["doing"] == ["Write", "Read"]
    saved = json.loads(file.read_text(encoding="utf-8"))["state"]
    assert saved["mood"] == "calm"
    assert [one.get("colour") for one in saved["tasks"]] == ["red", None]


async def test_a_board_has_room_for_so_many_tasks(open_board: Open, kept: Diary) -> None:
    tasks = [{"id": f"task-{number}", "title": "x"} for number in range(TASK_LIMIT)]
    kept.folder.joinpath(f"{MONDAY}.json").write_text(
        json.dumps(
            {"canvas_provider": 1, "revision": 1, "state": {"date": MONDAY, "tasks": tasks}}
        ),
        encoding="utf-8",
    )
    async with open_board() as panel:
        with pytest.raises(CanvasError, match="room for 200 tasks") as refusal:
            await panel.agent.add_task(title="One more")
        assert refusal.value.code == "board_full"


def test_every_action_is_the_persons_and_the_agents() -> None:
    declaration: Any = focus_board.declaration
    assert {action["name"] for action in declaration["actions"]} == set(focus_board.actions)
    assert set(declaration["inputSchema"]["properties"]) == {"date", "path"}
    assert all(action["description"] for action in declaration["actions"])
