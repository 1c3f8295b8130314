"""Hooks and requests on the real CLI: each kind fires, and its answer has its effect."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from canvas_provider.serving.server import LoopbackServers
from canvas_provider.testing import (
    CopilotCLI,
    ModelRequest,
    ScriptedModel,
    ToolCall,
)
from tests.support.copilot import create_cli
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

MCP_SERVER = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params = asked.get("params", {})
    answer = {
        "initialize": lambda: {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        },
        "tools/list": lambda: {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        "tools/call": lambda: {"content": [{"type": "text", "text": json.dumps(params)}]},
    }.get(asked["method"], dict)()
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""

HOOKS = """
import sys
from canvas_provider import Hooks, ToolResult, run, tool

@tool
async def greet(name: str) -> ToolResult:
    "Greet."
    return ToolResult(f"Hello, {name}.")

@tool
async def fail() -> ToolResult:
    "Fail."
    return ToolResult("It is locked.", failed=True)

def note(name, input, **output):
    print("HOOK", name, sorted(input), input["timestamp"].tzname(), file=sys.stderr)
    return output

async def start(input, session):
    return note("start", input, additionalContext="It is Monday.")

async def submitted(input, session):
    return note("submitted", input, modifiedPrompt=input["prompt"].upper())

async def transformed(input, session):
    text = input["transformedPrompt"] + " (transformed)"
    return note("transformed", input, modifiedTransformedPrompt=text)

def before(input, session):
    note("before", input)
    if input["toolName"] == "bash":
        return {"permissionDecision": "deny", "permissionDecisionReason": "no shell today"}
    if input["toolName"] == "greet":
        return {"modifiedArgs": {"name": "Ada"}}

async def before_mcp(input, session):
    return note("before_mcp", input, metaToUse={"colour": "red"})

async def after(input, session):
    note("after", input)
    if input["toolName"] == "greet":
        text = input["toolResult"]["textResultForLlm"] + " And good day."
        return {"modifiedResult": {"textResultForLlm": text, "resultType": "success"}}

async def after_failure(input, session):
    return note("after_failure", input, additionalContext="Ask for the key.")

async def helper_starts(input, session):
    return note("helper_starts", input, additionalContext="Be brief.")

async def helper_stops(input, session):
    return note("helper_stops", input, modifiedResponse=input["response"].upper())

async def stop(input, session):
    if "agentId" in input:
        return
    note("stop", input)
    await session.log("The agent stops.")
    if not input["stopHookActive"]:
        return {"decision": "block", "reason": "One more thing."}

async def wrong(input, session):
    note("wrong", input)
    print("ERROR", type(input["error"]).__name__, input["recoverable"], file=sys.stderr)
    raise ValueError("a hook may fail")

async def end(input, session):
    note("end", input)
    print("REASON", input["reason"], file=sys.stderr)

run(
    tools=[greet, fail],
    hooks=Hooks(
        on_session_start=start,
        on_user_prompt_submitted=submitted,
        on_user_prompt_transformed=transformed,
        on_pre_tool_use=before,
        on_pre_mcp_tool_call=before_mcp,
        on_post_tool_use=after,
        on_post_tool_use_failure=after_failure,
        on_subagent_start=helper_starts,
        on_subagent_stop=helper_stops,
        on_agent_stop=stop,
        on_error_occurred=wrong,
        on_session_end=end,
    ),
    options={"mcpServers": {"echo": {
        "type": "local", "command": sys.executable, "args": [MCP_SERVER], "tools": ["*"],
    }}},
)
"""


HELPER = {
    "agent_type": "general-purpose",
    "name": "helper",
    "description": "Look around.",
    "prompt": "Look around.",
    "mode": "sync",
}


def add_constant(code: str, name: str, value: object) -> str:
    return f"{name} = {value!r}\n{code}"


async def test_every_hook_of_the_sdk_fires_and_its_answer_counts(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    server = tmp_path / "mcp_server.py"
    server.write_text(MCP_SERVER, encoding="utf-8")
    code = add_constant(HOOKS, "MCP_SERVER", str(server))
    cli.install(write_extension(tmp_path, "hooked", code))

    def break_down(request: ModelRequest) -> str:
        raise ZeroDivisionError

    model = ScriptedModel(
        ToolCall("bash", {"command": "echo hi", "description": "Say hi."}),
        ToolCall("greet", {"name": "Bob"}),
        ToolCall("echo-echo", {}),
        ToolCall("fail"),
        ToolCall("task", HELPER),
        "I looked.",
        "Done.",
        "Nothing more.",
        break_down,
    )
    with pytest.raises(ZeroDivisionError):
        async with model:
            session = await cli.create_session(model)
            assert await session.ask("Say hello.") == "Nothing more."
            first, *_, last = model.requests
            await session.ask("Again.")
    await cli.stop()

    assert "It is Monday." in json.dumps(first.messages)
    assert "SAY HELLO." in json.dumps(first.messages)
    assert "(transformed)" in json.dumps(first.messages)
    denied, greeted, echoed, failed, helped = last.tool_results
    assert "no shell today" in denied
    assert greeted == "Hello, Ada. And good day."
    assert '"colour":"red"' in echoed
    assert failed.startswith("It is locked.")
    assert helped == "I LOOKED."
    assert any("BE BRIEF." in json.dumps(each.messages) for each in model.requests)
    assert "Ask for the key." in json.dumps(last.messages)
    assert "ONE MORE THING. (transformed)" in json.dumps(last.messages)
    assert "The agent stops." in str(session.data_of("session.info"))
    log = cli.log()
    names = {line.split()[1] for line in log.splitlines() if line.startswith("HOOK ")}
    assert names == {
        *("start", "submitted", "transformed", "before", "before_mcp", "after"),
        *("after_failure", "helper_starts", "helper_stops", "stop", "wrong", "end"),
    }
    assert "['prompt', 'sessionId', 'timestamp', 'workingDirectory'] UTC" in log
    assert "ERROR str" in log
    assert "hook errorOccurred failed" in log
    assert "REASON user_exit" in log


REQUESTS = """
import sys
from canvas_provider import run

