"""The progress of one piece of long work, as its author counts it, in any thread.

A work may count a hundred thousand times a second. So counting tells nobody anything but, once
after each frame, that there is news; what is told is the newest there is at that time.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Literal, Protocol, Self, TypedDict

from canvas_provider.errors import CanvasError, CanvasProviderError
from canvas_provider.types import Author

__all__ = ["Owner", "Progress", "ProgressFrame", "Status"]

Status = Literal["running", "done", "failed", "cancelled"]

MAX_CHARS: Final = 200
"""Characters of a title or message that are shown."""

_LARGEST: Final = 2**53  # beyond it, JSON numbers are not exact


class ProgressFrame(TypedDict):
    """What the event `progress` carries."""

    id: str
    title: str
    message: str
    done: float
    total: float | None
    status: Status
    author: Author
    action: str | None


class Owner(Protocol):
    """The call that a work belongs to."""

    @property
    def ended(self) -> bool:
        """Whether it was ended from outside: a thread may not have noticed yet."""


class Progress:
    """One piece of work, from the beginning of its block to the end: `ctx.progress` makes it.

    Every method works in any thread and costs next to nothing. After the end, whoever brought it
    about, they do nothing.
    """

    __slots__ = (
        "_changed", "_done", "_id", "_lock", "_message", "_status", "_tell", "_title", "_total",
        "_who", "is_over", "owner",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        title: str,
        total: float | None,
        *,
        author: Author,
        action: str | None,
        owner: Owner,
        tell: "Callable[[Progress], None]",
    ) -> None:
        self._id = id
        self._title = _check_text("title", title)
        self._total = None if total is None else _check_number("total", total)
        self._message = ""
        self._done: float = 0
        self._status: Status | None = None
        self._who: tuple[Author, str | None] = author, action
        self.owner = owner
        """The call that it belongs to; when that is ended from outside, so is this."""
        self.is_over = False
        """Whether its end has been taken."""
        self._tell = tell
        self._lock = threading.Lock()
        self._changed = True

    def __repr__(self) -> str:
        return f"<Progress {self._id}, {self.status or 'not begun'}>"

    @property
    def id(self) -> str:
        return self._id

    @property
    def title(self) -> str:
        return self._title

    @property
    def message(self) -> str:
        return self._message

    @property
    def done(self) -> float:
        return self._done

    @property
    def total(self) -> float | None:
        """None: nobody knows, and the bar says only that something goes on."""
        return self._total

    @property
    def status(self) -> Status | None:
        """None before the block begins."""
        return self._status

    def advance(self, amount: float = 1) -> None:
        """Count `amount` more as done."""
        with self._lock:
            self._done = self._add(amount)
            if self._changed:
                if self._status is None:
                    raise _not_begun()
                return
            self._changed = True
        self._tell(self)

    def _add(self, amount: float) -> float:
        try:
            done = self._done + amount
        except TypeError:
            kind = type(amount).__name__
            raise TypeError(f"advance() takes a number, as in advance(2), not {kind}") from None
        if not -_LARGEST < done < _LARGEST:
            raise ValueError(f"the done of a progress is a number up to 2**53, not {done}")
        return done

    def update(
        self,
        done: float | None = None,
        total: float | None = None,
        message: str | None = None,
    ) -> None:
        """Set what is given; None leaves as it is.

        Args:
            message: what is being done now, shown under the title; `""` shows nothing.
        """
        with self._lock:
            if self._status is None:
                raise _not_begun()
            if done is not None:
                self._done = _check_number("done", done)
            if total is not None:
                self._total = _check_number("total", total)
            if message is not None:
                self._message = _check_text("message", message)
            if self._changed:
                return
            self._changed = True
        self._tell(self)

    # --- The block

    def __enter__(self) -> Self:
        if self._status is not None:
            raise CanvasProviderError("a progress is for one block; call ctx.progress() again")
        if self.owner.ended:
            # A thread that is out of time: nobody waits for what it does.
            self._status, self.is_over = "cancelled", True
        else:
            self._status = "running"
            self._tell(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.end("done")
        elif isinstance(error, CanvasError):
            # It is an answer, and made to be read. Any other text may hold what is nobody's
            # business.
            self.end("failed", str(error.message))
        elif isinstance(error, (Exception, SystemExit, BaseExceptionGroup)):
            self.end("failed")
        else:
            self.end("cancelled")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)

    def end(self, status: Literal["done", "failed", "cancelled"], message: str = "") -> None:
        """End it, unless it has ended. The end of the block does this."""
        with self._lock:
            if self._status != "running":
                return
            self._status = status
            self._message = message or self._message
            self._changed = True
        self._tell(self)

    # --- For the board

    @property
    def changed(self) -> bool:
        """Whether there is news since `take`."""
        return self._changed

    def take(self) -> ProgressFrame:
        """Return what is so now; the next change is told again."""
        with self._lock:
            self._changed = self.is_over = self._status != "running"
            return self.frame()

    def frame(self) -> ProgressFrame:
        """Return what is so now."""
        author, action = self._who
        return {
            "id": self._id,
            "title": _shorten(self._title),
            "message": _shorten(self._message),
            "done": _plain(self._done),
            "total": None if self._total is None else _plain(self._total),
            "status": self._status or "cancelled",
            "author": author,
            "action": action,
        }


def _check_text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the {name} of a progress is text, not {type(value).__name__}")
    if name == "title" and not value.strip():
        raise ValueError("the title of a progress is empty: say what is being done")
    return value


def _check_number(name: str, value: float) -> float:
    try:
        # Also refuses NaN, which compares as false.
        is_finite = -_LARGEST < value < _LARGEST
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"the {name} of a progress is a number, not {kind}") from None
    if not is_finite:
        raise ValueError(f"the {name} of a progress is a number up to 2**53, not {value}")
    if name == "total" and value < 0:
        raise ValueError(
            f"the total of a progress is how much there is to do, not {value}: leave it out while "
            "nobody knows"
        )
    return value


def _plain(value: float) -> float:
    """A number that JSON can carry, of what counts as one: Decimal, numpy's."""
    whole = int(value)
    return whole if whole == value else float(value)


def _shorten(text: str) -> str:
    """One line that can be encoded."""
    line = " ".join(text[: 4 * MAX_CHARS].split()).encode(errors="replace").decode()
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"


def _not_begun() -> CanvasProviderError:
    return CanvasProviderError(
        "this progress has not begun: write `async with ctx.progress(...) as p:`"
    )
