"""What every store must do; and every durable one also between processes, and after their death."""

import asyncio
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import canvas_provider
from canvas_provider.errors import DamagedDocument, RevisionConflict, StateClosed, StoreError
from canvas_provider.state import database, files, history, patch_log, redis_log
from canvas_provider.state.json import equal
from canvas_provider.state.patch import diff
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.shared import Revision, SharedState
from canvas_provider.state.store import Store
from canvas_provider.types import JSONValue
from tests.support.require import ROOT
from tests.support.stores import DURABLE, KINDS, ON_DISK, StoreKind, commit, held

ODD_KEYS = [
    "",
    " ",
    ".",
    "..",
    "../up",
    "/etc/passwd",
    "a/b\\c",
    "A",
    "a",
    "é",
    "e\u0301",
    "%41",
    "con",
    "nul.txt",
    "line\nbreak",
    "nul\0inside",
    "\ud800",
    "\udfff",
    "?",
    "'; DROP TABLE documents; --",
    "x" * 5000,
    "x" * 5001,
    "日本語",
    "board.json",
    "~",
]


@pytest.fixture(params=KINDS.values(), ids=str)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture(params=DURABLE, ids=str)
def durable(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture(params=ON_DISK, ids=str)
def on_disk(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture
async def store(kind: StoreKind, tmp_path: Path) -> AsyncIterator[Store]:
    made = kind.make(tmp_path / "new")
    yield made
    await made.aclose()


async def load_anew(kind: StoreKind, folder: Path, key: str) -> tuple[int, JSONValue] | None:
    """Load as a process does that has just started."""
    store = kind.make(folder)
    try:
        return await held(store, key)
    finally:
        await store.aclose()


async def test_a_key_without_a_document_is_at_revision_0(store: Store) -> None:
    assert await store.load("board") is None
    assert store.is_current("board", 0)
    assert not store.is_current("board", 1)


async def test_looking_for_a_document_creates_no_document(
    on_disk: StoreKind, tmp_path: Path
) -> None:
    store = on_disk.make(tmp_path)
    assert await store.load("board") is None
    await store.aclose()
    assert not (tmp_path / on_disk.file).exists()


async def test_what_was_committed_is_loaded(store: Store) -> None:
    await commit(store, "board", 0, {"a": [1, "é", None]}, [])
    await commit(store, "board", 1, {"a": []}, [{"op": "replace", "path": "/a", "value": []}])
    await commit(store, "other", 0, [1.5], [])
    assert await held(store, "board") == (2, {"a": []})
    assert await held(store, "other") == (1, [1.5])
    assert store.is_current("board", 2)
    assert not store.is_current("board", 1)


async def test_a_commit_without_operations_stores_the_document_as_it_is(
    durable: StoreKind, tmp_path: Path
) -> None:
    store = durable.make(tmp_path)
    await commit(store, "board", 0, {"a": 1}, [])
    await commit(store, "board", 1, {"b": 2}, [])
    await store.aclose()
    assert await load_anew(durable, tmp_path, "board") == (2, {"b": 2})


@pytest.mark.parametrize("expected", [0, 2, 7])
async def test_a_commit_from_another_revision_is_refused(store: Store, expected: int) -> None:
    await commit(store, "board", 0, {"a": 1}, [])
    with pytest.raises(RevisionConflict) as caught:
        await commit(store, "board", expected, {"a": 2}, [])
    assert (caught.value.expected, caught.value.actual) == (expected, 1)
    assert await held(store, "board") == (1, {"a": 1})


async def test_a_commit_of_what_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(RevisionConflict) as caught:
        await commit(store, "board", 3, {"a": 2}, [])
    assert (caught.value.expected, caught.value.actual) == (3, 0)
    assert await store.load("board") is None


async def test_of_many_who_commit_at_once_one_wins(store: Store) -> None:
    async with asyncio.timeout(5):
        results = await asyncio.gather(
            *(commit(store, "board", 0, {"n": n}, []) for n in range(8)), return_exceptions=True
        )
    assert sum(result is None for result in results) == 1
    assert sum(isinstance(result, RevisionConflict) for result in results) == 7


async def test_any_text_is_a_key_of_its_own(kind: StoreKind, store: Store, tmp_path: Path) -> None:
    for number, key in enumerate(ODD_KEYS):
        await commit(store, key, 0, {"n": number}, [])
    reader = kind.make(tmp_path / "new") if kind.is_durable else store
    for number, key in enumerate(ODD_KEYS):
        assert await held(reader, key) == (1, {"n": number})
    await reader.aclose()
    assert os.listdir(tmp_path) in ([], ["new"]), "nothing went elsewhere"


async def test_a_large_document_comes_back_whole(
    kind: StoreKind, store: Store, tmp_path: Path
) -> None:
    items: list[Any] = [{"id": str(n), "text": "Grüße " * 20} for n in range(10_000)]
    state = await SharedState.open(store, "board", initial=lambda: {"items": items})
    for index in (0, 5_000, 9_999):
        async with state.change() as draft:
            draft["items"][index]["text"] = "new"
    await state.update(lambda draft: draft["items"].insert(0, draft["items"].pop()))
    reader = kind.make(tmp_path / "new") if kind.is_durable else store
    assert await held(reader, "board") == (4, state.document)
    await reader.aclose()


def grow(source: random.Random, document: Any) -> Any:
    """Return another document, with items added, moved, changed and removed."""
    items = [dict(item) for item in document["items"]]
    for _ in range(source.randrange(1, 4)):
        at = source.randrange(len(items) + 1)
        if source.random() < 0.5 or at == len(items):
            text = "".join(source.choices('aé~/"\\\0\u2028😀', k=source.randrange(9)))
            items.insert(at, {"id": str(source.random()), "text": text})
        elif source.random() < 0.3:
            items.pop(at)
        elif source.random() < 0.5:
            items.insert(0, items.pop(at))
        else:
            items[at][source.choice(["text", "a/b", "~", ""])] = source.choice([1, 1.5, None, "é"])
    return {"items": items}


@pytest.mark.parametrize("seed", range(4))
async def test_any_history_leads_to_the_same_document_for_who_comes_when(
    kind: StoreKind,
    store: Store,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for log in (patch_log, redis_log):
        monkeypatch.setattr(log, "MAX_PATCHES", 7)
        monkeypatch.setattr(log, "MIN_LOG", 1500)
    source = random.Random(seed)
    follower = kind.make(tmp_path / "new") if kind.is_durable else store
    document: Any = {"items": []}
    for revision in range(60):
        previous, document = document, grow(source, document)
        await commit(store, "board", revision, document, diff(previous, document))
        if source.random() < 0.3:
            stored = await follower.load("board")
            assert stored is not None
            assert (stored.revision, equal(stored.document, document)) == (revision + 1, True)
            newcomer = kind.make(tmp_path / "new") if kind.is_durable else store
            assert await held(newcomer, "board") == stored[:2]
            await newcomer.aclose()
    await follower.aclose()


def told(number: int) -> Revision:
    """A revision with everything to tell."""
    value: JSONValue = {"n": [number]}
    before: JSONValue = {"n": [number - 1]}
    return Revision(
        number,
        [{"op": "replace", "path": "/a", "value": value}],
        "agent" if number % 2 else "person",
        f"set_{number}" if number % 3 else None,
        1700000000.25 + number,
        number - 1,
        [{"op": "replace", "path": "/a", "value": before}],
        number - 1 if number % 5 == 0 else None,
    )


async def test_a_store_tells_what_led_to_the_document(store: Store) -> None:
    for number in range(1, 8):
        await store.commit("board", number - 1, {"a": {"n": [number]}}, told(number))
    for since in (0, 3, 6, 7):
        stored = await store.load("board", since)
        assert stored is not None
        assert list(stored.history) == [told(number) for number in range(since + 1, 8)]
    with pytest.raises(RevisionConflict):
        await store.commit("board", 3, {"a": 0}, told(4))
    stored = await store.load("board", 6)
    assert stored is not None
    assert list(stored.history) == [told(7)]
    assert await held(store, "other") is None


async def test_what_a_store_tells_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_REVISIONS", 20)
    monkeypatch.setattr(patch_log, "MAX_REVISIONS", 20)
    monkeypatch.setattr(redis_log, "MAX_REVISIONS", 20)
    for number in range(1, 31):
        await store.commit("board", number - 1, {"a": {"n": [number]}}, told(number))
    stored = await store.load("board")
    assert stored is not None
    assert list(stored.history) == [told(number) for number in range(11, 31)]
    large: Any = ["x" * 400_000]
    for number in range(1, 4):
        revision = told(number)._replace(ops=[{"op": "add", "path": "/a", "value": large}])
        await store.commit("large", number - 1, {"a": large}, revision)
    stored = await store.load("large")
    assert stored is not None
    assert [known.number for known in stored.history] == [2, 3]


async def test_of_a_commit_without_operations_nothing_is_known(store: Store) -> None:
    await store.commit("board", 0, {"a": 1}, told(1))
    await commit(store, "board", 1, {"b": 2})
    stored = await store.load("board")
    assert stored is not None
    assert list(stored.history) == []
    await store.commit("board", 2, {"a": 3}, told(3))
    stored = await store.load("board")
    assert stored is not None
    assert list(stored.history) == [told(3)]


async def test_many_tasks_lose_no_update(store: Store) -> None:
    state = await SharedState.open(store, "board", initial=lambda: {"n": 0})

    def count(draft: Any) -> None:
        draft["n"] += 1

    async with asyncio.timeout(30):
        await asyncio.gather(*(state.update(count) for _ in range(50)))
    assert await held(store, "board") == (50, {"n": 50})


async def test_documents_do_not_wait_for_each_others_writers(store: Store) -> None:
    registry = StateRegistry(store)
    states = [await registry.open(f"board {n}") for n in range(5)]

    def put(number: int, draft: Any) -> None:
        draft[str(number)] = number

    async with asyncio.timeout(30):
        await asyncio.gather(
            *(state.update(partial(put, n)) for state in states for n in range(10))
        )
    for state in states:
        assert state.revision == 10
        assert state.document == {str(n): n for n in range(10)}


async def test_who_watches_hears_of_others_commits_until_they_leave(
    kind: StoreKind, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(database, "LOOK_EVERY", 0.01)
    other = kind.make(tmp_path / "new") if kind.is_durable else store
    await commit(store, "board", 0, {"a": 0}, [])
    heard = asyncio.Event()
    unwatch = store.watch("board", heard.set)
    for revision in (1, 2):
        heard.clear()
        assert await held(other, "board") == (revision, {"a": revision - 1})
        await commit(
            other,
            "board",
            revision,
            {"a": revision},
            [{"op": "replace", "path": "/a", "value": revision}],
        )
        async with asyncio.timeout(5):
            await heard.wait()
        assert store.is_current("board", revision) is False
        assert await held(store, "board") == (revision + 1, {"a": revision})
        assert store.is_current("board", revision + 1)
    unwatch()
    unwatch()
    await other.aclose()


async def test_what_was_committed_between_load_and_watch_is_heard_of(
    durable: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(database, "LOOK_EVERY", 0.01)
    store, other = durable.make(tmp_path), durable.make(tmp_path)
    assert await store.load("board") is None
    await commit(other, "board", 0, {}, [])
    heard = asyncio.Event()
    store.watch("board", heard.set)
    async with asyncio.timeout(5):
        await heard.wait()
    await store.aclose()
    await other.aclose()


async def test_a_state_follows_what_others_commit(
    durable: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(database, "LOOK_EVERY", 0.01)
    store, other = durable.make(tmp_path), durable.make(tmp_path)
    ours = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await ours.update(lambda draft: draft.update(b=1))
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    ours.subscribe(heard.put_nowait)
    theirs = await SharedState.open(other, "board")
    await theirs.update(lambda draft: draft.update(a=2), author="person")
    async with asyncio.timeout(5):
        revision = await heard.get()
    known = "person" if durable.keeps_history else "system"
    assert (revision.number, revision.author) == (2, known)
    assert revision.ops == [{"op": "replace", "path": "/a", "value": 2}]
    for state, made in ((ours, store), (theirs, other)):
        await state.aclose()
        await made.aclose()


async def test_a_change_that_another_process_has_overtaken_is_refused_and_not_lost(
    durable: StoreKind, tmp_path: Path
) -> None:
    store, other = durable.make(tmp_path), durable.make(tmp_path)
    ours = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await ours.update(lambda draft: draft.update(b=1))
    theirs = await SharedState.open(other, "board")
    with pytest.raises(RevisionConflict) as caught:
        async with ours.change() as draft:
            draft["a"] = 2
            await theirs.update(lambda other: other.update(theirs=True))
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert ours.document == {"a": 1, "b": 1, "theirs": True}
    await ours.update(lambda draft: draft.update(a=2))
    assert await held(other, "board") == (3, {"a": 2, "b": 1, "theirs": True})
    await store.aclose()
    await other.aclose()


async def test_it_shows_nothing_of_the_documents(store: Store) -> None:
    await commit(store, "board", 0, {"secret": "hunter2"}, [])
    assert "hunter2" not in repr(store)


async def test_a_closed_state_is_refused_and_nothing_is_stored(store: Store) -> None:
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    registry = StateRegistry(store)
    await registry.aclose()
    await state.aclose()
    with pytest.raises(StateClosed):
        await state.update(lambda draft: draft.update(a=3))
    with pytest.raises(StateClosed):
        await registry.open("board")
    assert await held(store, "board") == (1, {"a": 2})


async def test_it_closes_twice_and_opens_at_the_next_use(store: Store) -> None:
    await store.aclose()
    await commit(store, "board", 0, {"a": 1}, [])
    await store.aclose()
    await store.aclose()
    await commit(store, "board", 1, {"a": 2}, [])
    assert await held(store, "board") == (2, {"a": 2})


async def test_what_was_begun_before_closing_is_done(durable: StoreKind, tmp_path: Path) -> None:
    store = durable.make(tmp_path)
    committing = asyncio.create_task(commit(store, "board", 0, {"a": 1}, []))
    await asyncio.sleep(0)  # noqa: TID251  # lets it begin
    await store.aclose()
    async with asyncio.timeout(5):
        await committing
    assert await load_anew(durable, tmp_path, "board") == (1, {"a": 1})


async def test_files_are_private_to_the_user(on_disk: StoreKind, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    store = on_disk.make(folder)
    await commit(store, "board", 0, {"a": 1}, [])
    await commit(store, "board", 1, {"a": 2}, [])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    found = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}
    assert set(found.values()) == {"0o600"}, found
    assert on_disk.file in found
    await store.aclose()


def asides_of(path: Path) -> list[Path]:
    found = path.parent.glob(f"{path.name}.damaged-*")
    # SQLite's other files go with it.
    return sorted(aside for aside in found if aside.name[-4:] not in ("-wal", "-shm"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"\0" * len(content),
        lambda content: content[: len(content) // 2],
        lambda content: b"not what it was " * 400,
        lambda content: bytes(reversed(content)),
    ],
    ids=["empty", "zeros", "half", "text", "reversed"],
)
async def test_a_damaged_file_is_set_aside_whole_and_reported(
    on_disk: StoreKind, tmp_path: Path, damage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / on_disk.file
    store = on_disk.make(tmp_path)
    await commit(store, "board", 0, {"secret": ["hunter2"] * 9999}, [])
    await store.aclose()
    content = damage(path.read_bytes())
    for number in (1, 2):
        path.write_bytes(content)
        with pytest.raises(DamagedDocument, match=r"kept.* as") as caught:
            await store.load("board")
        asides = asides_of(path)
        assert len(asides) == number
        assert all(aside.read_bytes() == content for aside in asides)
        assert any(aside.name in str(caught.value) for aside in asides)
        assert str(caught.value) in caplog.text
        assert "hunter2" not in caplog.text
        assert await store.load("board") is None
        state = await SharedState.open(store, "board", initial=lambda: {"new": 1})
        await state.update(lambda draft: draft.update(new=2))
        assert all(aside.read_bytes() == content for aside in asides)
        await store.aclose()


REFUSED_AT_FIRST = ("replace", "rename", "unlink")


async def test_a_file_that_another_process_holds_is_waited_for(
    on_disk: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows neither replaces, renames nor removes what a scanner or an editor has open."""
    path = tmp_path / on_disk.file
    path.write_bytes(b"not what it was " * 400)
    for name in on_disk.beside:
        if name.endswith((".tmp", ".new")):
            (tmp_path / name).write_bytes(b"left by a process that was killed")
    store = on_disk.make(tmp_path)
    refused: dict[str, set[str]] = {name: set() for name in REFUSED_AT_FIRST}

    def hold(name: str) -> None:
        call = getattr(os, name)

        def refuse_once(source: Any, *more: Any) -> None:
            if os.path.exists(source) and str(source) not in refused[name]:
                refused[name].add(str(source))
                raise PermissionError(13, "Permission denied", str(source))
            call(source, *more)

        monkeypatch.setattr(os, name, refuse_once)

    for name in REFUSED_AT_FIRST:
        hold(name)
    with pytest.raises(DamagedDocument):
        await store.load("board")
    await commit(store, "board", 0, {"a": 1}, [])
    await store.aclose()
    monkeypatch.undo()
    assert all(refused.values()), refused
    assert await load_anew(on_disk, tmp_path, "board") == (1, {"a": 1})
    assert len(asides_of(path)) == 1


async def test_a_file_of_a_newer_version_is_left_alone(on_disk: StoreKind, tmp_path: Path) -> None:
    path = tmp_path / on_disk.file
    store = on_disk.make(tmp_path)
    await commit(store, "board", 0, {"a": 1}, [])
    await store.aclose()
    content = path.read_bytes()
    # The version is a field of both formats.
    newer = content.replace(b'"canvas_provider": 1', b'"canvas_provider": 2')
    path.write_bytes(content[:60] + (99).to_bytes(4) + content[64:] if newer == content else newer)
    left = path.read_bytes()
    with pytest.raises(StoreError, match="newer version"):
        await store.load("board")
    with pytest.raises(StoreError, match="newer version"):
        await commit(store, "board", 1, {"a": 2}, [])
    await store.aclose()
    assert path.read_bytes() == left


async def test_a_file_that_was_removed_begins_anew(on_disk: StoreKind, tmp_path: Path) -> None:
    store = on_disk.make(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 1})
    await state.update(lambda draft: draft.update(a=2))
    (tmp_path / on_disk.file).unlink()
    assert await state.update(lambda draft: draft["a"]) == 1
    await state.update(lambda draft: draft.update(a=3))
    assert await load_anew(on_disk, tmp_path, "board") == (1, {"a": 3})
    await store.aclose()


async def test_a_file_that_was_replaced_is_the_one_in_use(
    on_disk: StoreKind, tmp_path: Path
) -> None:
    """Somebody restores a backup while the canvas is open."""
    store, backup = on_disk.make(tmp_path / "used"), on_disk.make(tmp_path / "backup")
    for made, times in ((store, 2), (backup, 5)):
        for revision in range(times):
            await commit(made, "board", revision, {"n": revision}, [])
    await backup.aclose()
    os.replace(tmp_path / "backup" / on_disk.file, tmp_path / "used" / on_disk.file)
    assert not store.is_current("board", 2)
    with pytest.raises(RevisionConflict) as caught:
        await commit(store, "board", 2, {"n": 9}, [])
    assert caught.value.actual == 5
    await commit(store, "board", 5, {"n": 9}, [])
    await store.aclose()
    assert await load_anew(on_disk, tmp_path / "used", "board") == (6, {"n": 9})


async def test_a_link_is_followed_and_stays_a_link(on_disk: StoreKind, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").mkdir()
    real, link = tmp_path / "elsewhere" / on_disk.file, tmp_path / "store" / on_disk.file
    link.symlink_to(real)
    store = on_disk.make(tmp_path / "store")
    await commit(store, "board", 0, {"a": 1}, [])
    await store.aclose()
    assert link.is_symlink()
    assert await load_anew(on_disk, tmp_path / "elsewhere", "board") == (1, {"a": 1})


async def test_a_place_that_is_no_folder_is_a_store_error(
    on_disk: StoreKind, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    store = on_disk.make(tmp_path / "file")
    with pytest.raises(StoreError):
        await commit(store, "board", 0, {}, [])
    await store.aclose()


READ_ONLY = """
import asyncio, sys
from pathlib import Path
from canvas_provider.errors import StoreError
from tests.support.stores import KINDS, commit

async def main(name, folder):
    store = KINDS[name].make(Path(folder))
    try:
        await commit(store, "board", 0, {}, [])
    except StoreError as error:
        print(error)
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission on Windows")
async def test_a_folder_without_permission_is_an_error_that_says_what_to_do(
    on_disk: StoreKind, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o555)
    command = [sys.executable, "-c", READ_ONLY, on_disk.name, str(folder)]
    if os.geteuid() == 0:
        # Root may write anywhere, but not without this capability.
        if shutil.which("setpriv") is None:
            pytest.skip("root may write to any folder")
        command = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", *command]
    ran = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert f"make {folder} writable" in ran.stdout, ran.stderr


WRITER = """
import asyncio, sys
from pathlib import Path
from canvas_provider.state.shared import SharedState
from canvas_provider import create_canvas
from canvas_provider.testing import open_canvas
from tests.support.stores import KINDS, commit

def count(state, name):
    state["n"] = state.get("n", 0) + 1
    state[name] = state.get(name, 0) + 1

canvas = create_canvas(
    id="c", display_name="C", description="Counts.", state=dict, state_key=lambda ctx: "board"
)

@canvas.action(name="count")
async def count_action(state: dict, name: str) -> None:
    "Count."
    count(state, name)

@canvas.action
def count_in_thread(state: dict, name: str) -> None:
    "Count, in a thread."
    count(state, name)

async def persist(call):
    for _ in range(4):
        await call()

async def run(times, call):
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await asyncio.gather(*(persist(call) for _ in range(int(times))))

async def main(kind, folder, name, times):
    store = KINDS[kind].make(Path(folder))
    if name in ("w0", "w1"):
        state = await SharedState.open(store, "board", initial=dict)
        await run(times, lambda: state.update(lambda draft: count(draft, name)))
        await store.aclose()
    else:
        async with open_canvas(canvas, store=store) as panel:
            call = panel.agent.count if name == "w2" else panel.agent.count_in_thread
            await run(times, lambda: call(name=name))

asyncio.run(main(*sys.argv[1:]))
"""


async def start(code: str, *args: object) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, *map(str, args), stdin=PIPE, stdout=PIPE, cwd=ROOT
    )


@pytest.mark.process
async def test_four_processes_of_fifty_writers_lose_no_update_and_refuse_none(
    durable: StoreKind, tmp_path: Path
) -> None:
    """Two processes use `update`, two an action with a draft. They begin together."""
    writers = {"w0": 13, "w1": 13, "w2": 12, "w3": 12}
    async with asyncio.timeout(120):
        running = [
            await start(WRITER, durable.name, tmp_path, name, count)
            for name, count in writers.items()
        ]
        for process in running:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        await asyncio.gather(*(process.communicate(b"go\n") for process in running))
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    store = durable.make(tmp_path)
    updates = {name: 4 * count for name, count in writers.items()}
    assert await held(store, "board") == (200, {"n": 200, **updates})
    await store.aclose()


COMMITTER = """
import asyncio, sys
from pathlib import Path
from canvas_provider.state import patch_log, redis_log
from canvas_provider.state.shared import SharedState
from tests.support.stores import KINDS, commit

patch_log.MAX_PATCHES = redis_log.MAX_PATCHES = 2

async def main(kind, folder, last):
    store = KINDS[kind].make(Path(folder))
    state = await SharedState.open(store, "board", initial=lambda: {"log": []})
    print(state.revision, flush=True)
    for number in range(state.revision, int(last)):
        await state.update(lambda draft: draft["log"].append({"n": number, "text": "x" * 200}))
        print(state.revision, flush=True)
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("seed", range(2))
async def test_processes_killed_while_committing_lose_nothing_they_acknowledged(
    durable: StoreKind, seed: int, tmp_path: Path
) -> None:
    """Every eighth commit or so is somebody's last, until there are 200."""
    source = random.Random(f"{durable} {seed}")
    acknowledged = 0
    async with asyncio.timeout(200):
        while acknowledged < 200:
            child = await start(COMMITTER, durable.name, tmp_path, 200)
            assert child.stdout is not None
            target = min(200, acknowledged + source.randrange(1, 40))
            last = -1
            while last < target:
                last = int(await child.stdout.readline())
            # Its next commits go on meanwhile; the kill comes somewhere within one.
            if source.random() < 0.8:
                await asyncio.to_thread(source.getrandbits, source.randrange(1, 2_000_000))
            if child.returncode is None:
                child.send_signal(signal.SIGKILL)
            rest = (await child.stdout.read()).split()
            await child.wait()
            acknowledged = int(rest[-1]) if rest else last
            found = set(os.listdir(tmp_path))
            assert found <= {durable.file, *durable.beside}
            # The lock of the dead does not hold up the living.
            store = durable.make(tmp_path)
            async with asyncio.timeout(5):
                stored = await store.load("board")
            assert stored is not None
            assert stored.revision in (acknowledged, acknowledged + 1)
            document: Any = stored.document
            assert [entry["n"] for entry in document["log"]] == list(range(stored.revision))
            await store.aclose()


def test_each_store_that_is_public_is_held_to_this() -> None:
    public = {name for name in canvas_provider.__all__ if name.endswith("Store")}
    assert {type(kind.make(Path())).__name__ for kind in KINDS.values()} == public
