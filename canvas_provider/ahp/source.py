"""Which addresses may be read for a client, and how they have to look. Pure.

A source is the `url` of a live canvas. It opens the door to itself and to its origin (the Canvas
channel: hosts SHOULD serve reads of other URLs on its origin). That is exact: scheme, host and
port, and the first segment of the path where that is a secret, as in our own canvases, because
several of them could share a port.

An address is parsed by nobody's URL library: each forgives something else, and what one forgives
another takes for a different host. It has one spelling, `http://127.0.0.1:PORT/…`, in the
characters of RFC 3986; anything else is no address of a canvas. There are no names in it, so
nothing is ever looked up, and no certificates, because nobody has one for 127.0.0.1.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes, urljoin

__all__ = ["Address", "find_address", "find_redirect"]

MAX_LENGTH: Final = 8192
"""Characters of an address."""

CHARACTERS: Final = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?#]|%[0-9A-Fa-f]{2})*")
"""RFC 3986, section 2; without the brackets of IPv6."""

ADDRESS: Final = re.compile(
    r"http://127\.0\.0\.1(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?"
)

SECRET: Final = re.compile(r"/[A-Za-z0-9_-]{22,}/")
"""The first segment of a path, if it is long enough for 128 bits and has something below it."""

DOTS: Final = frozenset({".", ".."})

HIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\\]")
"""What no file of a page has in its name, and some servers take for something else."""

MAX_PORT: Final = 65535


class Address(NamedTuple):
    """An address that can be asked for, as it is sent."""

    port: int
    path: str
    """Without dot segments."""
    query: str
    """With its question mark, or empty."""

    def __repr__(self) -> str:
        return "<Address>"

    @property
    def url(self) -> str:
        """The whole. A secret: it holds the canvas's token."""
        return f"http://127.0.0.1:{self.port}{self.path}{self.query}"


def find_address(uri: str, sources: Iterable[str]) -> Address | None:
    """Return what to ask for, if `uri` is one of the sources or on the origin of one."""
    address = _parse(uri)
    if address is None:
        return None
    known = (source for source in map(_parse, sources) if source is not None)
    return address if any(_covers(source, address) for source in known) else None


def find_redirect(location: str, base: Address, sources: Iterable[str]) -> Address | None:
    """Return where a `Location` leads, by the same rules as `find_address`."""
    # Before they are joined: urljoin() leaves out what it does not like.
    if not _is_spelled(location):
        return None
    try:
        uri = urljoin(base.url, location)
    except ValueError:
        return None
    return find_address(uri, sources)


def _covers(source: Address, address: Address) -> bool:
    if source.port != address.port:
        return False
    secret = SECRET.match(source.path)
    return secret is None or address.path.startswith(secret[0])


def _parse(uri: str) -> Address | None:
    found = ADDRESS.fullmatch(uri) if _is_spelled(uri) else None
    if found is None or int(found["port"] or 80) > MAX_PORT:
        return None
    path = _without_dots(found["path"] or "/")
    if _is_ambiguous(path):
        return None
    return Address(int(found["port"] or 80), path, found["query"] or "")


def _is_spelled(uri: str) -> bool:
    return len(uri) <= MAX_LENGTH and CHARACTERS.fullmatch(uri) is not None


def _without_dots(path: str) -> str:
    """Resolve what stands there as `.` and `..` (RFC 3986, section 5.2.4)."""
    segments = path.split("/")[1:]
    if segments[-1] in DOTS:
        segments.append("")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept)


def _is_ambiguous(path: str) -> bool:
    """Whether some server would see another path in it, after decoding it once or more."""
    while True:
        segments = path.split("/")
        # What follows a semicolon is a parameter to some, and `..;` a parent.
        if HIDDEN.search(path) or any(segment.partition(";")[0] in DOTS for segment in segments):
            return True
        try:
            decoded = unquote_to_bytes(path).decode()
        except UnicodeDecodeError:
            return True
        if decoded == path:
            return False
        if decoded.count("/") != path.count("/"):
            return True
        path = decoded
