"""What the panel shows and drives: a session with one extension, whatever runtime it is in."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from canvas_provider.errors import CanvasProviderError
from canvas_provider.host.journal import Journal, Listener
from canvas_provider.host.status import Extension, Level, Source, Status
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["BadCommand", "Bench", "Command", "text_of"]

Command = Callable[[JSONObject], Awaitable[JSONValue]]
"""What a button does: a JSON object to a result.

Raises:
    HostRefusal: it was not done; the text says why.
    BadCommand: the object is not what it takes.
"""


class BadCommand(CanvasProviderError):
    """A command was sent something else than it takes."""


def text_of(body: JSONObject, name: str) -> str:
    """Read a member that has to be a string."""
    value = body.get(name)
    if not isinstance(value, str):
        raise BadCommand(f"Send {name} as a string.")
    return value


class Bench(Protocol):
    """`workbench` has one with the embedded runtime, `copilot_bench` one with the Copilot CLI."""

    extension: Extension

    journal: Journal
    """What there is to see of the session."""

    @property
    def commands(self) -> Mapping[str, Command]:
        """What can be done, by name. The panel shows the buttons of these and no others."""

    @property
    def status(self) -> Status:
        """How the extension's process is doing."""

    @property
    def sources(self) -> JSONObject:
        """`modules` and `pages`: the paths that the extension told; empty if it never did."""

    @property
    def traffic(self) -> TrafficLog:
        """The messages, with their bodies."""

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with everything that happens from now on."""

    def describe(self) -> JSONObject:
        """Return everything there is to see, except the bodies of messages."""

    async def read_state(self, instance_id: str, after: str | None) -> JSONValue:
        """Return an instance's document and history; with `after`, once it has another version.

        Raises:
            HostRefusal: it cannot be seen.
        """

    async def start(self) -> None:
        """Start the extension. Nothing is raised for what an author can get wrong."""

    def begin_reload(self, grace: float, changed: Collection[Path]) -> None:
        """End the extension and start it again, without waiting for it; `aclose` does.

        Args:
            grace: seconds that it gets to end.
            changed: Python files that are to be compiled anew.
        """

    def reload_pages(self) -> None:
        """Have the frames of every instance loaded again."""

    def add_log(self, source: Source, level: Level, text: str) -> None:
        """Remember a line and show it to everybody."""

    async def aclose(self, grace: float) -> None:
        """End everything, within about `grace` seconds."""
