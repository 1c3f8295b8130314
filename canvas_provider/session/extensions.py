"""`session.extensions`: the extensions of the session, ours among them."""

from typing import cast

from canvas_provider.protocol.copilot import Method
from canvas_provider.protocol.requests import ExtensionInfo
from canvas_provider.session.prompts import Request
from canvas_provider.types import JSONValue

__all__ = ["SessionExtensions"]


class SessionExtensions:
    """Every method raises `RemoteError` where the runtime refuses."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def enable(self, extension_id: str) -> None:
        """Start an extension that is disabled, such as `project:kanban`."""
        await self._request(Method.SESSION_EXTENSIONS_ENABLE, {"id": extension_id})

    async def disable(self, extension_id: str) -> None:
        """Stop an extension. Its panels wait for its return."""
        await self._request(Method.SESSION_EXTENSIONS_DISABLE, {"id": extension_id})

    async def reload(self) -> None:
        """Start every extension again.

        This process is one of them: it is asked to end at once, so usually nothing after the
        `await` is run. Open panels come back in the new process.
        """
        await self._request(Method.SESSION_EXTENSIONS_RELOAD, {})

    # Last: from here on `list` is no longer the type.

    async def list(self) -> list[ExtensionInfo]:
        """Return every extension that the runtime has found, with its status."""
        result = await self._request(Method.SESSION_EXTENSIONS_LIST, {})
        found = result.get("extensions") if isinstance(result, dict) else None
        whole = [each for each in found if _is_whole(each)] if isinstance(found, list) else []
        return cast("list[ExtensionInfo]", whole)


def _is_whole(info: JSONValue) -> bool:
    """Say whether it has what `ExtensionInfo` promises."""
    texts = ExtensionInfo.__required_keys__
    return isinstance(info, dict) and all(isinstance(info.get(name), str) for name in texts)
