"""The reference is complete: each option, error, code, setting and method is in it."""

import re
from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

from canvas_provider import errors
from canvas_provider.cli.main import main
from canvas_provider.config import PREFIX, Settings
from canvas_provider.protocol import ahp, ahp_canvases
from canvas_provider.protocol.copilot import CanvasEvent, ContributionEvent, Method
from canvas_provider.web.failures import status_of
from tests.support.require import ROOT

REFERENCE = ROOT / "docs" / "reference"


def read(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def commands(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    """Every command, by the words that lead to it."""
    found = [path]
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = commands(command, *path, name) if isinstance(command, click.Group) else []
        found += inner or [(*path, name)]
    return found


@pytest.mark.parametrize("command", commands(main), ids=" ".join)
def test_the_help_of_each_command_is_shown_as_it_is(command: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*command, "--help"], prog_name="canvas-provider")
    assert f"```text\n{shown.output}```" in read("cli.md")


@pytest.mark.parametrize("name", errors.__all__)
def test_each_exception_is_explained(name: str) -> None:
    assert f"`{name}`" in read("errors.md")


@pytest.mark.parametrize(
    "error",
    [
        errors.ActionTimeout("Said."),
        errors.Closing("Said."),
        errors.HandlerError("Said."),
        errors.InvalidInput("Said."),
        errors.NoHandler("Said."),
        errors.NotAllowed("not_for_person", "Said."),
        errors.RevisionConflict(7, 8),
        errors.StoreUnavailable("Said."),
        errors.UnknownAction("Said."),
    ],
)
def test_each_code_of_ours_is_explained_with_its_status(error: errors.CanvasError) -> None:
    assert re.search(rf"^\| .*`{error.code}`.* \| {status_of(error)} \|", read("errors.md"), re.M)


@pytest.mark.parametrize("field", [field.name for field in fields(Settings)])
def test_each_setting_is_explained_with_its_default(field: str) -> None:
    row = re.search(
        rf"^\| `{PREFIX}{field.upper()}` \| (\S+) \|", read("settings.md"), re.MULTILINE
    )
    assert row is not None
    default = getattr(Settings(), field)
    assert row[1] == "none" if default is None else float(row[1]) == default


@pytest.mark.parametrize("method", [*Method, *CanvasEvent, *ContributionEvent])
def test_each_method_and_event_is_explained(method: str) -> None:
    text = read("protocol-copilot.md")
    assert f"`{method}`" in text or f"`.{method.rpartition('.')[2]}`" in text


@pytest.mark.parametrize(
    "name",
    [
        *(*ahp.Method, *ahp.RootNotification, *ahp.ActionType),
        *(*ahp_canvases.CanvasMethod, *ahp_canvases.CanvasAction),
    ],
)
def test_each_message_and_action_of_ahp_is_explained(name: str) -> None:
    assert re.search(rf"^\| .*`{name}`.* \|", read("ahp.md"), re.MULTILINE)
