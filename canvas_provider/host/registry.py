"""What providers declared: which canvas is meant, and which input it takes.

The checks and their texts are those of Copilot CLI 1.0.102, and so is what it lets pass: blank
descriptions, duplicate action names, any characters in an id. Knows no instances.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, cast

from canvas_provider.errors import CanvasProviderError
from canvas_provider.host.validation import Schema, UncompilableSchema, to_text
from canvas_provider.protocol.copilot import CanvasDeclaration, DiscoveredCanvas
from canvas_provider.types import JSONValue, Missing

__all__ = ["DeclaredCanvas", "HostRefusal", "Provider", "Registry", "describe_type"]


class HostRefusal(CanvasProviderError):
    """The runtime did not do what was asked; the text is what the real one answers.

    `method` is the request that failed and `message` the reason without it. `data` is what a
    provider sent beside its message, if the reason is its: the real runtime drops that, so nobody
    but a test should look at it.
    """

    def __init__(self, message: str, *, method: str | None = None, data: JSONValue = None) -> None:
        super().__init__(message)
        self.message = message
        self.method = method
        self.data = data

    def __str__(self) -> str:
        if self.method is None:
            return self.message
        return f"Request {self.method} failed with message: {self.message}"


@dataclass(frozen=True, slots=True)
class DeclaredCanvas:
    """One canvas of one provider, with its schemas compiled."""

    extension_id: str
    extension_name: str
    declaration: CanvasDeclaration
    open_schema: Schema
    action_schemas: dict[str, Schema]
    """By action name; of two actions with one name the last counts."""
    icon: str | None
    """Absolute, unlike in the declaration."""

    @property
    def id(self) -> str:
        return self.declaration["id"]

    def describe(self) -> DiscoveredCanvas:
        """Return what `session.canvas.list` tells of it."""
        described: DiscoveredCanvas = {
            "extensionId": self.extension_id,
            "extensionName": self.extension_name,
            "canvasId": self.id,
            "displayName": self.declaration["displayName"],
            "description": self.declaration["description"],
        }
        if self.icon is not None:
            described["icon"] = self.icon
        if self.declaration.get("inputSchema") is not None:
            described["inputSchema"] = self.declaration["inputSchema"]
        if (actions := self.declaration.get("actions")) is not None:
            described["actions"] = actions
        return described

    def check_open_input(self, value: JSONValue | Missing) -> None:
        """Refuse input that does not fit; absent input is `{}`, null is null."""
        if found := self.open_schema.explain({} if isinstance(value, Missing) else value):
            raise HostRefusal(
                f'Invalid input for canvas "{self.id}" open input: {found}. '
                "Inspect the canvas declaration for the expected input schema."
            )

    def check_action_input(self, action: str, value: JSONValue | Missing) -> None:
        """Refuse an unknown action, or input that does not fit it."""
        if action not in self.action_schemas:
            known = ", ".join(self.action_schemas) or "(none declared)"
            raise HostRefusal(
                f'Unknown action "{action}" on canvas "{self.id}". Known actions: [{known}]. '
                "Call list_canvas_capabilities to inspect the expected input schemas."
            )
        schema = self.action_schemas[action]
        if found := schema.explain({} if isinstance(value, Missing) else value):
            raise HostRefusal(
                f'Invalid input for action "{action}" on canvas "{self.id}": {found}. '
                "Call list_canvas_capabilities to inspect the expected input schema."
            )


@dataclass(slots=True)
class Provider:
    """One connected extension."""

    extension_id: str
    extension_name: str
    directory: str
    """Where relative icons are."""
    canvases: dict[str, DeclaredCanvas] = field(default_factory=dict)

    def declare(self, contributions: JSONValue) -> bool:
        """Replace the canvases; False if there was nothing to replace them with.

        An empty list, null and whatever is no list leave the old set in place.

        Raises:
            HostRefusal: a declaration the runtime does not take.
        """
        if not isinstance(contributions, list) or not contributions:
            return False
        declarations = [_parse(item) for item in contributions]
        canvases: dict[str, DeclaredCanvas] = {}
        for declaration in declarations:
            canvas = self._compile(declaration)
            if canvas.id in canvases:
                label = f"{self.extension_id}/{canvas.id}"
                raise HostRefusal(f'Canvas "{label}" was declared more than once.')
            canvases[canvas.id] = canvas
        self.canvases = canvases
        return True

    def _compile(self, declaration: CanvasDeclaration) -> DeclaredCanvas:
        canvas_id = declaration["id"]
        if not canvas_id:
            raise HostRefusal("Canvas contributions must include an id.")
        actions = declaration.get("actions") or []
        for action in actions:
            if action["name"].startswith("canvas."):
                raise HostRefusal(
                    'Canvas action names beginning with "canvas." are reserved: ' + action["name"]
                )
        try:
            open_schema = Schema(declaration.get("inputSchema"))
            action_schemas: dict[str, Schema] = {}
            for action in actions:
                action_schemas[action["name"]] = Schema(action.get("inputSchema"))
        except UncompilableSchema as error:
            message = f'Failed to compile JSON schema for canvas "{canvas_id}".'
            raise HostRefusal(message) from error
        return DeclaredCanvas(
            self.extension_id,
            self.extension_name,
            declaration,
            open_schema,
            action_schemas,
            self._locate_icon(canvas_id, declaration.get("icon")),
        )

    def _locate_icon(self, canvas_id: str, icon: object) -> str | None:
        if icon is None:
            return None
        path = PurePath(icon if isinstance(icon, str) else "")
        if not icon or not isinstance(icon, str) or path.is_absolute():
            raise HostRefusal(f"canvas {canvas_id} icon must be a relative path")
        if ".." in path.parts:
            raise HostRefusal(f"canvas {canvas_id} icon escapes the extension directory")
        if path.suffix.lower() != ".png":
            raise HostRefusal(f"canvas {canvas_id} icon must be a .png")
        return str(PurePath(self.directory, path))


class Registry:
    """The connected providers, in the order in which they came."""

    def __init__(self) -> None:
        self._providers: dict[str, Provider] = {}

    def __iter__(self) -> Iterator[Provider]:
        return iter(self._providers.values())

    def add(self, provider: Provider) -> None:
        if provider.extension_id in self._providers:
            raise HostRefusal(f'Extension "{provider.extension_id}" is already connected.')
        self._providers[provider.extension_id] = provider

    def get(self, extension_id: str) -> Provider | None:
        return self._providers.get(extension_id)

    def remove(self, extension_id: str) -> Provider | None:
        return self._providers.pop(extension_id, None)

    def describe(self) -> list[DiscoveredCanvas]:
        return [canvas.describe() for each in self for canvas in each.canvases.values()]

    def find(self, extension_id: str, canvas_id: str) -> DeclaredCanvas | None:
        provider = self.get(extension_id)
        return provider.canvases.get(canvas_id) if provider else None

    def resolve(self, canvas_id: str, extension_id: str | None) -> DeclaredCanvas:
        """Find the canvas that a caller means.

        Raises:
            HostRefusal: there is none, or there are several and no `extension_id` chooses.
        """
        if extension_id is not None:
            if canvas := self.find(extension_id, canvas_id):
                return canvas
            raise HostRefusal(f'Canvas "{extension_id}/{canvas_id}" is not registered.')
        found = [each.canvases[canvas_id] for each in self if canvas_id in each.canvases]
        if not found:
            raise HostRefusal(f'No canvas "{canvas_id}" is registered.')
        if len(found) > 1:
            owners = ", ".join(f'"{canvas.extension_id}"' for canvas in found)
            raise HostRefusal(
                f'Canvas "{canvas_id}" is provided by multiple extensions ({owners}). '
                f"Call open_canvas again with extensionId set to one of: {owners}."
            )
        return found[0]


def _parse(item: JSONValue) -> CanvasDeclaration:
    """Check the shape of one declaration, in the words of the runtime's parser."""
    canvas = _struct(item, "CanvasContributionWire", required=("id", "displayName", "description"))
    actions = canvas.get("actions")
    if actions is not None:
        if not isinstance(actions, list):
            raise _unexpected(actions, "a sequence")
        for action in actions:
            _struct(action, "CanvasActionWire", required=("name",), optional=("description",))
    return cast(CanvasDeclaration, canvas)


def _struct(
    item: Any, name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise _unexpected(item, f"struct {name}")
    for key, value in item.items():
        is_text = key in required or (key in optional and value is not None)
        if is_text and not isinstance(value, str):
            raise _unexpected(value, "a string")
    for key in required:
        if key not in item:
            raise HostRefusal(f"invalid canvas contributions: missing field `{key}`")
    return item


def _unexpected(value: Any, expected: str) -> HostRefusal:
    found = describe_type(value)
    return HostRefusal(f"invalid canvas contributions: invalid type: {found}, expected {expected}")


def describe_type(value: JSONValue) -> str:
    """Name what was found instead of what was expected, as serde does."""
    match value:
        case bool():
            return f"boolean `{to_text(value)}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f"string {to_text(value)}"
        case list():
            return "sequence"
        case dict():
            return "map"
    return "null"
