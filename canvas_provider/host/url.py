"""Which addresses a provider may open: those that the runtime can read, of three schemes.

Copilot CLI 1.0.102 reads them as browsers do (WHATWG URL), and has one text for what it cannot read
and what it does not allow (observed). Here is as much of that as tells an address from a typing
error; numbers that are no IPv4 address pass.
"""

import ipaddress
import re
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

__all__ = ["is_allowed_url"]

SCHEMES: Final = frozenset({"http", "https", "file"})

AROUND: Final = "".join(map(chr, range(0x21)))
"""What is ignored in front of an address and behind it: control characters and space."""

WITHIN: Final = str.maketrans("", "", "\t\r\n")
"""What is ignored in it."""

AUTHORITY: Final = re.compile(r"[/\\]*(?:[^/\\?#]*@)?(?P<host>\[[^\]]*\]|[^:/\\?#]*)(?::(\d*))?")

FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
"""What no host has, after its %41 have become letters."""

MAX_PORT: Final = 65535


def is_allowed_url(url: str) -> bool:
    """Whether the runtime takes it."""
    scheme, colon, rest = url.strip(AROUND).translate(WITHIN).partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in SCHEMES:
        return False
    return scheme == "file" or _has_host(rest)


def _has_host(rest: str) -> bool:
    found = AUTHORITY.match(rest)
    if found is None or rest[found.end() : found.end() + 1] not in ("", "/", "\\", "?", "#"):
        return False
    host, port = found["host"], found[2]
    if int(port or 0) > MAX_PORT:
        return False
    if host.startswith("["):
        with suppress(ValueError):
            return bool(ipaddress.IPv6Address(host[1:-1]))
        return False
    return bool(host) and FORBIDDEN.search(unquote(host)) is None
