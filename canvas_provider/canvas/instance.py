"""One open canvas: its life from opening to closed, and the calls it takes in between.

    opening → open → closing → closed

Knows the author's declaration, the shared state and the time. Knows nothing of JSON-RPC, HTTP or
the host: who it answers to is told by arguments, what it must say by what it returns.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from canvas_provider.canvas.context import CanvasContext, Opened, SessionView
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.canvas.dispatch import Calls, run_plan, translate
from canvas_provider.canvas.lifespan import LifespanTask
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.rules import RESERVED_EVENTS, is_event_name
from canvas_provider.canvas.signature import Plan
from canvas_provider.canvas.threads import Workers
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    CanvasProviderError,
    Closing,
    NoHandler,
    NotAllowed,
    UnknownAction,
)
from canvas_provider.types import MISSING, Author, JSONObject, JSONValue, Missing

if TYPE_CHECKING:
    from canvas_provider.state.registry import StateRegistry
    from canvas_provider.state.shared import SharedState

__all__ = ["Instance", "Outcome", "Phase"]

logger = logging.getLogger("canvas_provider.canvas")

Phase = Literal["opening", "open", "closing", "closed"]
Update = Callable[["Instance", str | None, str | None], Awaitable[None]]
EventListener = Callable[[str, JSONValue], None]

_HURRY: Final = 0.25
"""Seconds that running actions get at a shutdown, of which Copilot grants 1.0 in all."""


class Outcome(NamedTuple):
    """What an action answered, and the revision of the state right after; 0 without a state."""

    result: JSONValue
    revision: int


class Instance:
    """One open panel's logic. Make it, `open` it, then `invoke` and `close`, in one event loop.

    Args:
        registry: where documents come from; needed if the canvas has a state.
        update: tells the host a new title or status, by opening the instance again.
        workers: threads for `def` handlers; by default a set of its own.
        slow_after: seconds after which a running action is logged, once.
    """

    def __init__(
        self,
        canvas: Canvas,
        *,
        instance_id: str,
        session_id: str,
        extension_id: str,
        registry: "StateRegistry | None",
        session: SessionView,
        update: Update,
        workers: Workers | None = None,
        slow_after: float = 60.0,
    ) -> None:
        self.canvas = canvas
        self.instance_id = instance_id
        self.session_id = session_id
        self.extension_id = extension_id
        self.session = session
        self.host: JSONObject = {}
        self.state: SharedState[Any] | None = None
        """From the first successful open to the close."""
        self.phase: Phase = "opening"
        self.url: str | None = None
        """Where the page is; set by who serves it, or from what `on_open` answered."""
        self.title: str | None = None
        self.status: str | None = None
        self._registry = registry
        self._update = update
        self._workers = Workers() if workers is None else workers
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._calls = Calls(self._loop, canvas_id=canvas.id, slow_after=slow_after)
        self._listeners: list[EventListener] = []
        self._key: str | None = None
        self._lifespan: LifespanTask | None = None
        self._input: dict[str, Any] = {}
        self._told = Opened()
        """What `update` told the host; it outlives a focus, but not another input."""
        self._opening: tuple[dict[str, Any], asyncio.Task[Opened]] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Instance {self.instance_id!r} of {self.canvas.id!r}, {self.phase}>"

    @property
    def resources(self) -> Any:
        """What `lifespan=` yielded."""
        return None if self._lifespan is None else self._lifespan.resources

    # --- Opening

    async def open(self, input: JSONValue | Missing = MISSING, *, reopened: bool = False) -> Opened:
        """Open, or answer again for an instance that is open.

        Opens run one after the other; one that asks for the same as the one at work shares its
        answer, as the runtime does it. A first open that fails leaves nothing behind and may be
        tried again; a failed open of an open instance leaves it as it was.

        Args:
            reopened: the host says that it was open before, in an earlier process.

        Raises:
            InvalidInput, Closing, ActionTimeout, HandlerError: as for an action.
            CanvasError: the author's own.
        """
        self._refuse_closed()
        checked: Any = {} if input is MISSING or input is None else input
        self.canvas.open_validator.check(checked)
        at_work = self._opening
        if at_work is None or at_work[0] != checked or at_work[1].done():
            before = None if at_work is None else at_work[1]
            task = asyncio.create_task(self._open_after(before, checked, reopened))
            # Its waiter may be gone when it fails; it is logged where it happens.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._opening = at_work = (checked, task)
        try:
            return await asyncio.shield(at_work[1])
        except asyncio.CancelledError:
            if at_work[1].cancelled():
                self._refuse_closed()
            raise

    async def _open_after(
        self, before: "asyncio.Task[Opened] | None", checked: dict[str, Any], reopened: bool
    ) -> Opened:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._refuse_closed()
        first = self.phase == "opening"
        context = CanvasContext[Any](
            self, input=checked, author="system", reopened=reopened or not first, opening=True
        )
        subject = f'open handler of canvas "{self.canvas.id}"'
        try:
            opened = await self._open_in_time(context, first)
        except BaseException as error:
            if first:
                await self._release()
            if not isinstance(error, Exception):
                raise
            answer = translate(error, subject, self.canvas.id)
            if answer is error:
                raise
            raise answer from error
        finally:
            context.instance.opening = False
        return self._take(opened, checked)

    async def _open_in_time(self, context: CanvasContext[Any], first: bool) -> Opened:
        seconds = self.canvas.open_timeout
        try:
            async with asyncio.timeout(seconds) as scope:
                await self._find_state(context, first)
                if first and self.canvas.lifespan is not None:
                    create = self.canvas.lifespan
                    self._lifespan = LifespanTask(lambda: create(context))
                    await self._lifespan.enter()
                plan = self.canvas.open_plan
                if plan is None:
                    return Opened()
                return await run_plan(  # type: ignore[no-any-return]  # to_result's type
                    plan, context.input, context, self._workers, _to_opened
                )
        except TimeoutError:
            if not scope.expired():
                raise
            name = self.canvas.id
            raise ActionTimeout(
                f'Opening canvas "{name}" took longer than {seconds:g} s.'
            ) from None

    async def _find_state(self, context: CanvasContext[Any], first: bool) -> None:
        seed, pick = self.canvas.seed, self.canvas.state_key
        if seed is None:
            return
        key = f"{self.canvas.id}/{self.instance_id}" if pick is None else pick(context)
        if not isinstance(key, str) or not key:
            raise TypeError(f"state_key= returned {type(key).__name__}: it must return a text")
        if not first:
            if key != self._key:
                raise CanvasError(
                    "instance_shows_other_document",
                    f'The instance "{self.instance_id}" is open with another document: open this '
                    "one under another instance id.",
                )
            return
        if self._registry is None:
            raise CanvasProviderError("an instance of a canvas with a state needs a registry")
        factory = seed.factory
        initial = None if factory is None else lambda: factory(context)
        self.state = await self._registry.open(key, seed.type, initial=initial)
        self._key = key

    def _take(self, opened: Opened, checked: dict[str, Any]) -> Opened:
        self._refuse_closed()
        if checked != self._input:
            self._told = Opened()
        self._input = checked
        self.phase = "open"
        told = self._told
        self.title = opened.title if told.title is None else told.title
        self.status = opened.status if told.status is None else told.status
        if opened.url is not None:
            self.url = opened.url
        return Opened(self.title, self.status, opened.url)

    def _refuse_closed(self) -> None:
        if self.phase in ("closing", "closed"):
            raise Closing(f'The instance "{self.instance_id}" is {self.phase}: open it again.')

    # --- Actions

    async def invoke(
        self,
        name: str,
        input: JSONValue | Missing = MISSING,
        *,
        author: Author,
        expected_revision: int | None = None,
    ) -> Outcome:
        """Run an action.

        Args:
            expected_revision: the action's first change is made only if the state is at it.

        Raises:
            CanvasError: one of ours (see `errors`), or what the handler raised.
        """
        plan = self._admit(name, author)
        checked: Any = {} if input is MISSING or input is None else input
        plan.validator.check(checked)
        context = None
        if plan.needs_context:
            context = CanvasContext[Any](
                self,
                input=checked,
                author=author,
                action_name=name,
                expected_revision=expected_revision,
            )
        call = self._calls.begin(name, plan.timeout)
        try:
            result = await run_plan(plan, checked, context, self._workers)
        except asyncio.CancelledError:
            if (reason := self._calls.end(call)) is None:
                raise
            raise reason from None
        except Exception as error:
            answer = self._calls.end(call) or translate(error, f'action "{name}"', self.canvas.id)
            if answer is error:
                raise
            raise answer from error
        except BaseException:
            self._calls.end(call)
            raise
        self._calls.end(call)
        return Outcome(result, 0 if self.state is None else self.state.revision)

    def _admit(self, name: str, author: Author) -> Plan:
        """Return the plan of an action that this caller may invoke now."""
        action = self.canvas.actions.get(name)
        if action is None:
            known = ", ".join(self.canvas.actions) or "none"
            raise UnknownAction(
                f'Unknown action "{name[:64]}" on canvas "{self.canvas.id}". '
                f"Known actions: {known}."
            )
        self._refuse_closed()
        if self.phase == "opening":
            raise CanvasError(
                "instance_not_open", f'The instance "{self.instance_id}" is not open yet.'
            )
        if author == "person" and action.audience == "agent":
            raise NotAllowed("not_for_person", f'The action "{name}" is for the agent only.')
        if author == "agent" and action.audience == "person":
            raise NotAllowed("not_for_agent", f'The action "{name}" is for a person only.')
        plan = self.canvas.plans[name]
        if plan is None:
            raise NoHandler(f'The action "{name}" on canvas "{self.canvas.id}" has no handler.')
        return plan

    # --- Events, title and status

    def emit(self, name: str, data: JSONValue = None) -> None:
        """Give the listeners an event of the author's own; works from any thread.

        Raises:
            ValueError: a name that does not fit `[a-z][a-z0-9_-]*`, or is one of ours.
            NotJSON: the data has no JSON form.
        """
        if not is_event_name(name):
            taken = ", ".join(sorted(RESERVED_EVENTS))
            raise ValueError(
                f"{name!r} is no event name: write [a-z][a-z0-9_-]*, but none of {taken}"
            )
        converted = to_json_value(data)
        if threading.get_ident() == self._thread:
            self._tell(name, converted)
        else:
            self._loop.call_soon_threadsafe(self._tell, name, converted)

    def subscribe_events(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener(name, data)` in the loop for each event. Returns what ends it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def _tell(self, name: str, data: JSONValue) -> None:
        for listener in list(self._listeners):
            listener(name, data)

    async def update(self, *, title: str | None = None, status: str | None = None) -> None:
        """Tell the host a new title or status, if one of them changes: see `InstanceHandle`."""
        self._refuse_closed()
        new = Opened(
            self.title if title is None else title, self.status if status is None else status
        )
        if (new.title, new.status) == (self.title, self.status):
            return
        before = self._told, self.title, self.status
        self._told = Opened(
            self._told.title if title is None else title,
            self._told.status if status is None else status,
        )
        self.title, self.status = new.title, new.status
        try:
            await self._update(self, title, status)
        except BaseException:
            if (self.title, self.status) == (new.title, new.status):
                self._told, self.title, self.status = before
            raise

    # --- Closing

    async def close(self, *, explicit: bool) -> None:
        """Refuse new calls, let running ones end, run `on_close`, leave `lifespan=`. Idempotent.

        Nothing the author's code does makes it fail, and each step is bounded by the canvas's
        `close_timeout`. Cancelled, it cuts short the step at work.

        Args:
            explicit: somebody closed the panel: only then does `on_close` run. Otherwise the
                process ends, and running actions get a quarter of a second.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(explicit))
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._closing.cancel()
            await asyncio.wait([self._closing])
            raise

    async def _close(self, explicit: bool) -> None:
        was_open = self.phase == "open"
        self.phase = "closing"
        seconds = self.canvas.close_timeout
        try:
            if self._opening is not None and not self._opening[1].done():
                self._opening[1].cancel()
                await asyncio.wait([self._opening[1]])
            await self._calls.finish(seconds if explicit else min(seconds, _HURRY))
            if explicit and was_open and self.canvas.close_plan is not None:
                await self._step("on_close", self._run_on_close(self.canvas.close_plan))
        finally:
            try:
                await self._release()
            finally:
                self.phase = "closed"

    async def _run_on_close(self, plan: Plan) -> None:
        context = CanvasContext[Any](self, input=dict(self._input), author="system")
        await run_plan(plan, {}, context, self._workers, lambda result: None)

    async def _release(self) -> None:
        """Leave the lifespan and let go of the document."""
        lifespan, self._lifespan = self._lifespan, None
        state, self.state = self.state, None
        self._key = None
        try:
            if lifespan is not None:
                await self._step("lifespan", lifespan.leave())
        finally:
            if state is not None:
                await state.aclose()

    async def _step(self, name: str, work: Awaitable[None]) -> None:
        """Do a part of the close; whatever it raises is logged, so that the rest is done, too."""
        seconds = self.canvas.close_timeout
        try:
            async with asyncio.timeout(seconds):
                await work
        except TimeoutError:
            logger.error("%s of canvas %r took longer than %g s", name, self.canvas.id, seconds)
        except Exception:
            logger.exception("%s of canvas %r failed", name, self.canvas.id)


_SCHEMES: Final = ("http://", "https://")


def _to_opened(result: object) -> Opened:
    """Read what `on_open` returned; the long form may return a dict, as in the Node SDK."""
    if result is None:
        return Opened()
    if isinstance(result, dict):
        unknown = result.keys() - {"url", "title", "status"}
        if unknown:
            raise TypeError(
                f"opening returned {sorted(map(str, unknown))}: only url, title, status"
            )
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
