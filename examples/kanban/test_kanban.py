"""The board's rules, called as the agent and the page call them. No browser, no socket."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from canvas_provider import CanvasError, JSONFileStore, MemoryStore, RedisStore, SQLiteStore
from canvas_provider.testing import Panel, open_canvas
from examples.kanban import extension
from examples.kanban.extension import kanban, read_place, store_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the cards card-1, card-2 and so on, so that a test can."""
    numbers = itertools.count(1)
    monkeypatch.setattr(extension, "new_card_id", lambda: f"card-{next(numbers)}")


def titles(panel: Panel) -> dict[str, list[str]]:
    """The titles by column: what one sees on the board."""
    return {
        column["id"]: [card["title"] for card in column["cards"]]
        for column in panel.state["columns"]
    }


async def test_a_new_board_has_three_empty_columns() -> None:
    async with open_canvas(kanban) as panel:
        assert titles(panel) == {"backlog": [], "doing": [], "done": []}
        assert panel.revision == 0


async def test_the_agent_moves_a_card_that_a_person_added() -> None:
    async with open_canvas(kanban) as panel:
        card = await panel.person.add_card(title="Ship it", assignee="Ana")
        moved = await panel.agent.move_card(cardId=card["id"], columnId="done")
        assert titles(panel) == {"backlog": [], "doing": [], "done": ["Ship it"]}
        assert moved == {**card, "columnId": "done", "position": 0}
        assert panel.revision == 2


async def test_a_person_moves_a_card_that_the_agent_added() -> None:
    async with open_canvas(kanban) as panel:
        card = await panel.agent.add_card(title="Ship it", columnId="doing")
        await panel.person.move_card(cardId=card["id"], columnId="done")
        assert await panel.agent.list_cards(columnId="done") == [
            {**card, "columnId": "done", "position": 0}
        ]


@pytest.mark.parametrize(
    ("position", "order"),
    [(0, "CAB"), (1, "ACB"), (2, "ABC"), (9, "ABC"), (-9, "CAB"), (None, "ABC")],
)
async def test_a_card_moves_within_its_column(position: int | None, order: str) -> None:
    async with open_canvas(kanban) as panel:
        for title in "ABC":
            await panel.person.add_card(title=title)
        await panel.agent.move_card(cardId="card-3", columnId="backlog", position=position)
        assert titles(panel)["backlog"] == list(order)


async def test_a_move_to_the_same_place_is_no_change() -> None:
    async with open_canvas(kanban) as panel:
        card = await panel.person.add_card(title="Here")
        await panel.agent.move_card(cardId=card["id"], columnId="backlog", position=0)
        assert panel.revision == 1


async def test_an_edit_changes_only_what_it_names() -> None:
    async with open_canvas(kanban) as panel:
        card = await panel.person.add_card(title="Draft", notes="Why", assignee="Ana")
        edited = await panel.agent.edit_card(cardId=card["id"], title="  The\n draft ")
        assert edited == {**card, "title": "The draft"}
        assert await panel.agent.edit_card(cardId=card["id"], assignee="") == {
            **edited,
            "assignee": "",
        }


async def test_a_deleted_card_is_gone_but_for_an_undo() -> None:
    async with open_canvas(kanban) as panel:
        card = await panel.person.add_card(title="Wrong")
        assert await panel.agent.delete_card(cardId=card["id"]) == card
        assert titles(panel)["backlog"] == []
        await panel.agent.undo()
        assert titles(panel)["backlog"] == ["Wrong"]


async def test_columns_are_added_renamed_moved_and_removed() -> None:
    async with open_canvas(kanban) as panel:
        column = await panel.agent.add_column(title="In review", position=2)
        assert column == {"id": "in-review", "title": "In review", "cards": []}
        assert list(titles(panel)) == ["backlog", "doing", "in-review", "done"]
        await panel.person.rename_column(columnId="in-review", title="Review")
        await panel.person.move_column(columnId="in-review", position=0)
        await panel.agent.remove_column(columnId="doing")
        assert [column["title"] for column in panel.state["columns"]] == [
            "Review",
            "Backlog",
            "Done",
        ]


async def test_a_new_column_never_takes_the_id_of_another() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.rename_column(columnId="done", title="Shipped")
        assert (await panel.person.add_column(title="Done"))["id"] == "done-2"


async def test_the_overview_leaves_the_notes_out() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Ship it", notes="A long story")
        overview = await panel.agent.get_board()
        assert overview[0]["cards"] == [{"id": "card-1", "title": "Ship it", "assignee": ""}]


