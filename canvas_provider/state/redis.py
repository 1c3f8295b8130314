"""Connections to a Redis server: scripts that are run, and channels that are listened to.

The one module that imports redis-py, at the first use of a `RedisStore`. It knows nothing of
documents. redis-py's own retries are off: what may be sent twice, and when a line counts as dead,
is decided here. Neither the server's address nor what it says reaches a log or an error, because
either may show a password or a document.
"""

import asyncio
import contextlib
import logging
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LineError
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as LineTimeout

from canvas_provider.errors import StoreError
from canvas_provider.state.redis_scripts import Script

__all__ = ["RedisFollower", "RedisLine", "Reply", "end"]

logger = logging.getLogger("canvas_provider.state")

TIMEOUT: Final = 2.0
"""Seconds that a connection, or an answer, may take. The URL can say another."""

PAUSES: Final = (0.05, 0.2)
"""Seconds before what failed with a broken line is sent again, at most: drawn from the upper half.
A server that restarts has broken the lines that are kept open."""

CONNECTIONS: Final = 16
"""At most, for scripts; who comes later waits."""

HEARTBEAT: Final = 1.0
"""Seconds of silence before a listener asks for a sign of life, and then waits for one."""

FIRST_DELAY: Final = 0.1
LAST_DELAY: Final = 5.0
"""Seconds between two attempts of a listener to connect: doubled each time, drawn from the upper
half."""

_CODES: Final = re.compile(
    r"\b(OOM|OutOfMemory|MISCONF|READONLY|ReadOnly|WRONGTYPE|NOPERM|NoPermission|NOAUTH|MOVED|"
    r"Moved|CROSSSLOT|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|BUSY|Authentication|WRONGPASS|"
    r"CERTIFICATE_VERIFY_FAILED)"
)


class Reply(NamedTuple):
    """What a script has returned."""

    value: list[Any]
    is_resent: bool
    """It was sent more than once, so the server may have run it more than once."""


def _create_pool(kind: type[ConnectionPool], url: str, **settings: Any) -> ConnectionPool:
    pool: ConnectionPool = kind.from_url(
        url,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=TIMEOUT,
        socket_keepalive=True,
        health_check_interval=0,
        # Messages are no pushes then, and a server is asked for nothing that it may not know.
        protocol=2,
        **settings,
    )
    return pool


