"""Documents in files that people and other processes write to as well."""

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.errors import DamagedDocument, RevisionConflict, StoreError
from canvas_provider.state import filelock, files
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.shared import Revision, SharedState
from tests.support.stores import commit, held

CARDS: Any = {"cards": [{"id": str(n), "title": "A card"} for n in range(9)]}


def damaged(folder: Path) -> list[Path]:
    return sorted(folder.glob("board.json.damaged-*"))


def rewrite(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a file as an editor does that writes in place."""
    found = json.loads(path.read_text("utf-8"))
    edit(found)
    path.write_text(json.dumps(found, indent=4), "utf-8")


async def test_a_file_is_readable_and_private(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path / "made" / "here")
    await commit(store, "board", 0, CARDS, [])
    path = tmp_path / "made" / "here" / "board.json"
    assert store.path("board") == path
    assert json.loads(path.read_text("utf-8")) == {
        "canvas_provider": 1,
        "revision": 1,
        "state": CARDS,
    }
    assert '      {"id": "1", "title": "A card"},\n' in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir() if item.suffix == ".tmp"] == []


async def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JSONFileStore(tmp_path)
    await commit(store, "board", 0, CARDS, [])

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="No space left"):
        await commit(store, "board", 1, {}, [])
    monkeypatch.undo()
    assert await held(JSONFileStore(tmp_path), "board") == (1, CARDS)
    await commit(store, "board", 1, {"a": 1}, [])


async def test_the_file_and_its_folder_reach_the_disk_before_the_commit_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        order.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])
    assert order == ["file", "rename", "folder"]


async def test_a_file_that_another_process_holds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to replace a file that a scanner or a reader has open."""
    refusals = iter([PermissionError(13, "sharing"), PermissionError(13, "sharing"), None])
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if (error := next(refusals)) is not None:
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])
    monkeypatch.undo()
    assert await held(JSONFileStore(tmp_path), "board") == (1, CARDS)


async def test_a_file_that_nobody_may_read_for_a_moment_is_no_document_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "board.json"
    await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])
    refused: list[str] = []
    look, read = os.stat, Path.read_bytes

    def refuse(name: str) -> None:
        if refused.count(name) < 2:
            refused.append(name)
            raise PermissionError(13, "sharing")

    def refuse_look(place: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if str(place) == str(path):
            refuse("stat")
        return look(place, *args, **kwargs)

    def refuse_read(place: Path) -> bytes:
        refuse("read")
        return read(place)

    monkeypatch.setattr(os, "stat", refuse_look)
    monkeypatch.setattr(Path, "read_bytes", refuse_read)
    store = JSONFileStore(tmp_path)
    assert await held(store, "board") == (1, CARDS)
    assert refused == ["stat", "stat", "read", "read"]


async def test_a_file_that_cannot_be_seen_is_not_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: CARDS)
    await state.update(lambda draft: draft.update(new=1))
    look = os.stat

    def refuse(place: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if str(place) == str(tmp_path / "board.json"):
            raise PermissionError(13, "Permission denied")
        return look(place, *args, **kwargs)

    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(filelock, "SHARING_PATIENCE", 0.01)
    with pytest.raises(StoreError, match="Permission denied"):
        await state.update(lambda draft: draft.update(new=2))
    monkeypatch.undo()
    assert (state.revision, state.document) == (1, {**CARDS, "new": 1})
    await state.update(lambda draft: draft.update(new=3))
    assert await held(JSONFileStore(tmp_path), "board") == (2, {**CARDS, "new": 3})


async def test_patience_with_other_processes_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(filelock, "SHARING_PATIENCE", 0.01)
    with pytest.raises(StoreError, match="Permission denied"):
        await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])


