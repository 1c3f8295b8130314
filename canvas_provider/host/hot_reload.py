"""Saving is enough: new code starts the extension again, a new page loads its frames again.

Who looks at the disk is a `Watch`; this decides what follows. Everything that is saved while an
extension starts is taken together, and makes it start again at once: the code that hangs is
replaced by the code that mends it.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from pathlib import Path
from typing import Final, Protocol

from canvas_provider.host.bench import Bench
from canvas_provider.host.changes import Sources, list_folders
from canvas_provider.types import JSONObject

__all__ = ["HotReload", "Watch"]

GRACE: Final = 1.0
"""Seconds that the old process gets to end: what Copilot gives it at the end of a session."""

MAX_NAMES: Final = 3
"""Saved files that are named."""


class Watch(Protocol):
    """Looks at folders, not at what is below them, from the moment it is first asked."""

    def __call__(
        self, folders: Collection[Path], stop: asyncio.Event
    ) -> AsyncIterator[Iterable[Path]]:
        """Yield what was saved, made and removed, some at a time, until `stop` is set.

        Raises:
            OSError: a folder cannot be watched.
        """


class HotReload:
    """Call `start()`, before the extension is started, and `aclose()` in the end."""

    def __init__(self, bench: Bench, watch: Watch) -> None:
        self._bench = bench
        self._watch = watch
        self._stop = asyncio.Event()
        self._news = asyncio.Event()
        self._saved: set[Path] = set()
        self._watched: set[Path] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch from now on."""
        self._watch_more()
        self._bench.subscribe(self._hear)
        self._following = asyncio.ensure_future(self._follow())

    async def aclose(self) -> None:
        """Watch no longer. A reload that is under way is the bench's."""
        self._stop.set()
        if self._following is not None:
            self._following.cancel()
        if self._watching:
            await asyncio.wait(self._watching)

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            saved, self._saved = self._saved, set()
            for folder in self._watch_more():
                if saved & {folder, *folder.parents}:
                    # It is new, and of what is in it nobody has told.
                    saved |= set(folder.iterdir())
            code, pages = self._sources().sort(saved)
            if code:
                self._bench.add_log("host", "info", f"{_name(code)}: starting again.")
                self._bench.begin_reload(GRACE, code)
            elif pages and self._bench.status.phase == "ready":
                self._bench.add_log("host", "info", f"{_name(pages)}: loading the pages again.")
                self._bench.reload_pages()

    def _sources(self) -> Sources:
        return Sources.of(self._bench.extension.script, self._bench.sources)

    def _watch_more(self) -> set[Path]:
        """Watch the folders that were not known or not there before, and return them."""
        folders = list_folders(self._sources()) - self._watched
        if folders:
            self._watched |= folders
            task = asyncio.ensure_future(self._collect(folders))
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)
        return folders

    async def _collect(self, folders: Collection[Path]) -> None:
        try:
            async for paths in self._watch(folders, self._stop):
                self._saved.update(paths)
                self._news.set()
        except OSError as error:
            text = f"Files cannot be watched, so reload by hand: {error}"
            self._bench.add_log("host", "warning", text)

    def _hear(self, kind: str, data: JSONObject) -> None:
        if kind == "sources":
            self._news.set()


def _name(paths: Collection[Path]) -> str:
    names = [path.name for path in paths][:MAX_NAMES]
    more = len(paths) - len(names)
    return f"Saved {', '.join(names)}{f' and {more} more' if more else ''}"