class RedisLine:
    """Runs scripts on the server at `url`, in the loop it is first used in."""

    def __init__(self, url: str) -> None:
        self._pool = _create_pool(
            BlockingConnectionPool,
            url,
            max_connections=CONNECTIONS,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
        )
        self._client = Redis(connection_pool=self._pool)
        self._is_closed = False

    async def run(
        self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | int]
    ) -> Reply:
        """Run a script, again where the line has broken, and return its reply.

        Raises:
            StoreError: the server did not answer, or refused.
        """
        for attempt, pause in enumerate((*PAUSES, None)):
            if self._is_closed:
                # A pool that was emptied would make new connections, which nobody closes.
                raise StoreError("the store is closed")
            try:
                return Reply(await self._run_once(script, keys, arguments), attempt > 0)
            except LineTimeout as error:
                raise _unreachable(error) from None
            except (LineError, OSError) as error:
                if pause is None or _is_refusal(error):
                    raise _unreachable(error) from None
                await asyncio.sleep(pause * (0.5 + random.random() / 2))
            except (RedisError, ValueError) as error:
                # redis-py leaves some of what is no Redis at all to `int`.
                raise _refused(error) from None
        raise AssertionError("the last attempt ends it")

    async def _run_once(
        self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | int]
    ) -> list[Any]:
        call: Any = self._client.evalsha
        try:
            value = await call(script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            # A new server, or `SCRIPT FLUSH`; from now on it has it.
            call = self._client.eval
            value = await call(script.text, len(keys), *keys, *arguments)
        return value if isinstance(value, list) else [value]

    async def aclose(self) -> None:
        """Close every connection; there will be no more."""
        self._is_closed = True
        await self._pool.disconnect()
        # What redis-py has closed without waiting is closed in the next step of the loop.
        await asyncio.sleep(0)


class RedisFollower:
    """Listens to channels on a connection of its own, which it makes again whenever it is lost.

    Everything is called in the loop: `on_ready` when a channel is listened to from now on, which
    is also so after each gap; `on_message` with what was published; `on_line` when the line is
    there, and when it is gone.
    """

    def __init__(
        self,
        url: str,
        *,
        on_ready: Callable[[str], None],
        on_message: Callable[[str, bytes], None],
        on_line: Callable[[bool], None],
    ) -> None:
        pool: Any = _create_pool(ConnectionPool, url)
        # Silence is no error here, whatever the URL says of answers.
        pool.connection_kwargs["socket_timeout"] = None
        self._make_connection: Callable[[], Any] = pool.make_connection
        self._on_ready = on_ready
        self._on_message = on_message
        self._on_line = on_line
        self._wanted: set[str] = set()
        self._changed = asyncio.Event()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def follow(self, channel: str) -> None:
        """Listen to a channel from now on."""
        self._wanted.add(channel)
        self._changed.set()
        if self._task is None and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def unfollow(self, channel: str) -> None:
        """Listen to it no longer."""
        self._wanted.discard(channel)
        self._changed.set()

    def hurry(self) -> None:
        """Try now what would be tried later, if the line is gone."""
        self._hurry.set()

    async def aclose(self) -> None:
        """Listen no longer to anything."""
        self._is_closed = True
        task, self._task = self._task, None
        if task is not None:
            await end(task)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        delay = FIRST_DELAY
        while True:
            begun = loop.time()
            connection = self._make_connection()
            try:
                await _connect(connection)
                await self._listen(connection)
            except (RedisError, OSError, ValueError) as error:
                logger.debug("The line to the store's server is lost: %s", type(error).__name__)
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await connection.disconnect()
            self._on_line(False)
            if loop.time() - begun > LAST_DELAY:
                delay = FIRST_DELAY
            self._hurry.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay * (0.5 + random.random() / 2)):
                    await self._hurry.wait()
            delay = min(2 * delay, LAST_DELAY)

    async def _listen(self, connection: Any) -> None:
        """Listen until the line is lost, which is an exception."""
        asked: set[str] = set()
        is_asked = False
        reading = asyncio.ensure_future(connection.read_response())
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            while True:
                if changed.done():
                    changed = asyncio.ensure_future(self._changed.wait())
                self._changed.clear()
                for command, channels in (
                    ("SUBSCRIBE", self._wanted - asked),
                    ("UNSUBSCRIBE", asked - self._wanted),
                ):
                    if channels:
                        await connection.send_command(command, *channels)
                asked = set(self._wanted)
                done, _ = await asyncio.wait(
                    {reading, changed}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
                )
                if reading in done:
                    is_asked = False
                    self._hear(reading.result())
                    reading = asyncio.ensure_future(connection.read_response())
                elif not done:
                    if is_asked:
                        raise LineError("no sign of life")
                    is_asked = True
                    await connection.send_command("PING")
        finally:
            changed.cancel()
            await end(reading)

    def _hear(self, message: Any) -> None:
        self._on_line(True)
        if not isinstance(message, list) or len(message) != 3:
            return
        kind, channel, data = message
        if kind == b"message":
            self._on_message(channel.decode(), data)
        elif kind == b"subscribe":
            self._on_ready(channel.decode())


async def _connect(connection: Any) -> None:
    """Connect within `TIMEOUT`: a server that is paused takes connections, and says nothing."""
    connecting = asyncio.ensure_future(connection.connect())
    try:
        await asyncio.wait([connecting], timeout=TIMEOUT)
    finally:
        was_done = connecting.done()
        await end(connecting)
    if not was_done:
        raise LineTimeout
    connecting.result()


async def end(task: "asyncio.Future[Any]") -> None:
    """Cancel a task that uses redis-py, and wait for its end.

    redis-py may take a cancellation for a time-out of its own and go on, so it is asked again.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task], timeout=0.05)
        except asyncio.CancelledError as error:
            # First the task: left alone, it would make a connection that nobody closes.
            cancelled = error
    if not task.cancelled():
        # Nobody waits for what it ended with any more.
        task.exception()
    if cancelled is not None:
        raise cancelled


def _is_refusal(error: Exception) -> bool:
    """Say whether the server has answered that it does not want us."""
    return _CODES.search(f"{type(error).__name__} {error}") is not None


def _unreachable(error: Exception) -> StoreError:
    if _is_refusal(error):
        return _refused(error)
    return StoreError(
        f"the store's server does not answer ({type(error).__name__}): whether the change was "
        "saved is not known",
        told="The state cannot be reached now: its server does not answer. What you see is as it "
        "was before; look again before you repeat a change.",
    )


def _refused(error: Exception) -> StoreError:
    found = _CODES.search(f"{type(error).__name__} {error}")
    code = type(error).__name__ if found is None else found[1]
    return StoreError(
        f"the store's server refused: {code}",
        told="The state cannot be used now: its server refused. Nothing was changed. The log has "
        "the details.",
    )
