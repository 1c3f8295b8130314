"""JSON for people: indented, but what fits on a line stays on one, so a card is a line.

`json.dumps(indent=2)` runs in pure Python and spreads each object over as many lines as it has
fields. Here C encodes everything that fits, and lines stay comparable in a version control system.
"""

from json.encoder import JSONEncoder
from typing import Final

from canvas_provider.types import JSONValue

__all__ = ["WIDTH", "pretty"]

WIDTH: Final = 100
"""Longest line, in characters, that an object or array is kept on."""

_encode: Final = JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def pretty(value: JSONValue, indent: str = "") -> str:
    """Return `value` as JSON text, without a final line feed."""
    if not value or not isinstance(value, (dict, list)):
        return _encode(value)
    # Whatever has more items than characters allow need not be tried.
    if len(value) * 3 < WIDTH:
        line = _encode(value)
        if len(indent) + len(line) <= WIDTH:
            return line
    inner = indent + "  "
    if isinstance(value, dict):
        rows = [f"{inner}{_encode(key)}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    rows = [inner + pretty(item, inner) for item in value]
    return "[\n" + ",\n".join(rows) + f"\n{indent}]"
