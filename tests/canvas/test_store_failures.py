"""What agent, page and log are told when the state cannot be stored or read, and that it heals."""

import asyncio
import errno
import json
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from canvas_provider import Canvas, JSONFileStore, SQLiteStore, create_canvas
from canvas_provider.errors import StoreError, StoreUnavailable
from canvas_provider.state import filelock, sqlite_file
from canvas_provider.state.memory import MemoryStore
from canvas_provider.testing import Panel, open_canvas


class Card(BaseModel):
    title: str
    weight: int = 0


class Board(BaseModel):
    count: int = 0
    cards: list[Card] = []


def create_board() -> Canvas:
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="Counts.",
        state=Board,
        state_key=lambda ctx: "board",
    )

    @canvas.action
    async def add(board: Board) -> int:
        """Add one."""
        board.count += 1
        return board.count

    return canvas


Add = Callable[[], Awaitable[Any]]


async def refusals(
    panel: Panel, caplog: pytest.LogCaptureFixture, where: Path
) -> tuple[set[str], list[str]]:
    """Add as agent and as person, who are refused; return what they were told, and the log."""
    caplog.clear()
    told: set[str] = set()
    callers: list[Add] = [panel.agent.add, panel.person.add]
    async with asyncio.timeout(20):
        for call in callers:
            with pytest.raises(StoreUnavailable) as caught:
                await call()
            assert caught.value.code == "store_unavailable"
            assert str(where) not in caught.value.message
            told.add(caught.value.message)
        answer = await panel.http.post("actions/add", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert all(record.exc_info is None for record in errors), "no traceback of our own code"
    return told, [record.getMessage() for record in errors]


SYSTEM = [
    (errno.ENOSPC, "the disk is full. Free some space, then try again.", "[ENOSPC]"),
    (errno.EROFS, "there is no permission for the place where it is kept.", "[EROFS]"),
    (errno.EACCES, "there is no permission for the place where it is kept.", "[EACCES]"),
    (errno.EIO, "the disk has a fault.", "[EIO]"),
    (errno.EMFILE, "too many files are open. Close some programs", "[EMFILE]"),
    (errno.ENOLINK, "the system reports an error. The log", "[ENOLINK]"),
]


@pytest.mark.parametrize(("number", "why", "logged"), SYSTEM)
async def test_a_failed_write_is_told_with_what_helps_and_the_next_one_works(
    number: int,
    why: str,
    logged: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(filelock, "SHARING_PATIENCE", 0.01)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    async with open_canvas(create_board(), store=JSONFileStore(tmp_path)) as panel:
        assert await panel.agent.add() == 1
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            told, log = await refusals(panel, caplog, tmp_path)
        [text] = told
        assert text.startswith("The state could not be saved; nothing was changed. The reason: ")
        assert why in text
        assert log[0].startswith("action \"add\" of canvas 'board' failed: the state of 'board'")
        assert logged in log[0]
        assert str(tmp_path) in log[0]
        assert panel.revision == 1
        assert await panel.person.add() == 2


@contextmanager
def file_in_place_of(folder: Path) -> Iterator[None]:
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.write_text("a file")
    yield
    folder.unlink()
    aside.rename(folder)


async def test_a_file_in_place_of_the_folder_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "state"
    async with open_canvas(create_board(), store=JSONFileStore(folder)) as panel:
        await panel.agent.add()
        with file_in_place_of(folder):
            told, log = await refusals(panel, caplog, tmp_path)
        [text] = told
        assert text == (
            "The state could not be read; nothing was changed. The reason: something else is where "
            "its file or folder belongs. Move that away, then try again. The log of the extension "
            "has the details."
        )
        assert f"[EEXIST] File exists: {folder}" in log[0]
        assert await panel.person.add() == 2


async def test_a_database_that_another_program_keeps_locked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.02)
    path = tmp_path / "state.sqlite3"
    async with open_canvas(create_board(), store=SQLiteStore(path)) as panel:
        await panel.agent.add()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        told, log = await refusals(panel, caplog, tmp_path)
        [text] = told
        assert text == (
            "The state could not be saved; nothing was changed. The reason: another program has "
            "kept it locked for 0.02 s. Close what has it open, then try again."
        )
        assert "[SQLITE_BUSY]" in log[0]
        assert str(path) in log[0]
        other.execute("ROLLBACK")
        other.close()
        assert await panel.person.add() == 2


@pytest.mark.parametrize("kind", [JSONFileStore, SQLiteStore])
async def test_a_lock_that_another_process_keeps_is_told(
    kind: type[JSONFileStore] | type[SQLiteStore],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(filelock, "PATIENCE", 0.02)
    path = tmp_path / ("board.json" if kind is JSONFileStore else "state.sqlite3")
    store = kind(tmp_path if kind is JSONFileStore else path)
    async with open_canvas(create_board(), store=store) as panel:
        await panel.agent.add()
        with filelock.FileLock(path.with_name(f".{path.name}.lock"), path):
            told, log = await refusals(panel, caplog, tmp_path)
        [text] = told
        assert text == (
            "The state could not be reached: another process has kept it locked for 0.02 s. "
            "Nothing was changed; end that process, then try again."
        )
        assert f"{path} stays locked by another process" in log[0]
        assert await panel.person.add() == 2


MISFITS = {
    "a text for a number": ({"count": "many", "cards": []}, "/count: Input should be a valid int"),
    "an object for a list": ({"count": 1, "cards": {}}, "/cards: Input should be a valid array"),
    "a card without a title": ({"count": 1, "cards": [{}]}, "/cards/0/title: Field required"),
    "a list for all of it": ([], "the state: Input should be"),
}


@pytest.mark.parametrize(("state", "field"), MISFITS.values(), ids=MISFITS)
async def test_an_edit_that_does_not_fit_the_type_is_told_and_heals_when_it_is_put_right(
    state: Any, field: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = JSONFileStore(tmp_path)
    path = store.path("board")
    async with open_canvas(create_board(), store=store) as panel:
        await panel.agent.add()
        good = path.read_text("utf-8")
        bad = json.dumps({"canvas_provider": 1, "revision": 1, "state": state})
        path.write_text(bad)
        told, log = await refusals(panel, caplog, tmp_path)
        [text] = told
        assert text.startswith(f"The stored state is not what this canvas can read: {field}")
        assert text.endswith(
            "It stays as it is, and nothing was changed. Edit its file back, or move that away to "
            "begin anew."
        )
        assert f"'board' in JSONFileStore('{tmp_path}'): the stored state does not fit" in log[0]
        assert path.read_text("utf-8") == bad
        # What was there before is shown, and is there again after the edit is taken back.
        assert panel.state["count"] == 1
        path.write_text(good)
        assert await panel.person.add() == 2
        assert json.loads(path.read_text("utf-8"))["state"]["count"] == 2


async def test_a_canvas_whose_stored_state_does_not_fit_does_not_open_and_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = JSONFileStore(tmp_path)
    bad = {"canvas_provider": 1, "revision": 1, "state": {"count": "many"}}
    store.path("board").write_text(json.dumps(bad))
    with pytest.raises(StoreUnavailable, match=r"/count: Input should be a valid integer"):
        async with open_canvas(create_board(), store=store):
            pass
    assert str(tmp_path) in caplog.text
    assert json.loads(store.path("board").read_text()) == bad


async def test_a_store_of_ones_own_may_leave_out_what_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*arguments: Any) -> None:
        raise StoreError("/secret/path is on fire")

    store = MemoryStore()
    async with open_canvas(create_board(), store=store) as panel:
        monkeypatch.setattr(store, "commit", fail)
        with pytest.raises(StoreUnavailable) as caught:
            await panel.agent.add()
    assert caught.value.message.startswith('The state could not be saved or read for the action "')
    assert "secret" not in caught.value.message
    assert "/secret/path is on fire" in caplog.text