async def test_cards_are_found_by_assignee_and_text() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Port the exporter", assignee="Ana")
        await panel.person.add_card(title="Call Ben", notes="About the EXPORTER")
        by_ana = await panel.agent.list_cards(assignee="ana")
        assert [card["id"] for card in by_ana] == ["card-1"]
        found = await panel.agent.list_cards(text="exporter")
        assert [card["id"] for card in found] == ["card-1", "card-2"]
        unassigned = await panel.agent.list_cards(assignee="")
        assert [card["id"] for card in unassigned] == ["card-2"]


async def told(panel: Panel) -> list[tuple[str, str]]:
    """Who did what, newest first."""
    return [(line["who"], line["text"]) for line in await panel.agent.history()]


async def test_the_history_says_who_changed_what() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Ship it")
        await panel.agent.add_card(title="Test it")
        await panel.agent.add_card(title="Sell it")
        await panel.agent.move_card(cardId="card-3", columnId="backlog", position=0)
        await panel.agent.move_card(cardId="card-1", columnId="doing")
        await panel.person.edit_card(cardId="card-1", title="Ship it now", notes="To all")
        await panel.person.add_column(title="Review")
        await panel.agent.rename_column(columnId="review", title="Check")
        await panel.agent.move_column(columnId="review", position=0)
        await panel.person.remove_column(columnId="review")
        await panel.person.delete_card(cardId="card-2")
        assert await told(panel) == [
            ("person", "Deleted “Test it”"),
            ("person", "Removed the column “Check”"),
            ("agent", "Changed the order of the columns"),
            ("agent", "Renamed the column “Review” to “Check”"),
            ("person", "Added the column “Review”"),
            ("person", "Edited the title and notes of “Ship it now”"),
            ("agent", "Moved “Ship it” to In progress"),
            ("agent", "Moved “Sell it” within Backlog"),
            ("agent", "Added “Sell it” to Backlog"),
            ("agent", "Added “Test it” to Backlog"),
            ("person", "Added “Ship it” to Backlog"),
        ]


async def test_undo_takes_back_ones_own_latest_change_and_redo_brings_it_back() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Hers")
        await panel.agent.add_card(title="Its", columnId="doing")
        undone = await panel.person.undo()
        assert undone["text"] == "Undid: Added “Hers” to Backlog"
        assert titles(panel) == {"backlog": [], "doing": ["Its"], "done": []}
        with pytest.raises(CanvasError, match="nothing"):
            await panel.person.undo()
        redone = await panel.person.redo()
        assert redone["text"] == "Redid: Added “Hers” to Backlog"
        assert titles(panel)["backlog"] == ["Hers"]


async def test_a_deleted_card_comes_back_to_its_place_whoever_deleted_it() -> None:
    async with open_canvas(kanban) as panel:
        for title in "ABC":
            await panel.person.add_card(title=title, notes=f"About {title}")
        before = panel.state
        await panel.agent.delete_card(cardId="card-2")
        [deletion] = await panel.person.history(limit=1)
        assert deletion["undoable"]
        await panel.person.undo(revision=deletion["revision"])
        assert panel.state == before
        undo, deletion = await panel.agent.history(limit=2)
        assert (undo["undoable"], deletion["undoable"]) == (True, False)


async def test_an_undo_that_others_built_on_is_refused_in_words() -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Draft")
        await panel.person.edit_card(cardId="card-1", title="Mine")
        await panel.agent.edit_card(cardId="card-1", title="Theirs")
        with pytest.raises(CanvasError) as refusal:
            await panel.person.undo()
        assert refusal.value.code == "revision_conflict"
        assert "agent" in refusal.value.message
        assert titles(panel)["backlog"] == ["Theirs"]


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("move_card", {"cardId": "card-1", "columnId": "nowhere"}, "column_not_found", "doing"),
    ("move_card", {"cardId": "card-9", "columnId": "done"}, "card_not_found", "get_board"),
    ("add_card", {"title": "x", "columnId": "nowhere"}, "column_not_found", "backlog, doing, done"),
    ("add_card", {"title": " \n "}, "text_missing", "title"),
    ("add_card", {"title": "x" * 201}, "text_too_long", "200"),
    ("edit_card", {"cardId": "card-1", "notes": "x" * 10_001}, "text_too_long", "notes"),
    ("add_column", {"title": "BACKLOG"}, "column_exists", "backlog"),
    ("rename_column", {"columnId": "done", "title": "Backlog"}, "column_exists", "backlog"),
    ("remove_column", {"columnId": "backlog"}, "column_not_empty", "1 card"),
    ("move_card", {"cardId": "card-1"}, "invalid_input", "columnId"),
    ("move_card", {"cardId": "card-1", "columnId": "done", "pos": 0}, "invalid_input", "pos"),
]


