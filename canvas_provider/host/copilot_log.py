"""What an extension writes to stderr, as the Copilot CLI keeps it: a file for each process."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["follow_log"]

LOOK_EVERY: Final = 0.3
"""Seconds between two looks: the CLI tells nobody that there is more."""

ITS_OWN: Final = (
    *("=== launch ", "=== initializing ===", "=== ready ===", "[extension-bootstrap]"),
    *("[extension-fork]",),
)
"""How lines begin that the CLI has written itself (observed with Copilot CLI 1.0.102)."""


async def follow_log(logs: Path, pid: int, take: Callable[[str], None]) -> None:
    """Call `take` with each line that the process has written and will write; until cancelled."""
    path: Path | None = None
    position = 0
    rest = b""
    while True:
        if path is None:
            path = await asyncio.to_thread(_find, logs, pid)
        if path is not None:
            with suppress(OSError):
                chunk = await asyncio.to_thread(_read, path, position)
                position += len(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    text = line.decode("utf-8", "replace").rstrip("\r")
                    if text and not text.startswith(ITS_OWN):
                        take(text)
        await asyncio.sleep(LOOK_EVERY)


def _find(logs: Path, pid: int) -> Path | None:
    # A process of another day may have had the same id.
    return max(logs.glob(f"process-*-{pid}.log"), default=None)


def _read(path: Path, position: int) -> bytes:
    with path.open("rb") as file:
        file.seek(position)
        return file.read()
