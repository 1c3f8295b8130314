"""What holds for every test: asyncio as the only loop, and a clean configuration."""

import os
from collections.abc import Generator

import pytest

from tests.support.require import MUST_RUN


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
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state-home")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything must run, a skip is a failure, whoever wrote it and for whatever reason."""
    report = yield
    if MUST_RUN and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where everything must run: {report.longrepr}"
    return report
