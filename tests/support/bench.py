"""A workbench over an extension that a test wrote down, and what it told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.types import JSONObject
from tests.support.scripted import BOARD, RUN, write_extension

__all__ = ["Watched", "workbench"]


class Watched:
    """A workbench and what it told, in order."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.told: list[tuple[str, JSONObject]] = []
        self._news = asyncio.Event()
        bench.subscribe(self._hear)

    def _hear(self, kind: str, data: JSONObject) -> None:
        self.told.append((kind, data))
        self._news.set()

    @property
    def phase(self) -> str:
        return self.bench.status.phase

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait for something that is told of."""
        async with asyncio.timeout(20):
            while not is_true():
                self._news.clear()
                await self._news.wait()

    def log(self, source: str) -> list[str]:
        return [line.text for line in self.bench.journal.log if line.source == source]

    def instances(self) -> list[JSONObject]:
        instances = self.bench.describe()["instances"]
        assert isinstance(instances, list)
        return instances  # type: ignore[return-value]  # that is what they are


@asynccontextmanager
async def workbench(
    folder: Path, source: str = BOARD + RUN, **options: Any
) -> AsyncIterator[Watched]:
    script = write_extension(folder / "board", source)
    extension = Extension(script, "board")
    bench = Workbench(
        extension, working_directory=str(folder), workspace_path=str(folder), **options
    )
    try:
        async with asyncio.timeout(40):
            yield Watched(bench)
    finally:
        await bench.aclose(2)
