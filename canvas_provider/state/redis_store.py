"""A store on a Redis server, for documents that several machines share.

Redis, or Valkey, does the distribution. What a commit promises is what the server's persistence
promises: with `appendonly yes` and `appendfsync always` what was acknowledged survives power loss.

This module is light, because authors name the store before the handshake. What talks to the server
is `redis_documents`, imported once, at the first use (`_work`).
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import SplitResult, parse_qs, urlsplit

from canvas_provider.state.history import Revision
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.redis_documents import RedisDocuments

__all__ = ["RedisStore"]

SCHEMES: Final = ("redis", "rediss", "unix")

PARAMETERS: Final = frozenset({"db", "username", "password", "client_name"})
TIMEOUTS: Final = frozenset({"socket_timeout", "socket_connect_timeout"})
"""Parameters of redis-py that a URL may have. The others are decided here, or are none."""

TLS_PARAMETERS: Final = frozenset(
    f"ssl_{name}"
    for name in (
        "keyfile", "certfile", "password", "cert_reqs", "ca_certs", "ca_path", "ca_data",
        "check_hostname", "ciphers",
    )
)  # fmt: skip
"""Those that `rediss://` may have, too."""


class RedisStore:
    """Keeps documents on the Redis server at `url`, below `prefix`.

    All who name the same server and prefix share the documents of the same keys, so give a
    `state_key=` that all of them agree on. Use it from one event loop at a time.

    Args:
        url: `redis://USER:PASSWORD@HOST:PORT/DATABASE`; `rediss://` for TLS; `unix://PATH`.
            Certificates and time-outs are parameters as in redis-py, `?ssl_ca_certs=PATH`. It
            never reaches a log, a message or a `repr`.
        prefix: begins every key on the server, and every channel.
        expire_after: seconds after its latest commit for which a document is kept; None: for good.

    Raises:
        ModuleNotFoundError: redis-py is not installed.
        ValueError: the URL or the prefix is none. What is wrong is said without showing it.
    """

    immediate = False

    def __init__(
        self, url: str, *, prefix: str = "canvas", expire_after: float | None = None
    ) -> None:
        if find_spec("redis") is None:
            raise ModuleNotFoundError(
                "RedisStore needs redis-py: pip install 'canvas-provider[redis]'", name="redis"
            )
        _check_url(url)
        if not prefix or any(sign in prefix for sign in "{}") or not prefix.isprintable():
            raise ValueError(f"{prefix!r} is no prefix: write a word without braces")
        if expire_after is not None and expire_after < 0.001:
            raise ValueError("expire_after is in seconds, and more than none: None is for good")
        self.prefix = prefix
        self._url = url
        self._expire_ms = 0 if expire_after is None else round(1000 * expire_after)
        self._documents: RedisDocuments | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(prefix={self.prefix!r})"

    def resolve(self, default_directory: Path) -> "RedisStore":
        """Return this store: it needs no folder."""
        return self

    def _work(self) -> "RedisDocuments":
        if self._documents is None:
            module = import_module("canvas_provider.state.redis_documents")
            made = module.RedisDocuments(self._url, self.prefix, self._expire_ms)
            self._documents = cast("RedisDocuments", made)
        return self._documents

    async def load(self, key: str, since: int = 0) -> Stored | None:
        """Read what is new since the last time, in one round trip; `None` if there is nothing.

        Raises:
            DamagedDocument: it could not be read and was set aside; the next call finds none.
            StoreError: the server does not answer, or refuses.
        """
        return await self._work().load(key, since)

    def is_current(self, key: str, revision: int) -> bool:
        """Say whether nobody has told of another commit. `False` while nobody could tell."""
        return self._work().is_current(key, revision)

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        """Write the operations, or now and then the document, in one round trip.

        It is sent again where the line broke, and done once.

        Raises:
            RevisionConflict: the document is at another revision.
            StoreError: the server refused, or its answer is lost: it may have happened.
        """
        await self._work().commit(key, expected_revision, document, revision)

    def watch(self, key: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when another has committed the document: the server tells at once."""
        return self._work().watch(key, listener)

    def is_reachable(self) -> bool:
        """Say whether the server answers, as far as is known."""
        return self._documents is None or self._documents.is_reachable

    def attend(self, key: str, names: Sequence[str], listener: Callable[[], None]) -> None:
        """Tell other processes who has the document open here: see `RemoteStore.attend`."""
        if names or self._documents is not None:
            self._work().presence.attend(key, names, listener)

    def others(self, key: str) -> Sequence[str]:
        """Return a name for each panel of another process that has the document open."""
        return () if self._documents is None else self._documents.presence.others(key)

    async def aclose(self) -> None:
        """Let what has begun end, and close the connections. The next use opens them again."""
        documents, self._documents = self._documents, None
        if documents is not None:
            await documents.aclose()


def _check_url(url: str) -> None:
    """Refuse what is no URL of a server, without a word of it: it may hold a password."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in SCHEMES and (parts.port is None or parts.port > 0)
        is_good = is_good and _is_database(parts) and _are_parameters(parts)
    except (ValueError, AttributeError, TypeError):
        is_good = False
    if not is_good:
        raise ValueError(
            "that is no URL of a Redis server: write redis://HOST:PORT/DATABASE, the database as a "
            "number, with rediss:// for TLS; quote special characters in a password "
            "(urllib.parse.quote); the parameters that may follow are in the guide"
        )


def _is_database(parts: SplitResult) -> bool:
    """Say whether the path is what its scheme wants; redis-py takes any word for database 0."""
    name = parts.path.removeprefix("/")
    return bool(name) if parts.scheme == "unix" else not name or name.isdecimal()


def _are_parameters(parts: SplitResult) -> bool:
    """Say whether redis-py will take the parameters, which it asks only when it connects."""
    given = parse_qs(parts.query)
    allowed = PARAMETERS | TIMEOUTS | (TLS_PARAMETERS if parts.scheme == "rediss" else frozenset())
    databases = given.get("db", ())
    seconds = [float(value) for name in TIMEOUTS for value in given.get(name, ())]
    return (
        allowed.issuperset(given)
        and all(value.isdecimal() for value in databases)
        and all(value > 0 for value in seconds)
    )
