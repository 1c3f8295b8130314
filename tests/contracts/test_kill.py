"""`kill -9` between two steps of a commit: what was acknowledged is there, and nothing hinders."""

import asyncio
import os
import random
import shutil
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any, Final

import pytest

from canvas_provider.errors import CanvasProviderError
from canvas_provider.state.shared import SharedState
from tests.support.extension import write_extension
from tests.support.provider import Provider, provider
from tests.support.redis_server import shared_url
from tests.support.require import ROOT
from tests.support.stores import DURABLE, JSON_FILE, ON_DISK, REDIS, StoreKind, held

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL"),
]

COMMITS: Final = 200

# A child commits until it dies right before, halfway through or right after its N-th call of one
# of the system's functions, or of SQLite's.
DYING: Final = """
import asyncio, os, signal, sqlite3, sys
from pathlib import Path
from canvas_provider.state import patch_log, sqlite_file
from canvas_provider.state.shared import SharedState
from tests.support.stores import KINDS

patch_log.MAX_PATCHES = patch_log.MAX_REVISIONS = 5
kind, folder, last, function, moment, number = sys.argv[1:]
calls = 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(call):
    def wrapped(*args, **kwargs):
        global calls
        calls += 1
        if calls != int(number):
            return call(*args, **kwargs)
        if moment == "halfway":
            # A write that got only so far.
            call(args[0], bytes(args[1])[: len(args[1]) // 2])
        elif moment == "after":
            call(*args, **kwargs)
        die()
    return wrapped

class Connection(sqlite3.Connection):
    def execute(self, sql, *args):
        if sql.split()[0] != function:
            return super().execute(sql, *args)
        return dying(super().execute)(sql, *args)

if function.isupper():
    connect = sqlite3.connect
    sqlite_file.sqlite3.connect = lambda *args, **kw: connect(*args, factory=Connection, **kw)
else:
    setattr(os, function, dying(getattr(os, function)))

async def main():
    store = KINDS[kind].make(Path(folder))
    state = await SharedState.open(store, "board", initial=lambda: {"log": []})
    for revision in range(state.revision, int(last)):
        await state.update(lambda draft: draft["log"].append({"n": revision, "text": "x" * 900}))
        # Not by os.write, which may be what the death comes from.
        print(state.revision, flush=True)
    await store.aclose()

asyncio.run(main())
"""

JSON_STEPS: Final = [
    ("open", "before"),
    ("open", "after"),
    ("write", "before"),
    ("write", "halfway"),
    ("write", "after"),
    ("fsync", "before"),
    ("fsync", "after"),
    ("replace", "before"),
    ("replace", "after"),
    ("close", "before"),
]
SQLITE_STEPS: Final = [
    ("BEGIN", "before"),
    ("BEGIN", "after"),
    ("INSERT", "before"),
    ("INSERT", "after"),
    ("UPDATE", "after"),
    ("DELETE", "after"),
    ("COMMIT", "before"),
    ("COMMIT", "after"),
    ("PRAGMA", "before"),
    ("PRAGMA", "after"),
    ("replace", "before"),
    ("replace", "after"),
]


async def check(kind: StoreKind, folder: Path, acknowledged: int) -> int:
    """Look at what is there as the next process does, and return its revision."""
    assert set(os.listdir(folder)) <= {kind.file, *kind.beside}
    store = kind.make(folder)
    async with asyncio.timeout(5):
        state = await SharedState.open(store, "board", initial=lambda: {"log": []})
        assert state.damage is None
        # At most what was on its way has come as well.
        assert state.revision in (acknowledged, acknowledged + 1)
        document: Any = state.document
        assert [entry["n"] for entry in document["log"]] == list(range(state.revision))
        await state.update(lambda draft: draft["log"].append({"n": state.revision}))
        assert await held(store, "board") == (state.revision, state.document)
        revision = state.revision
        await state.aclose()
        await store.aclose()
    return revision


