"""One document as one process has it: its turns, its revisions, and its store.

What a change writes is `document`'s matter, where it is kept a store's. Here is their meeting
point with time: changes take turns, a revision is stored before anybody sees it, and what others
stored becomes revisions here: theirs, where the store knows them, else one by `system`.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from canvas_provider.errors import (
    DamagedDocument,
    PatchError,
    RevisionConflict,
    StateError,
    StoreError,
    UnfitDocument,
)
from canvas_provider.state.document import Change, Document
from canvas_provider.state.history import History, Revision
from canvas_provider.state.inverse import invert
from canvas_provider.state.json import equal
from canvas_provider.state.lock import TurnLock
from canvas_provider.state.patch import apply, diff
from canvas_provider.state.shape import Shape
from canvas_provider.state.store import Store, Stored
from canvas_provider.state.surroundings import Surroundings
from canvas_provider.state.version import Version
from canvas_provider.types import Author, JSONValue

__all__ = ["LiveDocument"]

logger = logging.getLogger("canvas_provider.state")


class LiveDocument:
    """A stored document in use. Everything here belongs to the loop it was loaded on."""

    def __init__(self, store: Store, key: str, shape: Shape, seed: Callable[[], JSONValue]) -> None:
        self.loop = asyncio.get_running_loop()
        self.history = History()
        self.damage: str | None = None
        """What was found instead of a document, and set aside, for people to read."""
        self.epoch = _new_epoch()
        """Tells this document from another that had the same revision numbers."""
        self.surroundings = Surroundings(store, key)
        self._store = store
        self._key = key
        self._seed = seed
        self.document = Document({}, 0, shape)
        """The document, as it was last committed."""
        self._turns = TurnLock()
        self._listeners: list[Callable[[Revision], None]] = []
        self._unwatch: Callable[[], None] | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._storing = False
        self._told = False
        """The store told of a change at a moment when it could not be taken."""
        self._whole = False
        """The document here has more than the stored one: operations do not lead from that."""
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Load the document, or begin with the seed. Call it once, first.

        Raises:
            StateError: what is stored does not fit the state's type. It stays as it is.
            StoreError: it cannot be read.
        """
        try:
            stored = await self._store.load(self._key)
        except DamagedDocument as error:
            self.damage = str(error)
            stored = None
        revision, value, history = await self._fill(stored)
        self.document.advance(value, revision)
        for known in history:
            self.history.add(known)

    def begin_nowait(self, expected_revision: int | None) -> Change | None:
        """Do what `begin` does, if that needs no waiting; else return `None`."""
        document = self.document
        if not self._store.is_current(self._key, document.revision):
            return None
        if not self._turns.take_nowait():
            return None
        try:
            self._expect(expected_revision)
            return document.begin()
        except BaseException:
            self._turns.give()
            raise

    async def begin(self, expected_revision: int | None) -> Change:
        """Take the turn and begin a change: end it with `commit` or `cancel`.

        Raises:
            RevisionConflict: the document is at another revision than the expected one.
            StateError: what others have stored does not fit the state's type.
        """
        await self._turns.take()
        return await self.begin_in_turn(expected_revision)

    async def begin_in_turn(self, expected_revision: int | None) -> Change:
        """Do what `begin` does, where the turn is ours already: `commit` has kept it."""
        try:
            document = self.document
            if not self._store.is_current(self._key, document.revision):
                await self._take()
            self._expect(expected_revision)
            return document.begin()
        except BaseException:
            self._turns.give()
            raise

    def _expect(self, revision: int | None) -> None:
        if revision is None:
            return
        epoch = revision.epoch if isinstance(revision, Version) else None
        if revision != self.document.revision or epoch not in (None, self.epoch):
            raise RevisionConflict(int(revision), self.document.revision)

    async def commit(
        self, change: Change, author: Author, action: str | None, *, keep_turn: bool = False
    ) -> Revision | None:
        """Store what the change wrote, tell everybody, and give the turn back.

        Returns the revision, if the change wrote anything.

        Args:
            keep_turn: not when it raises `RevisionConflict`: `begin_in_turn` or `give_turn` then.

        Raises:
            NotJSON, InvalidState: the change cannot be committed, and was rolled back.
            RevisionConflict: another process was first; the document is at its revision now.
            StoreError: it could not be stored, and was rolled back.
        """
        document = self.document
        previous = document.revision
        cancelled = None
        is_kept = False
        try:
            prepared = change.prepare()
            if prepared is None:
                return None
            value, operations = prepared
            inverse = invert(document.value, operations)
            revision = Revision(
                previous + 1,
                operations,
                author,
                action,
                time.time(),
                previous,
                inverse,
                change.reverts,
                change.is_redo,
            )
            self._storing = True
            told = revision._replace(ops=[], inverse=[]) if self._whole else revision
            storing = self._store.commit(self._key, previous, value, told)
            if self._store.immediate:
                await storing
            else:
                cancelled, failure = await self._finish(storing)
                if failure is not None:
                    raise failure
            self._whole = False
            change.complete()
            self._publish(revision)
        except RevisionConflict as conflict:
            change.rollback()
            await self._take()
            if cancelled is not None:
                # Not the conflict, after which an `update` would try again.
                raise cancelled from None
            is_kept = keep_turn
            raise RevisionConflict(conflict.expected, document.revision) from None
        except BaseException:
            change.rollback()
            raise
        finally:
            self._storing = False
            if not is_kept:
                self._turns.give()
            if self._told:
                self._look_again()
        if cancelled is not None:
            raise cancelled
        return revision

    def cancel(self, change: Change) -> None:
        """Roll back, and give the turn back."""
        change.rollback()
        self._turns.give()

    def give_turn(self) -> None:
        """Give back the turn that `commit` has kept."""
        self._turns.give()

    async def _finish(
        self, storing: Coroutine[Any, Any, None]
    ) -> tuple[asyncio.CancelledError | None, BaseException | None]:
        """See a commit through: once begun, whether it happened must be known.

        Returns the cancellation that came in meanwhile, to be raised when all is settled, and why
        the commit failed, if it did.
        """
        cancelled = None
        task = self._saving = asyncio.ensure_future(storing)
        try:
            while not task.done():
                try:
                    await asyncio.wait([task])
                except asyncio.CancelledError as error:
                    cancelled = error
        finally:
            self._saving = None
        return cancelled, task.exception()

    async def _reload(self) -> Stored | None:
        """Load what others have made of the document.

        When they damaged it, say by a comma too many, what they left was set aside, and the
        document goes on here as it was. It has an earlier revision then, as after a reset.
        """
        try:
            return await self._store.load(self._key, self.document.revision)
        except DamagedDocument as error:
            self.damage = str(error)
        if self.document.revision == 0:
            return None
        value = self.document.value
        begun = Revision(1, [], "system", None, time.time(), 0, [])
        try:
            await self._store.commit(self._key, 0, value, begun)
        except RevisionConflict:
            # Another process has put its own in place: there is one again.
            return await self._store.load(self._key)
        return Stored(1, value)

    async def _take(self) -> None:
        """Make what the store has the current revision. The turn must be ours."""
        self._advance(await self._fill(await self._reload()))

    async def _fill(self, stored: Stored | None) -> Stored:
        """Return what is stored, of the state's type in every field; the seed, if nothing is.

        What a stored document lacks, because its type has grown since or because a person who
        edited it left it out, is filled in and committed. Nobody gets to see it without.
        """
        if stored is None:
            return Stored(0, self._seed())
        try:
            filled = self.document.shape.load(stored.document)
        except UnfitDocument as error:
            where = f"{self._key!r} in {self._store!r}"
            raise UnfitDocument(f"{where}: {error}", told=error.told) from None
        if filled is None:
            return stored
        revision = _found(stored.document, filled, stored.revision, stored.revision + 1)
        self._storing = True
        try:
            await self._store.commit(self._key, stored.revision, filled, revision)
        except RevisionConflict:
            # Somebody else was faster: theirs is as good as ours, and is taken at the next change.
            return Stored(stored.revision, filled)
        except StoreError as error:
            # It can be read, and shown. The next commit cannot build on what is stored.
            logger.warning("What the stored state lacks cannot be stored: %s", error)
            self._whole = True
            return Stored(stored.revision, filled)
        finally:
            self._storing = False
        return Stored(revision.number, filled, [*stored.history, revision])

    def _advance(self, stored: Stored) -> None:
        """Move to a revision that we did not make."""
        document = self.document
        previous, old = document.revision, document.value
        document.advance(stored.document, stored.revision)
        if _leads(stored.history, previous, old, stored.document):
            missed = stored.history
        else:
            revision = _found(old, stored.document, previous, stored.revision)
            if stored.revision == previous and not revision.ops:
                return
            missed = [revision]
        for revision in missed:
            self._publish(revision)

    def _publish(self, revision: Revision) -> None:
        if revision.number > revision.previous:
            self.history.add(revision)
        else:
            # The store was reset: numbers come again, so nobody can be told what they missed.
            self.epoch = _new_epoch()
            self.history.clear()
        for listener in self._listeners:
            try:
                listener(revision)
            except Exception:
                # The revision stands; whoever follows it badly must not undo or hide it.
                logger.exception("A listener of the state failed")

    def subscribe(self, listener: Callable[[Revision], None]) -> Callable[[], None]:
        """Call `listener` after each revision. While anybody listens, the store is watched."""
        # Replaced, not changed, so that a listener may leave while it is called.
        self._listeners = [*self._listeners, listener]
        if self._unwatch is None:
            self._unwatch = self._store.watch(self._key, self._on_stored)
            if not self._store.is_current(self._key, self.document.revision):
                # Changed since it was loaded; a store tells of what comes from now on.
                self._on_stored()

        def unsubscribe() -> None:
            self._listeners = [known for known in self._listeners if known is not listener]
            if not self._listeners:
                self._stop_watching()

        return unsubscribe

    def _stop_watching(self) -> None:
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def _on_stored(self) -> None:
        # A commit of our own is no news, but others may follow ours at once: look again after it.
        if self._storing or self._catching_up is not None:
            self._told = True
            return
        self._told = False
        self._catching_up = self.loop.create_task(self._catch_up())
        self._catching_up.add_done_callback(self._caught_up)

    def _look_again(self) -> None:
        """Follow up what the store told while nobody could listen."""
        if self._told and self._unwatch is not None:
            self._told = False
            if not self._store.is_current(self._key, self.document.revision):
                self._on_stored()

    async def _catch_up(self) -> None:
        """Take a change of the document by others, between two changes of ours."""
        await self._turns.take()
        try:
            if not self._store.is_current(self._key, self.document.revision):
                await self._take()
        except StateError as error:
            logger.warning("The stored state cannot be taken over: %s", error)
        finally:
            self._turns.give()

    def _caught_up(self, task: asyncio.Task[None]) -> None:
        self._catching_up = None
        if not task.cancelled() and task.exception() is not None:
            logger.error("The stored state cannot be taken over", exc_info=task.exception())
        self._look_again()

    async def aclose(self) -> None:
        """Stop following the store, and let a commit that has begun end."""
        self._stop_watching()
        if self._catching_up is not None:
            self._catching_up.cancel()
        if self._saving is not None:
            await asyncio.wait([self._saving])


def _new_epoch() -> str:
    return secrets.token_hex(4)


def _found(old: JSONValue, new: JSONValue, previous: int, number: int) -> Revision:
    """Return a revision that nobody told of: what is known of it is what it changed."""
    return Revision(number, diff(old, new), "system", None, time.time(), previous, diff(new, old))


def _leads(history: Sequence[Revision], previous: int, old: JSONValue, new: JSONValue) -> bool:
    """Say whether `history` leads from `old`, the revision `previous`, to `new`.

    Not where some of it is forgotten, or a store was reset, or `old` is a seed of our own.
    """
    if not history or history[0].previous != previous:
        return False
    try:
        return equal(apply(old, [step for known in history for step in known.ops]), new)
    except PatchError:
        return False
