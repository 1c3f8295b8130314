"""File names for keys: readable where the key is, safe always, and never two keys in one file.

Names must survive case-insensitive and normalising file systems and Windows' reserved names, so
that everything but lower-case ASCII letters, digits, `-` and `_` is percent-encoded.
"""

from hashlib import sha256
from typing import Final

__all__ = ["LONGEST", "file_name"]

LONGEST: Final = 180
"""Characters of a name without its suffixes; file systems take 255 bytes in all."""

_SAFE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_RESERVED: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)


def file_name(key: str) -> str:
    """Return the name for `key`, without a suffix. It holds no dot, slash or capital letter."""
    encoded = "".join(
        chr(byte) if byte in _SAFE else f"%{byte:02x}"
        for byte in key.encode("utf-8", "surrogatepass")
    )
    if encoded in _RESERVED:
        return f"%{ord(encoded[0]):02x}{encoded[1:]}"
    if len(encoded) <= LONGEST:
        # A tilde appears in no other name.
        return encoded or "~"
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{encoded[: LONGEST - 65]}~{digest}"