@pytest.mark.parametrize("caller", ["agent", "person"])
@pytest.mark.parametrize(("action", "given", "code", "hint"), REFUSED)
async def test_a_refusal_says_why_and_changes_nothing(
    caller: str, action: str, given: dict[str, Any], code: str, hint: str
) -> None:
    async with open_canvas(kanban) as panel:
        await panel.person.add_card(title="Ship it")
        before = panel.state
        with pytest.raises(CanvasError) as refusal:
            await getattr(getattr(panel, caller), action)(**given)
        assert refusal.value.code == code
        assert hint in refusal.value.message
        assert (panel.revision, panel.state) == (1, before)


async def test_a_board_without_columns_says_how_to_get_one() -> None:
    async with open_canvas(kanban) as panel:
        for column_id in ("backlog", "doing", "done"):
            await panel.person.remove_column(columnId=column_id)
        with pytest.raises(CanvasError) as refusal:
            await panel.agent.add_card(title="Ship it")
        assert refusal.value.code == "no_columns"


async def test_a_project_has_a_board_of_its_own() -> None:
    store = MemoryStore()
    async with open_canvas(kanban, input={"project": "release-2026-08"}, store=store) as panel:
        await panel.person.add_card(title="Ship it")
    async with open_canvas(kanban, input=None, store=store) as panel:
        assert titles(panel)["backlog"] == []
    async with open_canvas(kanban, input={"project": "release-2026-08"}, store=store) as panel:
        assert titles(panel)["backlog"] == ["Ship it"]


async def test_the_board_outlives_the_program(tmp_path: Path) -> None:
    async with open_canvas(kanban, store=JSONFileStore(tmp_path)) as panel:
        await panel.person.add_card(title="Ship it")
    async with open_canvas(kanban, store=JSONFileStore(tmp_path)) as panel:
        assert titles(panel)["backlog"] == ["Ship it"]
        assert panel.revision == 1


async def test_a_board_of_an_earlier_version_opens_and_keeps_what_it_holds(tmp_path: Path) -> None:
    """Its cards were numbered by a `serial` in the board; a card may have notes of an editor's."""
    card = {"id": "card-7", "title": "Ship it", "notes": "", "assignee": "Ana", "colour": "red"}
    columns = [
        {"id": "backlog", "title": "Backlog", "cards": [card]},
        {"id": "done", "title": "Done", "cards": []},
    ]
    file = tmp_path / "default.json"
    state = {"project": "default", "columns": columns, "serial": 7}
    file.write_text(
        json.dumps({"canvas_provider": 1, "revision": 12, "state": state}), encoding="utf-8"
    )
    async with open_canvas(kanban, store=JSONFileStore(tmp_path)) as panel:
        assert panel.revision == 12
        await panel.agent.move_card(cardId="card-7", columnId="done")
        await panel.person.add_card(title="Celebrate", columnId="done")
        assert titles(panel) == {"backlog": [], "done": ["Ship it", "Celebrate"]}
    saved = json.loads(file.read_text(encoding="utf-8"))["state"]
    assert saved["serial"] == 7
    assert saved["columns"][1]["cards"][0] == card


async def test_a_panel_says_in_which_store_its_board_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "STORES", {"json": MemoryStore(), "sqlite": MemoryStore()})
    monkeypatch.setattr(extension, "USUAL_STORE", extension.STORES["json"])
    async with open_canvas(kanban, {"store": "sqlite"}, store=store_of) as panel:
        await panel.person.add_card(title="In the database")
    async with open_canvas(kanban, {"store": "json"}, store=store_of) as panel:
        assert titles(panel)["backlog"] == []
        await panel.person.add_card(title="In the file")
    async with open_canvas(kanban, store=store_of) as panel:
        assert titles(panel)["backlog"] == ["In the file"]
    async with open_canvas(kanban, {"store": "sqlite"}, store=store_of) as panel:
        assert titles(panel)["backlog"] == ["In the database"]


def test_the_environment_names_a_store_or_a_place(tmp_path: Path) -> None:
    assert read_place("sqlite") is extension.STORES["sqlite"]
    assert read_place("json") is extension.STORES["json"]
    database, folder = read_place(str(tmp_path / "b.db")), read_place(str(tmp_path))
    assert isinstance(database, SQLiteStore)
    assert database.path == tmp_path / "b.db"
    assert isinstance(folder, JSONFileStore)
    assert folder.directory == tmp_path
    server = read_place("redis://127.0.0.1:6379/0")
    assert isinstance(server, RedisStore)
    assert server.prefix == "kanban"


def test_the_declaration_has_the_names_that_agents_know() -> None:
    declaration: Any = kanban.declaration
    assert (declaration["id"], declaration["displayName"]) == ("agentic-kanban", "Agentic Kanban")
    assert declaration["inputSchema"]["properties"]["project"]["type"] == "string"
    actions = {action["name"]: action for action in declaration["actions"]}
    assert actions["move_card"]["inputSchema"]["required"] == ["cardId", "columnId"]