async def test_a_lock_that_somebody_keeps_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filelock, "PATIENCE", 0.01)
    with (
        filelock.FileLock(tmp_path / ".board.json.lock", tmp_path / "board.json"),
        pytest.raises(StoreError, match="stays locked"),
    ):
        await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])
    await commit(JSONFileStore(tmp_path), "board", 0, CARDS, [])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   \n",
        b'{"canvas_provider": 1, "revision": 1, "sta',
        b'{"canvas_provider": 1, "revision": 1, "state": {}}\0\0\0\0',
        b"\0" * 50,
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": NaN}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": 99999999999999999999}}',
        b'{"canvas_provider": true, "revision": 1, "state": {}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": 1, "a": 2}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {}, "state": {"a": 2}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": 1e999}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": "\\ud800"}}',
        b'{"canvas_provider": 1, "revision": 1, "state": {}} // mine',
        b'{"canvas_provider": 1, "revision": 1, "state": {"a": "\xe9"}}',
        b'{"canvas_provider": 1, "revision": %s, "state": {}}' % (b"9" * 5000),
        b'{"canvas_provider": 1, "revision": 1}',
        b'{"canvas_provider": "1", "revision": 1, "state": {}}',
        b'{"cards": []}',
        b"[]",
        b"\xff\xfe{\0}\0",
        b"[" * 100000,
    ],
)
async def test_a_damaged_file_is_set_aside_whole_and_reported(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "board.json"
    path.write_bytes(content)
    state = await SharedState.open(JSONFileStore(tmp_path), "board", initial=lambda: {"new": 1})
    (aside,) = damaged(tmp_path)
    assert aside.read_bytes() == content
    assert state.document == {"new": 1}
    assert state.damage is not None
    assert aside.name in state.damage
    assert aside.name in caplog.text
    await state.update(lambda draft: draft.update(new=2))
    assert aside.read_bytes() == content
    path.write_bytes(content)
    with pytest.raises(DamagedDocument):
        await JSONFileStore(tmp_path).load("board")
    assert len(damaged(tmp_path)) == 2


async def test_the_report_shows_nothing_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "board.json").write_text('{"hunter2": "hunter2",,}', "utf-8")
    with pytest.raises(DamagedDocument) as caught:
        await JSONFileStore(tmp_path).load("board")
    assert "hunter2" not in str(caught.value) + caplog.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_what_editors_write_on_windows_is_no_damage(
    tmp_path: Path, encoding: str, end: str
) -> None:
    text = '{"canvas_provider": 1,\n"revision": 3,\n"state": {"a": "é"}}\n'.replace("\n", end)
    (tmp_path / "board.json").write_bytes(text.encode(encoding))
    store = JSONFileStore(tmp_path)
    assert await held(store, "board") == (3, {"a": "é"})
    await commit(store, "board", 3, {"a": "è"}, [])
    assert json.loads((tmp_path / "board.json").read_text("utf-8"))["revision"] == 4


NUMBERS = ["0", "-1", "true", "null", '"7"', "1.0", "1e3", str(2**53 + 1), "1" + "0" * 400, None]


@pytest.mark.parametrize("number", NUMBERS)
async def test_a_revision_that_is_none_does_not_cost_the_edit(
    tmp_path: Path, number: str | None
) -> None:
    field = "" if number is None else f'"revision": {number},'
    text = f'{{"canvas_provider": 1, {field} "state": {{"mine": 1}}}}'
    store = JSONFileStore(tmp_path)
    (tmp_path / "board.json").write_text(text, "utf-8")
    assert await held(store, "board") == (1, {"mine": 1}), "found so, at the start"

    state = await SharedState.open(store, "other", initial=dict)
    await state.update(lambda draft: draft.update(a=1))
    await state.update(lambda draft: draft.update(a=2))
    store.path("other").write_text(text, "utf-8")
    await state.update(lambda draft: draft.update(ours=2))
    assert (state.revision, state.document) == (4, {"mine": 1, "ours": 2}), "edited meanwhile"
    assert await held(JSONFileStore(tmp_path), "other") == (4, state.document)
    assert [name for name in os.listdir(tmp_path) if "damaged" in name] == []


