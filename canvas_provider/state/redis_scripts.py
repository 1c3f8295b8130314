"""What runs on a Redis server: each reads or writes a document in one step, and one round trip.

`redis_log` says what is where, and what goes in and comes out. Nothing here is newer than Redis
6.0.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final

__all__ = ["COMMIT", "LOAD", "SET_ASIDE", "Script"]


@dataclass(frozen=True)
class Script:
    """A script that the server may have already."""

    text: str = field(repr=False)
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        # The server's name for a script, and no secret.
        digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", digest)


# Whatever can fail is asked before anything is written, and what needs memory is written first: a
# server asks only there whether it has any. Numbers come and go as text: Lua would
# write large ones with an exponent.
COMMIT: Final = Script("""
local format, expected, onto, stamp, entry, snapshot = unpack(ARGV, 1, 6)
local number, keep, spare, expire, channel = unpack(ARGV, 7, 11)
local found = redis.call('HMGET', KEYS[1], 'revision', 'stamp', 'base', 'size', 'total', 'format')
redis.call('LLEN', KEYS[2])
if found[6] and found[6] ~= format then return {'format', found[6]} end
local revision = found[1] or '0'
local ahead = tonumber(revision) - tonumber(expected)
local there = ahead > 0 and redis.call('LINDEX', KEYS[2], -ahead)
if there and string.sub(there, 1, #stamp) == stamp then
    if ahead > 1 then return {'done'} end
    return {'done', revision, stamp, found[3], found[4], found[5]}
end
if ahead ~= 0 or (onto ~= '' and found[2] and found[2] ~= onto) then
    return {'conflict', revision, (ahead > 0 and not there) and '1' or '0'}
end
local base, size, total = found[3] or '0', found[4] or '0', tonumber(found[5] or '0') + #entry
redis.call('RPUSH', KEYS[2], entry)
if not found[1] then redis.call('LTRIM', KEYS[2], -1, -1) end
if snapshot ~= '' then
    local entries = redis.call('LRANGE', KEYS[2], -tonumber(keep), -1)
    local kept, left = 0, tonumber(spare)
    for index = #entries, 1, -1 do
        left = left - #entries[index]
        if left < 0 and kept > 0 then break end
        kept = kept + 1
    end
    redis.call('LTRIM', KEYS[2], -kept, -1)
    base, size, total = number, tostring(#snapshot), 0
    redis.call('HSET', KEYS[1], 'snapshot', snapshot, 'base', base, 'size', size, 'format', format)
end
total = string.format('%.0f', total)
redis.call('HSET', KEYS[1], 'revision', number, 'stamp', stamp, 'total', total)
if expire ~= '0' then
    redis.call('PEXPIRE', KEYS[1], expire)
    redis.call('PEXPIRE', KEYS[2], expire)
end
redis.call('PUBLISH', channel, number .. ' ' .. stamp)
return {'done', number, stamp, base, size, total}
""")

LOAD: Final = Script("""
local have, stamp, since, keep, format = unpack(ARGV)
local found = redis.call('HMGET', KEYS[1], 'revision', 'stamp', 'base', 'size', 'total', 'format')
local length = redis.call('LLEN', KEYS[2])
if not found[1] then
    if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
    return {'damaged', found[2] or ''}
end
if found[6] ~= format then return {'format', found[6] or '?'} end
local revision, base = tonumber(found[1]), tonumber(found[3])
if not (revision and base) then return {'damaged', found[2] or ''} end
local first = revision - length + 1
have, since = tonumber(have), tonumber(since)
local snapshot = false
if have < first or have > revision
        or string.sub(redis.call('LINDEX', KEYS[2], have - first), 1, #stamp) ~= stamp then
    have = base
    snapshot = redis.call('HGET', KEYS[1], 'snapshot')
    if not snapshot then return {'damaged', found[2] or ''} end
end
local from = math.min(have, math.max(since, revision - tonumber(keep))) + 1
local entries = redis.call('LRANGE', KEYS[2], math.max(from - first, 0), -1)
return {'found', found[1], found[2], found[3], found[4], found[5], snapshot, entries}
""")

SET_ASIDE: Final = Script("""
if (redis.call('HGET', KEYS[1], 'stamp') or '') ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[4]) end
redis.call('RENAME', KEYS[1], KEYS[3])
return 1
""")
