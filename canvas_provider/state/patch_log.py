"""Documents as tables: a snapshot of each, and the patches since.

Knows SQL and nothing of files, threads or locks: each function works within a transaction that
its caller has begun. A commit adds one row. When the patches have become many, or longer than the
snapshot, a commit writes a new snapshot in their place, so that what is read stays bounded and
what is written is, on average, a small multiple of what changed.
"""

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any, Final, NamedTuple

from canvas_provider.errors import NotJSON, PatchError
from canvas_provider.state.difference import Operation
from canvas_provider.state.json import ensure_json
from canvas_provider.state.patch import apply
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

__all__ = ["SCHEMA", "DamagedLog", "Head", "find", "read", "rename", "write"]

# A row is never updated but by a new snapshot: SQLite would write all of it again. For the same
# reason the sums are in the newest patch, and what is short comes before what is long.
SCHEMA: Final = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    size INTEGER NOT NULL,
    snapshot TEXT NOT NULL
);
CREATE TABLE patches (
    document INTEGER NOT NULL REFERENCES documents,
    revision INTEGER NOT NULL,
    total INTEGER NOT NULL,
    operations TEXT NOT NULL,
    PRIMARY KEY (document, revision)
) WITHOUT ROWID;
"""

MAX_PATCHES: Final = 1000
"""Since a snapshot. Reading so many takes a few milliseconds."""

MIN_LOG: Final = 64 * 1024
"""Bytes that the patches may always have, however small the snapshot is."""


class DamagedLog(ValueError):
    """What is stored for one document cannot be understood; the text shows nothing of it."""


class Head(NamedTuple):
    """Where a document is, without reading it."""

    id: int
    revision: int
    base: int
    """The revision of the snapshot."""
    size: int
    """Bytes of the snapshot."""
    total: int
    """Bytes of the patches."""


def find(connection: Connection, key: str) -> Head | None:
    """Return the head of the document `key`, if there is one."""
    rows = connection.execute(
        "SELECT id, revision, size FROM documents WHERE key = ?", (_encode(key),)
    ).fetchall()
    if not rows:
        return None
    (number, base, size) = rows[0]
    latest = connection.execute(
        "SELECT revision, total FROM patches WHERE document = ? ORDER BY revision DESC LIMIT 1",
        (number,),
    ).fetchall()
    revision, total = latest[0] if latest else (base, 0)
    return Head(number, revision, base, size, total)


def read(connection: Connection, head: Head, known: Stored | None) -> Stored:
    """Return the document. Where an earlier revision is `known`, only what came since is read.

    Raises:
        DamagedLog: it cannot be understood.
    """
    if known is None or not head.base <= known.revision <= head.revision:
        rows = connection.execute("SELECT snapshot FROM documents WHERE id = ?", (head.id,))
        known = Stored(head.base, _parse(rows.fetchall()[0][0]))
    if known.revision == head.revision:
        return known
    rows = connection.execute(
        "SELECT revision, operations FROM patches WHERE document = ? AND revision > ?"
        " ORDER BY revision",
        (head.id, known.revision),
    )
    operations: list[Any] = []
    revision = known.revision
    for number, text in rows.fetchall():
        revision += 1
        found = _parse(text)
        if number != revision or not isinstance(found, list):
            raise DamagedLog("its log has a gap")
        operations += found
    try:
        return Stored(revision, apply(known.document, operations))
    except (PatchError, AttributeError):
        # The error of a patch names keys, which are the user's.
        raise DamagedLog("its log does not fit its snapshot") from None


def write(
    connection: Connection,
    key: str,
    head: Head | None,
    document: JSONValue,
    operations: Sequence[Operation],
) -> int:
    """Make `document` the revision after `head`, and return its number in the file."""
    if head is None:
        text, size = _text(document)
        added = connection.execute(
            "INSERT INTO documents (key, revision, size, snapshot) VALUES (?, 1, ?, ?)",
            (_encode(key), size, text),
        )
        assert added.lastrowid is not None, "a row was inserted"
        return added.lastrowid
    revision = head.revision + 1
    text, size = _text(operations)
    total = head.total + size
    # Whoever gives no operations, but another document, wants it stored as it is.
    if not operations or revision - head.base > MAX_PATCHES or total > max(MIN_LOG, head.size):
        text, size = _text(document)
        connection.execute(
            "UPDATE documents SET revision = ?, size = ?, snapshot = ? WHERE id = ?",
            (revision, size, text, head.id),
        )
        connection.execute("DELETE FROM patches WHERE document = ?", (head.id,))
    else:
        connection.execute(
            "INSERT INTO patches (document, revision, total, operations) VALUES (?, ?, ?, ?)",
            (head.id, revision, total, text),
        )
    return head.id


def rename(connection: Connection, head: Head, key: str) -> None:
    """Give the document another key, with all that is stored for it."""
    connection.execute("UPDATE documents SET key = ? WHERE id = ?", (_encode(key), head.id))


def _encode(key: str) -> bytes:
    # Any str can be a key, also one that no UTF-8 can carry.
    return key.encode("utf-8", "surrogatepass")


def _text(value: object) -> tuple[str, int]:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text, len(text) if text.isascii() else len(text.encode())


def _parse(text: object) -> JSONValue:
    try:
        if not isinstance(text, bytes):
            raise DamagedLog("it is not text")
        return ensure_json(json.loads(text.decode()))
    except UnicodeDecodeError:
        raise DamagedLog("it is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError, NotJSON):
        raise DamagedLog("it is not JSON") from None
