"""What only the development host asks of an extension: its document, its sources, a cut line.

The door is `protocol.development`: an extension of ours that the development host has started
opens it, nobody else does. So no page of an instance is needed for it, and no secret of one.
"""

import asyncio
from typing import Final

from canvas_provider.errors import ConnectionClosed, RemoteError
from canvas_provider.host.link import ProviderLink
from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.development import DevelopmentMethod
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.connection import METHOD_NOT_FOUND

__all__ = ["ask"]

ANSWER_IN: Final = 15.0
"""Seconds; more than the extension lets a request for news wait."""


async def ask(
    link: ProviderLink | None, method: DevelopmentMethod, params: JSONObject, *, otherwise: str
) -> JSONValue:
    """Ask the extension what only ours know.

    Args:
        otherwise: what is said where it is not one of ours.

    Raises:
        HostRefusal: it is not running or not of ours, it does not answer, or it refuses.
    """
    if link is None:
        raise HostRefusal("The extension is not running.")
    try:
        async with asyncio.timeout(ANSWER_IN):
            return await link.peer.request(method, params)
    except RemoteError as error:
        if error.code == METHOD_NOT_FOUND:
            raise HostRefusal(otherwise) from None
        raise HostRefusal(error.message, data=error.data) from None
    except (ConnectionClosed, TimeoutError):
        raise HostRefusal("The extension does not answer.") from None
