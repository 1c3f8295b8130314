"""What keeps a fast writer from filling the memory of its own process."""

import asyncio
from typing import Final

__all__ = ["HIGH_WATER", "Backlog"]

HIGH_WATER: Final = 64 * 1024
"""More unwritten bytes than this make a writer wait."""


class Backlog:
    """How much is unwritten, and who waits for it to become less."""

    def __init__(self) -> None:
        self._size = 0
        self._is_low = asyncio.Event()
        self._is_low.set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def grow(self, size: int) -> None:
        """Take note of bytes that are queued."""
        self._size += size
        self._is_empty.clear()
        if self._size > HIGH_WATER:
            self._is_low.clear()

    def shrink(self, size: int) -> None:
        """Take note of bytes that are written."""
        self._size -= size
        if self._size <= HIGH_WATER:
            self._is_low.set()
        if not self._size:
            self._is_empty.set()

    def drop(self) -> None:
        """Let everybody go: nothing will be written any more."""
        self.shrink(self._size)

    async def wait_low(self) -> None:
        """Wait until no more than `HIGH_WATER` bytes are unwritten."""
        await self._is_low.wait()

    async def wait_empty(self) -> None:
        """Wait until everything is written."""
        await self._is_empty.wait()
