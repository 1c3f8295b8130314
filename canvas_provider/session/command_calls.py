"""Calls of our commands: each an event with a request id, answered by a request of ours."""

from collections.abc import Callable, Mapping
from typing import Final

from canvas_provider.canvas.dispatch import is_failure, translate
from canvas_provider.canvas.surrogates import to_unicode
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.session.command import Command, CommandContext
from canvas_provider.session.runner import Runner
from canvas_provider.types import JSONObject

__all__ = ["CommandCalls"]


class CommandCalls:
    """The commands of one session."""

    def __init__(self, commands: Mapping[str, Command], runner: Runner) -> None:
        self._commands = commands
        self._runner = runner
        self.events: Final[Mapping[str, Callable[[JSONObject], None]]] = {
            ContributionEvent.COMMAND_EXECUTE: self.begin
        }

    def begin(self, data: JSONObject) -> None:
        """Run a command, if it is ours."""
        request_id, name = data.get("requestId"), data.get("commandName")
        if isinstance(request_id, str) and isinstance(name, str) and name in self._commands:
            self._runner.spawn(self._run(request_id, self._commands[name], data))

    async def _run(self, request_id: str, command: Command, data: JSONObject) -> None:
        text, args = data.get("command"), data.get("args")
        context = CommandContext(
            self._runner.session,
            text if isinstance(text, str) else f"/{command.name}",
            command.name,
            args if isinstance(args, str) else "",
        )
        answer: JSONObject = {"requestId": request_id}
        try:
            await self._runner.call(command.handler, context)
        except BaseException as error:
            if not is_failure(error):
                raise
            answer["error"] = to_unicode(translate(error, f'command "/{command.name}"').message)
        await self._runner.reply(Method.SESSION_COMMANDS_ANSWER, answer)
