"""What an AHP host projects, and what it reads resources with: two seams.

A `ChatSource` is one session with one chat in it. What it tells are session events as the Copilot
runtime sends them, so a runtime of any kind can be one.
"""

from collections.abc import Callable, Iterable
from typing import Literal, Protocol, TypeAlias

from canvas_provider.protocol.ahp import ResourceReadResult
from canvas_provider.protocol.copilot import DiscoveredCanvas, OpenCanvas
from canvas_provider.types import JSONObject

__all__ = ["ChatSource", "LiveURLs", "ResourceReader", "SourceListener"]

SourceListener: TypeAlias = Callable[[str, JSONObject], None]
"""Takes the type and the data of a session event. `CanvasEvent` names those that matter."""

LiveURLs: TypeAlias = Callable[[], Iterable[str]]
"""Returns the URLs of all canvases that are live at this moment: secrets, all of them."""


class ChatSource(Protocol):
    """A session whose canvases are shown to AHP clients. Everything is called in one event loop."""

    @property
    def session_id(self) -> str:
        """What is stable about it: the URIs are made from it."""
        ...

    @property
    def title(self) -> str: ...

    @property
    def working_directory(self) -> str: ...

    @property
    def has_backing(self) -> bool:
        """Whether there is anything to resume; not so for a chat in which nothing was said yet."""
        ...

    def canvases(self) -> list[DiscoveredCanvas] | None:
        """Return every canvas that can be opened now; None: not materialized, or unavailable."""
        ...

    def instances(self) -> list[OpenCanvas]:
        """Return what is open, in order. Without `url`: it waits for its provider to return."""
        ...

    def subscribe(self, listener: SourceListener) -> Callable[[], None]:
        """Call `listener` with every event from now on; returns what ends that.

        `session.canvas.registry_changed` is taken as a hint to ask `canvases()` again.
        """
        ...

    async def materialize(self) -> None:
        """Bring a cold chat to life as far as `canvases()` needs it: start its providers.

        Never sends a message, never calls a model. Returns when `canvases()` has its answer.

        Raises:
            Exception: it could not be done.
        """
        ...

    async def open(self, canvas_id: str, instance_id: str, extension_id: str) -> None:
        """Open an instance, or focus the one that is open. Emits before it returns.

        Raises:
            HostRefusal: the runtime or the provider refused.
        """
        ...

    async def close(self, instance_id: str) -> None:
        """Close an instance. Emits before it returns.

        Raises:
            HostRefusal: no such instance is open.
        """
        ...


class ResourceReader(Protocol):
    """Reads what lies at the origins of live canvases, for clients that cannot do so themselves."""

    async def read(
        self, uri: str, sources: LiveURLs, encoding: Literal["utf-8", "base64"] | None = None
    ) -> ResourceReadResult:
        """Read a resource of an origin that is live, at the beginning and in the end.

        Args:
            sources: asked repeatedly.
            encoding: a wish; what is no text comes as base64 all the same.

        Raises:
            RemoteError: to be the answer; the message names no URL.
        """
        ...

    async def aclose(self) -> None:
        """Break off every read."""
        ...
