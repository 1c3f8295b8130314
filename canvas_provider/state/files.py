"""JSON files on a disk that other processes, and people, write to as well.

The rules: a file is replaced, never written in place; whoever replaces one holds the lock of that
name, which the kernel frees when its holder dies; and a file that cannot be understood is moved
aside, whole. Everything here that waits for a disk runs in a thread.
"""

import contextlib
import errno
import json
import logging
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from canvas_provider.errors import DamagedDocument, NotJSON, RevisionConflict, StoreError
from canvas_provider.state.disk import set_aside, store_error, sync_folder, tell
from canvas_provider.state.filelock import FileLock, patiently
from canvas_provider.state.filenames import file_name
from canvas_provider.state.history import History, Revision
from canvas_provider.state.json import ensure_json, equal
from canvas_provider.state.offload import Offload, Ticker
from canvas_provider.state.precedence import Precedence
from canvas_provider.state.pretty import pretty
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

__all__ = ["FORMAT", "Files"]

logger = logging.getLogger("canvas_provider.state")

FORMAT: Final = 1
"""Of the file: `{"canvas_provider": FORMAT, "revision": ..., "state": ...}`."""

MIGRATIONS: Final[dict[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""By the number of an older format: what makes of a file's content that of the format after it. The
file itself stays as it is until the next commit."""

MAX_REVISION: Final = 2**52
"""The largest number that is taken from a file: a page counts exactly up to twice that."""

READ_ONLY: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""What the system says where nothing may be written."""

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at watched files; more when there are many."""


class _Mark(NamedTuple):
    """What a `stat` tells of a file: a replaced or edited one has another."""

    inode: int
    size: int
    changed: int
    """Nanoseconds."""


class _Known(NamedTuple):
    """What a file held when it was last read or written here."""

    mark: _Mark | None
    """`None` where there was no file."""
    stored: Stored | None


class Files:
    """The documents in one folder."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._offload = Offload()
        self._known: dict[str, _Known] = {}
        self._precedences: dict[str, Precedence] = {}
        self._histories: dict[str, History] = {}
        """Our own commits, which others have not meddled with. The file says nothing of them."""
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._told: dict[str, _Mark | None] = {}
        self._ticker: Ticker | None = None

    def path(self, key: str) -> Path:
        """Return where the document `key` is, or would be."""
        return self._directory / f"{file_name(key)}.json"

    async def load(self, key: str, since: int) -> Stored | None:
        """See `JSONFileStore.load`."""
        try:
            return await self._offload.run(lambda: self._load(key, since))
        finally:
            self._tell(key)

    async def commit(
        self, key: str, expected_revision: int, document: JSONValue, revision: Revision
    ) -> None:
        """See `JSONFileStore.commit`."""
        try:
            await self._offload.run(
                lambda: self._commit(key, expected_revision, document, revision)
            )
        except RevisionConflict:
            self._precedences[key].drop_later()
            raise
        finally:
            self._tell(key)

    def is_current(self, key: str, revision: int) -> bool:
        """See `JSONFileStore.is_current`."""
        known = self._known.get(key)
        if known is None:
            return False
        at = 0 if known.stored is None else known.stored.revision
        return at == revision and known.mark == _mark(self.path(key))

    # In a thread:

    def _load(self, key: str, since: int) -> Stored | None:
        try:
            try:
                with self._locked(key) as path:
                    stored = self._read(key, path).stored
            except OSError as error:
                if error.errno not in READ_ONLY:
                    raise
                # Nobody can lock it here, but then nobody can replace it in two steps either.
                stored = self._read(key, self._real_path(key)).stored
            history = self._histories.get(key)
            if stored is None or history is None:
                return stored
            return stored._replace(history=history.after(since))
        except OSError as error:
            raise store_error(f"the state of {key!r}", "read", error, self.path(key)) from error

    def _commit(
        self, key: str, expected_revision: int, document: JSONValue, revision: Revision
    ) -> None:
        precedence = self._precedence(key)
        try:
            with self._locked(key, precedence) as path:
                known = self._read(key, path)
                actual = 0 if known.stored is None else known.stored.revision
                if actual != expected_revision:
                    raise RevisionConflict(expected_revision, actual)
                stored = Stored(expected_revision + 1, document)
                self._known[key] = _Known(_replace(path, _text(stored)), stored)
                history = self._histories.setdefault(key, History())
                if revision.ops:
                    history.add(revision)
                else:
                    history.clear()
            precedence.win()
        except RevisionConflict:
            precedence.lose()
            raise
        except OSError as error:
            raise store_error(f"the state of {key!r}", "saved", error, self.path(key)) from error

    def _locked(self, key: str, precedence: Precedence | None = None) -> FileLock:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._real_path(key)
        return FileLock(path.with_name(f".{path.name}.lock"), path, precedence)

    def _precedence(self, key: str) -> Precedence:
        path = self._real_path(key)
        made = Precedence(path.with_name(f".{path.name}.first"))
        # Whoever was first has it: two threads may be here.
        return self._precedences.setdefault(key, made)

    def _real_path(self, key: str) -> Path:
        # A link is followed, so that a board may live elsewhere, say in a repository.
        return Path(os.path.realpath(self.path(key)))

    def _read(self, key: str, path: Path) -> _Known:
        """Read the file if it is another than we know, and give it its revision."""
        known = self._known.get(key, _Known(None, None))
        mark = patiently(partial(_see, path))
        if mark is not None and mark != known.mark:
            before = known.stored
            known = self._known[key] = _Known(mark, self._parse(key, path, before))
            if known.stored is not before:
                self._histories.pop(key, None)
        elif mark is None:
            known = self._known[key] = _Known(None, None)
            self._histories.pop(key, None)
        return known

    def _parse(self, key: str, path: Path, before: Stored | None) -> Stored:
        if stat.S_ISFIFO(path.stat().st_mode):
            # Reading it would wait for somebody who writes to it, for ever.
            raise StoreError(
                f"the state of {key!r} cannot be read: {path} is a pipe",
                told=tell("read", "a pipe is where its file belongs. Move that away."),
            )
        content = patiently(path.read_bytes)
        try:
            revision, document = _understand(content)
        except ValueError as error:
            self._known.pop(key, None)
            aside = set_aside(path)
            text = (
                f"{path.name} could not be read ({error}); it is kept, as it was, as {aside.name}"
            )
            logger.warning("%s in %s", text, path.parent)
            raise DamagedDocument(text, told=f"{text}. Nothing was changed; try again.") from None
        if before is None:
            # A document that is stored has a revision, whatever somebody made of the number.
            return Stored(revision or 1, document)
        if revision > before.revision:
            return Stored(revision, document)
        if revision == before.revision and equal(document, before.document):
            return before
        # Somebody edited it, and left the number alone: the edit is the next revision.
        return Stored(before.revision + 1, document)

    # In the loop:

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """See `JSONFileStore.watch`."""
        self._listeners.setdefault(key, []).append(listener)
        known = self._known.get(key)
        self._told.setdefault(key, _mark(self.path(key)) if known is None else known.mark)
        if self._ticker is None:
            self._ticker = Ticker(self._look, self._interval)

        def unwatch() -> None:
            listeners = self._listeners.get(key, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners:
                self._listeners.pop(key, None)
                self._told.pop(key, None)
            if not self._listeners:
                self._stop()

        return unwatch

    def _interval(self) -> float:
        return max(LOOK_EVERY, 0.002 * len(self._listeners))

    def _look(self) -> None:
        for key in list(self._listeners):
            self._tell(key)

    def _tell(self, key: str) -> None:
        """Tell those who watch a file that it is another than it was, once.

        That it is known here says nothing: another state of this store may have loaded it.
        """
        if key in self._listeners and (mark := _mark(self.path(key))) != self._told[key]:
            self._told[key] = mark
            for listener in list(self._listeners[key]):
                listener()

    def _stop(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def close(self) -> None:
        """End the threads and look no more."""
        self._stop()
        self._offload.close()
        for precedence in self._precedences.values():
            precedence.drop()


def _mark(path: Path) -> _Mark | None:
    """Look at a file without waiting; one that cannot be seen now is another than we know."""
    try:
        return _see(path)
    except OSError:
        return None


def _see(path: Path) -> _Mark | None:
    """Look at a file; `None` if it is not there.

    Raises:
        OSError: that cannot be told. It must not be taken for a document that is gone.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _Mark(status.st_ino, status.st_size, status.st_mtime_ns)


def _text(stored: Stored) -> bytes:
    head = f'{{\n  "canvas_provider": {FORMAT},\n  "revision": {stored.revision},\n  "state": '
    return f"{head}{pretty(stored.document, '  ')}\n}}\n".encode()


def _understand(content: bytes) -> tuple[int, JSONValue]:
    """Return revision and document of a file's content.

    Raises:
        ValueError: it is no such file; the text says why, and shows nothing of it.
    """
    if not content.strip(b"\0 \t\r\n"):
        raise ValueError("it is empty")
    try:
        # Windows editors like to begin with a byte order mark, and one or the other writes UTF-16.
        found: Any = json.loads(
            content, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice
        )
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError) as error:
        where = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"it is not JSON{where}") from None
    if not isinstance(found, dict) or "canvas_provider" not in found:
        raise ValueError('it has no "canvas_provider" format number')
    version = found["canvas_provider"]
    if type(version) is int and version > FORMAT:
        text = f"a newer version of canvas_provider wrote the state (format {version}): upgrade"
        raise StoreError(text, told=tell("read", f"{text}."))
    while type(version) is int and version in MIGRATIONS:
        found = MIGRATIONS[version](found)
        version += 1
    if type(version) is not int or version != FORMAT or "state" not in found:
        raise ValueError(f'it lacks the format number {FORMAT} or a "state"')
    try:
        return _revision_of(found), ensure_json(found["state"])
    except NotJSON as error:
        raise ValueError(str(error)) from None


def _revision_of(found: dict[str, Any]) -> int:
    """Return the number in a file; 0 if it is none, for what counts is what somebody wrote."""
    revision = found.get("revision")
    return revision if type(revision) is int and 0 < revision <= MAX_REVISION else 0


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Which of the two was meant? The next commit would drop the other one.
        raise ValueError("an object in it has the same key twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _replace(path: Path, content: bytes) -> _Mark | None:
    """Put `content` in place of the file at `path`: all of it, on the disk, or nothing."""
    temporary = path.with_name(f".{path.name}.tmp")
    # Left by a process that was killed. Whatever it is, a link or a pipe, it is not written to.
    with contextlib.suppress(FileNotFoundError):
        patiently(partial(os.unlink, temporary))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600) if hasattr(os, "fchmod") else None
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        patiently(partial(os.replace, temporary, path))
    except OSError:
        # Half a file is of no use to anybody, least of all on a full disk.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)
    return _mark(path)
