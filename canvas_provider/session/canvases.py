"""`session.canvas`: the runtime's canvases, of every extension, as this one may use them.

They also work from inside a handler (observed with Copilot CLI 1.0.102).
"""

from typing import cast

from canvas_provider.canvas.handling import current_handling
from canvas_provider.canvas.results import to_json_value
from canvas_provider.protocol.copilot import (
    CanvasList,
    DiscoveredCanvas,
    Method,
    OpenCanvas,
    OpenCanvasList,
    SessionCanvasActionInvokeResult,
)
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from canvas_provider.wire.peer import Peer

__all__ = ["SessionCanvases"]


class SessionCanvases:
    """Every method raises `RemoteError` with the runtime's text if it refuses.

    Inputs are made JSON as results are; what JSON cannot carry raises `NotJSON`. Left out, `input`
    is absent on the wire; `None` is sent as null, which is no object.
    """

    def __init__(self, peer: Peer, session_id: str) -> None:
        self._peer = peer
        self._session_id = session_id

    async def list_open(self) -> list[OpenCanvas]:
        """Return the open instances whose provider is connected."""
        result = await self._request(Method.SESSION_CANVAS_LIST_OPEN, {})
        return cast(OpenCanvasList, result)["openCanvases"]

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        *,
        extension_id: str | None = None,
    ) -> OpenCanvas:
        """Open an instance, or open it again, which also replaces its recorded input.

        Args:
            instance_id: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
            extension_id: needed only where several extensions declare `canvas_id`.
        """
        params: JSONObject = {"canvasId": canvas_id, "instanceId": instance_id}
        if extension_id is not None:
            params["extensionId"] = extension_id
        if input is not MISSING:
            params["input"] = to_json_value(input)
        return cast(OpenCanvas, await self._request(Method.SESSION_CANVAS_OPEN, params))

    async def close(self, instance_id: str) -> None:
        """Close an instance for good: its provider's `on_close` runs first.

        An action may close its own instance: the close does not wait for it then. What it returns
        is its answer, as ever, but there is no state to change any more.
        """
        handling = current_handling()
        own = handling if handling is not None and handling.instance_id == instance_id else None
        if own is not None:
            own.awaits_close = True
        try:
            await self._request(Method.SESSION_CANVAS_CLOSE, {"instanceId": instance_id})
        finally:
            if own is not None:
                own.awaits_close = False

    async def invoke(
        self, instance_id: str, action_name: str, input: JSONValue | Missing = MISSING
    ) -> JSONValue:
        """Invoke an action of an open instance and return its result."""
        params: JSONObject = {"instanceId": instance_id, "actionName": action_name}
        if input is not MISSING:
            params["input"] = to_json_value(input)
        result = await self._request(Method.SESSION_CANVAS_ACTION_INVOKE, params)
        return cast(SessionCanvasActionInvokeResult, result).get("result")

    # Last: from here on `list` is no longer the type.

    async def list(self) -> list[DiscoveredCanvas]:
        """Return what is declared, by us and by others."""
        result = await self._request(Method.SESSION_CANVAS_LIST, {})
        return cast(CanvasList, result)["canvases"]

    async def _request(self, method: Method, params: JSONObject) -> JSONValue:
        return await self._peer.request(method, {"sessionId": self._session_id, **params})