@pytest.mark.parametrize("kind", ON_DISK, ids=str)
async def test_a_process_that_dies_between_any_two_steps_of_a_commit_loses_nothing(
    kind: StoreKind, tmp_path: Path
) -> None:
    source = random.Random(str(kind))
    acknowledged = 0
    steps = JSON_STEPS if kind is JSON_FILE else SQLITE_STEPS
    async with asyncio.timeout(100):
        for function, moment in steps:
            if kind is not JSON_FILE and function == "replace":
                # When the file is created.
                shutil.rmtree(tmp_path)
                os.mkdir(tmp_path)
                acknowledged = 0
                number = 1
            else:
                # SQLite's snapshots are rarer than its other steps.
                number = source.randrange(1, 9 if kind is JSON_FILE else 3)
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", DYING, kind.name, str(tmp_path)),
                *(str(acknowledged + 20), function, moment, str(number)),
                stdout=PIPE,
                cwd=ROOT,
            )
            lines = (await child.communicate())[0].split()
            assert child.returncode == -signal.SIGKILL, f"{function} {moment} {number}"
            acknowledged = int(lines[-1]) if lines else acknowledged
            acknowledged = await check(kind, tmp_path, acknowledged)


EXTENSION: Final = """
from pathlib import Path
from canvas_provider import JSONFileStore, RedisStore, SQLiteStore, create_canvas, run

board = create_canvas(
    id="board", display_name="Board", description="A board.", state=dict, store={store},
    state_key=lambda ctx: "board",
)

@board.action
async def add(state: dict) -> int:
    "Add an entry, and tell how many there are."
    log = state.setdefault("log", [])
    log.append({{"n": len(log), "text": "x" * 300}})
    return len(log)

run(board)
"""

STORES: Final = {
    "json_file": "JSONFileStore(Path({folder!r}))",
    "sqlite": "SQLiteStore(Path({folder!r}) / 'state.sqlite3')",
    "redis": "RedisStore({url!r}, prefix={folder!r})",
}


def write_board(kind: StoreKind, tmp_path: Path) -> Path:
    url = shared_url() if kind is REDIS else ""
    store = STORES[kind.name].format(folder=str(tmp_path / "state"), url=url)
    source = write_extension(tmp_path, "board", EXTENSION.format(store=store))
    return source / "extension.py"


async def add_until_killed(it: Provider, target: int) -> int:
    """Add entries, three at a time, and kill once `target` is acknowledged."""
    latest = 0
    killed = asyncio.Event()

    async def add() -> None:
        nonlocal latest
        while not killed.is_set():
            try:
                answer: Any = await it.invoke("add")
            except CanvasProviderError:
                return
            latest = max(latest, answer if isinstance(answer, int) else answer["result"])
            if latest >= target and not killed.is_set():
                killed.set()
                it.process.kill()

    await asyncio.gather(*(add() for _ in range(3)))
    return latest


@pytest.mark.parametrize("kind", DURABLE, ids=str)
async def test_a_provider_that_is_killed_again_and_again_loses_nothing_it_acknowledged(
    kind: StoreKind, tmp_path: Path
) -> None:
    """The agent has three calls under way; the kill follows upon an answer."""
    source = random.Random(str(kind))
    extension = write_board(kind, tmp_path)
    acknowledged = 0
    async with asyncio.timeout(100):
        while acknowledged < COMMITS:
            async with provider(extension) as it:
                await it.open()
                target = min(COMMITS, acknowledged + source.randrange(20, 60))
                acknowledged = await add_until_killed(it, target)
                assert await it.exit_code() == -signal.SIGKILL
            store = kind.make(tmp_path / "state")
            found = await held(store, "board")
            await store.aclose()
            assert found is not None
            revision, document = found
            # Of the three calls under way, each may have come that far.
            assert acknowledged <= revision <= acknowledged + 3
            assert [entry["n"] for entry in document["log"]] == list(range(revision))  # type: ignore[index, call-overload, union-attr]
            if kind in ON_DISK:
                assert set(os.listdir(tmp_path / "state")) <= {kind.file, *kind.beside}


@pytest.mark.parametrize("kind", DURABLE, ids=str)
async def test_fifty_calls_in_four_providers_lose_no_update(
    kind: StoreKind, tmp_path: Path
) -> None:
    """Each of four extensions on one document has a dozen calls under way at once."""
    extension = write_board(kind, tmp_path)
    counts = [13, 13, 12, 12]
    async with asyncio.timeout(100):
        await asyncio.gather(*(_call_many(extension, count) for count in counts))
    store = kind.make(tmp_path / "state")
    found = await held(store, "board")
    await store.aclose()
    assert found is not None
    assert found[0] == 50
    assert [entry["n"] for entry in found[1]["log"]] == list(range(50))  # type: ignore[index, call-overload, union-attr]


async def _call_many(extension: Path, count: int) -> None:
    async with provider(extension) as it:
        await it.open()
        await asyncio.gather(*(it.invoke("add") for _ in range(count)))
