"""`canvas-provider dev` in a process of its own, as in a terminal."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

__all__ = ["Terminal", "dev"]


class Terminal:
    """The running command and what it printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := await self.process.stdout.read(65536):
            self.output += chunk.decode()
            self._news.set()

    async def see(self, pattern: str) -> str:
        """Wait until the output matches; return the whole match."""
        async with asyncio.timeout(20):
            while (match := re.search(pattern, self.output)) is None:
                self._news.clear()
                await self._news.wait()
        return match.group(0)

    async def end(self, number: signal.Signals, within: float) -> int:
        """Send a signal, and wait for the end and the last output."""
        self.process.send_signal(number)
        async with asyncio.timeout(within):
            code = await self.process.wait()
        await self._reading
        return code


@asynccontextmanager
async def dev(*arguments: str, directory: Path, **environment: str) -> AsyncIterator[Terminal]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "canvas_provider", "dev", *arguments),
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )
    terminal = Terminal(process)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await terminal._reading
