"""What the panel's buttons do: a name, a JSON object, and a result or a `HostRefusal`."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

from starlette.exceptions import HTTPException

from canvas_provider.host.panel.document import ask
from canvas_provider.host.workbench import Workbench
from canvas_provider.protocol.development import DevelopmentMethod
from canvas_provider.types import MISSING, JSONObject, JSONValue

__all__ = ["Command", "create_commands"]

Command = Callable[[JSONObject], Awaitable[JSONValue]]


def create_commands(bench: Workbench) -> Mapping[str, Command]:
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
    def __init__(self, bench: Workbench) -> None:
        self._bench: Final = bench

    async def open(self, body: JSONObject) -> JSONValue:
        opened = await self._bench.runtime.open(
            _text(body, "canvasId"),
            _text(body, "instanceId"),
            body.get("input", MISSING),
            _text(body, "extensionId") if "extensionId" in body else None,
        )
        return cast(JSONValue, opened)

    async def invoke(self, body: JSONObject) -> JSONValue:
        return await self._bench.runtime.invoke(
            _text(body, "instanceId"), _text(body, "actionName"), body.get("input", MISSING)
        )

    async def close(self, body: JSONObject) -> JSONValue:
        await self._bench.runtime.close(_text(body, "instanceId"))
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
        return cast(JSONValue, await self._bench.add_panel(_text(body, "instanceId")))

    async def remove_panel(self, body: JSONObject) -> JSONValue:
        self._bench.remove_panel(_text(body, "instanceId"))
        return None

    async def drop_streams(self, body: JSONObject) -> JSONValue:
        return await self._bench.drop_streams(_text(body, "instanceId"))

    async def undo(self, body: JSONObject) -> JSONValue:
        params: JSONObject = {"instanceId": _text(body, "instanceId")}
        if "revision" in body:
            params["revision"] = body["revision"]
        return await ask(self._bench, DevelopmentMethod.UNDO, params)

    async def redo(self, body: JSONObject) -> JSONValue:
        params: JSONObject = {"instanceId": _text(body, "instanceId")}
        return await ask(self._bench, DevelopmentMethod.REDO, params)

    async def call_tool(self, body: JSONObject) -> JSONValue:
        return await self._bench.call_tool(_text(body, "name"), body.get("arguments", {}))

    async def run_command(self, body: JSONObject) -> JSONValue:
        await self._bench.run_command(_text(body, "name"), _text(body, "args"))
        return None


def _text(body: JSONObject, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise HTTPException(400, f"Send {name} as a string.")
    return value
