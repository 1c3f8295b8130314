"""Whatever a program writes to stdout or reads from stdin, the wire to the CLI is not disturbed."""

from pathlib import Path

import pytest

from tests.support.copilot import create_cli, wait_no_processes
from tests.support.extension import write_extension

pytestmark = [pytest.mark.copilot, pytest.mark.process]

NOISY = """
import logging, os, subprocess, sys
print("printed at import")
os.write(1, b"written at import\\n")
import asyncio
from canvas_provider import create_canvas, run

canvas = create_canvas(id="noisy", display_name="Noisy", description="Makes noise.")
MEGABYTE = 1 << 20

@canvas.action
async def shout() -> int:
    "Write a lot, in every way there is."
    print("P" * MEGABYTE)
    print("end of print")
    subprocess.run([sys.executable, "-c", f"print('C' * {MEGABYTE}); print('end of child')"])
    logging.getLogger("noise").warning("L" * MEGABYTE)
    logging.getLogger("noise").warning("end of log")
    os.write(1, b"written in a handler\\n")
    return subprocess.run(["cat"], timeout=5).returncode

@canvas.action
async def ask() -> str:
    "Ask for input that nobody will give."
    try:
        return input("well? ")
    except EOFError:
        return "nothing to read"

if __name__ == "__main__":
    run(canvas)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
async def test_noise_goes_to_the_log_and_nowhere_else(tmp_path: Path, unbuffered: str) -> None:
    async with create_cli(tmp_path, PYTHONUNBUFFERED=unbuffered) as cli:
        cli.install(write_extension(tmp_path, "noisy", NOISY))
        session = await cli.create_session()
        await session.wait_listed("noisy")
        await session.open("noisy", "one")
        assert await session.invoke("one", "shout") == 0
        assert await session.invoke("one", "ask") == "nothing to read"
        await session.disconnect()
        await wait_no_processes(cli, 5)
        log = cli.log()
    for letter in "PCL":
        assert log.count(letter * 1000) >= (1 << 20) // 1000
    for text in (
        "printed at import",
        "written at import",
        "end of print",
        "end of child",
        "end of log",
        "written in a handler",
    ):
        assert text in log
