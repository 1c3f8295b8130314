"""`canvas-provider doctor` finds what the real Copilot CLI has logged of an extension."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from canvas_provider.cli.main import main
from canvas_provider.cli.new import create_extension
from canvas_provider.testing import CopilotCLI

pytestmark = pytest.mark.copilot


async def test_the_last_run_of_an_extension_is_found_in_copilots_log(
    cli: CopilotCLI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_extension(tmp_path / "retro", "board")
    folder = cli.install(tmp_path / "retro")
    await cli.create_session()
    monkeypatch.setenv("COPILOT_HOME", str(cli.home))
    arguments = ["doctor", str(folder), "--json"]
    # In a thread, because the command has an event loop of its own.
    result = await asyncio.to_thread(lambda: CliRunner().invoke(main, arguments))
    [log] = [row for row in json.loads(result.stdout)["findings"] if row["check"] == "log"]
    assert log["level"] == "note"
    assert "process-" in log["text"]
    assert "=== " in log["text"]
