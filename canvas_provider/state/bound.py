"""The shared state as the handler of one call has it: `ctx.state`."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from canvas_provider.errors import RevisionConflict, StateClosed
from canvas_provider.state.change import ENDED, ChangeContext
from canvas_provider.state.history import Revision
from canvas_provider.state.hold import Hold
from canvas_provider.types import Author, JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.shared import SharedState
    from canvas_provider.state.surroundings import Presence

__all__ = ["BoundState"]

S = TypeVar("S")
R = TypeVar("R")


class BoundState(Generic[S]):
    """The state as one call sees it: every change carries the call's author and action."""

    __slots__ = (
        "_action", "_author", "_expected_revision", "_hold", "_state", "_view", "_viewed",
        "ended", "open_changes",
    )  # fmt: skip

    def __init__(
        self,
        state: "SharedState[S]",
        hold: Hold,
        author: Author,
        action: str | None,
        expected_revision: int | None,
    ) -> None:
        self._state = state
        self._hold = hold
        self._author: Author = author
        self._action = action
        self._expected_revision = expected_revision
        self._view: Any = None
        self._viewed: JSONValue = None
        """The document that `_view` shows."""
        self.ended = False
        self.open_changes: set[ChangeContext[S]] = set()

    @property
    def revision(self) -> int:
        """See `SharedState.revision`."""
        return self._state.revision

    @property
    def document(self) -> JSONValue:
        """See `SharedState.document`."""
        return self._state.document

    @property
    def value(self) -> S:
        """See `SharedState.value`. No other call gets the same object."""
        document = self._hold.live.document
        if self._viewed is not document.value:
            self._viewed, self._view = document.value, document.look()
        return self._view  # type: ignore[no-any-return]

    @property
    def presence(self) -> "Presence":
        """See `SharedState.presence`."""
        return self._state.presence

    @property
    def online(self) -> bool:
        """See `SharedState.online`."""
        return self._state.online

    def change(self, *, expected_revision: int | None = None) -> ChangeContext[S]:
        """Open a change: see `SharedState.change`."""
        self._check_running()
        expected = self._take_expected(expected_revision)
        return ChangeContext(self._hold, self._author, self._action, expected, self)

    @overload
    async def update(
        self, fn: Callable[[S], Coroutine[Any, Any, R]], *, expected_revision: int | None = None
    ) -> R: ...

    @overload
    async def update(self, fn: Callable[[S], R], *, expected_revision: int | None = None) -> R: ...

    async def update(self, fn: Callable[[S], Any], *, expected_revision: int | None = None) -> Any:
        """Call `fn(draft)` within a change: see `SharedState.update`."""
        self._check_running()
        expected = self._take_expected(expected_revision)
        # Not by way of `SharedState.update`: nearly every action comes through here.
        result, _ = await self._hold.run_with_draft(fn, self._author, self._action, expected)
        return result

    def history(self) -> list[Revision]:
        """See `SharedState.history`."""
        return self._state.history()

    async def undo(
        self,
        revision: int | None = None,
        *,
        of: Author | None = None,
        expected_revision: int | None = None,
    ) -> Revision:
        """Take back one revision: see `SharedState.undo`."""
        self._check_running()
        return await self._state.undo(
            revision,
            of=of,
            author=self._author,
            action=self._action,
            expected_revision=self._take_expected(expected_revision),
        )

    async def redo(
        self, *, of: Author | None = None, expected_revision: int | None = None
    ) -> Revision:
        """Take back the newest undo that stands: see `SharedState.undo`."""
        self._check_running()
        return await self._state.redo(
            of=of,
            author=self._author,
            action=self._action,
            expected_revision=self._take_expected(expected_revision),
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"ctx.state is not the state itself: read ctx.state.value.{name}, and write within "
                "ctx.state.change()",
                name=name,
                obj=self,
            )

    def end(self) -> None:
        """Roll back what is open, and change nothing any more: the call's time is up.

        A thread cannot be stopped, but its writes are refused from here on.
        """
        self.ended = True
        for context in tuple(self.open_changes):
            context.end()

    def _check_running(self) -> None:
        if self.ended:
            raise StateClosed(ENDED)

    def _take_expected(self, given: int | None) -> int | None:
        """Return what the change is bound to. The caller's own condition holds for the first one.

        Raises:
            RevisionConflict: the handler expects another revision than its caller does.
        """
        expected, self._expected_revision = self._expected_revision, None
        if expected is None:
            return given
        if given is not None and given != expected:
            raise RevisionConflict(expected, given)
        return expected
