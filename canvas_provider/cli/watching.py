"""Files as the system tells of them, by watchfiles, which this module has to itself."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from pathlib import Path
from typing import Final

from watchfiles import awatch

__all__ = ["watch_folders"]

QUIET_MS: Final = 60
"""Nothing more is saved for so long: an editor is done, and so is git."""

LONGEST_MS: Final = 1000
"""Told at the latest, however much is being saved."""


async def watch_folders(
    folders: Collection[Path], stop: asyncio.Event
) -> AsyncIterator[Iterable[Path]]:
    """Yield what is saved, made and removed in `folders`; see `host.hot_reload.Watch`."""
    async for changes in awatch(
        *folders,
        watch_filter=None,
        debounce=LONGEST_MS,
        step=QUIET_MS,
        stop_event=stop,
        recursive=False,
        ignore_permission_denied=True,
    ):
        yield [Path(path) for _, path in changes]
