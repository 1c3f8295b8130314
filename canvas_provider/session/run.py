"""`run`: the whole program of an extension in one call."""

import sys
from typing import TYPE_CHECKING

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.errors import DeclarationError, JoinError
from canvas_provider.session.handshake import begin_on_stdio

if TYPE_CHECKING:
    from typing import Unpack

    from canvas_provider.session.options import JoinOptions

__all__ = ["run"]


def run(*canvases: Canvas, **options: "Unpack[JoinOptions]") -> None:
    """Join the Copilot session that started this process and serve it until it ends.

    Blocks; call it at the end of the program, with at least one canvas or something else to
    contribute. Uses uvloop where it is installed.

    Args:
        options: tools, hooks, commands and the rest, as for `join_session`.

    Raises:
        SystemExit: with status 1, when the join fails; stderr says why, and what to do.
    """
    try:
        _refuse_running_loop()
        pipes, handshake = begin_on_stdio(canvases, options)
        # Only now: asyncio alone takes as long as everything before.
        from canvas_provider.session.loop import serve

        serve(pipes, handshake)
    except (JoinError, DeclarationError) as error:
        print(f"canvas_provider: {error}", file=sys.stderr)  # noqa: T201  # it is the program
        raise SystemExit(1) from None


def _refuse_running_loop() -> None:
    # A loop that runs has imported asyncio; importing it here would cost its time.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise DeclarationError(
        "run() starts an event loop of its own, and one runs already: call it outside of async "
        "code, or write `async with join_session(canvases=[...]) as session: "
        "await session.wait_closed()`"
    )
