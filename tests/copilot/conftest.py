"""A running CLI for each test, with a home and a project of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.copilot_cli import CopilotCLI


@pytest.fixture
async def cli(tmp_path: Path) -> AsyncIterator[CopilotCLI]:
    async with CopilotCLI(tmp_path, project="prøject with spaces") as running:
        yield running
