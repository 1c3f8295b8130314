"""Where the development host keeps what is to be there at its next start.

    ~/.local/state/canvas-provider/dev/NAME-DIGEST/     one for each extension and project
        session.json                                    which panels are open
        copilot/extensions/NAME/artifacts/              what its stores keep

The second stands in for `~/.copilot`, so that a canvas can be tried without touching what it has
stored in earnest. Both are private to the user.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Self

from canvas_provider.config import state_home
from canvas_provider.host.session_file import SessionFile
from canvas_provider.host.status import Extension

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """What an extension and the host find again."""

    session_file: SessionFile
    copilot_home: Path
    """What the extension takes for Copilot's folder; absolute."""

    @classmethod
    def of(cls, extension: Extension, project: Path, state: Path | None) -> Self:
        """Return the usual place, with its stored state in `state` if that is given."""
        what = f"{extension.script.resolve()}\n{project.resolve()}"
        digest = sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        folder = state_home() / "canvas-provider" / "dev" / f"{extension.name}-{digest}"
        home = folder / "copilot" if state is None else state.expanduser().absolute()
        return cls(SessionFile(folder / "session.json"), home)
