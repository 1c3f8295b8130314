"""The stores that the contract is held against, and how to make, find and damage what they keep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from canvas_provider.state.history import Revision
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.patch import Operation
from canvas_provider.state.redis_store import RedisStore
from canvas_provider.state.sqlite import SQLiteStore
from canvas_provider.state.store import Store
from canvas_provider.types import JSONValue
from tests.support.redis_server import shared_url


@dataclass(frozen=True)
class StoreKind:
    """One class of stores."""

    name: str
    make: Callable[[Path], Store]
    """Return a store for a folder; each one made for the same folder finds the same documents."""
    file: str = ""
    """The file of the document `board` in the folder; none where there is no file."""
    beside: frozenset[str] = frozenset()
    """What may lie beside it while it is in use."""
    keeps_history: bool = False
    """Whether what is stored tells who did what, too."""
    is_durable: bool = True
    """Whether documents outlive the process, and others see them."""

    def __str__(self) -> str:
        return self.name


MEMORY: Final = StoreKind("memory", lambda folder: MemoryStore(), is_durable=False)
JSON_FILE: Final = StoreKind(
    "json_file",
    JSONFileStore,
    "board.json",
    frozenset({".board.json.lock", ".board.json.first", ".board.json.tmp"}),
)
SQLITE: Final = StoreKind(
    "sqlite",
    lambda folder: SQLiteStore(folder / "state.sqlite3"),
    "state.sqlite3",
    frozenset(
        {
            "state.sqlite3-wal",
            "state.sqlite3-shm",
            ".state.sqlite3.lock",
            ".state.sqlite3.first",
            ".state.sqlite3.new",
            ".state.sqlite3.new-journal",
            ".state.sqlite3.new-wal",
            ".state.sqlite3.new-shm",
        }
    ),
    keeps_history=True,
)

REDIS: Final = StoreKind(
    "redis",
    # One server for all tests: a folder is what a prefix is there.
    lambda folder: RedisStore(shared_url(), prefix=str(folder.resolve())),
    keeps_history=True,
)

KINDS: Final = {kind.name: kind for kind in (MEMORY, JSON_FILE, SQLITE, REDIS)}
DURABLE: Final = [kind for kind in KINDS.values() if kind.is_durable]
ON_DISK: Final = [kind for kind in DURABLE if kind.file]


def step(expected: int, operations: Sequence[Operation] = ()) -> Revision:
    """A revision of somebody who does not care for the history."""
    return Revision(expected + 1, list(operations), "system", None, 0.0, expected, [])


async def commit(
    store: Store, key: str, expected: int, document: Any, operations: Sequence[Operation] = ()
) -> None:
    """Commit a `step`."""
    await store.commit(key, expected, document, step(expected, operations))


async def held(store: Store, key: str) -> tuple[int, JSONValue] | None:
    """What a store has under a key, however that came about."""
    found = await store.load(key)
    return None if found is None else (found.revision, found.document)
