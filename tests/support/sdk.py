"""An app that embeds the official Python SDK."""

import os
from pathlib import Path
from typing import Any

from copilot import CopilotClient, RuntimeConnection
from copilot.session import PermissionHandler

from canvas_provider.host.process import STRIPPED
from canvas_provider.testing import ScriptedModel
from tests.support.require import require_copilot_cli


class TidyClient(CopilotClient):
    """The SDK leaves the pipes of the CLI to the garbage collector, which warns."""

    async def stop(self) -> None:
        process = self._cli_process
        await super().stop()
        for pipe in (process.stdin, process.stdout, process.stderr) if process else ():
            if pipe is not None:
                pipe.close()


def create_client(folder: Path) -> TidyClient:
    """Return a client of the real CLI, with a home in `folder`."""
    secrets = STRIPPED | {"GH_TOKEN"}
    return TidyClient(
        connection=RuntimeConnection.for_stdio(path=str(require_copilot_cli())),
        env={name: value for name, value in os.environ.items() if name not in secrets},
        base_directory=str(folder / "home"),
        working_directory=str(folder),
        use_logged_in_user=False,
    )


def options(model: ScriptedModel) -> dict[str, Any]:
    """What a session of the SDK takes, so that this model answers and everything is allowed."""
    return {
        "model": "gpt-5",
        "provider": {
            "type": "openai",
            "base_url": model.url,
            "api_key": model.api_key,
            "wire_api": "completions",
        },
        "on_permission_request": PermissionHandler.approve_all,
    }
