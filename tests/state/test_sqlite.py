"""The SQLite file: what is written, what is found in it, and what others do to it."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.errors import DamagedDocument, RevisionConflict, StoreError
from canvas_provider.state import database, filelock, patch_log, sqlite_file
from canvas_provider.state.difference import Operation
from canvas_provider.state.history import Revision
from canvas_provider.state.shared import SharedState
from canvas_provider.state.sqlite import SQLiteStore
from canvas_provider.types import JSONValue
from tests.support.stores import commit, held


def open_by_hand(store: SQLiteStore) -> sqlite3.Connection:
    """Open the file as another program does."""
    assert store.path is not None
    return sqlite3.connect(store.path, isolation_level=None)


def connection_of(store: SQLiteStore) -> sqlite3.Connection:
    connection = store._work()._file._connection
    assert connection is not None
    return connection


async def load_anew(store: SQLiteStore, key: str) -> tuple[int, JSONValue] | None:
    """Load as a process does that has just started."""
    other = SQLiteStore(store.path)
    try:
        return await held(other, key)
    finally:
        await other.aclose()


def replace(path: str, value: Any) -> list[Operation]:
    return [{"op": "replace", "path": path, "value": value}]


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "state.sqlite3")


@pytest.mark.parametrize("name", ["", "../escape", "a/b", ".hidden", ".."])
def test_a_name_that_leads_out_of_its_folder_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="pass a path"):
        SQLiteStore(name=name)


def test_a_store_in_memory_is_another_one() -> None:
    with pytest.raises(ValueError, match="MemoryStore"):
        SQLiteStore(":memory:")


async def test_a_commit_reaches_the_disk_before_it_returns(store: SQLiteStore) -> None:
    await commit(store, "board", 0, {}, [])
    connection = connection_of(store)
    assert connection.execute("PRAGMA journal_mode").fetchall() == [(b"wal",)]
    assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]
    await store.aclose()


async def test_a_commit_writes_what_changed_and_not_the_document(store: SQLiteStore) -> None:
    items = [{"id": str(n), "text": "x" * 100} for n in range(5_000)]
    state = await SharedState.open(store, "board", initial=lambda: {"items": items})
    await state.update(lambda draft: draft["items"][7].update(text="first"))
    assert store.path is not None
    log = store.path.with_name("state.sqlite3-wal")
    before = log.stat().st_size
    for number in range(10):
        async with state.change() as draft:
            draft["items"][number]["text"] = "new"
    assert log.stat().st_size - before < 10 * 3 * 4200
    await store.aclose()


async def test_a_commit_is_all_or_nothing(store: SQLiteStore) -> None:
    await commit(store, "board", 0, {"a": 1}, [])
    await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    connection = connection_of(store)
    # The snapshot is written, then deleting the log fails.
    connection.execute(
        "CREATE TEMP TRIGGER fail BEFORE DELETE ON main.patches"
        " BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    with pytest.raises(StoreError):
        await commit(store, "board", 2, {"b": 1}, [])
    assert await load_anew(store, "board") == (2, {"a": 2})
    assert await held(store, "board") == (2, {"a": 2})
    await commit(store, "board", 2, {"a": 3}, replace("/a", 3))
    await store.aclose()


async def test_between_checking_the_revision_and_writing_nobody_else_commits(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program, which knows nothing of our lock, tries to."""
    await commit(store, "board", 0, {"a": 1}, [])
    write = patch_log.write
    tried: list[str] = []

    def interrupted(*args: Any) -> int:
        with closing(open_by_hand(store)) as other:
            other.execute("PRAGMA busy_timeout = 0")
            try:
                other.execute("UPDATE documents SET revision = 7")
            except sqlite3.OperationalError as error:
                tried.append(str(error))
        return write(*args)

    monkeypatch.setattr(patch_log, "write", interrupted)
    await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    assert tried == ["database is locked"]
    assert await load_anew(store, "board") == (2, {"a": 2})
    await store.aclose()


