"""What a handler can know and do besides its input.

A context belongs to one call of one open instance. Making one is cheap: everything but the call's
own facts is looked up in the instance.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from canvas_provider.errors import CanvasProviderError, Closing, StateClosed, StateError
from canvas_provider.types import Author, JSONObject, JSONValue

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

    from typing_extensions import TypeVar

    from canvas_provider.canvas.instance import Instance
    from canvas_provider.canvas.other_state import OtherState
    from canvas_provider.canvas.progress import Progress
    from canvas_provider.canvas.view import SessionView
    from canvas_provider.state.bound import BoundState

    S = TypeVar("S", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    S = TypeVar("S")

__all__ = ["CanvasContext", "InstanceHandle", "Opened"]


@dataclass(frozen=True)
class Opened:
    """What `on_open` answers. With a `url`, no server of ours starts for the instance."""

    title: str | None = None
    """What the panel is called; None: the canvas's display name."""
    status: str | None = None
    url: str | None = None


class InstanceHandle:
    """The open instance, as its handlers see it."""

    __slots__ = ("_instance", "opening")

    def __init__(self, instance: "Instance", *, opening: bool = False) -> None:
        self._instance = instance
        self.opening = opening

    @property
    def id(self) -> str:
        return self._instance.instance_id

    @property
    def title(self) -> str | None:
        return self._instance.title

    @property
    def status(self) -> str | None:
        return self._instance.status

    @property
    def url(self) -> str | None:
        """Where the page is. None while the instance opens for the first time."""
        return self._instance.url

    async def update(self, *, title: str | None = None, status: str | None = None) -> None:
        """Change the panel's title or status; None leaves one as it is.

        The runtime knows no smaller way than to open the instance again, and a host may reload the
        frame for it. So what changes often belongs in the state, not here. Nothing is sent when
        nothing changed.

        Raises:
            CanvasProviderError: inside `on_open`, which would wait for itself.
        """
        if self.opening:
            raise CanvasProviderError(
                "instance.update() inside on_open would wait for itself: return "
                "Opened(title=..., status=...) instead"
            )
        await self._instance.update(title=title, status=status)


