"""The files every page may load, read once."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from canvas_provider.serving.headers import READABLE_BY_ALL
from canvas_provider.serving.responses import Header

__all__ = ["ASSETS", "DEVELOPMENT_ASSETS", "Asset", "read_asset"]


class Asset(NamedTuple):
    """What is served under a fixed name."""

    name: str
    content_type: bytes
    headers: tuple[Header, ...] = ()
    suffix: bytes = b""
    """What is added to the file."""

    def read(self) -> bytes:
        return read_asset(self.name) + self.suffix


SCRIPT: Final = b"text/javascript; charset=utf-8"

ASSETS: Final[Mapping[str, Asset]] = {
    "canvas.js": Asset("canvas.js", SCRIPT, (READABLE_BY_ALL,)),
    "canvas.css": Asset("canvas.css", b"text/css; charset=utf-8"),
}
"""What every page may load, by path."""

DEVELOPMENT_ASSETS: Final[Mapping[str, Asset]] = {
    **ASSETS,
    "canvas.js": ASSETS["canvas.js"]._replace(suffix=b'\nimport "./development.js";\n'),
    "development.js": Asset("development.js", SCRIPT, (READABLE_BY_ALL,)),
}
"""The same in the development host, whose frames are looked into and themed."""


@cache
def read_asset(name: str) -> bytes:
    """The bytes of a file beside this module."""
    return files(__package__).joinpath(name).read_bytes()
