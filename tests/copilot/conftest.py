"""A running CLI for each test, with a home and a project of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canvas_provider.testing import CopilotCLI
from tests.support.copilot import create_cli


@pytest.fixture
async def cli(tmp_path: Path) -> AsyncIterator[CopilotCLI]:
    async with create_cli(tmp_path, project="prøject with spaces") as running:
        yield running
