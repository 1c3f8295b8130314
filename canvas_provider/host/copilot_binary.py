"""Where the Copilot CLI is. Finds the program itself, never the script in front of it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from canvas_provider.errors import CanvasProviderError

__all__ = ["CopilotCLINotFound", "find_copilot_cli"]

VARIABLE: Final = "COPILOT_CLI_PATH"
"""The official SDKs read it, too."""

MACHINES: Final = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}

PROGRAM: Final = "copilot.exe" if sys.platform == "win32" else "copilot"


class CopilotCLINotFound(CanvasProviderError):
    """There is no Copilot CLI on this machine. A test skips for it."""


def find_copilot_cli(folder: Path | None = None) -> Path:
    """Return the Copilot CLI.

    Looked for in `COPILOT_CLI_PATH`, in `node_modules` of `folder` and of those above it, and on
    `PATH`. What npm puts on `PATH` is a script that starts the program as its child, which a signal
    would not reach: the program beside it is returned.

    Args:
        folder: Default: the working directory.

    Raises:
        CopilotCLINotFound: the text says where it was looked for, and how to get it.
    """
    if given := os.environ.get(VARIABLE):
        return _program_of(Path(given), f"{VARIABLE} names")
    start = (Path.cwd() if folder is None else folder).resolve()
    for modules in (at / "node_modules" for at in (start, *start.parents)):
        for path in _in_modules(modules):
            return path
    if found := shutil.which("copilot"):
        return _program_of(Path(found), "PATH has")
    raise CopilotCLINotFound(
        f"There is no Copilot CLI: {VARIABLE} is not set, nothing is in {start / 'node_modules'} "
        "or above, and there is no copilot on PATH. Install it with: npm install @github/copilot"
    )


def _program_of(path: Path, where: str) -> Path:
    """The program behind `path`, which may be npm's script for it."""
    real = path.resolve()
    if not real.is_file():
        raise CopilotCLINotFound(f"{where} {path}, which is not there.")
    if real.suffix != ".js":
        return real
    # node_modules/@github/copilot/npm-loader.js, and the platform's package beside or below it.
    for modules in (real.parents[2], real.parent / "node_modules"):
        for program in _in_modules(modules):
            return program
    raise CopilotCLINotFound(
        f"{where} {path}, a script without the program for this machine: reinstall it with "
        "npm install @github/copilot"
    )


def _in_modules(modules: Path) -> Iterator[Path]:
    machine = MACHINES.get(platform.machine(), platform.machine())
    systems = ("linux", "linuxmusl") if sys.platform == "linux" else (sys.platform,)
    for system in systems:
        program = modules / "@github" / f"copilot-{system}-{machine}" / PROGRAM
        if program.is_file():
            yield program
