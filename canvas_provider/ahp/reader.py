"""Reads canvases for a client: without the host where both are on one machine, else through it.

What a loopback address means depends on the machine. So a client asks one itself only if the host's
own address is on loopback, and by the rules of a host's `Relay`: a page that it reads must not lead
it to whatever else listens here. Everything else is the host's to decide and to read.
"""

from collections.abc import Awaitable, Callable

from canvas_provider.ahp.relay import Relay
from canvas_provider.ahp.resource import Resource, from_answer, resolve
from canvas_provider.errors import PermissionDenied
from canvas_provider.protocol.ahp import ROOT, Method
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Reader"]


class Reader:
    """Close it in the end.

    Args:
        request: sends a request to the host.
        direct: whether loopback is the same here and there.
    """

    def __init__(
        self, request: Callable[[str, JSONObject], Awaitable[JSONValue]], *, direct: bool
    ) -> None:
        self._request = request
        self._direct = direct
        self._relay: Relay | None = None

    async def read(self, source: str, reference: str, base: Resource | None) -> Resource:
        """Read what a reference means in the canvas at `source`, or in another resource of it."""
        url = resolve(source if base is None else base.url, reference)
        return await self._read_directly(url, source) or await self._read_through(url)

    async def aclose(self) -> None:
        if self._relay is not None:
            await self._relay.aclose()

    async def _read_directly(self, url: str, source: str) -> Resource | None:
        """Read it here; None if that does not work: a tunnel may make a far host look near."""
        if not self._direct:
            return None
        # A relay needs a running loop, which there was none of when a client was made.
        self._relay = self._relay or Relay()
        try:
            found = await self._relay.read(url, lambda: [source], "base64")
        except PermissionDenied:
            return None
        return from_answer(url, found)

    async def _read_through(self, url: str) -> Resource:
        params: JSONObject = {"channel": ROOT, "uri": url}
        return from_answer(url, await self._request(Method.RESOURCE_READ, params))