async def test_a_file_damaged_by_an_editor_is_set_aside_and_the_board_goes_on(
    tmp_path: Path,
) -> None:
    """A comma too many is saved quickly; what was on the board must not go with it."""
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    await state.update(lambda draft: draft.update(b=3))
    epoch = state.version.epoch
    broken = store.path("board").read_bytes().replace(b"}", b",}")
    store.path("board").write_bytes(broken)
    await state.update(lambda draft: draft.update(c=4))
    assert state.document == {"a": 2, "b": 3, "c": 4}
    (aside,) = damaged(tmp_path)
    assert aside.read_bytes() == broken
    assert state.damage is not None
    assert aside.name in state.damage
    assert state.version.epoch != epoch, "numbers come again, so a page gets all of it"
    assert await held(JSONFileStore(tmp_path), "board") == (state.revision, state.document)


async def test_a_seed_that_was_never_stored_is_not_stored_for_a_damaged_file(
    tmp_path: Path,
) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    store.path("board").write_text("{", "utf-8")
    await state.update(lambda draft: None)
    assert (state.revision, state.document) == (0, {"a": 1})
    assert len(damaged(tmp_path)) == 1
    assert not store.path("board").exists()


async def test_the_one_who_puts_a_document_in_place_of_a_damaged_file_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    store.path("board").write_text("{", "utf-8")
    load, others = store.load, JSONFileStore(tmp_path)

    async def load_and_be_late(key: str, since: int = 0) -> Any:
        try:
            return await load(key, since)
        except DamagedDocument:
            await commit(others, "board", 0, {"theirs": 1}, [])
            raise

    monkeypatch.setattr(store, "load", load_and_be_late)
    await state.update(lambda draft: draft.update(ours=2))
    assert state.document == {"theirs": 1, "ours": 2}


async def test_two_states_of_one_store_hear_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_EVERY", 0.01)
    store = JSONFileStore(tmp_path)
    one = await SharedState.open(store, "board", initial=dict)
    other = await SharedState.open(store, "board", initial=dict)
    await one.update(lambda draft: draft.update(early=1))
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    other.subscribe(heard.put_nowait)

    async def hear(key: str) -> None:
        async with asyncio.timeout(5):
            assert [op["path"] for op in (await heard.get()).ops] == [f"/{key}"]

    await hear("early")
    await one.update(lambda draft: draft.update(late=1))
    await hear("late")
    rewrite(store.path("board"), lambda found: found["state"].update(edit=1))
    await one.update(lambda draft: None)
    await hear("edit")
    assert one.document == other.document
    await other.update(lambda draft: draft.update(own=1))
    await hear("own")
    assert heard.empty()
    await store.aclose()


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    path.write_text('{"canvas_provider": 2, "whatever": 1}', "utf-8")
    with pytest.raises(StoreError, match="newer version"):
        await SharedState.open(JSONFileStore(tmp_path), "board")
    assert path.read_text("utf-8") == '{"canvas_provider": 2, "whatever": 1}'
    assert damaged(tmp_path) == []


