"""A model's script in a file, for `dev --runtime copilot --script FILE`."""

import json
from pathlib import Path

import click

from canvas_provider.host.script import Step, ToolCall
from canvas_provider.types import JSONValue

__all__ = ["read_script"]

SHAPES = 'a text, {"tool": NAME, "arguments": {…}}, or a list of these'


def read_script(path: Path) -> list[Step]:
    """Read a JSON list of steps: what the model says, one step for each time that it is asked.

    A text ends the turn, `{"tool": "open_canvas", "arguments": {…}}` calls a tool, and a list has
    several of them in one step.

    Raises:
        UsageError: it is no such list; the text names the step.
    """
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise click.UsageError(f"{path} is not JSON: look at {place}.") from None
    except (ValueError, RecursionError):
        # Valid, and more than Python takes: a number of thousands of digits, or lists in lists.
        raise click.UsageError(f"{path} has too long a number, or is nested too deeply.") from None
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if not isinstance(steps, list) or not steps:
        raise click.UsageError(f"{path} is no list of steps: each is {SHAPES}.")
    return [_step(step, f"step {number} of {path}") for number, step in enumerate(steps, 1)]


def _step(step: JSONValue, where: str) -> Step:
    if isinstance(step, list) and step:
        return [_part(part, where) for part in step]
    return _part(step, where)


def _part(part: JSONValue, where: str) -> str | ToolCall:
    match part:
        case str():
            return part
        case {"tool": str(name), **rest} if rest.keys() <= {"arguments"}:
            arguments = rest.get("arguments", {})
            if isinstance(arguments, dict):
                return ToolCall(name, arguments)
    raise click.UsageError(f"In {where}: a step is {SHAPES}.")
