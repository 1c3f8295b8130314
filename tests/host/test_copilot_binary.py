"""Where the Copilot CLI is looked for, and what is said when it is not there."""

import platform
import sys
from pathlib import Path

import pytest

from canvas_provider.testing import CopilotCLI, CopilotCLINotFound, find_copilot_cli

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PROGRAM = Path("node_modules") / "@github" / f"copilot-{sys.platform}-{MACHINE}" / "copilot"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPILOT_CLI_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)


def put(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode)
    return path.resolve()


def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / PROGRAM)
    mine = put(tmp_path / "mine")
    monkeypatch.setenv("COPILOT_CLI_PATH", str(mine))
    assert find_copilot_cli() == mine


def test_node_modules_above_are_searched_before_the_path(tmp_path: Path) -> None:
    program = put(tmp_path / PROGRAM)
    put(tmp_path / "bin" / "copilot")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_copilot_cli(tmp_path / "a" / "b") == program


def test_a_program_on_the_path_is_found(tmp_path: Path) -> None:
    program = put(tmp_path / "bin" / "copilot")
    assert find_copilot_cli() == program


@pytest.mark.parametrize("nested", [False, True])
def test_npms_script_on_the_path_leads_to_the_program(tmp_path: Path, nested: bool) -> None:
    package = tmp_path / "lib" / "node_modules" / "@github" / "copilot"
    script = put(package / "npm-loader.js")
    program = put((package if nested else tmp_path / "lib") / PROGRAM)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(script)
    assert find_copilot_cli() == program


def test_npms_script_without_a_program_for_this_machine_is_named(tmp_path: Path) -> None:
    script = put(tmp_path / "lib" / "node_modules" / "@github" / "copilot" / "npm-loader.js")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(script)
    with pytest.raises(CopilotCLINotFound, match="npm install @github/copilot"):
        find_copilot_cli()


def test_a_missing_cli_says_where_it_was_looked_for(tmp_path: Path) -> None:
    assert not CopilotCLI.is_installed()
    with pytest.raises(CopilotCLINotFound) as caught:
        CopilotCLI()
    for part in ("COPILOT_CLI_PATH", "node_modules", "PATH", "npm install @github/copilot"):
        assert part in str(caught.value)


def test_a_variable_that_leads_nowhere_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_CLI_PATH", "/nowhere/copilot")
    with pytest.raises(CopilotCLINotFound, match="COPILOT_CLI_PATH names /nowhere/copilot"):
        find_copilot_cli()
    with pytest.raises(CopilotCLINotFound, match="/nowhere/else"):
        CopilotCLI(binary="/nowhere/else")
