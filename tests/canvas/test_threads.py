import asyncio
import contextvars
import threading

import pytest

from canvas_provider.canvas.threads import Workers

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME")


async def test_a_function_runs_in_a_daemon_thread_with_the_callers_context() -> None:
    NAME.set("here")
    thread, name = await Workers().run(lambda: (threading.current_thread(), NAME.get()))
    assert thread is not threading.main_thread()
    assert thread.daemon
    assert name == "here"


async def test_a_thread_is_used_again() -> None:
    workers = Workers()
    first = await workers.run(threading.get_ident)
    async with asyncio.timeout(5):
        # A thread is free a moment after it has delivered.
        while await workers.run(threading.get_ident) != first:
            pass


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
async def test_what_it_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await Workers().run(fail)
    assert caught.value is error


async def test_stop_iteration_does_not_get_lost() -> None:
    def fail() -> None:
        raise StopIteration

    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError):
            await Workers().run(fail)


async def test_functions_run_side_by_side_up_to_the_limit() -> None:
    workers = Workers(limit=2)
    together = threading.Barrier(2, timeout=5)
    started = threading.Semaphore(0)
    go_on = threading.Event()

    def wait() -> None:
        started.release()
        go_on.wait(5)

    async with asyncio.timeout(5):
        await asyncio.gather(workers.run(together.wait), workers.run(together.wait))
        tasks = [asyncio.create_task(workers.run(wait)) for _ in range(3)]
        await workers_started(workers, started, 2)
        assert not started.acquire(blocking=False)  # the third one waits its turn
        go_on.set()
        await asyncio.gather(*tasks)
    assert started.acquire(blocking=False)


async def workers_started(workers: Workers, started: threading.Semaphore, count: int) -> None:
    del workers  # its threads are busy: the waiting is done elsewhere
    for _ in range(count):
        assert await Workers().run(lambda: started.acquire(timeout=5))


async def test_a_cancelled_wait_leaves_the_thread_to_itself() -> None:
    workers = Workers(limit=1)
    entered, go_on, left = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        go_on.wait(5)
        left.set()

    async with asyncio.timeout(5):
        task = asyncio.create_task(workers.run(wait))
        await Workers().run(lambda: entered.wait(5))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not left.is_set()
        go_on.set()
        assert await workers.run(left.is_set)  # the one thread does the next job after that


def test_a_thread_that_outlives_its_loop_does_no_harm() -> None:
    entered, go_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def wait() -> None:
        threads.append(threading.current_thread())
        entered.set()
        go_on.wait(5)

    async def main() -> None:
        task = asyncio.create_task(Workers().run(wait))
        await asyncio.to_thread(entered.wait, 5)
        task.cancel()

    asyncio.run(main())
    go_on.set()
    # pytest turns an exception in a thread into an error of this test.
    threads[0].join(0.1)


async def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canvas_provider.canvas.threads._IDLE", 0.01)
    workers = Workers()
    thread = await workers.run(threading.current_thread)
    async with asyncio.timeout(5):
        await asyncio.to_thread(thread.join, 5)
    assert not thread.is_alive()
    assert await workers.run(threading.current_thread) is not thread
