"""The command `canvas-provider`, also `python -m canvas_provider`."""

from canvas_provider.cli.main import main

__all__ = ["main"]