def note(name, asked):
    print("ASKED", name, sorted(asked), file=sys.stderr)

async def permit(asked, session):
    note("permission", asked)
    if asked["kind"] == "shell":
        return {"kind": "reject", "feedback": "Use a canvas."}
    return {"kind": "no-result"}

def answer(asked, session):
    note("user_input", asked)
    return {"answer": asked["choices"][1], "wasFreeform": False}

async def fill(asked, session):
    note("elicitation", asked)
    return {"action": "accept", "content": {"hue": "green"}}

async def leave(asked, session):
    note("exit_plan_mode", asked)
    return {"approved": False, "feedback": "Plan more."}

async def switch(asked, session):
    note("auto_mode_switch", asked)
    return "no"

async def authorise(asked, session):
    note("mcp_auth", asked)
    return {"accessToken": "token-of-" + asked["serverName"]}

run(
    on_permission_request=permit,
    on_user_input_request=answer,
    on_elicitation_request=fill,
    on_exit_plan_mode_request=leave,
    on_auto_mode_switch_request=switch,
    on_mcp_auth_request=authorise,
    options={"mcpServers": {"guarded": {"type": "http", "url": MCP_URL, "tools": ["*"]}}},
)
"""


async def test_an_extension_answers_for_the_person(cli: CopilotCLI, tmp_path: Path) -> None:
    tokens: list[str | None] = []

    async def refuse(request: Request) -> Response:
        if request.url.path != "/mcp":
            return Response(status_code=404)
        tokens.append(request.headers.get("authorization"))
        return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})

    servers = LoopbackServers()
    routes = [Route("/{path:path}", refuse, methods=["GET", "POST", "DELETE"])]
    origin = await servers.serve(Starlette(routes=routes))
    code = add_constant(REQUESTS, "MCP_URL", f"{origin.base}/mcp")
    cli.install(write_extension(tmp_path, "deputy", code))
    model = ScriptedModel(
        ToolCall("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]}),
        ToolCall("bash", {"command": "touch it", "description": "Touch it."}),
        "Now a plan.",
        ToolCall("exit_plan_mode", {"summary": "A plan.", "recommendedAction": "interactive"}),
        "Done.",
    )

    async def stay_away(asked: dict[str, Any]) -> bool:
        if asked["kind"] == "shell":
            await asyncio.Event().wait()
        return True

    try:
        async with model:
            session = await cli.create_session(model, on_permission=stay_away)
            await session.wait_status("deputy", "running")
            fields: dict[str, Any] = {"type": "object", "properties": {"hue": {"type": "string"}}}
            form: dict[str, Any] = {"message": "Which?", "requestedSchema": fields}
            filled = await session.request("session.ui.elicitation", form)
            await session.ask("Touch it.")
            await session.request("session.mode.set", {"mode": "plan"})
            await session.ask("Plan it.")
            chosen, refused, planned = model.tool_results
    finally:
        await servers.aclose()
    assert filled == {"action": "accept", "content": {"hue": "green"}}
    assert chosen == "User selected: blue"
    assert "Use a canvas." in refused
    assert "Plan more." in planned
    assert "Bearer token-of-guarded" in tokens


SECRET = """
import os, sys
from canvas_provider import join_session
import asyncio

async def main():
    before = os.environ.get("ANTHROPIC_API_KEY")
    wanted = ["ANTHROPIC_API_KEY", "NOT_SET_ANYWHERE"]
    async with join_session(requested_environment_variables=wanted) as session:
        await session.log(f"before: {before}, now: {os.environ.get('ANTHROPIC_API_KEY')}")
        await session.wait_closed()

asyncio.run(main())
"""


async def test_variables_are_there_once_the_person_has_granted_them(tmp_path: Path) -> None:
    grant = False
    async with create_cli(tmp_path, ANTHROPIC_API_KEY="hush") as cli:
        cli.install(write_extension(tmp_path, "secretive", SECRET))
        denied = await cli.create_session(on_permission=lambda asked: grant)
        await denied.wait_status("secretive", "failed")
        assert "JoinError: Copilot refused this extension" in cli.log()
        grant = True
        granted = await cli.create_session(on_permission=lambda asked: grant)
        told = await granted.wait_for("session.info", lambda data: "now" in str(data))
        (asked,) = granted.permission_requests
        assert asked["environmentVariables"] == ["ANTHROPIC_API_KEY"]
        assert told["message"] == "before: None, now: hush"
        assert "hush" not in cli.log()