class CanvasContext(Generic[S]):
    """The first argument of a long-form handler; any parameter annotated with it of a typed one."""

    __slots__ = (
        "_bound",
        "_ended",
        "_expected_revision",
        "_handle",
        "_instance",
        "_waiting",
        "action_name",
        "author",
        "input",
        "others",
        "reopened",
    )

    def __init__(
        self,
        instance: "Instance",
        *,
        input: dict[str, Any],
        author: Author,
        action_name: str | None = None,
        reopened: bool = False,
        opening: bool = False,
        expected_revision: int | None = None,
    ) -> None:
        self._instance = instance
        self._bound: BoundState[S] | None = None
        self._expected_revision = expected_revision
        self._ended = False
        self._waiting: set[Future[Any]] | None = None
        self.others: tuple[BoundState[S], ...] = ()
        """What `open_state` has opened and not closed yet."""
        self.input = input
        """What the caller sent; `{}` where it sent nothing or null."""
        self.author = author
        self.action_name = action_name
        """The action's name; None in `on_open`, `on_close` and `lifespan`."""
        self.reopened = reopened
        """True in `on_open` when this is a focus, a reload or a resume, not the first open."""
        self._handle: InstanceHandle | None = (
            InstanceHandle(instance, opening=True) if opening else None
        )

    def __repr__(self) -> str:
        where = f"{self.canvas_id!r}, {self.instance_id!r}"
        return f"<CanvasContext {where}, action {self.action_name!r}>"

    @property
    def instance(self) -> InstanceHandle:
        """The panel: its title and status, and how to change them."""
        if self._handle is None:
            self._handle = InstanceHandle(self._instance)
        return self._handle

    @property
    def instance_id(self) -> str:
        return self._instance.instance_id

    @property
    def canvas_id(self) -> str:
        return self._instance.canvas.id

    @property
    def extension_id(self) -> str:
        return self._instance.extension_id

    @property
    def session_id(self) -> str:
        return self._instance.session_id

    @property
    def session(self) -> "SessionView":
        return self._instance.session

    @property
    def host(self) -> JSONObject:
        """What the host said about itself; `{}` with Copilot CLI 1.0.102, which says nothing."""
        return self._instance.host

    @property
    def url(self) -> str | None:
        """Where the page is. None while the instance opens for the first time."""
        return self._instance.url

    @property
    def lifespan(self) -> Any:
        """What the canvas's `lifespan=` yielded for this instance."""
        return self._instance.resources

    @property
    def state(self) -> "BoundState[S]":
        """The shared state, bound to this call: its changes carry the call's author and action.

        Raises:
            StateError: the canvas has none.
            StateClosed: the call took too long, or its instance is closed.
        """
        shared = self._instance.state
        gone = self._bound is not None or self._instance.phase in ("closing", "closed")
        if self._ended or (shared is None and gone and self._instance.canvas.seed is not None):
            raise StateClosed("the call was ended; it changes nothing any more")
        if self._bound is None:
            if shared is None:
                raise StateError(
                    f"canvas {self.canvas_id!r} has no state here: pass state= to create_canvas"
                )
            self._bound = shared.bind(
                author=self.author,
                action=self.action_name,
                expected_revision=self._expected_revision,
            )
        return self._bound

    def open_state(self, key: str, *, initial: "Callable[[], S] | None" = None) -> "OtherState[S]":
        """Open another document of the canvas, beside the one that the panel shows.

            async with ctx.open_state("2026-12-02") as tomorrow:
                await tomorrow.update(lambda board: board.tasks.append(task))

        In a `def` handler write `with`. It is in the store of this panel, of the canvas's type, and
        what it is changed to carries the call's author and action. Panels that show it see that at
        once. With the end of the block, or of the call, nothing is changed through it any more.

        Args:
            key: which one, as `state_key=` returns it.
            initial: how it begins if there is none; by default as for a panel, by `state=`. The
                first change stores it.

        Raises, on entering:
            StateError: the canvas has no state, or what is stored does not fit its type.
            StateClosed: the call took too long, or its instance is closed.
        """
        from canvas_provider.canvas.other_state import OtherState

        return OtherState(self._instance, self, key, initial)

    @property
    def ended(self) -> bool:
        """Whether the call was ended, by its time-out or a close, while its handler ran."""
        return self._ended

    def end(self) -> None:
        """Refuse the state from now on: a thread that is out of time must not go on writing."""
        self._ended = True
        self._instance.works.cancel(self)
        for bound in (self._bound, *self.others):
            if bound is not None:
                bound.end()
        for future in tuple(self._waiting or ()):
            future.cancel()

    def run(self, coroutine: "Coroutine[Any, Any, T]") -> "T":
        """Do what has to be awaited, from a `def` handler, and return its result.

        Such a handler runs in a thread; this waits there while the event loop does the work.

            message_id = ctx.run(ctx.session.send("The board is full."))

        Raises:
            CanvasProviderError: called in the event loop, where you `await` instead.
            Closing: the call took too long, or its instance is closed.
        """
        if self._ended:
            coroutine.close()
            raise Closing("The call was ended; it does nothing any more.")
        future = self._instance.start(coroutine)
        if self._waiting is None:
            self._waiting = set()
        self._waiting.add(future)
        try:
            return future.result()
        finally:
            self._waiting.discard(future)

    def emit(self, name: str, data: JSONValue = None) -> None:
        """Send the open pages an event of the author's own; works from any thread.

        Raises:
            ValueError: a name that does not fit `[a-z][a-z0-9_-]*`, or is one of ours.
            NotJSON: the data has no JSON form.
        """
        self._instance.emit(name, data)

    def progress(self, title: str, *, total: float | None = None) -> "Progress":
        """Show that something takes long, on the pages and in the person's timeline.

            async with ctx.progress("Importing", total=len(rows)) as p:
                for row in rows:
                    await store(row)
                    p.advance()

        In a `def` handler write `with`. The end of the block says how it went: done, failed, or
        cancelled. The timeline hears only of what takes longer than a second.

        Args:
            title: what is being done. It is shown as it is, so nothing secret belongs in it.
            total: how much there is to do, if that is known; `p.update(total=...)` corrects it.

        Raises:
            ValueError, TypeError: an empty title, or a total that is negative or no number.
        """
        return self._instance.works.create(
            title, total, author=self.author, action=self.action_name, owner=self
        )
