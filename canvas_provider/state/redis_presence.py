"""Who has which document open in other processes, as they say on a Redis server.

    PREFIX:{KEY}:present  a sorted set: a process and the names of its panels, by the time at which
                          that is forgotten, in milliseconds of the server's clock

A process says it again every few seconds. One that dies says nothing, and is forgotten.
"""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from canvas_provider.errors import StoreError
from canvas_provider.state.redis import RedisLine, end
from canvas_provider.state.redis_log import name_keys
from canvas_provider.state.redis_scripts import Script

__all__ = ["PRESENCE", "RedisPresence"]

logger = logging.getLogger("canvas_provider.state")

SAY_EVERY: Final = 5.0
"""Seconds."""

FORGET_AFTER: Final = 15.0
"""Seconds."""

LEAVE_WITHIN: Final = 0.2
"""Seconds: a process that ends has less than one, and who says nothing is forgotten anyway."""

PRESENCE: Final = b"presence"
"""What is published when somebody has come, gone or been forgotten."""

SAY: Final = Script("""
local id, names, ttl, channel, news = unpack(ARGV)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local changed = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now)) > 0
local others, same = {}, false
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(member, 1, #id) ~= id then
        others[#others + 1] = string.sub(member, #id + 1)
    elseif names ~= '' and member == id .. names then
        same = true
    else
        redis.call('ZREM', KEYS[1], member)
        changed = true
    end
end
if names ~= '' then
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ttl)), id .. names)
    redis.call('PEXPIRE', KEYS[1], ttl)
    changed = changed or not same
end
if changed then redis.call('PUBLISH', channel, news) end
return others
""")


class RedisPresence:
    """Says who is here, and knows who is elsewhere. Belongs to the loop it is first used in."""

    def __init__(self, line: RedisLine, prefix: str) -> None:
        self._line = line
        self._prefix = prefix
        self._id = secrets.token_hex(8)
        self._here: dict[str, tuple[Sequence[str], Callable[[], None]]] = {}
        self._others: dict[str, tuple[str, ...]] = {}
        self._due: set[str] = set()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def others(self, key: str) -> tuple[str, ...]:
        """Return the names of the panels of other processes, one for each panel."""
        return self._others.get(key, ())

    def attend(self, key: str, names: Sequence[str], listener: Callable[[], None]) -> None:
        """Say who has the document open here; call `listener` when that changes elsewhere."""
        if names:
            self._here[key] = tuple(names), listener
        else:
            self._here.pop(key, None)
            self._others.pop(key, None)
        self.refresh(key)

    def refresh(self, key: str) -> None:
        """Say and ask soon."""
        self._due.add(key)
        self._changed.set()
        if self._task is None and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def tell_all(self, *, forget: bool) -> None:
        """Tell everybody that the line has come or gone; without one, nobody is known elsewhere."""
        if forget:
            self._others.clear()
        else:
            for key in self._here:
                self.refresh(key)
        for _, listener in list(self._here.values()):
            listener()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SAY_EVERY):
                    await self._changed.wait()
            keys = self._due if self._changed.is_set() else set(self._here)
            self._due = set()
            self._changed.clear()
            for key in keys:
                try:
                    await self._say(key)
                except StoreError as error:
                    # Whoever loads or commits is told; and this is said again.
                    logger.debug("Who is present cannot be said: %s", error)

    async def _say(self, key: str) -> None:
        names, listener = self._here.get(key, ((), None))
        keys = name_keys(self._prefix, key)
        text = json.dumps(names) if names else ""
        reply = await self._line.run(
            SAY, [keys.present], [self._id, text, round(1000 * FORGET_AFTER), keys.news, PRESENCE]
        )
        others = tuple(sorted(name for said in reply.value for name in _read(said)))
        if key in self._here and others != self._others.get(key, ()):
            self._others[key] = others
            if listener is not None:
                listener()

    async def aclose(self) -> None:
        """Say that nobody is here any more, if the server hears it at once."""
        self._is_closed = True
        task, self._task = self._task, None
        if task is None:
            return
        await end(task)
        keys = {*self._here, *self._due}
        self._here.clear()
        leaving = asyncio.ensure_future(self._leave(keys))
        await asyncio.wait([leaving], timeout=LEAVE_WITHIN)
        await end(leaving)

    async def _leave(self, keys: set[str]) -> None:
        with contextlib.suppress(StoreError):
            for key in keys:
                await self._say(key)


def _read(said: Any) -> list[str]:
    """Return the names that another process has said."""
    try:
        names = json.loads(said)
    except (TypeError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
