"""What the runtime has said about the session and its host; capabilities may change any time."""

import asyncio
from typing import cast

from canvas_provider.protocol.copilot import (
    SessionCapabilities,
    SessionResumeResult,
    UICapabilities,
)
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject

__all__ = ["Facts"]


class Facts:
    """Empty until the join is done."""

    def __init__(self) -> None:
        self.is_joined = False
        self.workspace_path: str | None = None
        self.capabilities: SessionCapabilities = {}
        self._no_dialogs = asyncio.Event()

    def join(self, result: SessionResumeResult) -> None:
        """Take the answer to `session.resume`, whatever is wrong with its fields."""
        self.is_joined = True
        path = result.get("workspacePath")
        self.workspace_path = path if isinstance(path, str) else None
        capabilities = result.get("capabilities")
        if isinstance(capabilities, dict):
            self.capabilities = _to_capabilities(cast(JSONObject, capabilities))

    def change(self, event: SessionEvent) -> None:
        """Take a `capabilities.changed`, which names only what is different."""
        changed = _to_capabilities(event["data"])
        if "ui" in changed and "ui" in self.capabilities:
            changed["ui"] = {**self.capabilities["ui"], **changed["ui"]}
        self.capabilities = {**self.capabilities, **changed}
        if not self.has_dialogs:
            self._no_dialogs.set()
            self._no_dialogs = asyncio.Event()

    @property
    def has_dialogs(self) -> bool:
        return self._has("elicitation")

    @property
    def has_canvases(self) -> bool:
        """Whether the host renders canvases."""
        return self._has("canvases")

    async def wait_no_dialogs(self) -> None:
        """Wait until the host says that it has no dialogs any more."""
        await self._no_dialogs.wait()

    def _has(self, name: str) -> bool:
        return cast(JSONObject, self.capabilities.get("ui", {})).get(name) is True


def _to_capabilities(value: JSONObject) -> SessionCapabilities:
    """Leave out what is not of the type that an author counts on."""
    known = {name: each for name, each in value.items() if name != "ui"}
    if isinstance(ui := value.get("ui"), dict):
        flags = UICapabilities.__annotations__
        known["ui"] = {
            n: each for n, each in ui.items() if isinstance(each, bool) or n not in flags
        }
    return cast(SessionCapabilities, known)
