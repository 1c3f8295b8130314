"""The event loop of `run`: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
from collections.abc import Callable
from importlib import import_module

from canvas_provider.session.handshake import Handshake
from canvas_provider.session.join import join
from canvas_provider.wire.stdio import Pipes

__all__ = ["serve"]


def serve(pipes: Pipes, handshake: Handshake) -> None:
    """Serve the session of a written handshake until it ends.

    Raises:
        JoinError: Copilot refused, or went away.
    """

    async def until_closed() -> None:
        session = await join(pipes, handshake)
        await session.wait_closed()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(until_closed())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        uvloop = import_module("uvloop")
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
