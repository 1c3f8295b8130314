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


def loaded_by(code: str) -> set[str]:
    """Which of the heavy packages a fresh interpreter has after running `code`."""
    script = f"{code}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stdout.split())


@pytest.mark.process
@pytest.mark.parametrize(
    "code",
    ["import canvas_provider", "import canvas_provider.boot", CANVAS],
    ids=["the package", "boot", "a canvas of simple types"],
)
def test_no_heavy_package_is_loaded_before_it_is_needed(code: str) -> None:
    assert loaded_by(code) == set()


@pytest.mark.process
def test_the_tools_for_tests_load_nothing_that_only_some_tests_need() -> None:
    loaded = loaded_by("from canvas_provider.testing import open_canvas")
    # uvicorn comes with sse-starlette, click with httpx.
    assert loaded.isdisjoint({"aiohttp", "copilot", "pytest", "redis"})
