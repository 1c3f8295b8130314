"""The types of canvases that a chat offers, and the commands that open and dispose of one.

Introduced with AHP 1.1.0 and gated by the capability `canvases` of an agent. The source is the text
of the change that brings them into the protocol; its type files are not public where this was
written. **Each name that no source confirms is a constant or a method of this module**, marked
*unconfirmed* and chosen by the habits of the protocol, so that a correction is one edit.

Confirmed by that text: `ChatState.canvasRegistry` and its three states, `{"extensions": […]}`, a
declaration for each extension with nested type declarations, `extensionId`, `canvasId`, `title`,
`requiresInput`, the two action types, the two commands with `channel`, `chat`, `extensionId` and
`canvasId`, `Conflict`, `AgentCapabilities.canvases`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, TypedDict

from canvas_provider.protocol.ahp import ChannelParams
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "CAPABILITY",
    "REGISTRY",
    "CanvasAction",
    "CanvasExtensionDeclaration",
    "CanvasMethod",
    "CanvasRegistry",
    "CanvasTypeDeclaration",
    "AgentCapabilities",
    "OpenCanvasParams",
    "capabilities",
    "has_canvases",
    "registry_changed",
    "registry_requested",
]

CAPABILITY: Final = "canvases"
"""The key of `AgentInfo.capabilities` that gates all of this."""

REGISTRY: Final = "canvasRegistry"
"""The key of `ChatState`. *Unconfirmed* as the key of the action's payload."""

_EXTENSIONS: Final = "extensions"
_EXTENSION_NAME: Final = "extensionName"
"""*Unconfirmed*: as in `CanvasState`."""
_CANVASES: Final = "canvases"
"""*Unconfirmed*: the list of type declarations within an extension's."""
_DESCRIPTION: Final = "description"
"""*Unconfirmed*: whether there is one."""
_REQUIRES_INPUT: Final = "requiresInput"
"""*Unconfirmed*: that leaving it out means false. We always send it."""


class CanvasMethod(StrEnum):
    """Requests, client to host. *Unconfirmed*: that their result is null; we take any."""

    OPEN_CANVAS = "openCanvas"
    DISPOSE_CANVAS = "disposeCanvas"
    """*Unconfirmed*: that an unknown URI is answered `NOT_FOUND`. Our client takes that as done."""


class CanvasAction(StrEnum):
    """The actions of the registry, on a chat's channel."""

    REGISTRY_CHANGED = "chat/canvasRegistryChanged"
    """Server only: replaces or clears the registry."""
    REGISTRY_REQUESTED = "chat/canvasRegistryRequested"
    """By clients, of a cold chat; changes no state. *Unconfirmed*: that it carries nothing."""


class OpenCanvasParams(ChannelParams):
    """`channel` is a URI that the client chose. `disposeCanvas` has only that.

    There is no input: types with `requiresInput` cannot be opened.
    """

    chat: str
    extensionId: str
    canvasId: str


class AgentCapabilities(TypedDict, total=False):
    canvases: JSONObject
    """*Unconfirmed*: that it is empty, like its siblings."""


@dataclass(frozen=True, slots=True)
class CanvasTypeDeclaration:
    """A type of canvas that can be opened."""

    canvas_id: str
    title: str
    description: str | None = None
    requires_input: bool = False

    def to_json(self) -> JSONObject:
        described: JSONObject = {"canvasId": self.canvas_id, "title": self.title}
        if self.description is not None:
            described[_DESCRIPTION] = self.description
        return {**described, _REQUIRES_INPUT: self.requires_input}

    @classmethod
    def from_json(cls, value: JSONValue) -> Self | None:
        """Read one; None for what is none."""
        match value:
            case {"canvasId": str(canvas_id), "title": str(title), **rest}:
                description = rest.get(_DESCRIPTION)
                return cls(
                    canvas_id,
                    title,
                    description if isinstance(description, str) else None,
                    rest.get(_REQUIRES_INPUT) is True,
                )
        return None


@dataclass(frozen=True, slots=True)
class CanvasExtensionDeclaration:
    """An extension that provides canvases, with the types that it has."""

    extension_id: str
    """Opaque."""
    canvases: tuple[CanvasTypeDeclaration, ...] = ()
    extension_name: str | None = None

    def to_json(self) -> JSONObject:
        described: JSONObject = {"extensionId": self.extension_id}
        if self.extension_name is not None:
            described[_EXTENSION_NAME] = self.extension_name
        return {**described, _CANVASES: [each.to_json() for each in self.canvases]}

    @classmethod
    def from_json(cls, value: JSONValue) -> Self | None:
        """Read one, without the types that are none; None for what is no declaration."""
        match value:
            case {"extensionId": str(extension_id), **rest}:
                name, types = rest.get(_EXTENSION_NAME), rest.get(_CANVASES)
                read = map(
                    CanvasTypeDeclaration.from_json, types if isinstance(types, list) else ()
                )
                return cls(
                    extension_id,
                    tuple(each for each in read if each is not None),
                    name if isinstance(name, str) else None,
                )
        return None


@dataclass(frozen=True, slots=True)
class CanvasRegistry:
    """Every type of canvas that one chat offers. Empty is not the same as absent."""

    extensions: tuple[CanvasExtensionDeclaration, ...] = ()

    def __iter__(self) -> Iterator[tuple[CanvasExtensionDeclaration, CanvasTypeDeclaration]]:
        """Yield each type with the extension it belongs to."""
        for extension in self.extensions:
            for declared in extension.canvases:
                yield extension, declared

    def find(self, extension_id: str, canvas_id: str) -> CanvasTypeDeclaration | None:
        for extension, declared in self:
            if (extension.extension_id, declared.canvas_id) == (extension_id, canvas_id):
                return declared
        return None

    def to_json(self) -> JSONObject:
        return {_EXTENSIONS: [each.to_json() for each in self.extensions]}

    @classmethod
    def from_json(cls, value: JSONValue) -> Self | None:
        """Read a chat's; None for an absent one, and for what is none."""
        if not isinstance(value, dict) or not isinstance(listed := value.get(_EXTENSIONS), list):
            return None
        read = map(CanvasExtensionDeclaration.from_json, listed)
        return cls(tuple(each for each in read if each is not None))


def capabilities() -> JSONObject:
    """Return what an agent says that has canvases."""
    return {CAPABILITY: {}}


def has_canvases(root: JSONValue) -> bool:
    """Whether a root state has an agent with canvases. Without it, nothing here may be tried."""
    agents = root.get("agents") if isinstance(root, dict) else None
    for agent in agents if isinstance(agents, list) else ():
        able = agent.get("capabilities") if isinstance(agent, dict) else None
        # What is present is supported, whatever it holds.
        if isinstance(able, dict) and able.get(CAPABILITY) is not None:
            return True
    return False


def registry_changed(registry: CanvasRegistry | None) -> JSONObject:
    """Make the action that replaces a chat's registry, or clears it."""
    action: JSONObject = {"type": CanvasAction.REGISTRY_CHANGED.value}
    return action if registry is None else {**action, REGISTRY: registry.to_json()}


def registry_requested() -> JSONObject:
    """Make the action by which a client asks for the registry of a cold chat."""
    return {"type": CanvasAction.REGISTRY_REQUESTED.value}
