"""A session on disk: what was open in it, for the next start of the host.

One JSON file, private to the user. What cannot be read counts as no session: nothing is lost with
it but which panels were open.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from canvas_provider.protocol.copilot import CanvasRecorded
from canvas_provider.types import JSONValue

__all__ = ["SavedSession", "SessionFile"]

FORMAT: Final = 1


class SavedSession(NamedTuple):
    """What is known of a session."""

    session_id: str
    records: list[CanvasRecorded]
    """What was opened and never closed, as it was opened first."""


class SessionFile:
    """Where a session is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> SavedSession | None:
        """Return the session, or None if there is none that can be understood."""
        try:
            found: Any = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.get("canvas_provider") != FORMAT:
            return None
        session_id, records = found.get("sessionId"), found.get("canvases")
        if not isinstance(session_id, str) or not isinstance(records, list):
            return None
        return SavedSession(session_id, [each for each in records if _is_record(each)])

    def write(self, session_id: str, records: Sequence[CanvasRecorded]) -> None:
        """Remember a session, all at once. A disk that is full or read-only is no reason to stop:
        the next start then begins anew.
        """
        kept = {"canvas_provider": FORMAT, "sessionId": session_id, "canvases": list(records)}
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            # In ASCII: an input may hold half a character, which UTF-8 cannot carry.
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                json.dump(kept, file, indent=1)
            os.replace(temporary, self.path)

    def forget(self) -> None:
        """Forget the session."""
        with suppress(OSError):
            self.path.unlink()


def _is_record(found: JSONValue) -> bool:
    if not isinstance(found, dict):
        return False
    names = CanvasRecorded.__required_keys__
    return all(isinstance(found.get(name), str) for name in names)
