"""A store of one JSON file per document, readable and editable by people.

A commit writes the whole document. Several processes can share a folder, and what was committed
survives `kill -9` and power loss, as far as the disk keeps its word. When somebody edits a file,
the edit becomes the next revision.

This module is light, because authors name the store before the handshake. What works on files,
threads and locks is `files`, imported once, at the first use (`_work`).
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from canvas_provider.errors import StoreError
from canvas_provider.state.history import Revision
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.files import Files

__all__ = ["JSONFileStore"]


class JSONFileStore:
    """Keeps each document in a file of its own in `directory`, private to the user.

    Without a directory the session decides: the extension's `artifacts` folder in Copilot's home.
    """

    immediate = False

    def __init__(self, directory: Path | str | None = None) -> None:
        self.directory = None if directory is None else Path(directory)
        self._files: Files | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.directory) if self.directory else ''!r})"

    def resolve(self, default_directory: Path) -> "JSONFileStore":
        """Return the store to use: this one, or one in `default_directory` if it has none."""
        return self if self.directory is not None else JSONFileStore(default_directory)

    def _work(self) -> "Files":
        if self._files is None:
            if self.directory is None:
                raise StoreError("JSONFileStore needs a directory: JSONFileStore(Path(...))")
            files = import_module("canvas_provider.state.files")
            self._files = cast("Files", files.Files(self.directory))
        return self._files

    def path(self, key: str) -> Path:
        """Return where the document `key` is kept."""
        return self._work().path(key)

    async def load(self, key: str, since: int = 0) -> Stored | None:
        """Read the document, or return `None` where there is none.

        Its history is what this store has committed, since the file was last changed by others.

        Raises:
            DamagedDocument: it could not be read and was set aside; the next call finds none.
            StoreError: it cannot be read now, and is left as it is.
        """
        return await self._work().load(key, since)

    def is_current(self, key: str, revision: int) -> bool:
        """Say whether the file is the one that was loaded or committed last (one `stat`)."""
        return self._work().is_current(key, revision)

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        """Write the document as the next revision, durably and all at once.

        Raises:
            RevisionConflict: the file is another than the expected revision.
            StoreError: it cannot be written; the old file is untouched.
        """
        await self._work().commit(key, expected_revision, document, revision)

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when somebody else changes the file: looked at twice a second."""
        return self._work().watch(key, listener)

    async def aclose(self) -> None:
        """End the threads. The files stay."""
        if self._files is not None:
            self._files.close()
            self._files = None