async def test_whoever_writes_holds_the_lock_beside_the_file(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening, creating and setting aside must not meet, nor a checkpoint a commit."""
    monkeypatch.setattr(filelock, "PATIENCE", 0.01)
    assert store.path is not None
    lock = store.path.with_name(".state.sqlite3.lock")
    with (
        filelock.FileLock(lock, store.path),
        pytest.raises(StoreError, match="stays locked"),
    ):
        await commit(store, "board", 0, {}, [])
    await commit(store, "board", 0, {"a": 1}, [])
    with filelock.FileLock(lock, store.path):
        assert await held(store, "board") == (1, {"a": 1}), "reading waits for nobody"
        with pytest.raises(StoreError, match="stays locked"):
            await commit(store, "board", 1, {}, [])
        with pytest.raises(StoreError, match="stays locked"):
            await load_anew(store, "board")
    await store.aclose()


async def test_another_program_that_keeps_the_file_is_waited_for_but_not_forever(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await commit(store, "board", 0, {"a": 1}, [])
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.05)
    with closing(open_by_hand(store)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="stays locked by another program; close"):
            await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
        assert await held(store, "board") == (1, {"a": 1})
        other.execute("ROLLBACK")
        await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    await store.aclose()


@pytest.mark.parametrize(
    ("limit", "text"),
    [("MAX_PATCHES", "short"), ("MIN_LOG", "long " * 50)],
)
async def test_the_log_is_bounded_by_count_and_by_bytes(
    store: SQLiteStore, limit: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_log, limit, 10 if limit == "MAX_PATCHES" else 2_000)
    lengths = []
    for revision in range(40):
        document: Any = {"text": f"{text}{revision}"}
        await commit(store, "board", revision, document, replace("/text", document["text"]))
        with closing(open_by_hand(store)) as other:
            ((count, size, total),) = other.execute(
                "SELECT count(*), total(patches.size), max(total) FROM patches, documents"
                " WHERE patches.revision > documents.revision"
            ).fetchall()
            lengths.append((count, size))
            assert total in (None, size)
        assert await load_anew(store, "board") == (revision + 1, document)
    assert max(count for count, size in lengths) == (10 if limit == "MAX_PATCHES" else 5)
    assert max(size for count, size in lengths) <= 2_000
    assert sum(count == 0 for count, size in lengths) > 3
    await store.aclose()


@pytest.mark.parametrize("bound", ["MAX_REVISIONS", "MAX_SIZE"])
async def test_the_history_outlives_the_log_and_is_bounded_itself(
    store: SQLiteStore, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_log, "MAX_PATCHES", 10)
    monkeypatch.setattr(patch_log, bound, 25 if bound == "MAX_REVISIONS" else 25 * 132)
    kept = []
    for n in range(100):
        revision = Revision(
            n + 1, replace("/n", n), "agent", "count", 0.5 * n, n, replace("/n", n - 1), None
        )
        await store.commit("board", n, {"n": n}, revision)
        with closing(open_by_hand(store)) as other:
            kept.append(other.execute("SELECT count(*) FROM patches").fetchone()[0])
    found = await store.load("board")
    assert found is not None
    assert [known.number for known in found.history] == list(range(76, 101))
    assert found.history[-1] == revision
    assert max(kept) == 25 + 10
    await store.aclose()


async def test_a_revision_that_is_too_large_is_no_history_but_a_commit(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_log, "MAX_SIZE", 1000)
    monkeypatch.setattr(patch_log, "MIN_LOG", 1000)
    state = await SharedState.open(store, "board", initial=lambda: {"a": ""})
    for text in ("short", "long" * 500, "next", "last"):
        async with state.change() as draft:
            draft["a"] = text
    # What brings the long text back is as long.
    expected: list[list[int]] = [[4], []]
    for history in expected:
        found = await store.load("board")
        assert found is not None
        assert [known.number for known in found.history] == history
        assert found.document == state.document
        async with state.change() as draft:
            draft["a"] = "long" * 500
    await store.aclose()


@pytest.mark.parametrize(
    "damage",
    ["author = 'nobody'", "inverse = NULL", "inverse = '{'", "inverse = '7'", "revision = -1"],
)
async def test_a_damaged_history_ends_there_and_the_document_is_read(
    store: SQLiteStore, damage: str
) -> None:
    for n in range(4):
        revision = Revision(n + 1, replace("/n", n), "agent", None, 0.0, n, replace("/n", n - 1))
        await store.commit("board", n, {"n": n}, revision)
    # Of no more use to the log.
    await store.aclose()
    with closing(open_by_hand(store)) as other:
        other.execute("UPDATE documents SET revision = 4, snapshot = '{\"n\":3}'")
        other.execute(f"UPDATE patches SET {damage} WHERE revision = 2")
    state = await SharedState.open(store, "board")
    assert (state.revision, state.document) == (4, {"n": 3})
    assert [known.number for known in state.history()] == [3, 4]
    await store.aclose()


FORMAT_1 = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    size INTEGER NOT NULL,
    snapshot TEXT NOT NULL
);
CREATE TABLE patches (
    document INTEGER NOT NULL REFERENCES documents,
    revision INTEGER NOT NULL,
    total INTEGER NOT NULL,
    operations TEXT NOT NULL,
    PRIMARY KEY (document, revision)
) WITHOUT ROWID;
INSERT INTO documents VALUES (1, X'626F617264', 5, 7, '{"a":1}');
INSERT INTO patches VALUES (1, 6, 45, '[{"op":"replace","path":"/a","value":2}]');
INSERT INTO patches VALUES (1, 7, 90, '[{"op":"replace","path":"/a","value":3}]');
PRAGMA application_id = 0x63767073;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
"""


async def test_a_file_of_the_first_format_is_taken_over(store: SQLiteStore) -> None:
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as old:
        old.executescript(FORMAT_1)
    state = await SharedState.open(store, "board")
    assert (state.revision, state.document, state.history()) == (7, {"a": 3}, [])
    async with state.change(author="person") as draft:
        draft["a"] = 4
    await store.aclose()
    again = await SharedState.open(SQLiteStore(store.path), "board")
    assert (again.revision, again.document) == (8, {"a": 4})
    assert [(known.number, known.author) for known in again.history()] == [(8, "person")]
    await again.undo()
    assert again.document == {"a": 3}
    with closing(sqlite3.connect(store.path)) as file, closing(sqlite3.connect(":memory:")) as new:
        new.executescript(patch_log.SCHEMA)
        schemas = [
            sorted(row[0] for row in each.execute("SELECT sql FROM sqlite_schema") if row[0])
            for each in (file, new)
        ]
        assert file.execute("PRAGMA user_version").fetchone() == (sqlite_file.FORMAT,)
    assert schemas[0] == schemas[1]
    await again.aclose()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as old:
        old.executescript(FORMAT_1)
        before = list(old.iterdump())
    script = patch_log.MIGRATIONS[1]
    with monkeypatch.context() as patched:
        patched.setitem(patch_log.MIGRATIONS, 1, f"{script}; INSERT INTO nowhere VALUES (1);")
        with pytest.raises(StoreError):
            await store.load("board")
    with closing(sqlite3.connect(store.path)) as old:
        assert list(old.iterdump()) == before
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
    assert await held(store, "board") == (7, {"a": 3})
    await store.aclose()


async def test_only_what_others_changed_is_read(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await commit(store, "board", 0, {"items": ["a"], "rest": {}}, [])
    ours = await store.load("board")
    other = SQLiteStore(store.path)
    await commit(other, "board", 1, {"items": ["b"], "rest": {}}, replace("/items/0", "b"))
    read: list[object] = []
    parse = patch_log._parse

    def noting(text: object) -> Any:
        read.append(text)
        return parse(text)

    monkeypatch.setattr(patch_log, "_parse", noting)
    theirs = await store.load("board", 1)
    assert set(read) == {b'[{"op":"replace","path":"/items/0","value":"b"}]', b"[]"}
    assert ours is not None
    assert theirs is not None
    documents: Any = ours.document, theirs.document
    assert documents[0]["rest"] is documents[1]["rest"]
    again = await store.load("board", 2)
    assert again is not None
    assert again.document is theirs.document
    await store.aclose()
    await other.aclose()


async def test_what_is_known_of_one_file_is_not_taken_for_anothers(
    store: SQLiteStore, tmp_path: Path
) -> None:
    backup = SQLiteStore(tmp_path / "backup.sqlite3")
    for made, name in ((store, "used"), (backup, "backup")):
        await commit(made, "board", 0, {"of": name, "n": 0}, [])
        for n in (1, 2):
            await commit(made, "board", n, {"of": name, "n": n}, replace("/n", n))
    await backup.aclose()
    os.replace(tmp_path / "backup.sqlite3", tmp_path / "state.sqlite3")
    assert await held(store, "board") == (3, {"of": "backup", "n": 2})
    await store.aclose()


async def test_commits_of_ones_own_leave_the_other_documents_current(store: SQLiteStore) -> None:
    await commit(store, "one", 0, {}, [])
    await commit(store, "two", 0, {}, [])
    await commit(store, "two", 1, {"a": 1}, [])
    assert store.is_current("one", 1)
    other = SQLiteStore(store.path)
    await commit(other, "three", 0, {}, [])
    assert not store.is_current("one", 1), "it may be another: nobody has looked yet"
    await store.load("one")
    assert store.is_current("one", 1)
    assert not store.is_current("two", 2)
    await store.aclose()
    await other.aclose()


async def test_the_file_is_looked_at_only_while_somebody_watches(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOOK_EVERY", 0.001)
    await commit(store, "board", 0, {}, [])
    work = store._work()
    leave = [store.watch("board", lambda: None), store.watch("other", lambda: None)]
    ticker = work._ticker
    assert ticker is not None
    leave[0]()
    assert work._ticker is ticker
    leave[1]()
    assert work._ticker is None
    await store.aclose()


async def test_who_begins_to_watch_late_hears_of_what_came_before(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOOK_EVERY", 0.001)
    other = SQLiteStore(store.path)
    for key in ("first", "late"):
        await commit(store, key, 0, {}, [])
    first, late = asyncio.Event(), asyncio.Event()
    store.watch("first", first.set)
    await commit(other, "late", 1, {"a": 1}, [])
    await commit(other, "first", 1, {"a": 1}, [])
    async with asyncio.timeout(5):
        # Both commits were looked at now.
        await first.wait()
        store.watch("late", late.set)
        await late.wait()
    await store.aclose()
    await other.aclose()


async def test_closing_leaves_one_file(store: SQLiteStore, tmp_path: Path) -> None:
    other = SQLiteStore(store.path)
    await commit(store, "board", 0, {"a": 1}, [])
    assert await held(other, "board") == (1, {"a": 1})
    await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    await store.aclose()
    assert (tmp_path / "state.sqlite3-wal").stat().st_size == 0, "it is all in the file"
    await other.aclose()
    assert sorted(os.listdir(tmp_path)) == [".state.sqlite3.lock", "state.sqlite3"]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE documents SET snapshot = '{' WHERE key = x'626f617264'",
        "UPDATE documents SET snapshot = x'ff' WHERE key = x'626f617264'",
        "UPDATE documents SET snapshot = 'NaN' WHERE key = x'626f617264'",
        "UPDATE documents SET snapshot = 5 WHERE key = x'626f617264'",
        "UPDATE documents SET snapshot = '[]' WHERE key = x'626f617264'",
        "UPDATE patches SET operations = '[1]'",
        "UPDATE patches SET operations = '{}'",
        'UPDATE patches SET operations = \'[{"op": "hunter2"}]\'',
        "UPDATE patches SET operations = 'hunter2'",
        "UPDATE patches SET revision = 9",
    ],
)
async def test_a_damaged_document_is_set_aside_and_the_others_stay(
    store: SQLiteStore, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    await commit(store, "board", 0, {"a": "hunter2"}, [])
    await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    await commit(store, "other", 0, {"b": 1}, [])
    await store.aclose()
    with closing(open_by_hand(store)) as other:
        other.execute(damage)
        before = other.execute("SELECT snapshot FROM documents").fetchall()
    state = await SharedState.open(store, "board", initial=lambda: {"new": 1})
    assert state.damage is not None
    assert "board.damaged-" in state.damage
    assert state.damage in caplog.text
    assert "hunter2" not in caplog.text
    assert (state.revision, state.document) == (0, {"new": 1})
    await state.update(lambda draft: draft.update(new=2))
    assert await held(store, "other") == (1, {"b": 1})
    with closing(open_by_hand(store)) as other:
        rows = other.execute("SELECT CAST(key AS TEXT), snapshot FROM documents").fetchall()
    assert [text for key, text in rows if key != "board"] == [text for (text,) in before]
    await store.aclose()


async def test_a_file_damaged_in_use_is_set_aside_with_its_log(
    store: SQLiteStore, tmp_path: Path
) -> None:
    await commit(store, "board", 0, {"text": ["x" * 1000] * 100}, [])
    with closing(open_by_hand(store)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    await commit(store, "other", 0, {}, [])
    path = tmp_path / "state.sqlite3"
    log = (tmp_path / "state.sqlite3-wal").read_bytes()
    assert log
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (len(content) - 4096))
    damaged = path.read_bytes()
    newcomer = SQLiteStore(path)
    with pytest.raises(DamagedDocument) as caught:
        await newcomer.load("board")
    aside = next(name for name in os.listdir(tmp_path) if name.endswith("Z-wal"))[: -len("-wal")]
    assert aside in str(caught.value)
    assert (tmp_path / aside).read_bytes() == damaged
    assert (tmp_path / f"{aside}-wal").read_bytes() == log
    # Who had it open goes on with the new file.
    assert await store.load("board") is None
    await commit(store, "board", 0, {"a": 1}, [])
    assert await held(newcomer, "board") == (1, {"a": 1})
    assert (tmp_path / f"{aside}-wal").read_bytes() == log
    await store.aclose()
    await newcomer.aclose()
    assert (tmp_path / aside).read_bytes() == damaged


async def test_setting_aside_writes_to_nothing(store: SQLiteStore, tmp_path: Path) -> None:
    """The last to close a file moves its log into it, unless it has another name."""
    await commit(store, "board", 0, {"text": ["x" * 1000] * 100}, [])
    with closing(open_by_hand(store)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    await commit(store, "other", 0, {}, [])
    content = (tmp_path / "state.sqlite3").read_bytes()
    log = (tmp_path / "state.sqlite3-wal").read_bytes()
    await store.aclose()
    # As `kill -9` leaves it, and then a page of it is lost.
    content = content[:-4096] + b"\xff" * 4096
    (tmp_path / "state.sqlite3").write_bytes(content)
    (tmp_path / "state.sqlite3-wal").write_bytes(log)
    with pytest.raises(DamagedDocument):
        await load_anew(store, "board")
    (aside,) = [name[:-4] for name in os.listdir(tmp_path) if name.endswith("Z-wal")]
    assert (tmp_path / aside).read_bytes() == content
    assert (tmp_path / f"{aside}-wal").read_bytes() == log


async def test_an_empty_file_with_a_log_loses_no_log(store: SQLiteStore, tmp_path: Path) -> None:
    """SQLite would take the file for a new one, and delete the log."""
    path = tmp_path / "state.sqlite3"
    path.write_bytes(b"")
    path.with_name("state.sqlite3-wal").write_bytes(b"what was committed")
    with pytest.raises(DamagedDocument, match="empty"):
        await store.load("board")
    (log,) = [name for name in os.listdir(tmp_path) if name.endswith("Z-wal")]
    assert (tmp_path / log).read_bytes() == b"what was committed"


async def test_a_log_that_was_left_alone_is_not_put_into_a_new_file(
    store: SQLiteStore, tmp_path: Path
) -> None:
    await commit(store, "board", 0, {"old": True}, [])
    for name in ("state.sqlite3", "state.sqlite3-wal"):
        (tmp_path / f"copy-{name}").write_bytes((tmp_path / name).read_bytes())
    await store.aclose()
    (tmp_path / "state.sqlite3").unlink()
    os.replace(tmp_path / "copy-state.sqlite3-wal", tmp_path / "state.sqlite3-wal")
    assert await store.load("board") is None
    await commit(store, "new", 0, {}, [])
    assert await store.load("board") is None
    assert any(name.endswith("Z-wal") for name in os.listdir(tmp_path))
    await store.aclose()


async def test_a_database_of_another_program_is_left_alone(
    store: SQLiteStore, tmp_path: Path
) -> None:
    with closing(open_by_hand(store)) as other:
        other.execute("CREATE TABLE documents (key)")
    content = (tmp_path / "state.sqlite3").read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match="of another program: give SQLiteStore another path"):
            await store.load("board")
        with pytest.raises(StoreError, match="another program"):
            await commit(store, "board", 0, {}, [])
    assert (tmp_path / "state.sqlite3").read_bytes() == content


@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
async def test_a_folder_or_pipe_is_left_alone(
    store: SQLiteStore, make: Callable[[Path], None]
) -> None:
    assert store.path is not None
    make(store.path)
    async with asyncio.timeout(5):
        with pytest.raises(StoreError, match="is not a file: give SQLiteStore the path of one"):
            await store.load("board")
        with pytest.raises(StoreError, match="is not a file"):
            await commit(store, "board", 0, {}, [])
        await store.aclose()
    assert sorted(os.listdir(store.path.parent)) == [".state.sqlite3.lock", "state.sqlite3"]


async def test_a_full_disk_is_an_error_that_says_what_to_do_and_nothing_is_lost(
    store: SQLiteStore,
) -> None:
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    connection_of(store).execute("PRAGMA max_page_count = 1").fetchall()
    with pytest.raises(StoreError, match="No space left on device; free some space"):
        await state.update(lambda draft: draft.update(text="x" * 100_000))
    assert (state.revision, state.document) == (1, {"a": 2})
    await state.update(lambda draft: draft.update(a=3))
    assert await load_anew(store, "board") == (2, {"a": 3})
    await store.aclose()


async def test_a_file_without_permission_is_an_error_that_says_what_to_do(
    store: SQLiteStore, tmp_path: Path
) -> None:
    await commit(store, "board", 0, {"a": 1}, [])
    connection_of(store).execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=f"make {tmp_path} writable for you, or give the store"):
        await commit(store, "board", 1, {"a": 2}, replace("/a", 2))
    assert await held(store, "board") == (1, {"a": 1})
    await store.aclose()


async def test_the_session_says_where_the_file_is_if_the_author_does_not(tmp_path: Path) -> None:
    store = SQLiteStore(name="boards")
    with pytest.raises(StoreError, match="needs a path"):
        await store.load("board")
    resolved = store.resolve(tmp_path / "artifacts")
    await commit(resolved, "board", 0, {}, [])
    await resolved.aclose()
    assert (tmp_path / "artifacts" / "boards.sqlite3").is_file()
    assert SQLiteStore().resolve(tmp_path).path == tmp_path / "state.sqlite3"
    own = SQLiteStore(tmp_path / "own.sqlite3")
    assert own.resolve(tmp_path) is own


async def test_a_conflict_creates_no_document(store: SQLiteStore) -> None:
    with pytest.raises(RevisionConflict):
        await commit(store, "board", 4, {}, [])
    assert await store.load("board") is None
    await store.aclose()


IMPORTS = """
import sys
from canvas_provider import SQLiteStore
SQLiteStore("x").resolve(None), SQLiteStore()
heavy = ("asyncio", "sqlite3", "pydantic", "concurrent.futures")
print([name for name in heavy if name in sys.modules])
"""


def test_naming_the_store_loads_neither_asyncio_nor_sqlite3() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
