"""The event loop of `run`: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module

from canvas_provider.canvas.dispatch import is_failure
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.join import join
from canvas_provider.wire.stdio import Pipes

__all__ = ["serve"]

logger = logging.getLogger("canvas_provider.session")


def serve(pipes: Pipes, handshake: Handshake) -> None:
    """Serve the session of a written handshake until it ends.

    A `sys.exit()` in a task that a handler has started comes out of the loop, as asyncio has it.
    Whoever waits for the task is told; the session goes on.

    Raises:
        JoinError: Copilot refused, or went away.
    """

    async def until_closed() -> None:
        session = await join(pipes, handshake)
        await session.wait_closed()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        loop = runner.get_loop()
        serving = loop.create_task(until_closed())
        while not serving.done():
            try:
                loop.run_until_complete(serving)
            except (SystemExit, KeyboardInterrupt) as error:
                if serving.done() or not is_failure(error):
                    raise
                logger.error("a task would have ended the program", exc_info=error)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        uvloop = import_module("uvloop")
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
