"""What holds for every test: asyncio as the only loop, and a clean configuration."""

import os

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No test sees the developer's own settings, session or Copilot home."""
    for name in [name for name in os.environ if name.startswith("CANVAS_PROVIDER_")]:
        monkeypatch.delenv(name)
    for name in ("SESSION_ID", "EXTENSION_PATH", "COPILOT_EXTENSION_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path_factory.mktemp("copilot-home")))
