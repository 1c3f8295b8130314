"""Saving is enough: what follows from it. The files are real, what tells of them is the test."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from canvas_provider.host.hot_reload import HotReload
from canvas_provider.types import JSONObject
from tests.support.bench import Watched, workbench
from tests.support.scripted import BOARD, RUN

pytestmark = pytest.mark.process

OURS = """
from pathlib import Path
import cards
from canvas_provider import create_canvas, run

board = create_canvas(
    id="board", display_name="Board", description="Cards.", state=dict,
    page=Path(__file__).parent / "page",
)

@board.action
async def add(state: dict, card: str) -> list[str]:
    "Add a card."
    state["cards"] = [*state.get("cards", []), cards.name(card)]
    return state["cards"]

run(board)
"""

CARDS = "def name(card):\n    return card.upper()\n"


class Disk:
    """Tells what the test says was saved."""

    def __init__(self, error: OSError | None = None) -> None:
        self.folders: set[Path] = set()
        self._error = error
        self._saved: list[list[Path]] = []
        self._news = asyncio.Event()

    async def watch(
        self, folders: Collection[Path], stop: asyncio.Event
    ) -> AsyncIterator[Iterable[Path]]:
        if self._error is not None:
            raise self._error
        is_first = not self.folders
        self.folders |= set(folders)
        while is_first:
            stopping = asyncio.ensure_future(stop.wait())
            telling = asyncio.ensure_future(self._news.wait())
            await asyncio.wait([stopping, telling], return_when=asyncio.FIRST_COMPLETED)
            for each in (stopping, telling):
                each.cancel()
            if stop.is_set():
                return
            self._news.clear()
            while self._saved:
                yield self._saved.pop(0)

    def tell(self, *paths: Path) -> None:
        self._saved.append([path.resolve() for path in paths])
        self._news.set()


@asynccontextmanager
async def hot(folder: Path, source: str = BOARD + RUN) -> AsyncIterator[tuple[Watched, Disk]]:
    async with workbench(folder, source) as it:
        disk = Disk()
        hot_reload = HotReload(it.bench, disk.watch)
        hot_reload.start()
        try:
            yield it, disk
        finally:
            await hot_reload.aclose()


def pids(it: Watched) -> list[object]:
    return [data["pid"] for kind, data in it.told if kind == "status" and data["phase"] == "ready"]


def pages(it: Watched) -> list[JSONObject]:
    return [data for kind, data in it.told if kind == "pages"]


async def test_code_starts_the_extension_again_and_a_page_its_frames(tmp_path: Path) -> None:
    folder = tmp_path / "board"
    (folder / "page").mkdir(parents=True)
    (folder / "cards.py").write_text(CARDS)
    (folder / "page" / "index.html").write_text("<h1>Board</h1>")
    async with hot(tmp_path, OURS) as (it, disk):
        await it.bench.start()
        await it.wait_until(lambda: bool(it.bench.sources))
        assert it.bench.sources == {
            "modules": [str((folder / name).resolve()) for name in ("cards.py", "extension.py")],
            "pages": [str((folder / "page").resolve())],
        }
        assert await it.bench.runtime.invoke("main", "add", {"card": "a"}) == ["A"]
        disk.tell(folder / "page" / "index.html", folder / "page" / "new.css")
        await it.wait_until(lambda: bool(pages(it)))
        assert pages(it) == [{"instances": ["main"]}]
        assert len(pids(it)) == 1
        # Of the same size and, very likely, in the same second as what was compiled.
        (folder / "cards.py").write_text(CARDS.replace("upper", "title"))
        disk.tell(folder / "cards.py", folder / "page" / "index.html")
        await it.wait_until(lambda: len(pids(it)) == 2 and it.instances()[0]["isReady"] is True)
        assert await it.bench.runtime.invoke("main", "add", {"card": "bc"}) == ["A", "Bc"]
        # New code has new frames anyway.
        assert len(pages(it)) == 1
        assert it.log("host") == [
            "Saved index.html, new.css: loading the pages again.",
            "Saved cards.py: starting again.",
        ]


async def test_an_error_waits_for_the_next_good_save(tmp_path: Path) -> None:
    async with hot(tmp_path) as (it, disk):
        await it.bench.start()
        script = it.bench.extension.script
        script.write_text("def broken(:\n")
        disk.tell(script)
        await it.wait_until(lambda: it.phase == "failed")
        assert "def broken(:" in it.bench.status.traceback
        assert [each["isReady"] for each in it.instances()] == [False]
        disk.tell(script.parent / "index.html")
        script.write_text(BOARD + RUN)
        disk.tell(script)
        await it.wait_until(lambda: it.phase == "ready" and it.instances()[0]["isReady"] is True)
        # There is nothing to load where nothing runs.
        assert pages(it) == []


async def test_code_that_hangs_gives_way_to_the_next_save(tmp_path: Path) -> None:
    async with hot(tmp_path, "import time\ntime.sleep(60)\n") as (it, disk):
        starting = asyncio.create_task(it.bench.start())
        await it.wait_until(lambda: it.bench.status.pid is not None)
        it.bench.extension.script.write_text(BOARD + RUN)
        disk.tell(it.bench.extension.script)
        await it.wait_until(lambda: it.phase == "ready")
        await starting


async def test_a_folder_that_is_new_is_looked_into_and_watched(tmp_path: Path) -> None:
    async with hot(tmp_path) as (it, disk):
        await it.bench.start()
        parts = it.bench.extension.script.parent / "parts"
        parts.mkdir()
        (parts / "first.py").touch()
        disk.tell(parts)
        await it.wait_until(lambda: len(pids(it)) == 2)
        assert parts.resolve() in disk.folders
        assert it.log("host") == ["Saved first.py: starting again."]


async def test_files_that_cannot_be_watched_are_told_of(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        hot_reload = HotReload(it.bench, Disk(OSError("too many watches")).watch)
        hot_reload.start()
        await it.wait_until(lambda: bool(it.bench.journal.log))
        assert it.log("host") == ["Files cannot be watched, so reload by hand: too many watches"]
        await hot_reload.aclose()
