"""The group of commands, each loaded when it is asked for: starting one costs only that one.

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
"""

import importlib
from collections.abc import Mapping
from typing import Final

import click

from canvas_provider import __version__

__all__ = ["main"]

COMMANDS: Final[Mapping[str, str]] = {
    "ahp": "canvas_provider.cli.ahp:ahp",
    "dev": "canvas_provider.cli.dev:dev",
    "doctor": "canvas_provider.cli.doctor:doctor",
    "install": "canvas_provider.cli.install:install",
    "new": "canvas_provider.cli.new:new",
}
"""Name to `module:command`."""


class _LazyGroup(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="canvas-provider")
def main() -> None:
    """Build, try and install GitHub Copilot canvases written in Python."""
