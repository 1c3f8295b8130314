"""What else may lie where a document should be, and a disk that is full during a write."""

import asyncio
import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from canvas_provider.errors import StoreError
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.shared import SharedState
from canvas_provider.state.sqlite import SQLiteStore
from tests.support.stores import commit, held


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
async def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    os.mkfifo(store.path("k"))
    async with asyncio.timeout(5):
        with pytest.raises(StoreError, match="is a pipe"):
            await store.load("k")
        with pytest.raises(StoreError, match="is a pipe"):
            await commit(store, "k", 0, {}, [])
    await store.aclose()


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
async def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JSONFileStore(tmp_path)
    await commit(store, "k", 0, {"kept": True}, [])
    before = sorted(os.listdir(tmp_path)), store.path("k").read_bytes()

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, fail)
        with pytest.raises(StoreError, match="No space left"):
            await commit(store, "k", 1, {"lost": "x" * 100_000}, [])
    assert (sorted(os.listdir(tmp_path)), store.path("k").read_bytes()) == before
    await commit(store, "k", 1, {"kept": 2}, [])
    await store.aclose()


class Board(BaseModel):
    title: str = "A board"
    cards: list[str] = []


@pytest.fixture(params=[errno.EROFS, errno.EACCES])
def read_only(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with documents, in which nothing can be made, removed or renamed."""
    for key, state in (("board", '{"title": "t", "cards": []}'), ("grown", '{"cards": ["a"]}')):
        text = f'{{"canvas_provider": 1, "revision": 4, "state": {state}}}'
        (tmp_path / f"{key}.json").write_text(text, "utf-8")
    (tmp_path / "bad.json").write_text("{", "utf-8")

    def refuse(path: Any) -> OSError:
        return OSError(request.param, os.strerror(request.param), str(path))

    def refuse_open(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if flags & os.O_CREAT:
            raise refuse(path)
        return open_as_ever(path, flags, *args, **more)

    def refuse_call(path: Any, *args: Any, **more: Any) -> None:
        if not Path(path).exists() or "exist_ok" not in more:
            raise refuse(path)

    open_as_ever = os.open
    monkeypatch.setattr(os, "open", refuse_open)
    for name in ("rename", "replace", "unlink", "mkdir"):
        monkeypatch.setattr(os, name, refuse_call)
    monkeypatch.setattr("canvas_provider.state.filelock.SHARING_PATIENCE", 0.01)
    return tmp_path


async def test_a_document_can_be_read_where_nothing_can_be_written(read_only: Path) -> None:
    state = await SharedState.open(JSONFileStore(read_only), "board", Board)
    assert (state.value.title, state.revision) == ("t", 4)
    with pytest.raises(StoreError, match="cannot be saved: .*writable"):
        await state.update(lambda board: board.cards.append("b"))
    assert (state.value.cards, state.revision) == ([], 4)
    assert sorted(os.listdir(read_only)) == ["bad.json", "board.json", "grown.json"]


async def test_what_a_type_fills_in_need_not_be_stored_to_be_read(read_only: Path) -> None:
    state = await SharedState.open(JSONFileStore(read_only), "grown", Board)
    assert (state.value.title, state.value.cards, state.revision) == ("A board", ["a"], 4)


async def test_where_nothing_can_be_written_nothing_is_found_or_set_aside(read_only: Path) -> None:
    store = JSONFileStore(read_only)
    assert await store.load("none") is None
    assert await JSONFileStore(read_only / "no" / "folder").load("none") is None
    with pytest.raises(StoreError, match="cannot be read"):
        await store.load("bad")
    assert (read_only / "bad.json").read_text("utf-8") == "{"


async def test_what_could_not_be_filled_in_is_stored_whole_by_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that keeps a log must not get operations that do not fit what it has."""
    store = SQLiteStore(tmp_path / "state.sqlite3")
    await commit(store, "k", 0, {"cards": ["a"]}, [])
    as_ever = store.commit

    async def fail(*args: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "commit", fail)
    state = await SharedState.open(store, "k", Board)
    assert state.value.title == "A board"
    monkeypatch.setattr(store, "commit", as_ever)
    await state.update(lambda board: board.cards.append("b"))
    await state.update(lambda board: board.cards.append("c"))
    await store.aclose()
    whole = {"title": "A board", "cards": ["a", "b", "c"]}
    assert await held(SQLiteStore(tmp_path / "state.sqlite3"), "k") == (3, whole)
    await store.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("make", ["symlink", "hardlink", "pipe"])
async def test_what_lies_at_the_name_of_the_temporary_file_is_not_written_to(
    tmp_path: Path, make: str
) -> None:
    victim, temporary = tmp_path / "victim", tmp_path / "docs" / ".k.json.tmp"
    victim.write_text("precious", "utf-8")
    temporary.parent.mkdir()
    match make:
        case "symlink":
            temporary.symlink_to(victim)
        case "hardlink":
            temporary.hardlink_to(victim)
        case "pipe":
            os.mkfifo(temporary)
    store = JSONFileStore(temporary.parent)
    async with asyncio.timeout(5):
        await commit(store, "k", 0, {"a": 1}, [])
    assert await held(JSONFileStore(temporary.parent), "k") == (1, {"a": 1})
    assert victim.read_text("utf-8") == "precious"
    await store.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("is_there", [True, False])
async def test_a_link_at_the_name_of_the_lock_is_not_followed(
    tmp_path: Path, is_there: bool
) -> None:
    victim = tmp_path / "victim"
    if is_there:
        victim.write_text("precious", "utf-8")
    (tmp_path / ".k.json.lock").symlink_to(victim)
    store = JSONFileStore(tmp_path)
    for attempt in (store.load("k"), commit(store, "k", 0, {}, [])):
        with pytest.raises(StoreError, match=r"\.k\.json\.lock is a link.*: remove it"):
            await attempt
    assert victim.exists() is is_there
    (tmp_path / ".k.json.lock").unlink()
    await commit(store, "k", 0, {}, [])
    await store.aclose()


async def test_a_folder_at_the_name_of_the_temporary_file_is_named(tmp_path: Path) -> None:
    (tmp_path / ".k.json.tmp").mkdir()
    store = JSONFileStore(tmp_path)
    with pytest.raises(StoreError, match=r"\.k\.json\.tmp is no file: remove it"):
        await commit(store, "k", 0, {}, [])
    await store.aclose()
