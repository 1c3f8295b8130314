"""What our development host asks of our extensions. Copilot sends nothing of it.

An extension that was made otherwise does not know these methods, and the host does without.
"""

from enum import StrEnum
from typing import Final, TypedDict

__all__ = ["PREFIX", "DevelopmentMethod", "DropStreamsResult", "SourcesResult"]

PREFIX: Final = "canvas_provider."


class DevelopmentMethod(StrEnum):
    """Requests, host to extension."""

    SOURCES = "canvas_provider.sources"
    """No parameters; answers `SourcesResult`."""

    DROP_STREAMS = "canvas_provider.dropStreams"
    """`{instanceId}`: cut the pages' event streams, as a bad line would."""


class SourcesResult(TypedDict):
    """Where the running code and its pages come from, as absolute paths."""

    modules: list[str]
    """Python files that were imported and belong to nobody's installed package."""

    pages: list[str]
    """Folders and HTML files."""


class DropStreamsResult(TypedDict):
    dropped: int
    """How many pages have lost theirs."""
