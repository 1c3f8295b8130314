"""What is told of an extension's process: how it is doing, and what it said."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from canvas_provider.types import JSONObject

__all__ = ["Extension", "Level", "LogLine", "Source", "Status"]

Source = Literal["stderr", "session", "host"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Extension:
    """What is developed."""

    script: Path
    """Absolute."""
    name: str
    python: str = sys.executable
    """The interpreter that runs it."""

    @property
    def id(self) -> str:
        return f"project:{self.name}"


@dataclass(frozen=True, slots=True)
class Status:
    """How the extension's process is doing."""

    phase: Literal["starting", "ready", "failed", "stopped"]
    detail: str = ""
    """Why, in plain words."""
    pid: int | None = None
    traceback: str = ""
    """What it said on stderr of the error it failed with."""
    is_held: bool = False
    """What it says does not arrive: it seems to hang."""

    def describe(self) -> JSONObject:
        return {
            "phase": self.phase,
            "detail": self.detail,
            "pid": self.pid,
            "traceback": self.traceback,
            "isHeld": self.is_held,
        }


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line for a reader."""

    source: Source
    level: Level
    text: str
    time: float
    """Unix seconds."""

    def describe(self) -> JSONObject:
        return {"source": self.source, "level": self.level, "text": self.text, "time": self.time}
