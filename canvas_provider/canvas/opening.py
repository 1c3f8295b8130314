"""What an open instance holds, and the reading of what `on_open` answers."""

import asyncio
import getpass
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from canvas_provider.canvas.canvas import Canvas
from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.dispatch import is_failure
from canvas_provider.canvas.lifespan import LifespanTask
from canvas_provider.canvas.seed import Seed
from canvas_provider.errors import CanvasError, CanvasProviderError, StateClosed, StateError

if TYPE_CHECKING:
    from canvas_provider.state.registry import StateRegistry
    from canvas_provider.state.shared import SharedState

__all__ = ["FindRegistry", "Resources", "bounded", "to_opened"]

FindRegistry = Callable[[CanvasContext[Any]], "StateRegistry"]
"""Finds the documents of the store that the canvas keeps the context's instance in."""

logger = logging.getLogger("canvas_provider.canvas")


class Resources:
    """The document and the lifespan of one instance: acquired at its first open, then released."""

    def __init__(self, canvas: Canvas, registry: FindRegistry | None) -> None:
        self.state: SharedState[Any] | None = None
        self._canvas = canvas
        self._find_registry = registry
        self._registry: StateRegistry | None = None
        self._key: str | None = None
        self._lifespan: LifespanTask | None = None

    @property
    def yielded(self) -> Any:
        """What `lifespan=` yielded."""
        return None if self._lifespan is None else self._lifespan.resources

    async def acquire(self, context: CanvasContext[Any]) -> None:
        """Open the document, then enter the lifespan. If that fails, `release` what there is."""
        canvas = self._canvas
        if canvas.seed is not None:
            registry, key = self._pick(context)
            self.state = await self._open(registry, canvas.seed, key, context)
            self._registry, self._key = registry, key
            self.state.enter(_name_person(canvas, context))
        if canvas.lifespan is not None:
            create = canvas.lifespan
            self._lifespan = LifespanTask(lambda: create(context))
            await self._lifespan.enter()

    async def open_state(
        self, context: CanvasContext[Any], key: str, initial: Callable[[], Any] | None
    ) -> "SharedState[Any]":
        """Open another document of the store that the instance is kept in.

        Raises:
            StateError: the canvas has no state.
            StateClosed: the document of the instance was closed.
        """
        seed = self._canvas.seed
        if seed is None:
            raise StateError(
                f"canvas {context.canvas_id!r} has no state here: pass state= to create_canvas"
            )
        if self._registry is None:
            raise StateClosed("the instance is closed; nothing was changed")
        _check_key(key, "open_state() got")
        return await self._open(self._registry, seed, key, context, initial)

    async def _open(
        self,
        registry: "StateRegistry",
        seed: Seed,
        key: str,
        context: CanvasContext[Any],
        initial: Callable[[], Any] | None = None,
    ) -> "SharedState[Any]":
        factory = seed.factory
        if initial is None and factory is not None:
            return await registry.open(key, seed.type, initial=lambda: factory(context))
        return await registry.open(key, seed.type, initial=initial)

    def check_key(self, context: CanvasContext[Any], before: CanvasContext[Any]) -> None:
        """Refuse an input that asks for another document than the open one, which stays the same.

        Pages and running actions hold on to it. What picks another one *now* for the input as it
        was, such as a date, does not count: a panel that is focused after midnight shows what it
        showed.

        Args:
            before: a context with the input that it was opened with.
        """
        shown = self._registry, self._key
        if self._canvas.seed is None or context.input == before.input:
            return
        asked = self._pick(context)
        if asked not in (shown, self._pick(before)):
            raise CanvasError(
                "instance_shows_other_document",
                f'The instance "{context.instance_id}" is open with another document: open this '
                "one under another instance id.",
            )

    def _pick(self, context: CanvasContext[Any]) -> "tuple[StateRegistry, str]":
        """Find the store's documents, and which of them the context asks for."""
        if self._find_registry is None:
            raise CanvasProviderError("an instance of a canvas with a state needs a registry")
        pick = self._canvas.state_key
        key = f"{context.canvas_id}/{context.instance_id}" if pick is None else pick(context)
        _check_key(key, "state_key= returned")
        return self._find_registry(context), key

    async def release(self) -> None:
        """Leave the lifespan and let go of the document. Errors of the author's code are logged."""
        try:
            if self._lifespan is not None:
                await bounded("lifespan", self._canvas, self._lifespan.leave())
        finally:
            self._lifespan = self._registry = self._key = None
            state, self.state = self.state, None
            if state is not None:
                await state.aclose()


def _name_person(canvas: Canvas, context: CanvasContext[Any]) -> str:
    """Return the name that others see beside this panel."""
    pick = canvas.person_name
    if pick is not None:
        name = pick(context) if callable(pick) else pick
        if not isinstance(name, str):
            raise TypeError(f"person_name= returned {type(name).__name__}: a name is a text")
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A user whom the system knows by number only.
        return ""


def _check_key(key: object, what: str) -> None:
    if not isinstance(key, str) or not key:
        raise TypeError(f"{what} {type(key).__name__}: a key is a text that is not empty")


async def bounded(
    name: str, canvas: Canvas, work: Awaitable[None], seconds: float | None = None
) -> None:
    """Do one step of a close within `seconds`; what it raises is logged, not raised.

    So the steps after it are done, too. By default it gets `close_timeout`.
    """
    seconds = canvas.close_timeout if seconds is None else seconds
    try:
        async with asyncio.timeout(seconds) as scope:
            await work
    except BaseException as error:
        if not is_failure(error):
            raise
        if isinstance(error, TimeoutError) and scope.expired():
            logger.error("%s of canvas %r took longer than %g s", name, canvas.id, seconds)
        else:
            logger.exception("%s of canvas %r failed", name, canvas.id)


_SCHEMES: Final = ("http://", "https://")


def to_opened(result: object) -> Opened:
    """Read what opening returned; the long form may return a dict, as in the Node SDK."""
    if result is None:
        return Opened()
    if isinstance(result, dict):
        if unknown := sorted(map(str, result.keys() - {"url", "title", "status"})):
            raise TypeError(f"opening returned {unknown} beside url, title, status")
        result = Opened(**result)
    if not isinstance(result, Opened):
        raise TypeError(f"opening returned {type(result).__name__}: return Opened(...) or nothing")
    for value in (result.title, result.status, result.url):
        if value is not None and not isinstance(value, str):
            raise TypeError("title, status and url of Opened are text")
    if result.url is not None and not result.url.startswith(_SCHEMES):
        # The runtime would take file:, too (observed with Copilot CLI 1.0.102).
        raise ValueError("the url of Opened must begin with http:// or https://")
    return result
