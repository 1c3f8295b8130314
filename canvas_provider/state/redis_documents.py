"""The documents of one Redis server, as one process knows them, and those who watch them.

What was read or written last is kept, so that a load after a commit of others reads only what they
changed. Commits are published, but nobody relies on a message: a channel that is listened to
again, after whatever gap, counts as news, and so does that nobody has looked for a while.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from canvas_provider.errors import DamagedDocument, RevisionConflict, StoreError
from canvas_provider.state import redis_log, redis_scripts
from canvas_provider.state.disk import stamp
from canvas_provider.state.history import MAX_SIZE, Revision
from canvas_provider.state.offload import Offload, Ticker
from canvas_provider.state.redis import RedisFollower, RedisLine, Reply
from canvas_provider.state.redis_log import Keys, Known
from canvas_provider.state.redis_presence import PRESENCE, RedisPresence
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

__all__ = ["RedisDocuments"]

logger = logging.getLogger("canvas_provider.state")

FRESH: Final = 0.2
"""Seconds for which a document that nobody watches counts as current. It costs a conflict at most,
where it was not."""

LOOK_EVERY: Final = 10.0
"""Seconds after which watched documents are looked at, whatever was said or not."""

BACK_WITHIN: Final = 0.3
"""Seconds for which a change waits for a server that was away, and may be back just now."""

SEEN: Final = 1024
"""Commits of one document whose news is known to be none."""

LARGE: Final = 64 * 1024
"""Bytes of JSON from which on a thread reads it."""

Result = TypeVar("Result")


class RedisDocuments:
    """The documents below `prefix`; they expire `expire_ms` after the latest commit, or never: 0.

    Belongs to the loop it is first used in.
    """

    def __init__(self, url: str, prefix: str, expire_ms: int) -> None:
        self._prefix = prefix
        self._expire_ms = expire_ms
        self._line = RedisLine(url)
        self._follower = RedisFollower(
            url, on_ready=self._on_ready, on_message=self._on_message, on_line=self._on_line
        )
        self.presence = RedisPresence(self._line, prefix)
        self._line_is_there = asyncio.Event()
        self._line_is_there.set()
        self.is_reachable = True
        """Whether the server answers, as far as is known: somebody has to watch something."""
        self._offload = Offload(threads=1)
        self._known: dict[str, Known] = {}
        self._read_at: dict[str, float] = {}
        self._news: set[str] = set()
        """Keys of which something is said that is not read yet."""
        self._seen: dict[str, dict[str, None]] = {}
        """By key, the stamps of commits that are read, or our own; the oldest first."""
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._channels: dict[str, str] = {}
        """The key of each channel that is watched."""
        self._heard: set[str] = set()
        """Keys whose channel is listened to now."""
        self._ticker: Ticker | None = None
        self._running: set[asyncio.Task[Any]] = set()

    async def load(self, key: str, since: int) -> Stored | None:
        """See `RedisStore.load`."""
        return await self._begin(self._load(key, since))

    async def commit(
        self, key: str, expected_revision: int, document: JSONValue, revision: Revision
    ) -> None:
        """See `RedisStore.commit`."""
        await self._begin(self._commit(key, expected_revision, document, revision))

    def is_current(self, key: str, revision: int) -> bool:
        """See `RedisStore.is_current`."""
        known = self._known.get(key)
        if known is None or known.head.revision != revision or key in self._news:
            return False
        if key in self._listeners:
            return key in self._heard
        return asyncio.get_running_loop().time() < self._read_at[key] + FRESH

    async def _ensure_line(self) -> None:
        """Do not send anything to a server that is known to be away: it might come there late.

        Raises:
            StoreError: it is still away.
        """
        if self.is_reachable:
            return
        self._follower.hurry()
        try:
            async with asyncio.timeout(BACK_WITHIN):
                await self._line_is_there.wait()
        except TimeoutError:
            raise StoreError(
                "the store's server does not answer; nothing was sent to it",
                told="The state cannot be reached now: its server does not answer. Nothing was "
                "changed; try again when it is back.",
            ) from None

    async def _begin(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do `work` to its end, whatever becomes of the caller."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    def _keys(self, key: str) -> Keys:
        return redis_log.name_keys(self._prefix, key)

    def _learn(self, key: str, known: Known) -> None:
        self._known[key] = known
        self._read_at[key] = asyncio.get_running_loop().time()

    def _note(self, key: str, *stamps: str) -> None:
        seen = self._seen.setdefault(key, {})
        seen.update(dict.fromkeys(stamps))
        for old in list(seen)[: max(0, len(seen) - SEEN)]:
            del seen[old]

    # --- Reading and writing

    async def _load(self, key: str, since: int) -> Stored | None:
        await self._ensure_line()
        keys, known = self._keys(key), self._known.get(key)
        had_news = key in self._news
        # What is said from here on may have come too late for the script.
        self._news.discard(key)
        try:
            reply = await self._line.run(
                redis_scripts.LOAD, keys[:2], redis_log.load_arguments(known, since)
            )
        except BaseException:
            if had_news:
                self._news.add(key)
            raise
        return await self._read(key, since, known, reply.value)

    async def _read(
        self, key: str, since: int, known: Known | None, reply: list[Any]
    ) -> Stored | None:
        work = partial(redis_log.read, reply, known, since)
        is_large = len(reply) > 6 and reply[6] is not None and len(reply[6]) > LARGE
        try:
            found, history, stamps = await self._offload.run(work) if is_large else work()
        except redis_log.DamagedLog as damage:
            self._known.pop(key, None)
            return await self._set_aside(key, since, reply, str(damage))
        self._learn(key, found)
        self._note(key, *stamps, found.head.stamp)
        if not found.head.revision:
            return None
        return Stored(found.head.revision, found.document, history)

    async def _set_aside(
        self, key: str, since: int, reply: list[Any], damage: str
    ) -> Stored | None:
        keys = self._keys(key)
        ending = f".damaged-{stamp()}"
        aside = [name + ending for name in keys[:2]]
        mark = reply[1] if reply[0] == b"damaged" else reply[2] or b""
        moved = await self._line.run(redis_scripts.SET_ASIDE, [*keys[:2], *aside], [mark])
        if moved.value == [0]:
            # Another process has done it, or somebody has committed.
            return await self._load(key, since)
        text = f"the state of {key!r} could not be read ({damage}); it is kept as {aside[0]!r}"
        logger.warning("%s in Redis", text)
        raise DamagedDocument(text, told=f"{text}. Nothing was changed; try again.")

    async def _commit(
        self, key: str, expected: int, document: JSONValue, revision: Revision
    ) -> None:
        await self._ensure_line()
        # Until it is answered, nothing is known.
        known = self._known.pop(key, None)
        head = known.head if known is not None and known.head.revision == expected else None
        mark = redis_log.new_stamp()
        self._note(key, mark)
        entry = redis_log.write_entry(mark, revision)
        is_long = len(entry) > MAX_SIZE
        if is_long:
            # Too long for a history: then it need not be sent beside the document.
            entry = redis_log.write_entry(mark, revision._replace(ops=[], inverse=[]))
        snapshot = b""
        if is_long or redis_log.is_due(head, revision):
            snapshot = await self._offload.run(partial(redis_log.encode_document, document))
        keys = self._keys(key)
        arguments = redis_log.commit_arguments(
            keys, head, mark, revision, snapshot, entry, self._expire_ms
        )
        reply = await self._line.run(redis_scripts.COMMIT, keys[:2], arguments)
        self._settle(key, expected, document, reply)

    def _settle(self, key: str, expected: int, document: JSONValue, reply: Reply) -> None:
        """Take the answer to a commit."""
        match reply.value:
            case [b"done"]:
                # Others have committed on top of it before it was sent again.
                pass
            case [b"done", *fields]:
                self._learn(key, Known(redis_log.parse_head(fields), document))
            case [b"conflict", _, b"1"] if reply.is_resent:
                raise StoreError(
                    "the answer to a commit was lost, and so many others followed that whether it "
                    "was saved is not known",
                    told="It is not known whether the change was saved: look at the state before "
                    "you repeat it.",
                )
            case [b"conflict", actual, _]:
                raise RevisionConflict(expected, int(actual))
            case refused:
                raise redis_log.refusal(refused)

    # --- Watching

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """See `RedisStore.watch`."""
        channel = self._keys(key).news
        if self._ticker is None:
            self._ticker = Ticker(self._look, lambda: LOOK_EVERY)
        if key not in self._listeners:
            self._channels[channel] = key
            self._follower.follow(channel)
        self._listeners.setdefault(key, []).append(listener)

        def unwatch() -> None:
            listeners = self._listeners.get(key, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners and self._listeners.pop(key, None) is not None:
                self._heard.discard(key)
                self._channels.pop(channel, None)
                self._follower.unfollow(channel)

        return unwatch

    def _on_ready(self, channel: str) -> None:
        if (key := self._channels.get(channel)) is not None:
            self._heard.add(key)
            self._tell(key)

    def _on_message(self, channel: str, data: bytes) -> None:
        key, news = self._channels.get(channel), redis_log.parse_news(data)
        if key is None:
            return
        if data == PRESENCE:
            self.presence.refresh(key)
        elif news is None or news[1] not in self._seen.get(key, ()):
            self._tell(key)

    def _look(self) -> None:
        """Ask for all that is watched, in case a message was lost on a line that holds."""
        for key in list(self._heard):
            self._tell(key)

    def _tell(self, key: str) -> None:
        self._news.add(key)
        for listener in list(self._listeners.get(key, ())):
            listener()

    def _on_line(self, is_there: bool) -> None:
        if not is_there:
            self._heard.clear()
        if is_there != self.is_reachable:
            self.is_reachable = is_there
            (self._line_is_there.set if is_there else self._line_is_there.clear)()
            if is_there:
                logger.info("The store's server is back")
            else:
                logger.warning("The store's server does not answer; changes fail until it is back")
            self.presence.tell_all(forget=not is_there)

    async def aclose(self) -> None:
        """Listen no more, let what has begun end, and close the connections."""
        if self._ticker is not None:
            self._ticker.stop()
        await self.presence.aclose()
        await self._follower.aclose()
        if self._running:
            await asyncio.wait(self._running)
        with contextlib.suppress(StoreError):
            await self._line.aclose()
        self._offload.close()
