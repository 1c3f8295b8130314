"""What a change of the shared state costs: `python -m benchmarks.state --help`.

Documents of several sizes are changed in every type and store. Beside each stand a reference of
the same machine and run: what the standard library needs to copy and to write the document, and
the disk for one line. The times of two machines are compared by their ratios to these.
"""

import argparse
import asyncio
import copy
import json
import os
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from benchmarks.documents import TYPES, Kind, board
from benchmarks.measure import Call, Spread, sample
from benchmarks.report import table, write_table
from canvas_provider import JSONFileStore, MemoryStore, SQLiteStore, __version__, create_canvas
from canvas_provider.state.history import Revision
from canvas_provider.state.shared import SharedState
from canvas_provider.state.store import Store
from canvas_provider.testing import open_canvas
from canvas_provider.web.feed import Feed

__all__ = ["Figure", "main", "run"]

SIZES: Final = {50: 200, 5_000: 100, 50_000: 15}
"""Items in the document, and how often everything is measured with it."""

COPY: Final = "copy.deepcopy of the document"
DUMP: Final = "json.dumps of the document"
SYNC: Final = "append a line to a file, and fsync"
FIRST: Final = "a page joins, first at its revision"
NEXT: Final = "a page joins, as those before it"
LISTENED: Final = "change by index, dict, ten pages listening"

_TITLES: Final = count()


@dataclass(frozen=True)
class Figure:
    """One row at one size."""

    items: int
    name: str
    spread: Spread
    ratio: float
    """To `json.dumps` of the same document."""
    frame: int | None = None
    """Bytes that each page receives."""


class Page:
    """A reader of the event stream, at the place where its server would be."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._left = asyncio.Event()
        self._begun = asyncio.Event()
        self.received: list[int] = []
        """Sizes of the frames, in bytes."""

    async def _receive(self) -> dict[str, Any]:
        self._begun.set()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self.received.append(len(message["body"]))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Read within the block."""
        scope = {"type": "http", "method": "GET", "query_string": b"", "headers": []}
        serving = asyncio.ensure_future(self._feed.stream(scope, self._receive, self._send))
        await self._begun.wait()
        yield
        self._left.set()
        await serving


