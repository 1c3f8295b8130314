"""The harness itself, on the real CLI: what it promises to whoever tests with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.testing import (
    CopilotCLI,
    ModelRequest,
    ScriptedModel,
    ScriptError,
    ToolCall,
    TurnError,
)
from canvas_provider.types import JSONObject
from tests.support.copilot import create_cli, processes, wait_no_processes
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

ASKING = """
from canvas_provider import create_canvas, run

canvas = create_canvas(id="asking", display_name="Asking", description="Asks.", state=dict)

@canvas.action
async def count(state: dict) -> int:
    "Count."
    state["count"] = state.get("count", 0) + 1
    return state["count"]

if __name__ == "__main__":
    run(canvas)
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CopilotCLI]:
    """One CLI for the tests that need a session only."""
    folder = tmp_path_factory.mktemp("shared")
    async with create_cli(folder) as running:
        install(running, folder)
        yield running


def install(cli: CopilotCLI, tmp_path: Path) -> None:
    cli.install(write_extension(tmp_path, "asking", ASKING))


async def test_the_turn_of_a_script_that_ran_out_fails_at_once_with_its_text(
    shared: CopilotCLI,
) -> None:
    with pytest.raises(ScriptError, match="request 2"):
        async with ScriptedModel("One.") as model:
            session = await shared.create_session(model, streaming=True)
            assert await session.ask("Say one.") == "One."
            async with asyncio.timeout(10):
                await session.ask("Say two.")
    assert "script of this model has failed" in str(session.data_of("session.error"))


async def test_a_turn_that_ends_in_an_error_says_which(shared: CopilotCLI) -> None:
    async with ScriptedModel() as model:
        provider = {"type": "openai", "baseUrl": model.url, "apiKey": "of somebody else"}
        session = await shared.create_session(provider=provider)
        with pytest.raises(TurnError, match="Authentication failed"):
            await session.ask("Hello?")


async def test_who_is_asked_for_permission_may_refuse(shared: CopilotCLI) -> None:
    async def refuse(request: JSONObject) -> bool:
        return request["toolName"] != "invoke_canvas_action"

    model = ScriptedModel(
        ToolCall.open("asking", "one"), ToolCall.invoke("one", "count"), complete=False
    )
    async with model:
        session = await shared.create_session(model, on_permission=refuse)
        await session.ask("Count.")
        assert len(session.permission_requests) == 2
        assert await session.invoke("one", "count") == 1


async def test_a_host_shows_forms_only_if_it_can(shared: CopilotCLI) -> None:
    shown: list[JSONObject] = []

    def fill_in(form: JSONObject) -> JSONObject:
        shown.append(form)
        return {"action": "accept", "content": {"name": "Ada"}}

    form: JSONObject = {
        "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    session = await shared.create_session(on_elicitation=fill_in)
    answer = await session.request("session.ui.elicitation", form)
    assert answer == {"action": "accept", "content": {"name": "Ada"}}
    assert shown[0]["message"] == "Who are you?"
    assert (await shared.create_session()).info["capabilities"] == {
        "ui": {"elicitation": False, "mcpApps": False, "canvases": True},
        "extensions": True,
    }


async def test_a_session_goes_on_after_a_restart_and_after_a_kill(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    install(cli, tmp_path)
    model = ScriptedModel(
        ToolCall.open("asking", "one"),
        ToolCall.invoke("one", "count"),
        "Counted.",
        lambda request: f"I remember {len(request.tool_results)} calls.",
    )
    async with model:
        session = await cli.create_session(model)
        await session.ask("Count.")
        await cli.restart()
        resumed = await cli.resume_session(session.session_id, model)
        assert (await resumed.wait_open("one"))["canvasId"] == "asking"
        assert await resumed.ask("What do you remember?") == "I remember 2 calls."
        await cli.kill()
        await wait_no_processes(cli, 5)
        await cli.start()
        resumed = await cli.resume_session(session.session_id)
        await resumed.wait_open("one")


async def test_a_step_may_wait_for_something_outside_the_turn(shared: CopilotCLI) -> None:
    clicked = asyncio.Event()

    async def look(request: ModelRequest) -> ToolCall:
        await clicked.wait()
        return ToolCall.invoke("one", "count")

    async with ScriptedModel(look, lambda request: request.tool_results[-1]) as model:
        session = await shared.create_session(model)
        await session.wait_listed("asking")
        await session.open("asking", "one")
        turn = asyncio.create_task(session.ask("Count when I have."))
        await session.wait_for("assistant.turn_start")
        assert await session.invoke("one", "count") == 1
        clicked.set()
        assert json.loads(await turn) == {"result": 2}


async def test_what_passed_can_be_looked_at(shared: CopilotCLI) -> None:
    session = await shared.create_session()
    with pytest.raises(RemoteError, match=r'No canvas "nothing" is registered'):
        await session.open("nothing", "one")
    methods = {entry.method for entry in shared.traffic.entries if entry.kind == "request"}
    assert {"connect", "session.create", "session.canvas.open"} <= methods
    errors = [entry.summary for entry in shared.traffic.entries if entry.kind == "error"]
    assert any('No canvas "nothing"' in error for error in errors)


async def test_a_wait_that_takes_too_long_says_what_came_instead(shared: CopilotCLI) -> None:
    session = await shared.create_session()
    await session.wait_for("session.start")
    with pytest.raises(TimeoutError, match=r"0\.1 s for .*'never'; last came: .*session"):
        await session.wait_for("never", timeout=0.1)
    with pytest.raises(TimeoutError, match=r"0\.1 s for canvas 'nothing' to be listed"):
        await session.wait_listed("nothing", timeout=0.1)


async def test_nothing_is_left_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = create_cli(tmp_path).binary
    async with CopilotCLI(binary=binary) as cli:
        install(cli, tmp_path)
        session = await cli.create_session()
        await session.wait_listed("asking")
        assert processes(cli)
    await wait_no_processes(cli, 1)
    assert not cli.home.parent.exists()


async def test_no_token_and_nothing_of_another_session_gets_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        *("COPILOT_GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "OPENAI_API_KEY"),
        *("COPILOT_CUSTOM", "SESSION_ID", "EXTENSION_PATH"),
    ):
        monkeypatch.setenv(name, "theirs")
    said = await refuse_to_start(tmp_path, "env", MY_TOKEN="mine")
    assert "theirs" not in said
    assert "MY_TOKEN=mine" in said
    assert f"COPILOT_HOME={tmp_path / 'copilot home'}" in said


async def test_a_program_that_is_no_copilot_says_what_it_said(tmp_path: Path) -> None:
    assert "wrong program" in await refuse_to_start(tmp_path, "echo 'wrong program'")


async def refuse_to_start(folder: Path, command: str, **environment: str) -> str:
    """Start a program that says something, and is no Copilot; return the error's text."""
    program = folder / "copilot"
    program.write_text(f"#!/bin/sh\n{command} >&2\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(RuntimeError, match="did not start") as caught:
        async with CopilotCLI(folder, binary=program, environment=environment):
            raise AssertionError("it must not start")
    return str(caught.value)
