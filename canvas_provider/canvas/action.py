"""What a canvas can be asked to do, and by whom."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from canvas_provider.types import JSONValue

__all__ = ["Action", "Audience", "Handler"]

Audience = Literal["agent", "person", "both"]
"""Who may invoke an action: the model, somebody at the page, or both. No security boundary: the
agent sees the page's URL."""

Handler = Callable[..., Any]
"""`def` (runs in a thread of ours) or `async def`."""


@dataclass(frozen=True)
class Action:
    """One action, field by field as in the Node SDK.

    Its handler takes one argument, the `CanvasContext`. For a handler with typed parameters use
    `@canvas.action`, which builds one of these.
    """

    name: str
    description: str | None = None
    input_schema: JSONValue = None
    """JSON Schema, read as draft-07. None: any object."""
    handler: Handler | None = None
    """None: declared, but answered with `canvas_action_no_handler`."""
    audience: Audience = "both"
    timeout: float | None = None
    """Seconds until the call is cancelled and its change rolled back. None: no limit, as in
    Copilot (observed with CLI 1.0.102: 250 s went through)."""
