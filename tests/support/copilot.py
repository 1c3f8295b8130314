"""The real Copilot CLI for tests, and what can be seen of it from outside."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from canvas_provider.testing import CopilotCLI
from tests.support.require import require_copilot_cli


def create_cli(folder: Path, *, project: str = "project", **environment: str) -> CopilotCLI:
    """Return a CLI to be started; without one, the test is skipped."""
    binary = require_copilot_cli()
    return CopilotCLI(folder, binary=binary, project=project, environment=environment)


def processes(cli: CopilotCLI) -> dict[int, str]:
    """The extensions that run in the CLI's project, by process id: their command lines."""
    mark = os.fsencode(cli.project / ".github" / "extensions")
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue  # gone meanwhile, or not ours
            if b"EXTENSION_PATH=" + mark in environment and command:
                words = command.rstrip(b"\0").split(b"\0")
                found[int(folder.name)] = b" ".join(words).decode(errors="replace")
    return found


async def wait_no_processes(cli: CopilotCLI, timeout: float) -> None:  # noqa: ASYNC109
    """Wait until no extension of this project runs any more."""
    await until(lambda: not processes(cli), timeout, lambda: f"{processes(cli)} still run")


async def until(
    holds: Callable[[], bool],
    timeout: float,  # noqa: ASYNC109
    describe: Callable[[], str],
) -> None:
    """Wait for something that happens in another process, which sends no event."""
    try:
        async with asyncio.timeout(timeout):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # noqa: TID251
    except TimeoutError:
        raise AssertionError(f"after {timeout} s: {describe()}") from None
