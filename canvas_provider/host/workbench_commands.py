"""What the panel's buttons do: a name, a JSON object, and a result or a `HostRefusal`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from canvas_provider.host.bench import Command, text_of
from canvas_provider.types import MISSING, JSONObject, JSONValue

if TYPE_CHECKING:
    from canvas_provider.host.workbench import Workbench

__all__ = ["create_commands"]


def create_commands(bench: "Workbench") -> Mapping[str, Command]:
    """Make the commands for one session, by name."""
    buttons = _Buttons(bench)
    return {
        "open": buttons.open,
        "invoke": buttons.invoke,
        "close": buttons.close,
        "reload": buttons.reload,
        "kill": buttons.kill,
        "hold": buttons.hold,
        "release": buttons.release,
        "resume-cold": buttons.resume_cold,
        "add-panel": buttons.add_panel,
        "remove-panel": buttons.remove_panel,
        "drop-streams": buttons.drop_streams,
        "undo": buttons.undo,
        "redo": buttons.redo,
        "call-tool": buttons.call_tool,
        "run-command": buttons.run_command,
    }


class _Buttons:
    def __init__(self, bench: "Workbench") -> None:
        self._bench: Final = bench

    async def open(self, body: JSONObject) -> JSONValue:
        opened = await self._bench.runtime.open(
            text_of(body, "canvasId"),
            text_of(body, "instanceId"),
            body.get("input", MISSING),
            text_of(body, "extensionId") if "extensionId" in body else None,
        )
        return cast(JSONValue, opened)

    async def invoke(self, body: JSONObject) -> JSONValue:
        return await self._bench.runtime.invoke(
            text_of(body, "instanceId"), text_of(body, "actionName"), body.get("input", MISSING)
        )

    async def close(self, body: JSONObject) -> JSONValue:
        await self._bench.runtime.close(text_of(body, "instanceId"))
        return None

    async def reload(self, body: JSONObject) -> JSONValue:
        await self._bench.reload()
        return None

    async def kill(self, body: JSONObject) -> JSONValue:
        await self._bench.kill()
        return None

    async def hold(self, body: JSONObject) -> JSONValue:
        self._bench.hold()
        return None

    async def release(self, body: JSONObject) -> JSONValue:
        self._bench.release()
        return None

    async def resume_cold(self, body: JSONObject) -> JSONValue:
        await self._bench.resume_cold()
        return None

    async def add_panel(self, body: JSONObject) -> JSONValue:
        return cast(JSONValue, await self._bench.add_panel(text_of(body, "instanceId")))

    async def remove_panel(self, body: JSONObject) -> JSONValue:
        self._bench.remove_panel(text_of(body, "instanceId"))
        return None

    async def drop_streams(self, body: JSONObject) -> JSONValue:
        return await self._bench.drop_streams(text_of(body, "instanceId"))

    async def undo(self, body: JSONObject) -> JSONValue:
        return await self._bench.undo(text_of(body, "instanceId"), body.get("revision", MISSING))

    async def redo(self, body: JSONObject) -> JSONValue:
        return await self._bench.redo(text_of(body, "instanceId"))

    async def call_tool(self, body: JSONObject) -> JSONValue:
        return await self._bench.call_tool(text_of(body, "name"), body.get("arguments", {}))

    async def run_command(self, body: JSONObject) -> JSONValue:
        await self._bench.run_command(text_of(body, "name"), text_of(body, "args"))
        return None
