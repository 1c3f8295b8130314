"""Daemon threads for handlers written as `def`, and their way back into the event loop.

Not the event loop's executor: its threads are joined at exit, and a handler that sleeps or waits
for a network would hold the process until Copilot kills it, state unflushed.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, TypeVar

from canvas_provider.errors import CanvasProviderError, Closing

__all__ = ["Workers", "start_in_loop"]

T = TypeVar("T")

_IDLE: Final = 10.0
"""Seconds an idle thread waits for more before it ends."""


class _Job(NamedTuple):
    function: Callable[[], Any]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[tuple[Any, BaseException | None]]"


class Workers:
    """Runs functions in threads of its own, as many as there are functions at once, up to `limit`.

    Beyond the limit they wait their turn.
    """

    def __init__(self, *, limit: int = 64) -> None:
        self._limit = limit
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting = 0  # threads free to take a job, less the jobs already queued for them

    async def run(self, function: Callable[[], T]) -> T:
        """Call `function` in a thread and return what it returns, or raise what it raises.

        Cancelling this leaves the thread to itself: its result is dropped.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[T, BaseException | None]] = loop.create_future()
        self._submit(_Job(function, contextvars.copy_context(), loop, done))
        result, error = await done
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback refers to this frame
        return result

    def _submit(self, job: _Job) -> None:
        self._jobs.put(job)
        with self._lock:
            self._waiting -= 1
            if self._waiting >= 0 or self._threads >= self._limit:
                return
            self._threads += 1
            self._waiting += 1
        name = "canvas-provider-handler"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._waiting <= 0:
                        continue  # a job was put in between
                    self._waiting -= 1
                    self._threads -= 1
                return
            _run(job)
            del job  # what it refers to must not live until the next one
            with self._lock:
                self._waiting += 1


def _run(job: _Job) -> None:
    result: Any = None
    error: BaseException | None = None
    try:
        result = job.context.run(job.function)
    except BaseException as raised:
        error = raised
    # RuntimeError: the loop is closed, nobody waits any longer.
    try:
        job.loop.call_soon_threadsafe(_deliver, job.done, result, error)
    except RuntimeError:
        pass
    finally:
        error = None


def _deliver(
    done: "asyncio.Future[tuple[Any, BaseException | None]]",
    result: Any,
    error: BaseException | None,
) -> None:
    # As a value, because a future refuses StopIteration as its exception.
    if not done.cancelled():
        done.set_result((result, error))


def start_in_loop(coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> Future[T]:
    """Start a coroutine in the loop, from another thread. One that is not started is closed.

    Raises:
        CanvasProviderError: this is the loop's own thread, which cannot wait for itself.
        Closing: the loop has ended.
    """
    try:
        is_inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_inside = False
    if is_inside:
        coroutine.close()
        raise CanvasProviderError(
            "ctx.run() and `with` are for handlers written as `def`, which run in a thread: in an "
            "`async def`, write `await` and `async with`"
        )
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError as error:
        coroutine.close()
        raise Closing("The event loop has ended; nothing was done.") from error
