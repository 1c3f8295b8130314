"""What goes wrong, as the caller in the real CLI hears of it."""

from pathlib import Path

import pytest

from canvas_provider.testing import CLISession, CopilotCLI
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

FAULTS = """
from typing import Annotated, Any
from canvas_provider import Action, CanvasError, create_canvas, run

canvas = create_canvas(
    id="faults", display_name="Faults", description="Everything that can go wrong.",
    state=dict[str, Any],
    actions=[Action(name="unhandled", description="Nothing handles it.")],
)

@canvas.action
async def count(number: int, label: str = "", pair: tuple[int, str] = (0, "")) -> int:
    "Take a number."
    return number

@canvas.action
async def refuse() -> None:
    "Refuse on purpose."
    raise CanvasError("not_today", "Not today: try tomorrow.")

@canvas.action
async def fail(state: dict[str, Any], secret: str) -> None:
    "Fail by accident."
    state["half"] = True
    raise ZeroDivisionError(f"divided {secret} by zero")

@canvas.action
async def peek(state: dict[str, Any]) -> list[str]:
    "Name what is stored."
    return list(state)

if __name__ == "__main__":
    run(canvas)
"""

FAILED = "Request session.canvas.action.invoke failed with message: "


async def start(cli: CopilotCLI, tmp_path: Path, code: str = FAULTS) -> CLISession:
    cli.install(write_extension(tmp_path, "faults", code))
    session = await cli.create_session()
    await session.wait_listed("faults")
    await session.open("faults", "one")
    return session


async def refusal(session: CLISession, action: str, input: JSONValue | Missing = MISSING) -> str:
    with pytest.raises(Exception) as caught:
        await session.invoke("one", action, input)
    return str(caught.value)


async def test_each_kind_of_error_reaches_the_caller_with_its_text(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    session = await start(cli, tmp_path)

    assert f"{FAILED}Not today: try tomorrow." in await refusal(session, "refuse")

    unhandled = await refusal(session, "unhandled")
    assert FAILED in unhandled
    assert "unhandled" in unhandled

    failed = await refusal(session, "fail", {"secret": "hunter2"})
    assert FAILED in failed
    for leak in ("hunter2", "ZeroDivision", "Traceback", str(tmp_path)):
        assert leak not in failed
    assert "ZeroDivisionError: divided hunter2 by zero" in cli.log()
    assert await session.invoke("one", "peek") == []

    assert "Unknown action" in await refusal(session, "nothing")


async def test_input_that_does_not_fit_is_refused_with_its_field(
    cli: CopilotCLI, tmp_path: Path
) -> None:
    session = await start(cli, tmp_path)
    cases: list[tuple[JSONObject, str]] = [
        ({"number": "3"}, "number"),
        ({"number": True}, "number"),
        ({}, "number"),
        ({"number": 1, "lable": "x"}, "lable"),
        ({"number": 1, "pair": [1]}, "pair"),
        ({"number": 1, "pair": [1, "a", 2]}, "pair"),
        ({"number": 1, "pair": ["a", 1]}, "pair"),
    ]
    for input, field in cases:
        assert field in await refusal(session, "count", input), input


async def test_a_whole_number_may_come_as_a_float(cli: CopilotCLI, tmp_path: Path) -> None:
    session = await start(cli, tmp_path)
    assert await session.invoke("one", "count", {"number": 3.0}) == 3
