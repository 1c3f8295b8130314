"""What one instance's handlers see of the session: the session, and where *this* call works.

Two instances may work in different directories, so the working directory must not live in a
place they share.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from canvas_provider.protocol.copilot import CallParams, SessionCapabilities, SessionEvent
    from canvas_provider.session.canvases import SessionCanvases
    from canvas_provider.session.session import Session

__all__ = ["InstanceSession"]


class InstanceSession:
    """`ctx.session`."""

    __slots__ = ("_session", "working_directory")

    def __init__(self, session: "Session", working_directory: str | None = None) -> None:
        self._session = session
        self.working_directory = working_directory
        """Where the user works, absolute; None if the host does not say."""

    def follow(self, params: "CallParams") -> None:
        """Take over where the runtime says this call works."""
        context = params.get("session")
        if context is not None:
            self.working_directory = context.get("workingDirectory", self.working_directory)

    @property
    def session_id(self) -> str:
        return self._session.session_id

    @property
    def workspace_path(self) -> str | None:
        """See `Session.workspace_path`."""
        return self._session.workspace_path

    @property
    def capabilities(self) -> "SessionCapabilities":
        """See `Session.capabilities`."""
        return self._session.capabilities

    @property
    def canvas(self) -> "SessionCanvases":
        """See `Session.canvas`."""
        return self._session.canvas

    async def log(
        self,
        message: str,
        *,
        level: Literal["info", "warning", "error"] = "info",
        ephemeral: bool = False,
    ) -> str:
        """See `Session.log`."""
        return await self._session.log(message, level=level, ephemeral=ephemeral)

    async def send(self, prompt: str, *, mode: Literal["enqueue", "immediate"] = "enqueue") -> str:
        """See `Session.send`."""
        return await self._session.send(prompt, mode=mode)

    def on(self, event: str, listener: "Callable[[SessionEvent], object]") -> Callable[[], None]:
        """See `Session.on`."""
        return self._session.on(event, listener)
