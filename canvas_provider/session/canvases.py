"""`session.canvas`: the runtime's canvases, of every extension, as this one may use them.

They also work from inside a handler (observed with Copilot CLI 1.0.102).
"""

from typing import Final, cast

from canvas_provider.canvas.handling import current_handling
from canvas_provider.canvas.results import to_json_value
from canvas_provider.errors import InvalidAnswer
from canvas_provider.protocol.copilot import DiscoveredCanvas, Method, OpenCanvas
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from canvas_provider.wire.peer import Peer

__all__ = ["SessionCanvases"]

_DECLARED: Final = ("extensionId", "canvasId")
_OPENED: Final = ("instanceId", "extensionId", "canvasId")
"""What identifies a canvas and an instance: without it, an answer is none."""


class SessionCanvases:
    """Every method raises `RemoteError` with the runtime's text if it refuses.

    `InvalidAnswer` is for a runtime that answers what identifies no canvas or instance.
    Inputs are made JSON as results are; what JSON cannot carry raises `NotJSON`. Left out, `input`
    is absent on the wire; `None` is sent as null, which is no object.
    """

    def __init__(self, peer: Peer, session_id: str) -> None:
        self._peer = peer
        self._session_id = session_id

    async def list_open(self) -> list[OpenCanvas]:
        """Return the open instances whose provider is connected."""
        result = await self._request(Method.SESSION_CANVAS_LIST_OPEN, {})
        found = _list(result, "openCanvases", _OPENED, Method.SESSION_CANVAS_LIST_OPEN)
        return cast("list[OpenCanvas]", found)

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
        opened = await self._request(Method.SESSION_CANVAS_OPEN, params)
        return cast(OpenCanvas, _check(opened, _OPENED, Method.SESSION_CANVAS_OPEN))

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
        return _check(result, (), Method.SESSION_CANVAS_ACTION_INVOKE).get("result")

    # Last: from here on `list` is no longer the type.

    async def list(self) -> list[DiscoveredCanvas]:
        """Return what is declared, by us and by others."""
        result = await self._request(Method.SESSION_CANVAS_LIST, {})
        found = _list(result, "canvases", _DECLARED, Method.SESSION_CANVAS_LIST)
        return cast("list[DiscoveredCanvas]", found)

    async def _request(self, method: Method, params: JSONObject) -> JSONValue:
        return await self._peer.request(method, {"sessionId": self._session_id, **params})


def _list(result: JSONValue, name: str, texts: tuple[str, ...], method: Method) -> list[JSONObject]:
    found = _check(result, (), method).get(name)
    if not isinstance(found, list):
        raise InvalidAnswer(f"{method} answered no list {name!r}")
    return [_check(each, texts, method) for each in found]


def _check(value: JSONValue, texts: tuple[str, ...], method: Method) -> JSONObject:
    """Return an object that has these fields, each a text.

    Raises:
        InvalidAnswer: it is none.
    """
    if not isinstance(value, dict):
        raise InvalidAnswer(f"{method} answered no object")
    for name in texts:
        if not isinstance(value.get(name), str):
            raise InvalidAnswer(f"{method} answered without {name!r}, a text")
    return value
