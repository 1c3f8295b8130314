"""One SQLite file that several processes write to, and that people move, delete and damage.

Whoever writes, opens, creates or closes the file holds a lock beside it, which the kernel frees
when its holder dies. SQLite's own lock would do for transactions, but not for a file that is
created or set aside; and in SQLite before 3.51.3 a checkpoint during another's commit can, rarely,
damage the file. Reading waits for nobody.

Everything here blocks, so it runs in a thread; only `token` may be called elsewhere.
"""

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from canvas_provider.errors import DamagedDocument, RevisionConflict, StoreError
from canvas_provider.state import patch_log
from canvas_provider.state.disk import set_aside, store_error, sync_folder, tell
from canvas_provider.state.filelock import FileLock, patiently
from canvas_provider.state.precedence import Precedence

__all__ = ["FORMAT", "NO_FILE", "SQLiteFile", "Token", "Work"]

logger = logging.getLogger("canvas_provider.state")

Result = TypeVar("Result")

APPLICATION: Final = 0x63767073
"""`PRAGMA application_id` of our files."""

FORMAT: Final = 2
"""`PRAGMA user_version`: which tables there are."""

PATIENCE: Final = 10.0
"""Seconds to wait for another program, such as SQLite's shell, that keeps the file locked."""

COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite puts beside one that is in use."""

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNWRITABLE: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


class Token(NamedTuple):
    """Equal to another only if nobody else has committed in between."""

    opening: int
    """Which opening of the file by us; 0 if there was no file."""
    version: int
    """`PRAGMA data_version`, which commits of others change, and ours do not."""


NO_FILE: Final = Token(0, 0)

Work = Callable[[sqlite3.Connection, Token], Result]
"""What is done within a transaction."""


class _Identity(NamedTuple):
    """What tells a file from another that has taken its name."""

    device: int
    inode: int


class _Damage(Exception):
    """The file cannot be understood."""


class SQLiteFile:
    """Reads and writes the file at `path`, whichever that is at the moment."""

    def __init__(self, path: Path) -> None:
        # A link is followed, because SQLite's other files are beside the real one.
        self.path = Path(os.path.realpath(path))
        self._connection: sqlite3.Connection | None = None
        self._identity: _Identity | None = None
        self._log: _Identity | None = None
        # Both of the file that is open, or was last.
        self._openings = 0
        self.precedence = Precedence(self.path.with_name(f".{self.path.name}.first"))

    def token(self) -> Token | None:
        """Return what tells whether others have committed, without waiting; `None` if unknown.

        To be called while no thread uses the file.
        """
        try:
            identity = _identify(self.path)
            if identity is None:
                return NO_FILE
            if self._connection is None or identity != self._identity:
                return None
            return self._token(self._connection)
        except (OSError, sqlite3.Error):
            return None

    def _token(self, connection: sqlite3.Connection) -> Token:
        return Token(self._openings, _pragma(connection, "data_version"))

    def read(self, work: Work[Result]) -> Result | None:
        """Return what `work` finds in the latest revision of everything; `None` without a file."""
        return self._explaining("read", partial(self._read, work))

    def _read(self, work: Work[Result]) -> Result | None:
        if self._is_open():
            # On failure once more with the lock, under which nobody creates or moves a file.
            with suppress(sqlite3.Error):
                return self._transact("BEGIN", work)
        elif _identify(self.path) is None:
            return None
        return self._locked(partial(self._read_locked, work))

    def _read_locked(self, work: Work[Result]) -> Result | None:
        if not self._is_open():
            if _identify(self.path) is None:
                return None
            self._open()
        return self._transact("BEGIN", work)

    def write(self, work: Work[Result]) -> Result:
        """Commit what `work` does; it lasts once this has returned. An exception undoes it.

        After a `RevisionConflict`, `precedence.drop_later` is due.
        """
        try:
            result = self._explaining(
                "saved", lambda: self._locked(partial(self._write, work), self.precedence)
            )
        except RevisionConflict:
            self.precedence.lose()
            raise
        self.precedence.win()
        return result

    def _write(self, work: Work[Result]) -> Result:
        # Where somebody has put another file in place of ours, what we write into ours is lost.
        if not self._is_open():
            if _identify(self.path) is None:
                self._create()
            self._open()
        return self._transact("BEGIN IMMEDIATE", work)

    def close(self) -> None:
        """Move the log of SQLite into the file, and let go of it."""
        try:
            self._explaining("saved", self._close)
        except StoreError as error:
            # Nothing is lost: the log stays, and the next to open the file reads it.
            logger.warning("%s", error)
        self._drop()

    def _close(self) -> None:
        if self._is_open():
            self._locked(self._checkpoint)

    def _checkpoint(self) -> None:
        if self._connection is not None:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            # Within the lock, for the last one to close also removes SQLite's other files.
            self._drop()

    def _explaining(self, verb: str, call: Callable[[], Result]) -> Result:
        """Call `call`, and make errors of the system and of SQLite ours."""
        what = f"the state in {self.path.name}"
        try:
            return call()
        except OSError as error:
            self._drop()
            raise store_error(what, verb, error, self.path) from error
        except sqlite3.Error as error:
            # Whether a commit that failed has left a trace is for the next opening to see.
            self._drop()
            raise self._store_error(what, verb, error) from error

    def _locked(self, call: Callable[[], Result], precedence: Precedence | None = None) -> Result:
        """Call `call` under the lock, again while the file is busy."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self.path.with_name(f".{self.path.name}.lock"), self.path, precedence):
            try:
                return self._patiently(call)
            except _Damage as damage:
                raise self._set_aside(str(damage)) from None
            except sqlite3.Error as error:
                if _code(error) not in _DAMAGED:
                    raise
                raise self._set_aside("it is damaged") from None

    def _patiently(self, call: Callable[[], Result]) -> Result:
        deadline = time.monotonic() + PATIENCE
        pause = 0.001
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _transact(self, begin: str, work: Work[Result]) -> Result:
        connection = self._connection
        assert connection is not None, "the file is open"
        connection.execute(begin)
        try:
            result = work(connection, self._token(connection))
            connection.execute("COMMIT")
        except BaseException:
            # Some errors have SQLite roll back by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _is_open(self) -> bool:
        """Say whether the file that we have open is the one at `path`. Lets go of another."""
        if self._connection is not None and _identify(self.path) != self._identity:
            # SQLite notices, too, and leaves what belongs to the other one as it is.
            self._drop()
        return self._connection is not None

    def _open(self) -> None:
        """Open the file that is there. The lock must be ours."""
        path = self.path
        if not path.is_file():
            # A folder, or a pipe, which would be waited for.
            raise StoreError(
                f"{path} is not a file: give SQLiteStore the path of one",
                told=tell("read", "something else is where its file belongs. Move that away."),
            )
        if path.stat().st_size == 0:
            # SQLite would take it for a new file, and delete the log that belongs to it.
            raise _Damage("it is empty")
        identity, log = _identify(path), _identify(_log_of(path))
        if identity != self._identity and log is not None and log == self._log:
            # The log of the file that we had open here: SQLite would put it into this one.
            self._set_log_aside()
        # Created by nobody but `_create`. Waiting is done in `_patiently`, never in `token`.
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection, self._identity = connection, identity
        self._openings += 1
        try:
            self._prepare(connection)
            self._log = _identify(_log_of(path))
        except (_Damage, sqlite3.DatabaseError) as error:
            # A damaged file is closed when it has another name: see `_set_aside`.
            if isinstance(error, sqlite3.Error) and _code(error) not in _DAMAGED:
                self._drop()
            raise
        except StoreError:
            self._drop()
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = bytes
        application = _pragma(connection, "application_id")
        version = _pragma(connection, "user_version")
        if application != APPLICATION:
            raise StoreError(
                f"{self.path} is a database of another program: give SQLiteStore another path",
                told=tell("read", "the database of another program is where its file belongs."),
            )
        if version > FORMAT:
            raise StoreError(
                f"a newer version of canvas_provider wrote {self.path} (format {version}): upgrade",
                told=tell("read", "a newer version of canvas_provider wrote it. Upgrade this one."),
            )
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # In WAL mode: each commit reaches the disk before it returns.
        connection.execute("PRAGMA synchronous = FULL")
        if connection.execute("PRAGMA quick_check(1)").fetchall() != [(b"ok",)]:
            raise _Damage("it is damaged")
        for older in range(version, FORMAT):
            self._migrate(connection, older)

    def _migrate(self, connection: sqlite3.Connection, version: int) -> None:
        """Make the next format of the file, entirely or not at all."""
        script = patch_log.MIGRATIONS.get(version)
        if script is None:
            raise _Damage("its format is unknown")
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {version + 1}; COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _create(self) -> None:
        """Make a file, whole, under another name, so that what is at `path` is never half."""
        if any(os.path.lexists(f"{self.path}{ending}") for ending in COMPANIONS):
            # Somebody removed the file alone.
            self._set_log_aside()
        temporary = self.path.with_name(f".{self.path.name}.new")
        for ending in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                patiently(partial(os.unlink, f"{temporary}{ending}"))
        # SQLite gives its other files the mode of this one.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN; {patch_log.SCHEMA} COMMIT;")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        finally:
            connection.close()
        patiently(partial(os.replace, temporary, self.path))
        sync_folder(self.path.parent)

    def _set_aside(self, reason: str) -> DamagedDocument:
        """Rename the file and what belongs to it, and return the error that tells of it."""
        if os.name == "nt":
            # Windows renames nothing that is open.
            self._drop()
        aside = set_aside(self.path, COMPANIONS)
        # Only now: to close a file that still has its name may write to it.
        self._drop()
        text = f"{self.path.name} could not be read ({reason}); it is kept as {aside.name}"
        logger.warning("%s in %s", text, self.path.parent)
        return DamagedDocument(text, told=f"{text}. Nothing was changed; try again.")

    def _set_log_aside(self) -> None:
        """Move what belongs to another file than the one at `path`, or to none."""
        aside = set_aside(self.path, COMPANIONS, alone=True)
        logger.warning("What was left of another %s is kept as %s-*", self.path, aside.name)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _store_error(self, what: str, verb: str, error: sqlite3.Error) -> StoreError:
        """Tell what SQLite says, and what a person can do about it."""
        code = _code(error)
        name = getattr(error, "sqlite_errorname", "SQLite")
        if code == sqlite3.SQLITE_FULL:
            return store_error(what, verb, _system_error(errno.ENOSPC), self.path)
        if code in _UNWRITABLE:
            return store_error(what, verb, _system_error(errno.EACCES), self.path)
        if code in _BUSY:
            return StoreError(
                f"{what} cannot be {verb}: [{name}] it stays locked by another program; close what"
                f" has it open, then try again: {self.path}",
                told=tell(
                    verb,
                    f"another program has kept it locked for {PATIENCE:g} s. Close what has it "
                    "open, then try again.",
                ),
            )
        return StoreError(
            f"{what} cannot be {verb}: [{name}] {error}: {self.path}",
            told=tell(verb, "the database reports an error. The log has the details."),
        )


def _system_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _identify(path: Path) -> _Identity | None:
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _Identity(status.st_dev, status.st_ino)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _code(error: sqlite3.Error) -> int:
    """Return the primary error code; 0 where the error is not SQLite's."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchall()[0][0]
    return value
