"""The connection to one provider: a peer, and whether its declarations were taken."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple, TypeAlias

from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import Transport

__all__ = ["Message", "MessageListener", "ProviderLink"]


class Message(NamedTuple):
    """One JSON-RPC message, as the traffic tap sees it."""

    extension_id: str
    direction: Literal["in", "out"]
    """Seen from here: `in` comes from the provider."""
    body: bytes


MessageListener: TypeAlias = Callable[[Message], None]


class ProviderLink:
    """The connection to one provider. `Runtime.attach` makes it."""

    def __init__(
        self,
        transport: Transport,
        *,
        extension_id: str,
        extension_name: str,
        serve: Callable[["ProviderLink", str, JSONObject], Awaitable[JSONValue]],
        tap: MessageListener,
    ) -> None:
        self.extension_id = extension_id
        self.extension_name = extension_name
        self.is_joined = False
        """Its declarations were taken at least once."""
        self.peer = Peer(
            transport,
            on_request=lambda method, params: serve(self, method, params),
            on_message=lambda direction, body: tap(Message(extension_id, direction, body)),
        )
        self.detached = asyncio.Event()
        self._joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whether anybody asks for the outcome is their choice: no warning if nobody does.
        self._joined.add_done_callback(lambda future: future.exception())

    async def wait_joined(self) -> None:
        """Wait until its first `session.resume` was taken.

        Raises:
            HostRefusal: it was refused; the text says why.
            ConnectionClosed: the connection ended before.
        """
        await asyncio.shield(self._joined)

    async def wait_closed(self) -> None:
        """Wait until the connection has ended and the runtime has taken note of it."""
        await self.detached.wait()

    async def aclose(self) -> None:
        """End the connection. To the provider this is EOF, never a `canvas.close`."""
        await self.peer.aclose()

    def settle(self, error: Exception | None) -> None:
        """Tell those who wait for the join how it went; only the first time counts."""
        self.is_joined = self.is_joined or error is None
        if self._joined.done():
            return
        if error is None:
            self._joined.set_result(None)
        else:
            self._joined.set_exception(error)
