"""The author's `lifespan=` around one instance.

Entered and left by one task of its own: a task group or a cancel scope inside it must be left by
the task that entered it, while an open and a close come from different ones.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from canvas_provider.canvas.dispatch import is_failure

__all__ = ["LifespanTask"]


class LifespanTask:
    """`enter` once, then `leave` once; what was yielded is `resources`."""

    def __init__(self, create: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._create = create
        self._entered = asyncio.Event()
        self._left = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.resources: Any = None

    async def enter(self) -> None:
        """Run the part before the `yield`, and raise what it raises.

        Cancelled, it cancels that part and waits until it is left.
        """
        self._task = asyncio.create_task(self._run(), name="canvas-lifespan")
        waiting = asyncio.ensure_future(self._entered.wait())
        try:
            await asyncio.wait([self._task, waiting], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait([self._task])
            raise
        finally:
            waiting.cancel()
        if self._task.done():
            self._task.result()

    async def leave(self) -> None:
        """Run the part after the `yield`, and raise what it raises."""
        if self._task is None:
            return
        self._left.set()
        try:
            await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled():
                return  # it was cancelled from inside, not we
            self._task.cancel()
            await asyncio.wait([self._task])
            raise

    async def _run(self) -> None:
        try:
            async with self._create() as self.resources:
                self._entered.set()
                await self._left.wait()
        except (SystemExit, KeyboardInterrupt) as error:
            if not is_failure(error):
                raise
            # As it is, it would end the event loop: this is a task of its own.
            raise RuntimeError(f"the lifespan raised {type(error).__name__}") from error
