"""What extensions contribute besides canvases, and the calls that wait for their answer.

A tool or a command is called by an event that every extension hears, and answered by a request
(observed with Copilot CLI 1.0.102). There is no agent here: whoever holds the runtime calls.
"""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from canvas_provider.host.link import ProviderLink
from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.copilot import ContributionEvent, Method
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Contributions"]

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")

GONE: Final = "connection closed"


class Publish(Protocol):
    """Sends an event to everybody, and returns its id."""

    def __call__(self, type: str, data: JSONObject, *, ephemeral: bool) -> str: ...


@dataclass(frozen=True, slots=True)
class _Contributed:
    """What one extension has declared."""

    tools: dict[str, JSONObject] = field(default_factory=dict)
    commands: dict[str, JSONObject] = field(default_factory=dict)
    has_hooks: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    extension_id: str
    answer: asyncio.Future[JSONValue]


class Contributions:
    """The tools, commands and hooks of one session: `services`, by method."""

    def __init__(self, publish: Publish, *, session_id: str, working_directory: str) -> None:
        self._publish = publish
        self._session_id = session_id
        self._working_directory = working_directory
        self._contributed: dict[str, _Contributed] = {}
        self._calls: dict[str, _Call] = {}
        self.services: Mapping[str, Callable[[ProviderLink, JSONObject], Awaitable[JSONValue]]] = {
            Method.SESSION_TOOLS_ANSWER: self._answer_tool,
            Method.SESSION_COMMANDS_ANSWER: self._answer_command,
        }

    def declare(self, extension_id: str, params: JSONObject) -> None:
        """Take what `session.resume` declares, in place of what was declared before.

        Raises:
            HostRefusal: a tool the runtime does not take.
        """
        tools = _by_name(params.get("tools"))
        for name in tools:
            if not TOOL_NAME.fullmatch(name):
                raise HostRefusal(
                    f"externalToolDefinitions: tool name {name!r} is invalid "
                    "(matching /^[a-zA-Z0-9_-]+$/)"
                )
            if any(name in each.tools for each in self._others(extension_id)):
                raise HostRefusal(
                    f"External tool name clash: {name} already registered by another connection"
                )
        commands = _by_name(params.get("commands"))
        has_hooks = params.get("hooks") is True
        self._contributed[extension_id] = _Contributed(tools, commands, has_hooks)

    def forget(self, extension_id: str) -> None:
        """Note that an extension is gone: its calls fail."""
        self._contributed.pop(extension_id, None)
        for call in self._calls.values():
            if call.extension_id == extension_id and not call.answer.done():
                call.answer.set_exception(HostRefusal(GONE))

    def describe(self) -> JSONObject:
        """Return `tools` and `commands` as declared, each with its `extensionId`, and `hooks`."""
        tools: list[JSONValue] = []
        commands: list[JSONValue] = []
        hooks: list[JSONValue] = []
        for extension_id, each in self._contributed.items():
            own: JSONObject = {"extensionId": extension_id}
            tools += [{**tool, **own} for tool in each.tools.values()]
            commands += [{**command, **own} for command in each.commands.values()]
            hooks += [extension_id] if each.has_hooks else []
        return {"tools": tools, "commands": commands, "hooks": hooks}

    async def call_tool(self, name: str, arguments: JSONValue) -> JSONValue:
        """Call a tool as the agent would: a text, or an object with `textResultForLlm`.

        Raises:
            HostRefusal: there is no such tool, its extension is gone, or it answered an error.
        """
        owner = next((id for id, each in self._contributed.items() if name in each.tools), None)
        if owner is None:
            raise HostRefusal(f'There is no tool "{name}".')
        data: JSONObject = {
            "toolCallId": f"call_{uuid.uuid4().hex[:24]}",
            "toolName": name,
            "arguments": arguments,
            "workingDirectory": self._working_directory,
        }
        return await self._call(owner, ContributionEvent.TOOL_REQUESTED, data)

    async def run_command(self, name: str, args: str = "") -> None:
        """Run a slash command as the person would, `args` being what stands after its name.

        Raises:
            HostRefusal: there is no such command, its extension is gone, or it answered an error.
        """
        owner = next((id for id, each in self._contributed.items() if name in each.commands), None)
        if owner is None:
            raise HostRefusal(f'There is no command "/{name}".')
        text = f"/{name} {args}".rstrip()
        data: JSONObject = {"command": text, "commandName": name, "args": args}
        await self._call(owner, ContributionEvent.COMMAND_EXECUTE, data)

    async def _call(self, owner: str, event: ContributionEvent, data: JSONObject) -> JSONValue:
        request_id = str(uuid.uuid4())
        answer: asyncio.Future[JSONValue] = asyncio.get_running_loop().create_future()
        self._calls[request_id] = _Call(owner, answer)
        asked: JSONObject = {"requestId": request_id, "sessionId": self._session_id, **data}
        try:
            self._publish(event, asked, ephemeral=True)
            return await answer
        finally:
            del self._calls[request_id]
            if event == ContributionEvent.TOOL_REQUESTED:
                # Also where nobody waits any more: that ends the call in the extension.
                completed: JSONObject = {"requestId": request_id}
                self._publish(ContributionEvent.TOOL_COMPLETED, completed, ephemeral=True)

    async def _answer_tool(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        result = params.get("result")
        return self._settle(params, "" if result is None else result)

    async def _answer_command(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        return self._settle(params, None)

    def _settle(self, params: JSONObject, result: JSONValue) -> JSONValue:
        call = self._calls.get(str(params.get("requestId")))
        if call is None or call.answer.done():
            return {"success": False}
        if (error := params.get("error")) is None:
            call.answer.set_result(result)
        else:
            call.answer.set_exception(HostRefusal(str(error)))
        return {"success": True}

    def _others(self, extension_id: str) -> list[_Contributed]:
        return [each for id, each in self._contributed.items() if id != extension_id]


def _by_name(given: JSONValue) -> dict[str, JSONObject]:
    items = given if isinstance(given, list) else []
    return {str(item["name"]): item for item in items if isinstance(item, dict) and "name" in item}
