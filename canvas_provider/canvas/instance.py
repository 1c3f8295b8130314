"""One open canvas: its life from opening to closed, and the calls it takes in between.

    opening → open → closing → closed

Knows the author's declaration, the shared state and the time. Knows nothing of JSON-RPC, HTTP or
the host: who it answers to is told by arguments, what it must say by what it returns.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from canvas_provider.canvas.canvas import Canvas
from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.dispatch import Calls, is_failure, run_plan, translate
from canvas_provider.canvas.events import EventListener, Events
from canvas_provider.canvas.handling import Handling
from canvas_provider.canvas.opening import FindRegistry, Resources, bounded, to_opened
from canvas_provider.canvas.reporter import Reporter
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.schema import copy_json
from canvas_provider.canvas.signature import Plan
from canvas_provider.canvas.threads import Workers, start_in_loop
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    NoHandler,
    NotAllowed,
    UnknownAction,
)
from canvas_provider.types import MISSING, Author, JSONObject, JSONValue, Missing

if TYPE_CHECKING:
    from concurrent.futures import Future

    from canvas_provider.canvas.view import SessionView
    from canvas_provider.state.shared import SharedState

__all__ = ["Instance", "Outcome", "Phase"]

T = TypeVar("T")

Phase = Literal["opening", "open", "closing", "closed"]
Update = Callable[["Instance", str | None, str | None], Awaitable[None]]

_HURRY: Final = 0.25
"""Seconds that running actions get at a shutdown, of which Copilot grants 1.0 in all."""


class Outcome(NamedTuple):
    """What an action answered, and the revision of the state right after; 0 without a state."""

    result: JSONValue
    revision: int


class Instance:
    """One open panel's logic. Make it, `open` it, then `invoke` and `close`, in one event loop.

    Args:
        registry: finds where the document of a context comes from; needed if the canvas has a
            state.
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
        registry: "FindRegistry | None",
        session: "SessionView",
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
        self.phase: Phase = "opening"
        self.url: str | None = None
        """Where the page is; set by who serves it, or from what `on_open` answered."""
        self.title: str | None = None
        self.status: str | None = None
        self._update = update
        self._workers = Workers() if workers is None else workers
        self._loop = asyncio.get_running_loop()
        self._calls = Calls(
            self._loop, canvas_id=canvas.id, instance_id=instance_id, slow_after=slow_after
        )
        self._events = Events(self._loop)
        self.works = Reporter(self._loop, session)
        """The progress of what takes long."""
        self._resources = Resources(canvas, registry)
        self._input: dict[str, Any] = {}
        self._told = Opened()
        """What `update` told the host; it outlives a focus, but not another input."""
        self._opening: tuple[dict[str, Any], asyncio.Task[Opened]] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Instance {self.instance_id!r} of {self.canvas.id!r}, {self.phase}>"

    @property
    def state(self) -> "SharedState[Any] | None":
        """The document: there from the first open to the close, if the canvas has a state."""
        return self._resources.state

    @property
    def resources(self) -> Any:
        """What `lifespan=` yielded."""
        return self._resources.yielded

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
            self,
            input=copy_json(checked),
            author="system",
            reopened=reopened or not first,
            opening=True,
        )
        subject = f'open handler of canvas "{self.canvas.id}"'
        try:
            with Handling("on_open"):
                opened = await self._open_in_time(context, first)
        except BaseException as error:
            context.end()
            if first:
                await self._resources.release()
            if not is_failure(error):
                raise
            answer = translate(error, subject, self.canvas.id)
            if answer is error:
                raise
            raise answer from error
        finally:
            context.instance.opening = False
        return self._take(opened, checked)

    def _context_of(self, input: dict[str, Any]) -> CanvasContext[Any]:
        """Return the context of another open of this instance, with an input."""
        return CanvasContext(
            self, input=copy_json(input), author="system", reopened=True, opening=True
        )

    async def _open_in_time(self, context: CanvasContext[Any], first: bool) -> Opened:
        seconds, plan = self.canvas.open_timeout, self.canvas.open_plan
        try:
            async with asyncio.timeout(seconds) as scope:
                if first:
                    await self._resources.acquire(context)
                else:
                    self._resources.check_key(context, self._context_of(self._input))
                if plan is None:
                    return Opened()
                opened = await run_plan(plan, context.input, context, self._workers, to_opened)
                assert isinstance(opened, Opened)
                return opened
        except TimeoutError:
            if not scope.expired():
                raise
            text = f'Opening canvas "{self.canvas.id}" took longer than {seconds:g} s.'
            raise ActionTimeout(text) from None

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
        plan = self.canvas.plans.get(name)
        if plan is None or self.phase != "open" or (plan.only is not None and plan.only != author):
            plan = self._admit(name, author)
        checked: Any = {} if input is MISSING or input is None else input
        plan.validator.check(checked)
        context: CanvasContext[Any] | None = None
        if plan.needs_context:
            # Not CanvasContext[Any](...), which costs twice: this is the way of every action.
            context = CanvasContext(
                self,
                input=checked,
                author=author,
                action_name=name,
                expected_revision=expected_revision,
            )
        call = self._calls.begin(name, plan.timeout, context)
        try:
            if plan.is_async and plan.draft is None:
                result = to_json_value(await plan.call(checked, context))
            else:
                result = await run_plan(plan, checked, context, self._workers)
        except BaseException as error:
            is_cancelled = isinstance(error, asyncio.CancelledError)
            if context is not None and is_cancelled:
                context.end()
            answer = self._calls.end(call)
            if answer is None:
                if not is_failure(error):
                    raise
                answer = translate(error, f'action "{name}"', self.canvas.id)
                if answer is error:
                    raise
            raise answer from (None if is_cancelled else error)
        if (answer := self._calls.end(call)) is not None:
            raise answer
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

    async def open_state(
        self, context: CanvasContext[Any], key: str, initial: Callable[[], Any] | None
    ) -> "SharedState[Any]":
        """Open another document of the canvas: see `CanvasContext.open_state`."""
        return await self._resources.open_state(context, key, initial)

    # --- Events, title and status

    def emit(self, name: str, data: JSONValue = None) -> None:
        """Give the listeners an event of the author's own; works from any thread.

        Raises:
            ValueError: a name that does not fit `[a-z][a-z0-9_-]*`, or is one of ours.
            NotJSON: the data has no JSON form.
        """
        self._events.emit(name, data)

    def subscribe_events(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener(name, data)` in the loop for each event. Returns what ends it."""
        return self._events.subscribe(listener)

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

    def start(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start a coroutine in the instance's loop, from another thread."""
        return start_in_loop(coroutine, self._loop)

    # --- Closing

    async def close(self, *, explicit: bool) -> None:
        """Refuse new calls, let running ones end, run `on_close`, leave `lifespan=`. Idempotent.

        Nothing the author's code does makes it fail, and each step is bounded by the canvas's
        `close_timeout`; an `on_open` at work is cancelled, and left alone if it does not end by
        then. Cancelled, it cuts short the step at work.

        Args:
            explicit: somebody closed the panel: only then does `on_close` run. Otherwise the
                process ends, and running actions get a quarter of a second.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(explicit))
        try:
            await asyncio.wait([self._closing])
        except asyncio.CancelledError:
            self._closing.cancel()
            await asyncio.wait([self._closing])
            raise
        if not self._closing.cancelled():
            self._closing.result()

    async def _close(self, explicit: bool) -> None:
        was_open = self.phase == "open"
        self.phase = "closing"
        if not explicit:
            self.works.mute()
        seconds = self.canvas.close_timeout
        grace = seconds if explicit else min(seconds, _HURRY)
        try:
            if self._opening is not None and not self._opening[1].done():
                self._opening[1].cancel()
                await bounded("on_open", self.canvas, _wait(self._opening[1]), grace)
            await self._calls.finish(grace)
            if explicit and was_open and self.canvas.close_plan is not None:
                await bounded("on_close", self.canvas, self._run_on_close(self.canvas.close_plan))
        finally:
            try:
                await self._resources.release()
            finally:
                self.phase = "closed"
                await self.works.aclose()

    async def _run_on_close(self, plan: Plan) -> None:
        context = CanvasContext[Any](self, input=copy_json(self._input), author="system")
        with Handling("on_close"):
            await run_plan(plan, {}, context, self._workers, lambda result: None)


async def _wait(task: "asyncio.Task[Any]") -> None:
    """Wait for the end of a task, however it ends."""
    await asyncio.wait([task])
