"""Running handlers: in the loop or in a thread, with a draft or without, within their time.

`run_plan` gives one result or one `CanvasError`, whatever the author's code does. `Calls` knows
what is running: it watches every deadline with one timer, because a timer per call costs about a
fifth of the throughput, and it ends what still runs when the instance closes.
"""

import asyncio
import inspect
import logging
import secrets
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from canvas_provider.canvas.handling import Handling, current
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.signature import Plan
from canvas_provider.canvas.threads import Workers
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    HandlerError,
    InvalidState,
    NotJSON,
    StateClosed,
    StoreError,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle

    from canvas_provider.canvas.context import CanvasContext

__all__ = ["Call", "Calls", "is_failure", "run_plan", "translate"]

logger = logging.getLogger("canvas_provider.canvas")


async def run_plan(
    plan: Plan,
    checked: dict[str, Any],
    context: Any,
    workers: Workers,
    to_result: Callable[[object], Any] = to_json_value,
) -> Any:
    """Call the handler with a checked input and return its result, made JSON.

    A handler with a draft runs inside one change of the state. It is run again when another
    process committed first, with arguments made anew; the result is made before the commit, so
    that a result that is not JSON leaves the state as it was.
    """
    if plan.draft is not None:
        assert context is not None
        shared = context.state

        async def attempt(draft: Any) -> Any:
            if plan.is_async:
                result = to_result(await plan.call(checked, context, draft))
            else:
                result = to_result(await _call(plan, checked, context, workers, draft))
            if context.ended:
                # Out of time, and it has swallowed its cancellation: nothing is committed.
                raise asyncio.CancelledError
            return result

        return await shared.update(attempt)
    if plan.is_async:
        return to_result(await plan.call(checked, context))
    return to_result(await _call(plan, checked, context, workers))


async def _call(
    plan: Plan,
    checked: dict[str, Any],
    context: Any,
    workers: Workers,
    draft: Any = None,
) -> Any:
    if plan.is_async:
        return await plan.call(checked, context, draft)
    try:
        result = await workers.run(partial(plan.call, checked, context, draft))
    except KeyboardInterrupt as error:
        # In a thread it is no Ctrl-C; in the loop it would be taken for one.
        raise RuntimeError("the handler raised KeyboardInterrupt") from error
    # A `def` that hands out a coroutine, as decorators without functools.wraps do.
    return await result if inspect.isawaitable(result) else result


def is_failure(error: BaseException) -> bool:
    """Say whether `error`, raised in this task, is a failure of the author's code.

    Beside every `Exception` that is a `sys.exit()`, which argument parsers call, the cancellation
    of something that the code waited for, and a `KeyboardInterrupt` that the code raised itself.
    What is not: the cancellation of the task itself, and a Ctrl-C. For that one there is somebody
    who ends the program in order, as asyncio and we do, except where Python's own handler stands.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    if isinstance(error, KeyboardInterrupt):
        return signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(error, (Exception, SystemExit, BaseExceptionGroup))


def translate(error: BaseException, subject: str, canvas_id: str | None = None) -> CanvasError:
    """Return what the caller is told of an exception of the author's code, and log the rest."""
    if isinstance(error, CanvasError):
        return error
    if isinstance(error, StateClosed):
        return Closing(f"The {subject} came too late: the instance is closed.")
    where = subject if canvas_id is None else f"{subject} of canvas {canvas_id!r}"
    if isinstance(error, StoreError) and error.told is not None:
        # A line that names what is where; a traceback would tell of our own code.
        logger.error("%s failed: %s", where, error)
        return StoreUnavailable(error.told)
    reference = secrets.token_hex(4)
    # Not the input, the result or the state: a log is read by others.
    logger.error("%s failed (%s)", where, reference, exc_info=error)
    if isinstance(error, InvalidState):
        return HandlerError(f"The {subject} gave what the state cannot be: {error} ({reference})")
    if isinstance(error, NotJSON):
        return HandlerError(
            f"The {subject} gave a value that JSON cannot carry. {error} ({reference})"
        )
    if isinstance(error, StoreError):
        return StoreUnavailable(
            f"The state could not be saved or read for the {subject}; nothing was changed. "
            f"Its log has the details under {reference}."
        )
    return HandlerError(
        f"The {subject} failed unexpectedly. Its log has the details under {reference}."
    )


