"""Security headers, and the content security policy of a page.

A policy that forbade inline scripts would forbid the single-file pages that people and agents like
to write; one that allowed them would allow injected ones as well. So each inline script and inline
handler of a page *file* is admitted by its hash, and nothing else is.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CSP", "READABLE_BY_ALL", "ContentPolicy", "SecurityHeaders", "inline_hashes"]

BASE_POLICY: Final[Mapping[str, Sequence[str]]] = {
    "default-src": ("'self'",),
    "img-src": ("'self'", "data:", "blob:"),
    "style-src": ("'self'", "'unsafe-inline'"),
    "base-uri": ("'none'",),
    "form-action": ("'self'",),
    "object-src": ("'none'",),
}

FETCH_DIRECTIVE: Final = re.compile(r"[a-z]+-src(-elem|-attr)?")
SCRIPT_DIRECTIVES: Final = frozenset({"script-src", "script-src-elem", "script-src-attr"})

# No X-Frame-Options and no frame-ancestors: a canvas is made to be embedded, by hosts whose origin
# nobody knows.
FIXED_HEADERS: Final = (
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)

CSP: Final = b"content-security-policy"

READABLE_BY_ALL: Final = (b"access-control-allow-origin", b"*")
"""For scripts only. A module in a frame that is sandboxed without allow-same-origin is fetched
across origins; without this it would not load, and nobody could tell the reader what is wrong. Who
can ask for it has the token already, and it holds nothing that is not in the author's folder."""


class ContentPolicy:
    """A Content-Security-Policy: ours, and the sources an author adds to it by directive."""

    def __init__(self, extra: Mapping[str, Iterable[str]] | None = None) -> None:
        policy = dict(BASE_POLICY)
        for directive, sources in (extra or {}).items():
            # What falls back to default-src starts from what that allows; what is none, from none.
            start = BASE_POLICY["default-src"] if FETCH_DIRECTIVE.fullmatch(directive) else ()
            kept = policy.get(directive, start)
            policy[directive] = (*(source for source in kept if source != "'none'"), *sources)
        self._policy = policy
        self.header = _render(policy)

    def for_page(self, hashes: Iterable[str]) -> bytes:
        """The policy of a page whose inline scripts and handlers have these hashes."""
        added = ("'unsafe-hashes'", *hashes)
        if len(added) == 1:
            return self.header
        policy = {"script-src": BASE_POLICY["default-src"], **self._policy}
        for directive in SCRIPT_DIRECTIVES & policy.keys():
            # Beside a hash, browsers ignore 'unsafe-inline', which an author may have asked for.
            if "'unsafe-inline'" not in policy[directive]:
                policy[directive] = (*policy[directive], *added)
        return _render(policy)


def _render(policy: Mapping[str, Iterable[str]]) -> bytes:
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in policy.items()).encode()


class SecurityHeaders:
    """Add to every response the headers it does not set itself."""

    def __init__(self, app: ASGIApp, policy: ContentPolicy) -> None:
        self._app = app
        self._headers = ((CSP, policy.header), *FIXED_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                given = {name for name, _ in headers}
                headers += [header for header in self._headers if header[0] not in given]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, secured)


def inline_hashes(html: str) -> list[str]:
    """List the CSP sources of every inline script and inline event handler of an HTML file."""
    collector = _InlineCollector()
    # A browser normalises newlines before it parses, and hashes what it parsed.
    collector.feed(re.sub("\r\n?", "\n", html))
    collector.close()
    return sorted({_hash_source(text) for text in collector.texts})


def _hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


class _InlineCollector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._script: list[str] | None = None

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i):
            # To a browser a comment up to the next `>`; html.parser may raise AssertionError.
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name.startswith("on") and value]
        if tag == "script" and not any(name == "src" for name, _ in attrs):
            self._script = []

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            self.texts.append("".join(self._script))
            self._script = None
