"""Settings of the provider process, read once from `CANVAS_PROVIDER_*` and passed down.

An argument beats a setting, a setting beats the default. Nothing here is read again later, and no
module keeps a copy of its own.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from canvas_provider.errors import DeclarationError

__all__ = ["Settings", "copilot_home", "state_home"]

PREFIX = "CANVAS_PROVIDER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Times are seconds, sizes are bytes."""

    shutdown_deadline: float = 0.8
    """Everything between the signal and the exit. Copilot kills after 1.0 s on disconnect
    (observed with Copilot CLI 1.0.102)."""

    max_frame_size: int = 64 * 1024 * 1024
    """A larger JSON-RPC frame ends the connection."""

    slow_action: float = 60.0
    """An action that runs longer is logged once."""

    memory_directory: Path | None = None
    """Where a `MemoryStore` is kept, so that it outlives the process. The development host sets
    it, to a folder that it empties in the end."""

    development: bool = False
    """Answer `protocol.development`, and let pages be themed from outside. The development host
    sets it; nobody else should."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read `CANVAS_PROVIDER_SHUTDOWN_DEADLINE` and its siblings.

        Raises:
            DeclarationError: a value that is no positive number; the text names the variable.
        """
        source = os.environ if environ is None else environ
        given: dict[str, bool | int | float | Path | None] = {}
        for field in fields(cls):
            name = PREFIX + field.name.upper()
            if (text := source.get(name)) is not None:
                given[field.name] = _read(name, text, field.type)
        return cls(**given)  # type: ignore[arg-type]  # each value has its field's type


def _read(name: str, text: str, type: object) -> bool | int | float | Path | None:
    if type is bool:
        return text not in ("", "0")
    if type in (int, float):
        return _positive(name, text, type is int)
    return Path(text) if text else None


def _positive(name: str, text: str, whole: bool) -> int | float:
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        kind = "whole number" if whole else "number"
        raise DeclarationError(f"{name} must be a positive {kind}, such as 5: unset it or fix it")
    return number


def state_home() -> Path:
    """Where programs of this user keep what they want to find again, such as open panels."""
    if os.name == "nt" and (given := os.environ.get("LOCALAPPDATA")):
        return Path(given)
    given = os.environ.get("XDG_STATE_HOME")
    return Path(given) if given else Path.home() / ".local" / "state"


def copilot_home() -> Path:
    """Where Copilot keeps a user's files: `COPILOT_HOME`, else `~/.copilot`."""
    given = os.environ.get("COPILOT_HOME")
    return Path(given) if given else Path.home() / ".copilot"