class Call(Handling):
    """One running action. Times are the loop's, in seconds."""

    __slots__ = (
        "action", "context", "deadline", "logged", "others", "reason", "started", "task",
    )  # fmt: skip

    def __init__(
        self,
        action: str,
        task: "Task[Any]",
        started: float,
        deadline: float | None,
        instance_id: str,
        context: "CanvasContext[Any] | None",
    ) -> None:
        # What `Handling.__init__` does; a call of it would be felt, by every action.
        self.what = "an action"
        self.instance_id = instance_id
        self.is_running = True
        self.awaits_close = False
        self.action = action
        self.task = task
        self.context = context
        self.started = started
        self.deadline = deadline
        self.others = 0
        """Cancellations of the task by others, before ours."""
        self.logged = False
        self.reason: CanvasError | None = None
        """Why we cancelled it; None: we did not."""

    def cancel(self, reason: CanvasError) -> None:
        if self.reason is None:
            self.reason = reason
            self.others = self.task.cancelling()
            self.task.cancel()


class Calls:
    """The running handlers of one instance."""

    def __init__(
        self,
        loop: "AbstractEventLoop",
        *,
        canvas_id: str,
        slow_after: float,
        instance_id: str,
    ) -> None:
        self._loop = loop
        self._instance_id = instance_id
        self._canvas_id = canvas_id
        self._slow_after = slow_after
        self._running: set[Call] = set()
        self._timer: TimerHandle | None = None
        self._next = float("inf")
        self._idle: asyncio.Event | None = None

    def begin(
        self,
        action: str,
        timeout: float | None,
        context: "CanvasContext[Any] | None" = None,
    ) -> Call:
        """Note that the current task runs a handler, for at most `timeout` seconds.

        Until `end`, it is the current handling.
        """
        task = asyncio.current_task(self._loop)
        assert task is not None
        now = self._loop.time()
        due = now + self._slow_after
        deadline = None
        if timeout is not None:
            deadline = now + timeout
            due = min(due, deadline)
        call = Call(action, task, now, deadline, self._instance_id, context)
        call.token = current.set(call)
        self._running.add(call)
        if due < self._next:
            self._watch(due)
        return call

    def end(self, call: Call) -> CanvasError | None:
        """Note that it is over; call it in the same task, once.

        Returns why we cancelled it, if we did and nobody else did, too: then the cancellation is
        taken back, and this is the answer.
        """
        call.is_running = False
        current.reset(call.token)
        self._running.discard(call)
        if self._idle is not None and not self._awaited():
            self._idle.set()
        if call.reason is None:
            return None
        return None if call.task.uncancel() > call.others else call.reason

    async def finish(self, seconds: float) -> None:
        """Let what runs end by itself for `seconds`, then cancel it and wait for that.

        A handler that swallows its cancellation is left alone after as long again, at most 1 s.
        """
        await self._wait_idle(seconds)
        for call in self._awaited():
            call.cancel(Closing(f'The action "{call.action}" was ended: the instance is closing.'))
        await self._wait_idle(min(seconds, 1.0))
        if self._timer is not None:
            self._timer.cancel()

    def _awaited(self) -> list[Call]:
        """Return those that a close waits for: not the one that waits for the close itself."""
        return [call for call in self._running if not call.awaits_close]

    async def _wait_idle(self, seconds: float) -> None:
        if not self._awaited():
            return
        self._idle = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            pass
        finally:
            self._idle = None

    def _watch(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = when
        self._timer = self._loop.call_at(when, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        self._next = float("inf")
        now = self._loop.time()
        for call in self._running:
            if call.deadline is not None and call.deadline <= now:
                self._expire(call, call.deadline)
            elif not call.logged and call.started + self._slow_after <= now:
                self._log_slow(call, now - call.started)
        due = min(map(self._due, self._running), default=float("inf"))
        if due < float("inf"):
            self._watch(due)

    def _due(self, call: Call) -> float:
        """When to look at it next."""
        if call.reason is not None:
            return float("inf")
        slow = float("inf") if call.logged else call.started + self._slow_after
        return slow if call.deadline is None else min(slow, call.deadline)

    def _expire(self, call: Call, deadline: float) -> None:
        seconds = deadline - call.started
        if call.context is not None:
            # A handler may swallow its cancellation; what it writes from here on is refused.
            call.context.end()
        call.cancel(
            ActionTimeout(
                f'The action "{call.action}" took longer than {seconds:g} s and was ended; an '
                "unfinished change was rolled back."
            )
        )

    def _log_slow(self, call: Call, seconds: float) -> None:
        call.logged = True
        logger.warning(
            "action %r of canvas %r has been running for %.0f s",
            call.action,
            self._canvas_id,
            seconds,
        )
