"""A store of many documents in one SQLite file, for documents that are large or change often.

A commit writes what changed, not the whole document. Several processes can share the file, and
what was committed survives `kill -9` and power loss, as far as the disk keeps its word.

This module is light, because authors name the store before the handshake. What works on the file
is `database`, imported once, at the first use (`_work`).
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from canvas_provider.errors import StoreError
from canvas_provider.state.history import Revision
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.database import Database

__all__ = ["SQLiteStore"]


class SQLiteStore:
    """Keeps all documents in the SQLite file `path`, private to the user.

    Without a path the session decides on the folder, the extension's `artifacts` in Copilot's
    home, and the file is `NAME.sqlite3` there. It must be on a disk of this machine: SQLite's
    locks do not work across a network. Use it from one event loop at a time.
    """

    immediate = False

    def __init__(self, path: Path | str | None = None, *, name: str = "state") -> None:
        if str(path) == ":memory:":
            raise ValueError(
                "a SQLiteStore is a file: what is to be gone at the end is a MemoryStore"
            )
        if not name or name != PurePath(name).name or name.startswith("."):
            raise ValueError(f"{name!r} is no name of a file: for another folder, pass a path")
        self.path = None if path is None else Path(path)
        """The file; `None` until `resolve` has found a place."""
        self.name = name
        self._database: Database | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path) if self.path else ''!r})"

    def resolve(self, default_directory: Path) -> "SQLiteStore":
        """Return the store to use: this one, or one in `default_directory` if it has no path."""
        if self.path is not None:
            return self
        return SQLiteStore(default_directory / f"{self.name}.sqlite3")

    def _work(self) -> "Database":
        if self._database is None:
            if self.path is None:
                raise StoreError("SQLiteStore needs a path: SQLiteStore(Path(...))")
            database = import_module("canvas_provider.state.database")
            self._database = cast("Database", database.Database(self.path))
        return self._database

    async def load(self, key: str, since: int = 0) -> Stored | None:
        """Read the document and its history, or return `None` where there is none.

        Raises:
            DamagedDocument: it could not be read and was set aside; the next call finds none.
            StoreError: it cannot be read now, and is left as it is.
        """
        return await self._work().load(key, since)

    def is_current(self, key: str, revision: int) -> bool:
        """Say whether no other has committed since the document was loaded or committed here.

        Any commit of another process counts, to whatever key: `load` is cheap then.
        """
        return self._work().is_current(key, revision)

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        """Write the operations, or now and then the document, as the next revision, durably.

        Raises:
            RevisionConflict: the document is at another revision.
            StoreError: it cannot be written; nothing was.
        """
        await self._work().commit(key, expected_revision, document, revision)

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when another has committed the document: looked at twice a second."""
        return self._work().watch(key, listener)

    async def aclose(self) -> None:
        """Put everything into the one file, and let go of it. The next use opens it again."""
        database, self._database = self._database, None
        if database is not None:
            await database.aclose()
