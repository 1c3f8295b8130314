"""Variables that are kept from extensions, and who gets them all the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.secrets import Secrets
from canvas_provider.host.status import Extension
from canvas_provider.host.workbench import Workbench
from canvas_provider.types import JSONObject
from tests.support.scripted import write_extension

ENVIRONMENT = {"OPENAI_API_KEY": "hush", "GITHUB_TOKEN": "", "PLAIN": "open"}


def wants(*names: Any) -> JSONObject:
    return {"requestedEnvironmentVariables": list(names)}


def test_what_was_granted_is_handed_out() -> None:
    """Specification: facts 1.6."""
    secrets = Secrets(ENVIRONMENT, ["OPENAI_API_KEY", "GITHUB_TOKEN"])
    asked = wants("OPENAI_API_KEY", "PLAIN", "ANTHROPIC_API_KEY", "UNSET")
    assert secrets.grant("project:one", asked) == {"OPENAI_API_KEY": "hush"}
    assert secrets.grant("project:one", wants("GITHUB_TOKEN")) == {"GITHUB_TOKEN": ""}


def test_what_was_not_granted_keeps_the_extension_out() -> None:
    denied: list[str] = []
    secrets = Secrets(ENVIRONMENT, ["GITHUB_TOKEN"], denied.extend)
    with pytest.raises(HostRefusal) as caught:
        secrets.grant("project:one", wants("OPENAI_API_KEY", "GITHUB_TOKEN"))
    assert caught.value.message == (
        'Extension "project:one" was denied access to sensitive environment variables and will '
        "not be loaded."
    )
    assert denied == ["OPENAI_API_KEY"]
    assert "hush" not in repr(secrets)


@pytest.mark.parametrize("asked", [{}, wants(), wants("PLAIN", "UNSET", 7, None), wants([])])
def test_what_is_no_secret_nobody_is_asked_for(asked: JSONObject) -> None:
    assert Secrets(ENVIRONMENT).grant("project:one", asked) == {}


ASKING = """
import asyncio, os
from canvas_provider import join_session

async def main():
    wanted = ["OPENAI_API_KEY"]
    before = os.environ.get("OPENAI_API_KEY")
    async with join_session(requested_environment_variables=wanted) as session:
        await session.log(f"before {before}, now {os.environ['OPENAI_API_KEY']}")
        await session.wait_closed()

asyncio.run(main())
"""


@pytest.mark.process
async def test_the_development_host_grants_what_it_was_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    script = write_extension(tmp_path / "asking", ASKING)
    said: dict[bool, str] = {}
    for granted in ((), ("OPENAI_API_KEY",)):
        bench = Workbench(
            Extension(script, "asking"),
            working_directory=str(tmp_path),
            workspace_path=str(tmp_path / "workspace"),
            granted=granted,
        )
        told = asyncio.Event()
        bench.subscribe(lambda kind, data, told=told: kind == "log" and told.set())  # type: ignore[misc]
        await bench.start()
        async with asyncio.timeout(5):
            await told.wait()
        assert bench.status.phase == ("ready" if granted else "failed")
        said[bool(granted)] = bench.journal.log[0].text
        await bench.aclose(1)
    assert said[False] == (
        "The extension asks for OPENAI_API_KEY: start the host with --grant OPENAI_API_KEY."
    )
    assert said[True] == "before None, now hush"
