"""What stands for a `MemoryStore` where it has to outlive the process: in the development host.

There `CANVAS_PROVIDER_MEMORY_DIRECTORY` names a folder of the host's session, which it empties in
the end. Everywhere else a `MemoryStore` is what it says.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.state.filenames import file_name
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.sqlite import SQLiteStore
from canvas_provider.state.store import Store

__all__ = ["Memory"]

DEFAULT: Final = "default"
"""The file of canvases that name no store."""


class Memory:
    """The stores in memory of one session.

    Args:
        directory: where to keep them instead; None: in memory.
    """

    def __init__(self, canvases: Mapping[str, Canvas], directory: Path | None) -> None:
        self._canvases = canvases
        self._directory = directory
        self._default: Store = MemoryStore()
        self._kept: dict[str, SQLiteStore] = {}

    def pick(self, canvas_id: str, store: Store | None) -> Store:
        """Return the store to use where a canvas named `store`, or None."""
        if self._directory is None or not isinstance(store, MemoryStore | None):
            return self._default if store is None else store
        name = DEFAULT if store is None else file_name(f"of {self._owner(canvas_id, store)}")
        if name not in self._kept:
            self._kept[name] = SQLiteStore(self._directory / f"{name}.sqlite3")
        return self._kept[name]

    def _owner(self, canvas_id: str, store: MemoryStore) -> str:
        """Name a store so that the next process finds it again: by the first canvas that has it."""
        owners = (id for id, canvas in self._canvases.items() if canvas.store is store)
        # What a function picks is known by the canvas alone.
        return next(owners, canvas_id)
