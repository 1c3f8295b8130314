"""What our development host asks of our extensions. Copilot sends nothing of it.

They are answered where `CANVAS_PROVIDER_DEVELOPMENT` is set, which the host does. An extension that
was made otherwise does not know these methods, and the host does without.
"""

from enum import StrEnum
from typing import Final, NotRequired, TypedDict

from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "PREFIX",
    "DevelopmentMethod",
    "DropStreamsResult",
    "HistoryResult",
    "RevisionResult",
    "SourcesResult",
]

PREFIX: Final = "canvas_provider."


class DevelopmentMethod(StrEnum):
    """Requests, host to extension."""

    SOURCES = "canvas_provider.sources"
    """No parameters; answers `SourcesResult`."""

    DROP_STREAMS = "canvas_provider.dropStreams"
    """`{instanceId}`: cut the pages' event streams, as a bad line would."""

    HISTORY = "canvas_provider.history"
    """`{instanceId, after?}`; answers `HistoryResult`, at the latest in ten seconds. While the
    document is at the version `after`, it waits for another one."""

    UNDO = "canvas_provider.undo"
    """`{instanceId, revision?}`: take a revision back, as the person; answers `RevisionResult`."""

    REDO = "canvas_provider.redo"
    """`{instanceId}`: take the newest undo back, as the person; answers `RevisionResult`."""


class SourcesResult(TypedDict):
    """Where the running code and its pages come from, as absolute paths."""

    modules: list[str]
    """Python files that were imported and belong to nobody's installed package."""

    pages: list[str]
    """Folders and HTML files."""


class DropStreamsResult(TypedDict):
    dropped: int
    """How many pages have lost theirs."""


class RevisionResult(TypedDict):
    """`state.Revision`, as JSON."""

    number: int
    previous: int
    author: str
    action: str | None
    time: float
    """Unix seconds."""
    ops: list[JSONObject]
    """RFC 6902; applied to the revision `previous`, they give this one."""
    inverse: list[JSONObject]
    reverts: int | None


class HistoryResult(TypedDict):
    """The document of an instance. One without a state has no version and nothing else."""

    version: str | None
    """Opaque: it names the document, too. Send it as `after`."""
    revision: NotRequired[int]
    state: NotRequired[JSONValue]
    revisions: NotRequired[list[RevisionResult]]
    """What is remembered, oldest first."""
