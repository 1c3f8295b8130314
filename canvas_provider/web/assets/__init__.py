"""The files every page may load, read once."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from canvas_provider.serving.headers import READABLE_BY_ALL
from canvas_provider.serving.responses import Header

__all__ = ["ASSETS", "read_asset"]

ASSETS: Final[Mapping[str, tuple[bytes, tuple[Header, ...]]]] = {
    "canvas.js": (b"text/javascript; charset=utf-8", (READABLE_BY_ALL,)),
    "canvas.css": (b"text/css; charset=utf-8", ()),
}
"""Content type and further headers of what is served under a fixed name."""


@cache
def read_asset(name: str) -> bytes:
    """The bytes of a file beside this module."""
    return files(__package__).joinpath(name).read_bytes()