async def test_a_file_of_an_older_version_is_read_and_rewritten_by_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step by step: each migration knows the format after its own only."""
    migrations: dict[int, Callable[[Any], Any]] = {
        1: lambda old: {"revision": old["revision"], "document": old["state"]},
        2: lambda old: {"revision": old["revision"], "state": [old["document"]]},
    }
    monkeypatch.setattr(files, "MIGRATIONS", migrations)
    monkeypatch.setattr(files, "FORMAT", 3)
    file = tmp_path / "board.json"
    old = '{"canvas_provider": 1, "revision": 7, "state": {"a": 1}}'
    file.write_text(old)
    store = JSONFileStore(tmp_path)
    state: SharedState[Any] = await SharedState.open(store, "board")
    assert (state.revision, state.document) == (7, [{"a": 1}])
    assert file.read_text() == old, "reading changes nothing"
    await state.update(lambda draft: draft.append(2))
    written = json.loads(file.read_text())
    assert (written["canvas_provider"], written["state"]) == (3, [{"a": 1}, 2])
    await state.aclose()
    await store.aclose()


async def test_an_edit_by_somebody_is_the_next_revision(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: dict(CARDS))
    await state.update(lambda draft: draft["cards"][0].update(title="ours"))
    rewrite(store.path("board"), lambda found: found["state"]["cards"].pop(1))
    assert await state.update(lambda draft: len(draft["cards"])) == 8
    assert state.revision == 2
    (edit,) = state.since(1) or []
    assert (edit.author, edit.ops) == ("system", [{"op": "remove", "path": "/cards/1"}])
    await state.update(lambda draft: draft["cards"][0].update(title="again"))
    assert json.loads(store.path("board").read_text("utf-8"))["revision"] == 3
    assert await held(JSONFileStore(tmp_path), "board") == (3, state.document)


async def test_a_file_that_was_only_touched_or_formatted_is_no_revision(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: dict(CARDS))
    await state.update(lambda draft: draft.update(a=1))
    rewrite(store.path("board"), lambda found: None)
    await state.update(lambda draft: None)
    assert state.revision == 1
    await state.update(lambda draft: draft.update(a=2))
    assert state.revision == 2


async def test_an_edit_between_load_and_commit_is_a_conflict_and_not_lost(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(b=1))
    with pytest.raises(RevisionConflict):
        async with state.change() as draft:
            draft["a"] = 2
            rewrite(store.path("board"), lambda found: found["state"].update(person=True))
    assert state.document == {"a": 1, "b": 1, "person": True}


async def test_who_subscribes_hears_of_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_EVERY", 0.01)
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(b=1))
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    unsubscribe = state.subscribe(heard.put_nowait)
    rewrite(store.path("board"), lambda found: found["state"].update(a=5))
    async with asyncio.timeout(5):
        revision = await heard.get()
    assert revision.ops == [{"op": "replace", "path": "/a", "value": 5}]
    unsubscribe()
    assert store._work()._ticker is None
    await store.aclose()


async def test_a_file_that_was_deleted_begins_anew(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    store.path("board").unlink()
    assert await state.update(lambda draft: draft["a"]) == 1
    assert (state.revision, state.since(1)) == (0, None)
    await state.update(lambda draft: draft.update(a=3))
    assert await held(JSONFileStore(tmp_path), "board") == (1, {"a": 3})


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
async def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").mkdir()
    link = tmp_path / "store" / "board.json"
    link.symlink_to(tmp_path / "elsewhere" / "real.json")
    store = JSONFileStore(tmp_path / "store")
    await commit(store, "board", 0, CARDS, [])
    assert link.is_symlink()
    assert json.loads((tmp_path / "elsewhere" / "real.json").read_text("utf-8"))["state"] == CARDS


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
async def test_a_document_that_is_a_link_is_edited_and_saved_where_it_is(tmp_path: Path) -> None:
    """People keep such files in a repository, and link to them."""
    (tmp_path / "repository").mkdir()
    real = tmp_path / "repository" / "board.json"
    await commit(JSONFileStore(real.parent), "board", 0, {"a": 1}, [])
    store = JSONFileStore(tmp_path / "store")
    (tmp_path / "store").mkdir()
    store.path("board").symlink_to(Path("..", "repository", "board.json"))
    state = await SharedState.open(store, "board")
    rewrite(real, lambda found: found["state"].update(b=2))
    await state.update(lambda draft: draft.update(c=3))
    assert store.path("board").is_symlink()
    assert await held(JSONFileStore(real.parent), "board") == (3, {"a": 1, "b": 2, "c": 3})
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["board.json"]


async def test_the_session_says_where_files_live_if_the_author_does_not(tmp_path: Path) -> None:
    store = JSONFileStore()
    with pytest.raises(StoreError, match="needs a directory"):
        await store.load("board")
    resolved = store.resolve(tmp_path)
    await commit(resolved, "board", 0, CARDS, [])
    assert (tmp_path / "board.json").exists()
    own = JSONFileStore(tmp_path / "own")
    assert own.resolve(tmp_path) is own


IMPORTS = """
import sys
import canvas_provider.state.store
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.memory import MemoryStore
MemoryStore(), JSONFileStore("x").resolve(None)
print([name for name in ("asyncio", "pydantic", "concurrent.futures") if name in sys.modules])
"""


def test_naming_a_store_loads_neither_asyncio_nor_pydantic() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
