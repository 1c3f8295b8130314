"""What outlives what: reload, disconnect and quit, in each form in which a program can join."""

from pathlib import Path

import pytest

from canvas_provider.testing import CLISession, CopilotCLI
from tests.support.copilot import wait_no_processes
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

CANVAS = """
import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from canvas_provider import CanvasContext, JSONFileStore, create_canvas, join_session, run

HERE = Path({folder!r})

def note(text: str) -> None:
    with (HERE / "notes").open("a") as file:
        file.write(text + "\\n")

@asynccontextmanager
async def lifespan(ctx: CanvasContext):
    yield
    note("left")

canvas = create_canvas(
    id="lasting", display_name="Lasting", description="Keeps what it is told.",
    state=dict[str, Any],
    store=JSONFileStore(HERE / "store"), lifespan=lifespan,
)

@canvas.action
async def put(state: dict[str, Any], text: str) -> None:
    "Keep a text."
    state["text"] = text

@canvas.action
async def get(state: dict[str, Any]) -> Any:
    "Give it back."
    return state.get("text")

@canvas.on_close
async def closed(ctx: CanvasContext) -> None:
    note("closed")
"""

FORMS = {
    "run": """
if __name__ == "__main__":
    run(canvas)
""",
    "async with join_session": """
async def main() -> None:
    async with join_session(canvases=[canvas]) as session:
        await session.wait_closed()
    note("program went on")

if __name__ == "__main__":
    asyncio.run(main())
""",
    "await join_session": """
async def main() -> None:
    session = await join_session(canvases=[canvas])
    await session.wait_closed()
    note("program went on")

if __name__ == "__main__":
    asyncio.run(main())
""",
}


@pytest.fixture(params=FORMS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    code = CANVAS.replace("{folder!r}", repr(str(tmp_path))) + FORMS[request.param]
    return write_extension(tmp_path, "lasting", code)


async def start(cli: CopilotCLI, program: Path) -> CLISession:
    cli.install(program)
    session = await cli.create_session()
    await session.wait_listed("lasting")
    await session.open("lasting", "one")
    return session


def notes(program: Path) -> list[str]:
    file = program.parent / "notes"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def stored(program: Path) -> str:
    (file,) = (program.parent / "store").glob("*.json")
    return file.read_text(encoding="utf-8")


async def test_the_last_change_is_there_after_a_reload_and_on_disk_after_a_disconnect(
    cli: CopilotCLI, program: Path
) -> None:
    session = await start(cli, program)
    await session.invoke("one", "put", {"text": "before the reload"})
    await session.reload()
    await session.wait_open("one")
    assert "left" in notes(program)
    assert await session.invoke("one", "get") == "before the reload"

    await session.invoke("one", "put", {"text": "before the disconnect"})
    await session.disconnect()
    await wait_no_processes(cli, 5)
    assert "before the disconnect" in stored(program)
    assert notes(program).count("left") == 2
    assert "closed" not in notes(program)


async def test_an_explicit_close_is_told(cli: CopilotCLI, tmp_path: Path) -> None:
    code = CANVAS.replace("{folder!r}", repr(str(tmp_path))) + FORMS["run"]
    program = write_extension(tmp_path, "lasting", code)
    session = await start(cli, program)
    await session.close("one")
    assert notes(program) == ["closed", "left"]
