"""One event stream and all the pages that read it.

A frame is encoded once and written to every page at once, from the call that published it: no
queue and no task switch lies between a change and the sockets. A page that cannot take it is never
waited for: up to a bound it is remembered what it missed (the frames are shared, so this costs
little), past the bound it misses everything and gets a fresh snapshot when it can read again.

It knows frames and pages. What a frame says, and what a page starts with, its owner decides.
"""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import nullcontext
from types import coroutine
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from canvas_provider.serving.responses import send_error
from canvas_provider.serving.ticker import TICKER

__all__ = ["MAX_BACKLOG", "MAX_LATEST", "EventStream"]

logger = logging.getLogger("canvas_provider.serving")

MAX_BACKLOG: Final = 1024 * 1024
"""Bytes a page may be behind before it is moved to a snapshot."""

MAX_LATEST: Final = 64
"""Frames with a key that are kept for a page that is behind; then the oldest is dropped."""

KEEP_ALIVE: Final = b": keep-alive\n\n"


class EventStream:
    """A source of frames, and the ASGI app that serves it as `text/event-stream`.

    Args:
        opening: returns the frames a page begins with; called in the same step of the loop in
            which the page begins to get what is published, so nothing is missed or doubled.
        snapshot: returns the frames that stand for everything a page has missed.
        max_pages: refuse further ones with 503.
        max_backlog: bytes one page may be behind.
    """

    def __init__(
        self,
        *,
        opening: Callable[[Scope], bytes],
        snapshot: Callable[[], bytes],
        max_pages: int = 256,
        max_backlog: int = MAX_BACKLOG,
    ) -> None:
        self._opening = opening
        self._snapshot = snapshot
        self._max_pages = max_pages
        self._max_backlog = max_backlog
        self._pages: set[_Page] = set()
        self._last: bytes | None = None

    @property
    def pages(self) -> int:
        """How many pages read now."""
        return len(self._pages)

    def publish(self, frame: bytes, *, key: str | None = None) -> None:
        """Give a frame to every page. Never waits, never raises.

        Args:
            key: of the frames with the same key, a page that is behind gets only the last; they
                come after everything else it has missed, and are no part of a snapshot.
        """
        for page in tuple(self._pages):
            page.push(frame, key)

    def close(self, last: bytes) -> None:
        """End every stream after the frame `last`, and refuse new ones. Idempotent."""
        if self._last is None:
            self._last = last
            for page in tuple(self._pages):
                page.end(last)

    def cut(self) -> int:
        """Break every stream off, as a bad line would; return how many. Pages may come back."""
        for page in tuple(self._pages):
            page.end(b"")
        return len(self._pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._last is not None:
            await send_error(send, 410, "closing", "This canvas is closed.")
        elif len(self._pages) >= self._max_pages:
            message = f"There are {self._max_pages} event streams already. Close a page."
            await send_error(send, 503, "too_many_streams", message)
        elif scope["method"] == "HEAD":
            await send(_start())
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = _Page(send, self._snapshot, self._max_backlog)
        self._pages.add(page)
        ticker = scope.get("state", {}).get(TICKER)
        try:
            await send(_start())
            page.begin(self._opening(scope), self._last)
            with ticker.calling(page.beat) if ticker is not None else nullcontext():
                # Also after the last frame: ASGI disconnects once a response is complete.
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            self._pages.discard(page)
            page.drop()


def _start() -> dict[str, Any]:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    return {"type": "http.response.start", "status": 200, "headers": headers}


class _Page:
    """One reader: idle (everything was handed to its transport) or busy catching up."""

    __slots__ = (
        "_backlog", "_behind", "_catching_up", "_last", "_latest", "_max_backlog", "_open", "_send",
        "_size", "_snapshot",
    )  # fmt: skip

    def __init__(self, send: Send, snapshot: Callable[[], bytes], max_backlog: int) -> None:
        self._send = send
        self._snapshot = snapshot
        self._max_backlog = max_backlog
        self._open = False
        self._backlog: list[bytes] = []
        self._latest: dict[str, bytes] = {}
        self._size = 0
        self._behind = False
        self._last: bytes | None = None
        self._catching_up: asyncio.Task[None] | None = None

    def begin(self, opening: bytes, last: bytes | None) -> None:
        """Send the first frames; only now the page takes others."""
        self._open = True
        if opening:
            self._write(opening)
        if last is not None:
            self.end(last)

    def push(self, frame: bytes, key: str | None = None) -> None:
        if not self._open or self._last is not None:
            return
        if self._catching_up is None:
            self._write(frame)
        elif key is not None:
            self._latest.pop(key, None)  # so that the order is that of the last frames
            self._latest[key] = frame
            if len(self._latest) > MAX_LATEST:
                del self._latest[next(iter(self._latest))]
        elif not self._behind:
            self._size += len(frame)
            self._backlog.append(frame)
            if self._size > self._max_backlog:
                self._behind = True
                self._backlog.clear()

    def beat(self) -> None:
        """Show an idle line that somebody is there."""
        if self._open and self._catching_up is None:
            self._write(KEEP_ALIVE)

    def end(self, last: bytes) -> None:
        if self._open and self._last is None:
            self._last = last
            if self._catching_up is None:
                self._open = False
                self._write(last, more_body=False)

    def drop(self) -> None:
        """The reader is gone."""
        self._open = False
        if self._catching_up is not None:
            self._catching_up.cancel()

    def _write(self, body: bytes, *, more_body: bool = True) -> None:
        """Run `send` here and now; only what has to wait for the reader becomes a task."""
        message = {"type": "http.response.body", "body": body, "more_body": more_body}
        steps = self._send(message).__await__()
        try:
            waiting = next(steps)
        except StopIteration:
            return
        except Exception:
            logger.exception("An event stream could not be written")
            self._open = False
            return
        self._catching_up = asyncio.create_task(self._catch_up(steps, waiting))

    async def _catch_up(self, steps: Generator[Any, None, None], waiting: object) -> None:
        try:
            await _finish(steps, waiting)
            while self._open and (message := self._next_message()) is not None:
                await self._send(message)
        except Exception:
            logger.exception("An event stream could not be written")
            self._open = False
        finally:
            self._catching_up = None

    def _next_message(self) -> dict[str, Any] | None:
        missed = [self._snapshot()] if self._behind else self._backlog
        body = b"".join((*missed, *self._latest.values()))
        self._behind, self._size = False, 0
        self._backlog.clear()
        self._latest.clear()
        if body:
            return {"type": "http.response.body", "body": body, "more_body": True}
        if (last := self._last) is not None:
            self._open = False
            return {"type": "http.response.body", "body": last, "more_body": False}
        return None


@coroutine
def _finish(steps: Generator[Any, None, None], waiting: object) -> Generator[Any, None, None]:
    """Finish an awaitable whose first step, already run, asked to wait for `waiting`."""
    yield waiting
    yield from steps
