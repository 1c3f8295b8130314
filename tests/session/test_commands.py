"""Slash commands: what is declared, and how a call ends."""

from typing import Any, cast

import pytest

from canvas_provider import (
    CanvasContext,
    CanvasError,
    Command,
    CommandContext,
    DeclarationError,
    command,
)
from canvas_provider.types import JSONObject
from tests.support.contributions import FakeRuntime, contributing


@command
async def deploy(ctx: CommandContext) -> None:
    """Deploy to a stage."""
    if ctx.args == "nowhere":
        raise CanvasError("no_stage", "There is no such stage.")
    if ctx.args == "broken":
        raise ValueError("it is hunter")
    await ctx.session.log(f"{ctx.command}, {ctx.command_name}, {ctx.args}")


async def call(runtime: FakeRuntime, text: str, name: str = "deploy") -> JSONObject:
    args = text.partition(" ")[2]
    data = {"requestId": "r-1", "command": text, "commandName": name, "args": args}
    runtime.tell("command.execute", data)
    while True:
        method, params = await runtime.asked()
        if method == "session.commands.handlePendingCommand":
            return params


async def test_a_command_gets_its_arguments_and_is_answered() -> None:
    async with contributing(commands=[deploy]) as (runtime, _):
        assert runtime.declared["commands"] == [
            {"name": "deploy", "description": "Deploy to a stage."}
        ]
        answer = await call(runtime, "/deploy to  production")
        assert answer == {"sessionId": "s-1", "requestId": "r-1"}
    logged = runtime.requests[0][1]["message"]
    assert logged == "/deploy to  production, deploy, to  production"


async def test_an_error_on_purpose_is_told_and_another_leaks_nothing() -> None:
    async with contributing(commands=[deploy]) as (runtime, _):
        refused = await call(runtime, "/deploy nowhere")
        assert refused["error"] == "There is no such stage."
        broken = str((await call(runtime, "/deploy broken"))["error"])
        assert broken.startswith('The command "/deploy" failed unexpectedly.')
        assert "hunter" not in broken


async def test_a_plain_function_may_be_a_command() -> None:
    seen: list[str] = []
    simple = Command("note", None, lambda ctx: seen.append(ctx.args))
    async with contributing(commands=[simple]) as (runtime, _):
        assert runtime.declared["commands"] == [{"name": "note", "description": ""}]
        await call(runtime, "/note this", "note")
    assert seen == ["this"]


async def test_a_command_of_another_extension_is_left_to_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with contributing(commands=[deploy]) as (runtime, _):
        foreign = {"requestId": "r-0", "command": "/x", "commandName": "x", "args": ""}
        runtime.tell("command.execute", foreign)
        await call(runtime, "/deploy")
    assert "r-0" not in str(runtime.requests)
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["", "/deploy", "to deploy", 7])
def test_a_name_is_one_word(name: Any) -> None:
    with pytest.raises(DeclarationError, match="one word") as raised:
        Command(name, "Deploy.", lambda ctx: None)
    assert raised.value.field == "name"
    assert raised.value.command == str(name)


def test_a_handler_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(DeclarationError, match="command 'x', field 'handler'"):
        Command("x", "X.", lambda: None)  # type: ignore[arg-type,misc]

    async def misled(ctx: CanvasContext) -> None: ...

    with pytest.raises(DeclarationError, match="field 'ctx'.*write `ctx: CommandContext`"):
        Command("x", "X.", misled)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match=r"@command\(name='x'\)"):
        command("x")  # type: ignore[call-overload]


def test_what_a_person_types_is_in_no_repr() -> None:
    context = CommandContext(cast(Any, "session"), "/note hunter2", "note", "hunter2")
    assert repr(context) == "CommandContext(command_name='note')"
