"""Processes that are no children of ours."""

import asyncio
import os

__all__ = ["gone"]


async def gone(pid: int) -> None:
    """Wait for the end of a process that is no child of ours: being killed takes it a while."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        async with asyncio.timeout(5):
            await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)
