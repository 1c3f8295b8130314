"""`resourceRead` of canvases: a request that the host sends because a client asked for it.

A client that can reach the host, but not its loopback ports, could have it ask anything there. So
only what `source` admits is asked for, decided again before each hop and once more before the
answer is handed over: a port whose canvas was closed meanwhile may belong to somebody else. There
are no proxies, cookies, credentials, names to look up, or kept connections. What cannot be decided
safely is refused, in words that tell nothing of what is there. No address reaches a log or an
exception.
"""

import asyncio
import base64
import re
from types import TracebackType
from typing import Final, Literal, NoReturn, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from canvas_provider.ahp.hosting.chat_source import LiveURLs
from canvas_provider.ahp.source import Address, find_address, find_redirect
from canvas_provider.errors import NotFound, PermissionDenied
from canvas_provider.protocol.ahp import ErrorCode, ResourceReadResult

__all__ = ["Encoding", "Relay"]

MAX_SIZE: Final = 8 * 1024 * 1024
"""Bytes of one resource; with base64, a frame of a third more."""

TIMEOUT: Final = 10.0
"""Seconds for one read, all redirects included, and the wait for a free slot."""

MAX_READS: Final = 16
"""Reads at the same time; more wait. With `MAX_SIZE`, it bounds what all of them can hold."""

MAX_REDIRECTS: Final = 5

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

ABSENT: Final = frozenset({404, 410})

HEADERS: Final = {
    # Nothing is decompressed here, so that no small answer becomes a large one.
    "Accept-Encoding": "identity",
    "Accept": "*/*",
}

TEXT: Final = re.compile(
    r"text/.+|image/svg\+xml|application/(?:(?:[\w.-]+\+)?(?:json|xml)|(?:x-)?javascript)", re.I
)
"""Media types whose content may go as text, if it is UTF-8."""

UTF8: Final = frozenset({"", "utf-8", "utf8", "us-ascii"})

Encoding = Literal["utf-8", "base64"]


class _NoNames(AbstractResolver):
    """Looks up nothing. It is never asked: no name passes `source`."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        raise OSError("no names are looked up")

    async def close(self) -> None: ...


class Relay:
    """A `ResourceReader`: reads canvases for the clients of one host.

    Made in a running loop; close it in the end.

    Args:
        max_size: Bytes of one resource; a larger one is refused.
        timeout: Seconds for one read.
    """

    def __init__(self, *, max_size: int = MAX_SIZE, timeout: float = TIMEOUT) -> None:
        self._max_size = max_size
        self._timeout = timeout
        self._slots = asyncio.Semaphore(MAX_READS)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_NoNames(), limit=MAX_READS, force_close=True, use_dns_cache=False
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            headers=HEADERS,
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def read(
        self, uri: str, sources: LiveURLs, encoding: Encoding | None = None
    ) -> ResourceReadResult:
        """Read `uri`, if it belongs to one of `sources`.

        Args:
            sources: Those that the reader may see. Called again and again: they change meanwhile.
            encoding: What the client would like. Content that is no UTF-8 comes as base64 anyway.

        Raises:
            NotFound: the canvas has no such resource.
            PermissionDenied: all else.
        """
        try:
            async with asyncio.timeout(self._timeout), self._slots:
                address = find_address(uri, sources())
                if address is None:
                    _refuse("Only what belongs to a live canvas of yours can be read.")
                content_type, body = await self._follow(address, sources)
        except TimeoutError:
            _refuse("The canvas took too long to answer.")
        except (aiohttp.ClientError, OSError, ValueError):
            _refuse("The canvas could not be read.")
        return _encode(content_type, body, encoding)

    async def aclose(self) -> None:
        """Break off every read. May be called twice."""
        await self._http.close()

    async def _follow(self, address: Address, sources: LiveURLs) -> tuple[str, bytes]:
        """Get the content type and body of what is at the end of the redirects."""
        for _ in range(MAX_REDIRECTS + 1):
            # As it is: what was checked is what is sent.
            url = URL(address.url, encoded=True)
            async with self._http.get(url, allow_redirects=False) as response:
                if response.status not in REDIRECTS:
                    answer = await self._take(response)
                    if find_address(address.url, sources()) is None:
                        _refuse("The canvas was closed meanwhile.")
                    return answer
                target = response.headers.get("Location", "")
            following = find_redirect(target, address, sources())
            if following is None:
                _refuse("The canvas leads to something else, which cannot be read.")
            address = following
        _refuse("The canvas leads from one address to the next.")

    async def _take(self, response: aiohttp.ClientResponse) -> tuple[str, bytes]:
        content_type = response.headers.get("Content-Type", "")
        if response.status in ABSENT:
            raise NotFound(ErrorCode.NOT_FOUND, "The canvas has no such resource.")
        if response.status // 100 != 2:
            _refuse(f"The canvas answered {response.status}.")
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            _refuse("The canvas compresses what was asked for as it is.")
        if response.content_type == "text/event-stream":
            _refuse("A stream cannot be read: it has no end.")
        if (response.content_length or 0) > self._max_size:
            self._refuse_size()
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._max_size:
                self._refuse_size()
        return content_type, bytes(body)

    def _refuse_size(self) -> NoReturn:
        _refuse(f"The resource has more than {self._max_size} bytes.")


def _encode(content_type: str, body: bytes, encoding: Encoding | None) -> ResourceReadResult:
    text = None if encoding == "base64" else _as_text(content_type, body, encoding)
    result: ResourceReadResult
    if text is None:
        result = {"data": base64.b64encode(body).decode(), "encoding": "base64"}
    else:
        result = {"data": text, "encoding": "utf-8"}
    if content_type.isascii() and content_type.isprintable() and content_type:
        result["contentType"] = content_type
    return result


def _as_text(content_type: str, body: bytes, encoding: Encoding | None) -> str | None:
    """Return the content as text, or None for what is none, or may be in another character set."""
    media, _, parameters = content_type.partition(";")
    charset = re.search(r"""charset\s*=\s*["']?([^\s"';]*)""", parameters, re.I)
    if charset is not None and charset[1].lower() not in UTF8:
        return None
    if encoding is None and not TEXT.fullmatch(media.strip()):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _refuse(message: str) -> NoReturn:
    # Not from what it was caught as: that text names the address.
    raise PermissionDenied(ErrorCode.PERMISSION_DENIED, message) from None
