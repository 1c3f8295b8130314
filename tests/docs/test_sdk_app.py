"""The app of the guide, with the real CLI and a model that opens what the prompt names."""

import types
from pathlib import Path

import pytest

from canvas_provider.testing import ScriptedModel, ToolCall
from tests.docs.test_blocks import run_page
from tests.support.require import ROOT, require_copilot_cli
from tests.support.sdk import TidyClient

PAGE = ROOT / "docs" / "guide" / "sdk-app.md"


@pytest.mark.copilot
@pytest.mark.process
async def test_the_app_of_the_guide_shows_what_the_agent_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COPILOT_CLI_PATH", str(require_copilot_cli()))
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    app = types.ModuleType("app")
    app.__file__ = str(tmp_path / "app.py")
    run_page(PAGE, app)
    app.__dict__["CopilotClient"] = TidyClient
    model = ScriptedModel(
        ToolCall.open("notes", "project"),
        ToolCall.invoke("project", "write", {"name": "what", "text": "An experiment."}),
        "It is written down.",
    )
    async with model:
        provider = {"base_url": model.url, "api_key": model.api_key, "wire_api": "completions"}
        await app.main(model="gpt-5", provider={"type": "openai", **provider})
    assert capsys.readouterr().out.startswith("Notes http://127.0.0.1:")
    assert model.tool_results[-1] == '{\n  "result": null\n}'
