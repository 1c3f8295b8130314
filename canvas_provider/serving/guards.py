"""What stands between a socket and a handler: plain ASGI, each guard one reason to refuse.

Any page in any browser on this machine can send requests to a loopback port, and any process can
connect to it. The guards, in the order in which they are to be stacked, outermost first:

    HostGuard         421  a name that was rebound to 127.0.0.1 (DNS rebinding), a wrong port
    TokenGuard        404  whoever was not given the address
    OriginGuard       403  a write sent by another page
    ContentTypeGuard  415  a write that a form or `no-cors` can send without asking first
    BodyLimit         413  more than the receiver is willing to hold

None reads the body before it has decided. The first three belong around a whole app; the last two
around each route, because a route may name other content types.
"""

import hmac
from collections.abc import Iterable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvas_provider.serving.responses import NOT_FOUND, send_error
from canvas_provider.types import Token

__all__ = [
    "TOO_LARGE",
    "BodyLimit",
    "ContentTypeGuard",
    "HostGuard",
    "Hosts",
    "OriginGuard",
    "TokenGuard",
    "header_values",
]

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""RFC 9110 section 9.2.1, without TRACE, which nothing here serves."""

TOO_LARGE: Final = "content_too_large"


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """Every value that was sent for `name` (lower case), in order."""
    return [value for key, value in scope["headers"] if key == name]


class Hosts:
    """The names an app answers to: its own `host:port`, and those an author allowed.

    An allowed `name` goes with any port, an allowed `name:port` with that one. The own name is
    known only once a port is bound; until then nothing is admitted.
    """

    def __init__(self, allowed: Iterable[str] = (), *, own: str = "") -> None:
        self._allowed = frozenset(name.lower().encode() for name in allowed)
        self._own = own.encode()

    def bind(self, own: str) -> None:
        """Set the app's own `host:port`."""
        self._own = own.encode()

    def admits(self, host: bytes) -> bool:
        """Tell whether a Host header names this app."""
        return bool(host) and (host == self._own or self._allows(host))

    def admits_origin(self, origin: bytes) -> bool:
        """Tell whether an Origin header is one of this app's own pages. `null` never is."""
        # Not by a URL parser: browsers send no more than this, and parsers forgive too much.
        scheme, _, host = origin.partition(b"://")
        is_own = scheme == b"http" and bool(host) and host == self._own
        return is_own or (scheme in (b"http", b"https") and self._allows(host))

    def _allows(self, host: bytes) -> bool:
        host = host.lower()
        name, colon, port = host.rpartition(b":")
        return host in self._allowed or (bool(colon) and port.isdigit() and name in self._allowed)


class HostGuard:
    """Refuse a request that is not addressed to this app by name (RFC 9110 section 15.5.20).

    Args:
        setting: what the message tells an author to set.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, *, setting: str = "allowed_hosts") -> None:
        self._app = app
        self._hosts = hosts
        self._message = (
            "This address does not answer under that host name. "
            f"To serve it under another name, list the name in `{setting}`."
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not the first of them: which of two Host headers counts is what attackers play with.
        match header_values(scope, b"host"):
            case [host] if self._hosts.admits(host):
                await self._app(scope, receive, send)
            case _:
                await send_error(send, 421, "misdirected_request", self._message)


class TokenGuard:
    """Let through only what comes below `/TOKEN`, and make that the app's `root_path`."""

    def __init__(self, app: ASGIApp, token: Token) -> None:
        self._app = app
        self._token = token.encode()
        self._root = f"/{token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segment = scope["path"].removeprefix("/").partition("/")[0].encode("utf-8", "replace")
        if hmac.compare_digest(segment, self._token) and scope["path"].startswith(self._root):
            await self._app({**scope, "root_path": self._root}, receive, send)
        else:
            await send_error(send, *NOT_FOUND)


class OriginGuard:
    """Refuse a write that a page of another origin sent.

    Both headers are checked only when sent: programs send neither. Reads are left alone, because
    navigating a frame is a cross-site GET.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in SAFE_METHODS or self._is_own(scope):
            await self._app(scope, receive, send)
        else:
            message = "Another page sent this request. Only this address's own pages may."
            await send_error(send, 403, "cross_origin", message)

    def _is_own(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"origin" and not self._hosts.admits_origin(value):
                return False
            if name == b"sec-fetch-site" and value != b"same-origin":
                return False
        return True


class ContentTypeGuard:
    """Refuse a write whose content type is not one of `allowed`.

    A browser sends `application/json` across origins only after asking, and nothing here says yes.
    `*/*` admits every type, and none.
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ("application/json",)) -> None:
        self._app = app
        names = [name.lower() for name in allowed]
        self._allowed = frozenset(name.encode() for name in names)
        self._any = "*/*" in names
        self._message = f"Send the body as {' or '.join(names)}, and say so in Content-Type."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in SAFE_METHODS or self._any or self._is_allowed(scope):
            await self._app(scope, receive, send)
        else:
            await send_error(send, 415, "unsupported_media_type", self._message)

    def _is_allowed(self, scope: Scope) -> bool:
        match header_values(scope, b"content-type"):
            case [value]:
                return value.partition(b";")[0].strip().lower() in self._allowed
        return False


class BodyLimit:
    """Refuse a body of more than `limit` bytes, announced or not.

    One that announces its length is refused unread; a chunked one as soon as it is too long, by an
    `HTTPException` out of `receive`, which whoever reads the body lets pass.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._message = f"A body may have at most {limit} bytes."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lengths = header_values(scope, b"content-length")
        if all(self._admits(length) for length in lengths):
            await self._app(scope, self._counted(receive), send)
        else:
            await send_error(send, 413, TOO_LARGE, self._message)

    def _admits(self, length: bytes) -> bool:
        # More digits than any sensible limit has are not even parsed.
        return length.isdigit() and len(length) < 19 and int(length) <= self._limit

    def _counted(self, receive: Receive) -> Receive:
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limit:
                raise HTTPException(413, self._message)
            return message

        return counted
