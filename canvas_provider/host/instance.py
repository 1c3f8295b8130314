"""One open canvas as the runtime knows it, and what a provider was asked about it."""

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from canvas_provider.host.registry import DeclaredCanvas
from canvas_provider.protocol.copilot import OpenCanvas
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing

__all__ = ["INSTANCE_ID", "Closing", "Instance", "Invoking", "Opening", "Pending", "owner_of"]

INSTANCE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Whole match; the rule of Copilot CLI 1.0.102."""


@dataclass(slots=True)
class Instance:
    """An instance somebody opened and nobody closed, whether or not its provider is there."""

    instance_id: str
    canvas: DeclaredCanvas
    input: JSONValue | Missing = MISSING
    is_ready: bool = False
    """The provider that is connected now has opened it."""
    is_closing: bool = False
    url: str | None = None
    title: str | None = None
    status: str | None = None

    @property
    def reference(self) -> JSONObject:
        return {
            "instanceId": self.instance_id,
            "extensionId": self.canvas.extension_id,
            "canvasId": self.canvas.id,
        }

    def describe(self) -> OpenCanvas:
        """Return what `session.canvas.listOpen` tells of it: absent things have no key."""
        known: JSONObject = {
            **self.reference,
            "extensionName": self.canvas.extension_name,
            "icon": self.canvas.icon,
            "title": self.title,
            "status": self.status,
            "url": self.url,
        }
        described: JSONObject = {name: value for name, value in known.items() if value is not None}
        if self.input is not MISSING:
            described["input"] = self.input
        return cast(OpenCanvas, described)


@dataclass(slots=True)
class Opening:
    """A `canvas.open` that the provider has not answered yet, and who waits for it."""

    instance_id: str
    canvas: DeclaredCanvas
    input: JSONValue | Missing
    is_first: bool
    """The instance was not known before, so that it is to be recorded."""
    tickets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Closing:
    instance: Instance
    ticket: int


@dataclass(slots=True)
class Invoking:
    extension_id: str
    ticket: int


Pending: TypeAlias = Opening | Closing | Invoking


def owner_of(pending: Pending) -> str:
    """The extension that was asked."""
    match pending:
        case Opening(canvas=canvas):
            return canvas.extension_id
        case Closing(instance=instance):
            return instance.canvas.extension_id
        case Invoking(extension_id=extension_id):
            return extension_id
