"""The author's page: one HTML file, or a folder that is served as it is.

Every request looks at the disk, so an edit shows at the next reload. Nothing outside the folder is
reachable: no `..`, no symlink that leads out, no dot file.
"""

import html
import mimetypes
from functools import partial
from pathlib import Path
from typing import Final

from starlette.responses import FileResponse, Response

from canvas_provider.canvas.threads import Workers
from canvas_provider.serving.headers import CSP, READABLE_BY_ALL, ContentPolicy, inline_hashes
from canvas_provider.web.assets import read_asset

__all__ = ["DefaultPage", "PageFiles"]

INDEX: Final = "index.html"

FORBIDDEN: Final = frozenset("\\:\0")
"""In a path segment: on some system each of them leads elsewhere."""

CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Not left to the machine's own table: there are some that call JavaScript plain text, which a
browser that may not guess does not run."""


class PageFiles:
    """Finds and answers the files of `page`.

    Args:
        page: a folder with an `index.html`, or one HTML file.
    """

    def __init__(self, page: Path, policy: ContentPolicy, workers: Workers) -> None:
        self._page = page.resolve()
        self._single = self._page.is_file()
        self._policy = policy
        self._workers = workers

    async def respond(self, path: str) -> Response | None:
        """The response for `path`, relative to the page ("" is its index); None if there is none.

        Files are found, read and hashed in a thread.
        """
        return await self._workers.run(partial(self._respond, path))

    def _respond(self, path: str) -> Response | None:
        file = self._find(path)
        if file is None:
            return None
        kind = CONTENT_TYPES.get(file.suffix.lower()) or _guess(file)
        try:
            if kind.startswith("text/html"):
                return self._html(file)
            response = FileResponse(file, media_type=kind, stat_result=file.stat())
        except OSError:
            return None
        if kind.startswith("text/javascript"):
            response.raw_headers.append(READABLE_BY_ALL)
        return response

    def _find(self, path: str) -> Path | None:
        page = self._page
        if self._single:
            return page if path in ("", page.name) and page.is_file() else None
        if path == "" or path.endswith("/"):
            path += INDEX
        if not all(_is_plain(segment) for segment in path.split("/")):
            return None
        try:
            file = (page / path).resolve()
            return file if file.is_relative_to(page) and file.is_file() else None
        except (OSError, RuntimeError, ValueError):
            # A name too long, links in a circle, a null byte.
            return None

    def _html(self, file: Path) -> Response:
        content = file.read_bytes()
        hashes = inline_hashes(content.decode("utf-8-sig", "replace"))
        return _html_response(content, self._policy.for_page(hashes))


class DefaultPage:
    """What a canvas without a page of its own shows: its state, live."""

    def __init__(self, title: str, policy: ContentPolicy) -> None:
        self._title = html.escape(title)
        self._policy = policy

    async def respond(self, path: str) -> Response | None:
        """The page, at the index only."""
        if path != "":
            return None
        text = read_asset("default.html").decode()
        policy = self._policy.for_page(inline_hashes(text))
        return _html_response(text.replace("$title", self._title).encode(), policy)


def _html_response(content: bytes, policy: bytes) -> Response:
    return Response(
        content, media_type=CONTENT_TYPES[".html"], headers={CSP.decode(): policy.decode()}
    )


def _is_plain(segment: str) -> bool:
    return bool(segment) and segment[0] != "." and FORBIDDEN.isdisjoint(segment)


def _guess(file: Path) -> str:
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"
