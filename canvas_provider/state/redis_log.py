"""Documents as two keys of Redis: what is stored there, and how it is written and read.

    PREFIX:{KEY}:document  a hash: `snapshot`, the JSON of revision `base`, `size` bytes long;
                           `revision` and `stamp` of the latest commit; `total`, the bytes of the
                           log since the snapshot; `format`
    PREFIX:{KEY}:log       a list: one entry for each of the latest revisions, without a gap
    PREFIX:{KEY}:news      the channel on which `REVISION STAMP` is published by each commit
    PREFIX:{KEY}:present   see `redis_presence`

An entry is the stamp of its commit, which is random, and a JSON array. Revision numbers come again
when a server loses its data, or goes back to older data; stamps do not. So a commit names the stamp
that it builds on, and one that is sent twice is recognised by its own.

The braces put both keys into one slot of a cluster. Knows the arguments of scripts and their
replies, and nothing of connections.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import quote_from_bytes

from canvas_provider.errors import NotJSON, PatchError, StoreError
from canvas_provider.state.history import MAX_REVISIONS, MAX_SIZE, Revision
from canvas_provider.state.json import ensure_json
from canvas_provider.state.patch import apply
from canvas_provider.types import Author, JSONValue

__all__ = [
    "DamagedLog",
    "Head",
    "Keys",
    "Known",
    "commit_arguments",
    "is_due",
    "load_arguments",
    "name_keys",
    "new_stamp",
    "parse_news",
    "read",
    "write_entry",
]

FORMAT: Final = 1
"""What is stored how; a document of another format is left alone."""

MAX_PATCHES: Final = 1000
"""Since a snapshot. Reading so many takes a few milliseconds."""

MIN_LOG: Final = 64 * 1024
"""Bytes that the log may always have, however small the snapshot is."""

STAMP_LENGTH: Final = 16

_AUTHORS: Final = frozenset(get_args(Author))


class DamagedLog(ValueError):
    """What is stored for one document cannot be understood; the text shows nothing of it."""


class Keys(NamedTuple):
    """What belongs to one document."""

    document: str
    log: str
    news: str
    present: str


class Head(NamedTuple):
    """Where a document is, without reading it. All zero where there is none."""

    revision: int = 0
    stamp: str = ""
    base: int = 0
    """The revision of the snapshot."""
    size: int = 0
    """Bytes of the snapshot."""
    total: int = 0
    """Bytes of the log since the snapshot."""


class Known(NamedTuple):
    """A document as it was last read or written here."""

    head: Head
    document: JSONValue


def name_keys(prefix: str, key: str) -> Keys:
    """Return where the document `key` is. Any text is a key, and no two are at the same place."""
    # The quoted form of no key is a single `%`; without anything in them, braces mean nothing.
    quoted = quote_from_bytes(key.encode("utf-8", "surrogatepass"), safe="") or "%"
    place = f"{prefix}:{{{quoted}}}"
    return Keys(*(f"{place}:{what}" for what in ("document", "log", "news", "present")))


def new_stamp() -> str:
    """Return what no other commit has."""
    return secrets.token_hex(STAMP_LENGTH // 2)


def parse_news(data: bytes) -> tuple[int, str] | None:
    """Read what a commit has published: its revision and stamp."""
    number, _, stamp = data.decode("ascii", "replace").partition(" ")
    return (int(number), stamp) if number.isdecimal() and stamp else None


def is_due(head: Head | None, revision: Revision) -> bool:
    """Say whether a commit after `head`, where that is known, has to bring the whole document."""
    if revision.number == 1 or not revision.ops:
        return True
    if head is None:
        # Whoever commits next knows.
        return False
    return revision.number - head.base > MAX_PATCHES or head.total > max(MIN_LOG, head.size)


def write_entry(stamp: str, revision: Revision) -> bytes:
    """Return the entry of a revision in the log."""
    action = revision.action
    if action is not None:
        # Whatever an author calls an action, its name is no reason for a commit to fail.
        action = action.encode("utf-8", "replace").decode()
    fields = [
        revision.number,
        revision.time,
        revision.author,
        action,
        revision.reverts,
        revision.is_redo,
        revision.ops,
        revision.inverse,
    ]
    return stamp.encode() + _text(fields)


def commit_arguments(
    keys: Keys,
    onto: Head | None,
    stamp: str,
    revision: Revision,
    snapshot: bytes,
    entry: bytes,
    expire_ms: int,
) -> list[bytes | str | int]:
    """Return the arguments of `redis_scripts.COMMIT`; an empty `snapshot` is none."""
    expected = revision.number - 1
    before = "" if onto is None else onto.stamp
    return [
        FORMAT, expected, before, stamp, entry, snapshot,
        revision.number, MAX_REVISIONS, MAX_SIZE, expire_ms, keys.news,
    ]  # fmt: skip


def load_arguments(known: Known | None, since: int) -> list[bytes | str | int]:
    """Return the arguments of `redis_scripts.LOAD`."""
    head = Head() if known is None else known.head
    return [head.revision, head.stamp, since, MAX_REVISIONS, FORMAT]


def read(
    reply: Sequence[Any], known: Known | None, since: int
) -> tuple[Known, list[Revision], list[str]]:
    """Return the document, its history after `since`, and the stamps of what was read.

    Raises:
        DamagedLog: it cannot be understood.
        StoreError: a newer version has written it.
    """
    if not reply:
        return Known(Head(), None), [], []
    if reply[0] != b"found":
        raise refusal(reply)
    head = parse_head(reply[1:6])
    snapshot, texts = reply[6], reply[7]
    if snapshot is None:
        assert known is not None, "only who has a document is spared the snapshot"
        base, document = known.head.revision, known.document
    else:
        base, document = head.base, _parse(snapshot)
    entries = [_Entry.parse(text) for text in texts]
    first = head.revision - len(entries) + 1
    if first > base + 1 or any(
        entry.number != number for number, entry in enumerate(entries, first)
    ):
        raise DamagedLog("its log has a gap")
    operations = [step for entry in entries if entry.number > base for step in entry.ops]
    try:
        document = apply(document, operations)
    except PatchError:
        # The error of a patch names keys, which are the user's.
        raise DamagedLog("its log does not fit its snapshot") from None
    stamps = [entry.stamp for entry in entries]
    return Known(head, document), _history(entries, since), stamps


def refusal(reply: Sequence[Any]) -> Exception:
    """Return why a script did nothing."""
    if reply[0] == b"format":
        return StoreError(
            f"the document was written by another version of canvas_provider (format "
            f"{reply[1].decode('ascii', 'replace')}): use that one, or a newer one",
            told="The state was written by a newer version of this extension's framework.",
        )
    return DamagedLog("what belongs to it is missing")


def parse_head(fields: Sequence[Any]) -> Head:
    """Read where a document is: revision, stamp, base, size and total."""
    revision, stamp, base, size, total = fields
    try:
        return Head(int(revision), stamp.decode("ascii"), int(base), int(size), int(total))
    except (TypeError, ValueError, AttributeError):
        raise DamagedLog("its numbers are none") from None


def encode_document(document: JSONValue) -> bytes:
    """Return a document as it is stored."""
    return _text(document)


class _Entry(NamedTuple):
    """One revision in the log, as far as it had to be understood."""

    number: int
    stamp: str
    size: int
    ops: list[Any]
    rest: list[Any]

    @classmethod
    def parse(cls, text: bytes) -> "_Entry":
        stamp = text[:STAMP_LENGTH].decode("ascii", "replace")
        fields = _parse(text[STAMP_LENGTH:])
        if not isinstance(fields, list) or len(fields) != 8:
            raise DamagedLog("its log cannot be read")
        number, *rest, ops, inverse = fields
        if not isinstance(number, int) or not isinstance(ops, list):
            raise DamagedLog("its log cannot be read")
        return cls(number, stamp, len(text), ops, [*rest, inverse])

    def revision(self) -> Revision | None:
        """Return it for a history; `None` where that is not known or not understood."""
        time, author, action, reverts, is_redo, inverse = self.rest
        if (
            not self.ops
            or author not in _AUTHORS
            or not isinstance(time, int | float)
            or not isinstance(action, str | None)
            or not isinstance(reverts, int | None)
            or not isinstance(inverse, list)
        ):
            return None
        return Revision(
            self.number, self.ops, author, action, float(time), self.number - 1, inverse,
            reverts, is_redo is True,
        )  # fmt: skip


def _history(entries: Sequence[_Entry], since: int) -> list[Revision]:
    """Return the latest revisions after `since`, as far as they are known and make a chain."""
    found: list[Revision] = []
    spare = MAX_SIZE
    for entry in reversed(entries):
        spare -= entry.size
        if entry.number <= since or spare < 0 or len(found) == MAX_REVISIONS:
            break
        revision = entry.revision()
        if revision is None:
            # A history is no reason to refuse a document that can be read.
            break
        found.append(revision)
    found.reverse()
    return found


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _parse(text: bytes) -> JSONValue:
    try:
        return ensure_json(json.loads(text.decode()))
    except UnicodeDecodeError:
        raise DamagedLog("it is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError, NotJSON):
        raise DamagedLog("it is not JSON") from None
