"""What an extension asks of its session beside canvases: shapes of parameters and answers.

Source: `api.schema.json` of copilot-sdk 1.0.27 and its `nodejs/src/types.ts`; the comments say what
was observed with Copilot CLI 1.0.102.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "Attachment",
    "BlobAttachment",
    "DirectoryAttachment",
    "ElicitationResult",
    "ExtensionContextAttachment",
    "ExtensionInfo",
    "FileAttachment",
    "ModelSwitched",
    "SelectionAttachment",
]


class FileAttachment(TypedDict):
    type: Literal["file"]
    path: str
    displayName: NotRequired[str]


class DirectoryAttachment(TypedDict):
    type: Literal["directory"]
    path: str
    displayName: NotRequired[str]


class SelectionAttachment(TypedDict):
    type: Literal["selection"]
    filePath: str
    displayName: str
    selection: NotRequired[JSONObject]
    """`{"start": {"line", "character"}, "end": {…}}`."""
    text: NotRequired[str]


class BlobAttachment(TypedDict):
    type: Literal["blob"]
    data: str
    """Base64."""
    mimeType: str
    displayName: NotRequired[str]


class ExtensionContextAttachment(TypedDict):
    """Data of ours: the model reads it as `<extension_context title="…"><payload>…`."""

    type: Literal["extension_context"]
    title: str
    payload: JSONValue
    extensionId: NotRequired[str]
    """`ctx.session` fills in this and where else it comes from."""


Attachment: TypeAlias = (
    FileAttachment
    | DirectoryAttachment
    | SelectionAttachment
    | BlobAttachment
    | ExtensionContextAttachment
    | JSONObject
)
"""The schema lists a dozen more, which point to things on GitHub: a plain dict takes them."""


class ElicitationResult(TypedDict):
    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[JSONObject]
    """What the person filled in; there if they accepted."""


class ExtensionInfo(TypedDict):
    id: str
    """With its source, as in `project:kanban`."""
    name: str
    source: str
    """`project`, `user`, `plugin` or `session`."""
    status: str
    """`starting`, `running`, `failed` or `disabled`."""
    pid: NotRequired[int]


class ModelSwitched(TypedDict, total=False):
    modelId: str
    deferred: bool
    """True: a turn is under way, and the change waits for its end."""
    status: str
    message: str
    warning: str
