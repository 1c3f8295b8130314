"""`canvas-provider dev --runtime copilot`: what is needed to run the real Copilot CLI."""

import os
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from canvas_provider.cli.installation import install_extension
from canvas_provider.cli.place import Place
from canvas_provider.cli.script_file import read_script
from canvas_provider.cli.source import InstallError
from canvas_provider.host.bench import Bench
from canvas_provider.host.copilot_binary import CopilotCLINotFound, find_copilot_cli
from canvas_provider.host.script import ScriptError, Step
from canvas_provider.host.status import Extension

if TYPE_CHECKING:
    from canvas_provider.host.copilot import Model

__all__ = ["KEY", "CopilotChoice"]

KEY: Final = "CANVAS_PROVIDER_MODEL_KEY"
"""Holds the key of the model at `--model-url`: not an option, which others could see."""


@dataclass(frozen=True, slots=True)
class CopilotChoice:
    """What was said on the command line, found good."""

    binary: Path
    model_name: str | None
    model_url: str | None
    script: list[Step] | None

    @classmethod
    def of(
        cls, binary: Path | None, model: str | None, model_url: str | None, script: Path | None
    ) -> "CopilotChoice":
        """Check it.

        Raises:
            UsageError: the options do not go together, or something is not installed.
        """
        if script is not None and (model_url or model):
            raise click.UsageError("--script is a model: leave --model and --model-url out.")
        if model_url is not None and model is None:
            raise click.UsageError("--model-url has many models: name one by --model.")
        if find_spec("copilot") is None:
            raise click.UsageError(
                "--runtime copilot takes the Copilot SDK: pip install 'canvas-provider[copilot]'"
            )
        try:
            found = binary or find_copilot_cli()
        except CopilotCLINotFound as error:
            raise click.UsageError(f"{error}, or name it by --copilot-cli.") from None
        return cls(found, model, model_url, None if script is None else read_script(script))

    @property
    def is_offline(self) -> bool:
        """Whether nobody has to be logged in: then Copilot gets a home of its own."""
        return self.script is not None or self.model_url is not None

    async def create_bench(
        self, extension: Extension, place: Place, workspace: Path, stack: AsyncExitStack
    ) -> Bench:
        """Make the session, and what it needs; `stack` ends the latter."""
        from canvas_provider.host.copilot_bench import CopilotBench, CopilotOptions

        plugin = workspace / "plugin"
        try:
            install_extension(
                extension.script
                if extension.script.name != "extension.py"
                else extension.script.parent,
                plugin / "extensions",
                python=sys.executable,
                name=extension.name,
                link=True,
            )
        except InstallError as error:
            raise click.ClickException(str(error)) from None
        model = await self._create_model(stack)
        # Without a login nothing of the user's own is needed, or touched.
        home = None if model is None else place.copilot_home
        return CopilotBench(
            extension,
            working_directory=str(Path.cwd()),
            plugin=plugin,
            options=CopilotOptions(self.binary, home=home, model=model, model_name=self.model_name),
        )

    async def _create_model(self, stack: AsyncExitStack) -> "Model | None":
        from canvas_provider.host.copilot import Model

        if self.script is not None:
            from canvas_provider.host.scripted_model import ScriptedModel

            # A person may ask for more than is written down, which the panel shows.
            stack.enter_context(suppress(ScriptError))
            served = await stack.enter_async_context(ScriptedModel(*self.script, complete=False))
            return Model(served.url, served.api_key)
        if self.model_url is not None:
            assert self.model_name is not None
            return Model(self.model_url, os.environ.get(KEY, ""), self.model_name)
        return None
