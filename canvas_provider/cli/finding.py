"""What an examination has found: one row of `canvas-provider doctor`."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact, and what to do about it where something is wrong."""

    check: str
    """What was looked at, such as `interpreter`."""
    level: Literal["ok", "note", "warning", "error"]
    """`error`: the canvas does not work. `warning`: a part of it does not, or not everywhere."""
    text: str
    fix: str = ""
