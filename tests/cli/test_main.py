"""The group of commands."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from canvas_provider import __version__
from canvas_provider.cli.main import COMMANDS, main


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    takes = "COMMAND" if name == "ahp" else r"\[?PATH"
    assert re.search(rf"{name} \[OPTIONS\] {takes}", result.output)


def test_the_commands_are_listed() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.output


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["nope"])
    assert result.exit_code == 2
    assert "nope" in result.output


@pytest.mark.process
def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "canvas_provider", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    assert result.stdout == f"canvas-provider, version {__version__}\n"
