"""Documents as tables: a snapshot of each, and the patches that led there and on from there.

Knows SQL and nothing of files, threads or locks: each function works within a transaction that
its caller has begun. A commit adds one row, which is a revision. When the patches since the
snapshot have become many, or longer than it is, a commit writes a new one, so that what is read
stays bounded and what is written is, on average, a small multiple of what changed. Only then it
lets go of rows, of those before the snapshot that are too old, or too much, for a history.
"""

import json
from sqlite3 import Connection
from typing import Any, Final, NamedTuple, get_args

from canvas_provider.errors import NotJSON, PatchError
from canvas_provider.state.history import MAX_REVISIONS, MAX_SIZE, Revision
from canvas_provider.state.json import ensure_json
from canvas_provider.state.patch import apply
from canvas_provider.state.store import Stored
from canvas_provider.types import Author, JSONValue

__all__ = [
    "MIGRATIONS",
    "SCHEMA",
    "DamagedLog",
    "Head",
    "find",
    "read",
    "read_history",
    "rename",
    "write",
]

# A row is never updated but by a new snapshot: SQLite would write all of it again. For the same
# reason the sums are in the newest patch, and what is short comes before what is long.
_DOCUMENTS: Final = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    size INTEGER NOT NULL,
    snapshot TEXT NOT NULL
);
"""

_PATCHES: Final = """
CREATE TABLE patches (
    document INTEGER NOT NULL REFERENCES documents,
    revision INTEGER NOT NULL,
    total INTEGER NOT NULL,
    size INTEGER NOT NULL,
    time REAL NOT NULL,
    author TEXT NOT NULL,
    action TEXT,
    reverts INTEGER, -- below 0 in a redo
    operations TEXT NOT NULL,
    inverse TEXT,
    PRIMARY KEY (document, revision)
) WITHOUT ROWID;
"""

SCHEMA: Final = _DOCUMENTS + _PATCHES

MIGRATIONS: Final = {
    # Who made the patches was not written down: they are a log, and no history.
    1: f"""
ALTER TABLE patches RENAME TO old_patches;
{_PATCHES}
INSERT INTO patches
    SELECT document, revision, total, 0, 0, 'system', NULL, NULL, operations, NULL
    FROM old_patches;
DROP TABLE old_patches;
"""
}
"""What makes of each earlier format the next one."""

MAX_PATCHES: Final = 1000
"""Since a snapshot. Reading so many takes a few milliseconds."""

MIN_LOG: Final = 64 * 1024
"""Bytes that the patches may always have, however small the snapshot is."""

ROW_SIZE: Final = 50
"""Bytes of a row beside its patches."""

_AUTHORS: Final = frozenset(get_args(Author))


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
    """Bytes of the patches since the snapshot."""


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
    except PatchError:
        # The error of a patch names keys, which are the user's.
        raise DamagedLog("its log does not fit its snapshot") from None


def read_history(connection: Connection, head: Head, since: int) -> list[Revision]:
    """Return the latest revisions after `since`, as far as they are known and make a chain."""
    if since == head.revision:
        return []
    rows = connection.execute(
        "SELECT revision, size, time, author, action, reverts, operations, inverse FROM patches"
        " WHERE document = ? AND revision > ? ORDER BY revision DESC LIMIT ?",
        (head.id, since, MAX_REVISIONS),
    )
    found: list[Revision] = []
    total = 0
    for number, size, *rest in rows:
        total += size
        if number != head.revision - len(found) or total > MAX_SIZE:
            break
        try:
            found.append(_revision(number, *rest))
        except (DamagedLog, ValueError, AttributeError):
            # A history is no reason to refuse a document that can be read.
            break
    found.reverse()
    return found


def _revision(
    number: int,
    time: float,
    author: bytes,
    action: bytes | None,
    reverts: int | None,
    operations: bytes,
    inverse: bytes | None,
) -> Revision:
    name: Any = author.decode()
    ops, back = _parse(operations), _parse(inverse)
    if name not in _AUTHORS or not isinstance(ops, list) or not isinstance(back, list):
        raise DamagedLog("a revision is none")
    made_by = None if action is None else action.decode()
    steps: Any = (ops, back)
    undid = None if reverts is None else abs(reverts)
    is_redo = reverts is not None and reverts < 0
    previous = number - 1
    return Revision(
        number, steps[0], name, made_by, float(time), previous, steps[1], undid, is_redo
    )


def write(
    connection: Connection,
    key: str,
    head: Head | None,
    document: JSONValue,
    revision: Revision,
) -> int:
    """Make `document` the revision after `head`, and return its number in the file."""
    number = 1 if head is None else head.revision + 1
    (operations, long), (inverse, longer) = _text(revision.ops), _text(revision.inverse)
    size = long + longer + ROW_SIZE
    total = 0 if head is None else head.total + size
    # Whoever gives no operations, but another document, wants it stored as it is.
    if (
        head is None
        or not revision.ops
        or number - head.base > MAX_PATCHES
        or total > max(MIN_LOG, head.size)
    ):
        row, total = _write_snapshot(connection, key, head, number, document), 0
        spare = MAX_SIZE - size if revision.ops else 0
        _forget(connection, row, spare)
        if spare <= 0:
            return row
    else:
        row = head.id
    action = revision.action
    connection.execute(
        "INSERT INTO patches (document, revision, total, size, time, author, action, reverts,"
        " operations, inverse) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row,
            number,
            total,
            size,
            revision.time,
            revision.author,
            # Whatever an author calls an action, its name is no reason for a commit to fail.
            None if action is None else action.encode("utf-8", "replace").decode(),
            -revision.reverts if revision.reverts and revision.is_redo else revision.reverts,
            operations,
            inverse,
        ),
    )
    return row


def _write_snapshot(
    connection: Connection, key: str, head: Head | None, number: int, document: JSONValue
) -> int:
    text, size = _text(document)
    if head is not None:
        connection.execute(
            "UPDATE documents SET revision = ?, size = ?, snapshot = ? WHERE id = ?",
            (number, size, text, head.id),
        )
        return head.id
    added = connection.execute(
        "INSERT INTO documents (key, revision, size, snapshot) VALUES (?, ?, ?, ?)",
        (_encode(key), number, size, text),
    )
    assert added.lastrowid is not None, "a row was inserted"
    return added.lastrowid


def _forget(connection: Connection, row: int, spare: int) -> None:
    """Delete the patches of a document but for the latest, of `spare` bytes at most."""
    rows = connection.execute(
        "SELECT revision, size FROM patches WHERE document = ? ORDER BY revision DESC", (row,)
    )
    for kept, (revision, size) in enumerate(rows):
        spare -= size
        if spare < 0 or kept == MAX_REVISIONS - 1:
            rows.close()
            connection.execute(
                "DELETE FROM patches WHERE document = ? AND revision <= ?", (row, revision)
            )
            break


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
