"""Another document of a canvas, beside the one that the panel shows, for the length of a block."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from canvas_provider.errors import Closing, StateClosed, StateError

if TYPE_CHECKING:
    from canvas_provider.canvas.context import CanvasContext
    from canvas_provider.canvas.instance import Instance
    from canvas_provider.state.bound import BoundState
    from canvas_provider.state.shared import SharedState

__all__ = ["OtherState"]

S = TypeVar("S")


class OtherState(Generic[S]):
    """One opening of another document, as a block: `CanvasContext.open_state` makes it."""

    __slots__ = ("_bound", "_context", "_initial", "_instance", "_key", "_state")

    def __init__(
        self,
        instance: "Instance",
        context: "CanvasContext[Any]",
        key: str,
        initial: Callable[[], S] | None,
    ) -> None:
        self._instance = instance
        self._context = context
        self._key = key
        self._initial = initial
        self._state: SharedState[S] | None = None
        self._bound: BoundState[S] | None = None

    async def __aenter__(self) -> "BoundState[S]":
        if self._state is not None:
            raise StateError("a block can be entered once; call `open_state` again")
        self._refuse_ended()
        state = self._state = await self._instance.open_state(
            self._context, self._key, self._initial
        )
        try:
            self._refuse_ended()
        except StateClosed:
            await state.aclose()
            raise
        context = self._context
        self._bound = state.bind(author=context.author, action=context.action_name)
        context.others += (self._bound,)
        return self._bound

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._state is not None and self._bound is not None, "it was entered"
        others = self._context.others
        self._context.others = tuple(one for one in others if one is not self._bound)
        await self._state.aclose()

    def __enter__(self) -> "BoundState[S]":
        # Not `context.run`, which the end of the call cuts short: then nobody would close it.
        return self._instance.start(self.__aenter__()).result()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._instance.start(self.__aexit__(kind, error, traceback)).result()
        except Closing:
            return  # the loop has ended, and its documents with it

    def _refuse_ended(self) -> None:
        if self._context.ended:
            raise StateClosed("the call was ended; it changes nothing any more")