class Bench:
    """All the calls for documents of one size."""

    def __init__(self, items: int, folder: Path, stack: AsyncExitStack) -> None:
        self.document = board(items)
        self.calls: dict[str, Call] = {}
        self.listener: Page | None = None
        self._items = items
        self._folder = folder
        self._stack = stack

    async def prepare(self) -> None:
        """Open everything that is measured."""
        self._add_references()
        for name, kind in TYPES.items():
            state = await self._open(MemoryStore(), kind)
            self.calls[f"change by index, {name}"] = self._by_index(state, kind)
            self.calls[f"search through half, then change, {name}"] = self._search(state, kind)
        await self._add_undo()
        await self._add_pages()
        stores: dict[str, Store] = {
            "SQLiteStore": SQLiteStore(self._folder / "state.sqlite3"),
            "JSONFileStore": JSONFileStore(self._folder / "json"),
        }
        for name, store in stores.items():
            self._stack.push_async_callback(store.aclose)
            state = await self._open(store, TYPES["dict"])
            self.calls[f"change by index, dict, {name}"] = self._by_index(state, TYPES["dict"])

    async def _open(self, store: Store, kind: Kind) -> SharedState[Any]:
        # Stored first: what is measured is the second change and those after it.
        first = Revision(1, [], "system", None, 0.0, 0, [])
        await store.commit("board", 0, self.document, first)
        state = await SharedState.open(store, "board", kind.state_type)
        self._stack.push_async_callback(state.aclose)
        return state

    async def _store(self, store: Store) -> None:
        """Make the first change, which stores everything: those after it are measured."""
        state = await SharedState.open(store, "board", initial=lambda: self.document)
        await state.update(lambda draft: draft["cards"][0].update(title="First"))
        await state.aclose()

    def _add_references(self) -> None:
        line = self._stack.enter_context((self._folder / "line").open("wb", buffering=0))

        async def deepcopy() -> None:
            copy.deepcopy(self.document)

        async def dump() -> None:
            json.dumps(self.document)

        async def sync() -> None:
            line.write(b"x" * 99 + b"\n")
            os.fsync(line.fileno())

        self.calls |= {COPY: deepcopy, DUMP: dump, SYNC: sync}

    def _by_index(self, state: SharedState[Any], kind: Kind) -> Call:
        place = self._items // 2

        def change(draft: Any) -> None:
            kind.rename(kind.cards(draft)[place], f"Title {next(_TITLES)}")

        return lambda: state.update(change)

    def _search(self, state: SharedState[Any], kind: Kind) -> Call:
        wanted = f"card-{self._items // 2}"

        def change(draft: Any) -> None:
            kind.rename(kind.find(kind.cards(draft), wanted), f"Title {next(_TITLES)}")

        return lambda: state.update(change)

    async def _add_undo(self) -> None:
        for name in ("dict", "pydantic"):
            state = await self._open(MemoryStore(), TYPES[name])
            await self._by_index(state, TYPES[name])()
            self.calls[f"undo of a change by index, {name}"] = partial(_undo_newest, state)

    async def _add_pages(self) -> None:
        canvas = create_canvas(
            id="board",
            display_name="Board",
            description="A board.",
            state=dict,
            state_key=lambda context: "board",
        )
        instances = []
        for _ in range(2):
            store = MemoryStore()
            await self._store(store)
            panel = await self._stack.enter_async_context(open_canvas(canvas, store=store))
            await panel.events.unfollow()
            instances.append(panel._instance)
        listened, quiet = instances
        feed = Feed(listened)
        for _ in range(10):
            self.listener = Page(feed)
            await self._stack.enter_async_context(self.listener.reading())
        assert listened.state is not None
        self.calls[LISTENED] = self._by_index(listened.state, TYPES["dict"])

        async def join(feed: Feed) -> None:
            async with Page(feed).reading():
                pass

        async def join_first() -> None:
            # A feed of its own has encoded nothing yet.
            feed = Feed(quiet)
            await join(feed)
            feed.close("closed")

        self.calls[FIRST] = join_first
        self.calls[NEXT] = partial(join, Feed(quiet))


async def _undo_newest(state: SharedState[Any]) -> None:
    # By its number, an undo can be undone as well: to and fro.
    await state.undo(state.revision)


async def run(sizes: dict[int, int], folder: Path) -> list[Figure]:
    """Measure documents of the sizes (items: rounds), with files in `folder`."""
    figures: list[Figure] = []
    for items, rounds in sizes.items():
        async with AsyncExitStack() as stack:
            place = folder / str(items)
            place.mkdir()
            bench = Bench(items, place, stack)
            await bench.prepare()
            spreads = await sample(bench.calls, rounds)
            assert bench.listener is not None
            frames = {LISTENED: max(bench.listener.received[1:])}
            whole = spreads[DUMP].median
            figures += [
                Figure(items, name, spread, spread.median / whole, frames.get(name))
                for name, spread in spreads.items()
            ]
    return figures


def as_json(figures: Iterable[Figure]) -> dict[str, Any]:
    """Return everything that was measured, and where."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "garbage_collector": "on",
        "figures": [asdict(figure) for figure in figures],
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")
    parser.add_argument("--page", type=Path, help="put the table into this Markdown page, too")
    parser.add_argument("--directory", help="a folder on the disk to measure")
    parser.add_argument(
        "--items", type=int, action="append", help="a size to measure; again for more"
    )
    parser.add_argument("--rounds", type=int, help="how often, for all sizes")
    options = parser.parse_args(arguments)
    sizes = {
        items: options.rounds or SIZES.get(items, 20) for items in options.items or list(SIZES)
    }
    with tempfile.TemporaryDirectory(prefix="canvas-bench-", dir=options.directory) as folder:
        figures = asyncio.run(run(sizes, Path(folder)))
    found = as_json(figures)
    text = table(found)
    if options.page is not None:
        write_table(options.page, text)
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if options.json else text)


if __name__ == "__main__":
    main()
