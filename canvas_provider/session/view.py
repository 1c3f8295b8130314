"""What one instance's handlers see of the session: the session, and where *this* call works.

Two instances may work in different directories, so the working directory must not live in a
place they share. Their keys of `dedupe=` are their own, too.
"""

from canvas_provider.protocol.copilot import CallParams
from canvas_provider.session.api import SessionAPI, SessionParts
from canvas_provider.session.prompts import Panel

__all__ = ["InstanceSession"]


class InstanceSession(SessionAPI):
    """`ctx.session`."""

    def __init__(self, parts: SessionParts, panel: Panel) -> None:
        super().__init__(parts, panel)
        self.working_directory: str | None = None
        """Where the user works, absolute; None if the host does not say."""

    def follow(self, params: CallParams) -> None:
        """Take over where the runtime says this call works."""
        context: object = params.get("session")
        if isinstance(context, dict) and isinstance(path := context.get("workingDirectory"), str):
            self.working_directory = path
