"""Which canvas each `ahp-canvas:` URI is, over all chats of a host. Sans-IO.

The URI is the identity of a canvas in AHP; what the provider calls it is made from the URI where a
client chose that, and the URI from what the agent calls it where the agent did.
"""

import json
import uuid
from dataclasses import dataclass
from typing import Final

from canvas_provider.protocol.ahp import Scheme

__all__ = ["Canvas", "Canvases", "name_instance"]

NAMESPACE: Final = uuid.UUID("5f2b8f6e-57a2-4f43-9d0c-8c6f2a0f4f11")
"""Makes the URIs and the instance ids ours."""


@dataclass(slots=True)
class Canvas:
    """A canvas that is open, or being opened for a client."""

    uri: str
    session_id: str
    extension_id: str
    canvas_id: str
    instance_id: str
    is_live: bool = False
    """It has a channel."""
    openings: int = 0
    """How many clients wait for it."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What a URI cannot be used again for anything else than."""
        return self.session_id, self.extension_id, self.canvas_id


class Canvases:
    """The canvases of every chat, by URI and by what their providers call them."""

    def __init__(self) -> None:
        self._by_uri: dict[str, Canvas] = {}
        self._by_instance: dict[tuple[str, str], Canvas] = {}

    def get(self, uri: str) -> Canvas | None:
        return self._by_uri.get(uri)

    def find(self, session_id: str, instance_id: str) -> Canvas | None:
        return self._by_instance.get((session_id, instance_id))

    def live(self, session_id: str) -> list[Canvas]:
        """Return those of a chat that have a channel, in the order in which they got it."""
        owned = (each for each in self._by_instance.values() if each.session_id == session_id)
        return [each for each in owned if each.is_live]

    def add(
        self, session_id: str, extension_id: str, canvas_id: str, instance_id: str, uri: str = ""
    ) -> Canvas:
        """Note a canvas; without a `uri` it gets the one that it would get every time."""
        if not uri:
            uri = self._choose_uri(session_id, extension_id, canvas_id, instance_id)
        canvas = Canvas(uri, session_id, extension_id, canvas_id, instance_id)
        self._by_uri[uri] = self._by_instance[session_id, instance_id] = canvas
        return canvas

    def make_live(self, canvas: Canvas) -> None:
        """Note that it has a channel, and put it behind the others of its chat."""
        canvas.is_live = True
        key = canvas.session_id, canvas.instance_id
        self._by_instance[key] = self._by_instance.pop(key)

    def discard_unused(self, canvas: Canvas) -> None:
        """Forget one that is not live and that nobody waits for. Idempotent."""
        is_used = canvas.is_live or canvas.openings
        if not is_used and self._by_uri.get(canvas.uri) is canvas:
            del self._by_uri[canvas.uri]
            del self._by_instance[canvas.session_id, canvas.instance_id]

    def _choose_uri(self, *identity: str) -> str:
        """Make a URI that nobody can have meant by another canvas."""
        for number in range(len(self._by_uri) + 1):
            # A client may have chosen the first one, of all URIs.
            name = json.dumps([*identity, *([number] if number else [])])
            uri = f"{Scheme.CANVAS}:/{uuid.uuid5(NAMESPACE, name).hex}"
            if uri not in self._by_uri:
                return uri
        raise AssertionError("there are more URIs than canvases")


def name_instance(uri: str) -> str:
    """Return what the provider is to call a canvas whose URI a client chose."""
    return f"ahp-{uuid.uuid5(NAMESPACE, uri).hex}"
