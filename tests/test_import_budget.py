"""What importing the package costs: Copilot makes the user's first turn wait for it."""

import subprocess
import sys

import pytest

HEAVY = {
    "aiohttp",
    "asyncio",
    "click",
    "copilot",
    "httpx",
    "jsonschema",
    "pydantic",
    "pytest",
    "redis",
    "sse_starlette",
    "starlette",
    "uvicorn",
    "uvloop",
}

CANVAS = """
from dataclasses import dataclass, field
from typing import Annotated, Literal
from canvas_provider import CanvasContext, Opened, create_canvas

@dataclass
class State:
    items: list[str] = field(default_factory=list)

canvas = create_canvas(id="c", display_name="C", description="A canvas.", state=State)

@canvas.on_open
async def opened(ctx: CanvasContext, project: str = "default") -> Opened:
    return Opened()

@canvas.action
async def add(state: State, item: Annotated[str, "What"], kind: Literal["a", "b"] = "a") -> None:
    "Add an item."
"""

CONTRIBUTIONS = """
from typing import Annotated, Literal
from canvas_provider import CommandContext, Hooks, ToolContext, command, tool
from canvas_provider.config import Settings
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.handshake import Handshake

@tool
async def count(ctx: ToolContext, text: Annotated[str, "What"], kind: Literal["a", "b"]) -> int:
    "Count."
    return 1

@command
async def deploy(ctx: CommandContext) -> None:
    "Deploy."

async def stop(input, session): ...

given = Contributions(
    tools=[count], commands=[deploy], hooks=Hooks(on_agent_stop=stop), on_permission_request=stop
)
Handshake.begin((), given, session_id="s", settings=Settings())
"""

JOIN = """
from canvas_provider.session.handshake import Handshake
from canvas_provider.config import Settings
import canvas_provider.session.join
Handshake.begin((canvas,), session_id="s", settings=Settings())
"""


def modules_of(code: str) -> set[str]:
    """What a fresh interpreter has loaded after running `code`."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def loaded_by(code: str) -> set[str]:
    """Which of the heavy packages are among it."""
    return HEAVY & {name.partition(".")[0] for name in modules_of(code)}


@pytest.mark.process
@pytest.mark.parametrize(
    "code",
    ["import canvas_provider", "import canvas_provider.boot", CANVAS, CONTRIBUTIONS],
    ids=["the package", "boot", "a canvas of simple types", "tools, commands and hooks"],
)
def test_no_heavy_package_is_loaded_before_it_is_needed(code: str) -> None:
    assert loaded_by(code) == set()


@pytest.mark.process
def test_the_first_bytes_wait_for_nothing_that_only_the_answers_need() -> None:
    begin = """
from canvas_provider.config import Settings
from canvas_provider.session.handshake import Handshake
Handshake.begin((canvas,), session_id="s", settings=Settings())
"""
    later = {
        *("threading", "canvas_provider.state.history", "canvas_provider.state.store"),
        *("canvas_provider.canvas.other_state", "canvas_provider.canvas.progress"),
        *("canvas_provider.protocol.copilot", "canvas_provider.state.patch"),
    }
    assert later & modules_of(CANVAS + begin) == set()


@pytest.mark.process
def test_the_tools_for_tests_load_nothing_that_only_some_tests_need() -> None:
    loaded = loaded_by("from canvas_provider.testing import open_canvas")
    # uvicorn comes with sse-starlette, click with httpx.
    assert loaded.isdisjoint({"aiohttp", "copilot", "pytest", "redis"})


@pytest.mark.process
def test_the_development_host_loads_nothing_for_clients_that_nobody_asked_for() -> None:
    assert "aiohttp" not in loaded_by("import canvas_provider.cli.dev")
    assert loaded_by("import canvas_provider.ahp.reducers, canvas_provider.protocol.ahp") == set()


@pytest.mark.process
def test_a_program_with_canvases_only_loads_nothing_for_what_it_does_not_contribute() -> None:
    loaded = {name for name in modules_of(CANVAS + JOIN) if ".session." in name}
    contributed = {
        *("callbacks", "command", "contributions", "hooks", "options", "requests", "runner"),
        *("shape", "tool", "tool_calls"),
    }
    assert "canvas_provider.session.session" in loaded
    assert loaded & {f"canvas_provider.session.{name}" for name in contributed} == set()
