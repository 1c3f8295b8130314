"""What `canvas-provider dev --runtime copilot` is told on the command line."""

import json
from pathlib import Path

import pytest
from click import UsageError
from click.testing import CliRunner

from canvas_provider.cli.main import main
from canvas_provider.cli.script_file import read_script
from canvas_provider.testing import ToolCall


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    file = tmp_path / "extension.py"
    file.write_text("", encoding="utf-8")
    return file


def refuse(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["dev", *arguments])
    assert result.exit_code == 2
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "m"], "go with --runtime copilot"),
        (["--model-url", "http://127.0.0.1:1/v1"], "go with --runtime copilot"),
        (["--runtime", "copilot", "--model-url", "http://127.0.0.1:1/v1"], "name one by --model"),
        (["--runtime", "node"], "'embedded', 'copilot'"),
        (["--runtime", "copilot", "--copilot-cli", "nowhere"], "does not exist"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    extension: Path, options: list[str], said: str
) -> None:
    assert said in refuse(str(extension), *options)


def test_a_script_is_a_model_of_its_own(extension: Path, tmp_path: Path) -> None:
    script = tmp_path / "steps.json"
    script.write_text('["Hello."]')
    options = ("--runtime", "copilot", "--script", str(script), "--model", "m")
    assert "--script is a model" in refuse(str(extension), *options)


def test_without_the_cli_it_says_how_to_get_it(
    extension: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("COPILOT_CLI_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    said = refuse(str(extension), "--runtime", "copilot")
    assert "npm install @github/copilot" in said
    assert "--copilot-cli" in said


def test_steps_are_texts_and_tool_calls(tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    call = {"tool": "bash", "arguments": {"command": "ls"}}
    file.write_text(json.dumps([call, [call, {"tool": "x"}, "And"], "Done."]), encoding="utf-8")
    bash = ToolCall("bash", {"command": "ls"})
    assert read_script(file) == [bash, [bash, ToolCall("x"), "And"], "Done."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "look at line 1"),
        ("{}", "no list of steps"),
        ("[]", "no list of steps"),
        ('["a", 1]', "step 2"),
        ("[[]]", "step 1"),
        ('[["a", []]]', "step 1"),
        ('[{"tool": 1}]', "step 1"),
        ('[{"tool": "x", "arguments": []}]', "step 1"),
        ('[{"tool": "x", "argument": {}}]', "step 1"),
        (b"\xff", "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        (f"[{'9' * 5000}]", "too long a number"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_script_that_is_none_is_told_where(tmp_path: Path, text: str | bytes, said: str) -> None:
    file = tmp_path / "steps.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=said):
        read_script(file)
