"""The documents of one SQLite file, in one thread of their own, and those who watch them.

What was read or written last is kept, so that a load after a commit of others reads only what they
changed. SQLite lets one writer in at a time anyway, so one thread is enough.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Final, NamedTuple

from canvas_provider.errors import DamagedDocument, RevisionConflict
from canvas_provider.state import patch_log
from canvas_provider.state.disk import stamp
from canvas_provider.state.history import Revision
from canvas_provider.state.offload import Offload, Ticker
from canvas_provider.state.sqlite_file import NO_FILE, SQLiteFile, Token
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

__all__ = ["Database"]

logger = logging.getLogger("canvas_provider.state")

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at a watched file."""


class _Known(NamedTuple):
    """What a key held when it was last read or written here."""

    stored: Stored
    id: int
    """Of the document in the file; 0 where there was none."""
    token: Token


class _News(NamedTuple):
    """At which revisions the watched documents are."""

    token: Token
    revisions: dict[str, int]


_NOTHING: Final = Stored(0, None)


class Database:
    """The documents in the file at `path`."""

    def __init__(self, path: Path) -> None:
        self._file = SQLiteFile(path)
        self._offload = Offload(threads=1)
        self._known: dict[str, _Known] = {}
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._ticker: Ticker | None = None
        self._looking: asyncio.Future[_News] | None = None
        self._seen: Token | None = None

    async def load(self, key: str, since: int) -> Stored | None:
        """See `SQLiteStore.load`."""
        return await self._offload.run(lambda: self._load(key, since))

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        """See `SQLiteStore.commit`."""
        work = partial(self._commit, key, expected_revision, document, revision)
        try:
            await self._offload.run(work)
        except RevisionConflict:
            self._file.precedence.drop_later()
            raise

    def is_current(self, key: str, revision: int) -> bool:
        """See `SQLiteStore.is_current`."""
        known = self._known.get(key)
        # The thread may be waiting for the disk with the file in hand; we do not wait for it.
        if known is None or known.stored.revision != revision or not self._offload.is_idle:
            return False
        return known.token == self._file.token()

    # In the thread:

    def _load(self, key: str, since: int) -> Stored | None:
        known = self._known.pop(key, None)

        def work(connection: Connection, token: Token) -> tuple[_Known, list[Revision]]:
            head = patch_log.find(connection, key)
            history = [] if head is None else patch_log.read_history(connection, head, since)
            return self._find(connection, token, head, known), history

        try:
            found, history = self._file.read(work) or (_Known(_NOTHING, 0, NO_FILE), [])
        except patch_log.DamagedLog as damage:
            aside = self._file.write(partial(self._set_aside, key))
            if aside is None:
                # Another process has done it.
                return self._load(key, since)
            text = f"the state of {key!r} could not be read ({damage}); it is kept as {aside!r}"
            logger.warning("%s in %s", text, self._file.path)
            raise DamagedDocument(text, told=f"{text}. Nothing was changed; try again.") from None
        self._known[key] = found
        return found.stored._replace(history=history) if found.stored.revision else None

    def _find(
        self,
        connection: Connection,
        token: Token,
        head: patch_log.Head | None,
        known: _Known | None,
    ) -> _Known:
        if head is None:
            return _Known(_NOTHING, 0, token)
        is_same = known is not None and (known.token.opening, known.id) == (token.opening, head.id)
        base = known.stored if known is not None and is_same else None
        return _Known(patch_log.read(connection, head, base), head.id, token)

    def _set_aside(self, key: str, connection: Connection, token: Token) -> str | None:
        """Give a damaged document another key: the others in the file are in good order."""
        head = patch_log.find(connection, key)
        try:
            self._find(connection, token, head, None)
        except patch_log.DamagedLog:
            assert head is not None, "nothing is in good order"
            aside = f"{key}.damaged-{stamp()}-{head.id}"
            patch_log.rename(connection, head, aside)
            return aside
        return None

    def _commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        def work(connection: Connection, token: Token) -> _Known:
            head = patch_log.find(connection, key)
            actual = 0 if head is None else head.revision
            if actual != expected_revision:
                raise RevisionConflict(expected_revision, actual)
            number = patch_log.write(connection, key, head, document, revision)
            return _Known(Stored(expected_revision + 1, document), number, token)

        self._known[key] = self._file.write(work)

    # In the loop:

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """See `SQLiteStore.watch`."""
        self._listeners.setdefault(key, []).append(listener)
        # Others may have committed this document since it was loaded.
        self._seen = None
        if self._ticker is None:
            self._ticker = Ticker(self._look, lambda: LOOK_EVERY)

        def unwatch() -> None:
            listeners = self._listeners.get(key, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners:
                self._listeners.pop(key, None)
            if not self._listeners:
                self._stop()

        return unwatch

    def _look(self) -> None:
        """See whether others have committed anything; nearly always, that is all."""
        if self._looking is not None:
            return
        if self._offload.is_idle and self._seen is not None and self._seen == self._file.token():
            return
        keys = list(self._listeners)
        self._looking = self._offload.begin(lambda: self._ask(keys))
        self._looking.add_done_callback(self._tell)

    def _ask(self, keys: list[str]) -> _News:
        """Return the revisions of the documents. In the thread."""

        def work(connection: Connection, token: Token) -> _News:
            heads = {key: patch_log.find(connection, key) for key in keys}
            return _News(token, {key: head.revision if head else 0 for key, head in heads.items()})

        return self._file.read(work) or _News(NO_FILE, dict.fromkeys(keys, 0))

    def _tell(self, looking: "asyncio.Future[_News]") -> None:
        """Call those who watch a document that is at another revision than we know."""
        self._looking = None
        if looking.cancelled():
            return
        if (error := looking.exception()) is not None:
            # Whoever loads or commits is told.
            logger.debug("The stored state cannot be looked at: %s", error)
            return
        news = looking.result()
        self._seen = news.token
        for key, revision in news.revisions.items():
            known = self._known.get(key)
            is_same = known is not None and known.token.opening == news.token.opening
            if known is None or not is_same or known.stored.revision != revision:
                for listener in list(self._listeners.get(key, ())):
                    listener()

    def _stop(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    async def aclose(self) -> None:
        """Look no more, let go of the file, and end the thread."""
        self._stop()
        try:
            await self._offload.run(self._file.close)
        finally:
            self._offload.close()
            self._file.precedence.drop()
