"""The Python framework for GitHub Copilot canvas extensions.

    from canvas_provider import create_canvas, run

    kanban = create_canvas(
        id="kanban", display_name="Kanban", description="A task board.", state=Board
    )

    @kanban.action
    async def move_card(board: Board, card_id: str, column: str) -> Card: ...

    run(kanban)

`canvas_provider.testing` tests handlers in-process; the command `canvas-provider` runs a canvas in
a browser (`dev`) and puts it into Copilot (`install`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from canvas_provider.canvas.action import Action
from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.declaration import Canvas, create_canvas
from canvas_provider.canvas.results import ToolResult
from canvas_provider.errors import (
    CanvasError,
    CanvasProviderError,
    DeclarationError,
    JoinError,
    NothingToUndo,
    RevisionConflict,
)
from canvas_provider.session.run import run

if TYPE_CHECKING:
    from canvas_provider.canvas.progress import Progress
    from canvas_provider.canvas.quoting import quote_untrusted
    from canvas_provider.session.command import Command, CommandContext, command
    from canvas_provider.session.hooks import Hooks
    from canvas_provider.session.join import join_session
    from canvas_provider.session.session import Session
    from canvas_provider.session.tool import Tool, ToolContext, tool
    from canvas_provider.state.history import Revision
    from canvas_provider.state.json_file import JSONFileStore
    from canvas_provider.state.memory import MemoryStore
    from canvas_provider.state.redis_store import RedisStore
    from canvas_provider.state.shared import SharedState
    from canvas_provider.state.sqlite import SQLiteStore

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Canvas",
    "CanvasContext",
    "CanvasError",
    "CanvasProviderError",
    "Command",
    "CommandContext",
    "DeclarationError",
    "Hooks",
    "JSONFileStore",
    "JoinError",
    "MemoryStore",
    "NothingToUndo",
    "Opened",
    "Progress",
    "RedisStore",
    "Revision",
    "RevisionConflict",
    "SQLiteStore",
    "Session",
    "SharedState",
    "Tool",
    "ToolContext",
    "ToolResult",
    "command",
    "create_canvas",
    "join_session",
    "quote_untrusted",
    "run",
    "tool",
]

_LATER: Final = {
    "Command": "canvas_provider.session.command",
    "CommandContext": "canvas_provider.session.command",
    "Hooks": "canvas_provider.session.hooks",
    "JSONFileStore": "canvas_provider.state.json_file",
    "MemoryStore": "canvas_provider.state.memory",
    "Progress": "canvas_provider.canvas.progress",
    "RedisStore": "canvas_provider.state.redis_store",
    "Revision": "canvas_provider.state.history",
    "Session": "canvas_provider.session.session",
    "SQLiteStore": "canvas_provider.state.sqlite",
    "SharedState": "canvas_provider.state.shared",
    "Tool": "canvas_provider.session.tool",
    "ToolContext": "canvas_provider.session.tool",
    "command": "canvas_provider.session.command",
    "join_session": "canvas_provider.session.join",
    "quote_untrusted": "canvas_provider.canvas.quoting",
    "tool": "canvas_provider.session.tool",
}
"""What needs asyncio, and what not every program uses. `run` writes its handshake before asyncio is
there, so importing the package must not load it; a program that names one of these pays for it
itself."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
