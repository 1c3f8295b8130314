import asyncio
import logging

import pytest

from canvas_provider.canvas.dispatch import Calls, translate
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    HandlerError,
    InvalidState,
    NotJSON,
    RevisionConflict,
    StateClosed,
    StoreError,
    StoreUnavailable,
)


class Clock:
    """What `Calls` needs of a loop, with a time that tests move."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, object]] = []
        self.loop = asyncio.get_running_loop()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: object) -> "Clock.Handle":
        self.timers.append((when, callback))
        return Clock.Handle(self, (when, callback))

    class Handle:
        def __init__(self, clock: "Clock", timer: tuple[float, object]) -> None:
            self.clock, self.timer = clock, timer

        def cancel(self) -> None:
            if self.timer in self.clock.timers:
                self.clock.timers.remove(self.timer)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        for timer in due:
            self.timers.remove(timer)
            timer[1]()  # type: ignore[operator]


def calls_of(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Calls:
    current = asyncio.current_task
    monkeypatch.setattr(
        "canvas_provider.canvas.dispatch.asyncio.current_task", lambda loop=None: current()
    )
    return Calls(clock, canvas_id="k", instance_id="p", slow_after=60.0)  # type: ignore[arg-type]


async def run(calls: Calls, name: str, limit: float | None, until: asyncio.Event) -> str:
    """What `Instance.invoke` does with a call."""
    call = calls.begin(name, limit)
    try:
        await until.wait()
    except asyncio.CancelledError:
        if (reason := calls.end(call)) is None:
            raise
        raise reason from None
    calls.end(call)
    return name


async def started(task: "asyncio.Task[str]") -> "asyncio.Task[str]":
    await asyncio.sleep(0)  # noqa: TID251  # lets the task begin, no time passes
    return task


async def test_one_timer_watches_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, never = Clock(), asyncio.Event()
    calls = calls_of(clock, monkeypatch)
    async with asyncio.timeout(5):
        tasks = [
            await started(asyncio.create_task(run(calls, f"a{n}", limit, never)))
            for n, limit in enumerate([None, 5.0, None, 2.0, 9.0])
        ]
        assert [when for when, _ in clock.timers] == [2.0]
        clock.advance(2.0)
        with pytest.raises(ActionTimeout, match="took longer than 2 s"):
            await tasks[3]
        assert [when for when, _ in clock.timers] == [5.0]
        never.set()
        assert [await tasks[n] for n in (0, 2, 4)] == ["a0", "a2", "a4"]


async def test_after_the_last_call_the_timer_is_not_set_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, done = Clock(), asyncio.Event()
    calls = calls_of(clock, monkeypatch)
    done.set()
    for _ in range(3):
        await run(calls, "act", None, done)
    assert len(clock.timers) == 1
    clock.advance(60.0)
    assert clock.timers == []


async def test_a_slow_call_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, done = Clock(), asyncio.Event()
    calls = calls_of(clock, monkeypatch)
    async with asyncio.timeout(5):
        task = await started(asyncio.create_task(run(calls, "build", 300.0, done)))
        for _ in range(4):
            clock.advance(60.0)
        assert [record.getMessage() for record in caplog.records] == [
            "action 'build' of canvas 'k' has been running for 60 s"
        ]
        assert [when for when, _ in clock.timers] == [300.0]
        done.set()
        assert await task == "build"


async def test_a_cancellation_from_outside_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, never = Clock(), asyncio.Event()
    calls = calls_of(clock, monkeypatch)
    async with asyncio.timeout(5):
        task = await started(asyncio.create_task(run(calls, "act", 5.0, never)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        both = await started(asyncio.create_task(run(calls, "act", 5.0, never)))
        clock.advance(5.0)
        both.cancel()
        with pytest.raises(asyncio.CancelledError):
            await both


async def test_a_task_that_was_timed_out_can_wait_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, never = Clock(), asyncio.Event()
    calls = calls_of(clock, monkeypatch)

    async def twice() -> int:
        with pytest.raises(ActionTimeout):
            await run(calls, "act", 5.0, never)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    async with asyncio.timeout(5):
        task = asyncio.create_task(twice())
        await asyncio.sleep(0)  # noqa: TID251  # lets the task begin, no time passes
        clock.advance(5.0)
        assert await task == 0


async def test_finishing_lets_calls_end_then_ends_them() -> None:
    calls = Calls(asyncio.get_running_loop(), canvas_id="k", instance_id="p", slow_after=60.0)
    soon, never = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(5):
        quick = await started(asyncio.create_task(run(calls, "quick", None, soon)))
        stuck = await started(asyncio.create_task(run(calls, "stuck", None, never)))
        asyncio.get_running_loop().call_soon(soon.set)
        await calls.finish(0.01)
        assert await quick == "quick"
        with pytest.raises(Closing, match='"stuck"'):
            await stuck
        await calls.finish(5)  # nothing runs: at once


async def test_a_call_that_swallows_its_end_is_left_alone() -> None:
    calls = Calls(asyncio.get_running_loop(), canvas_id="k", instance_id="p", slow_after=60.0)
    done = asyncio.Event()

    async def stubborn() -> None:
        call = calls.begin("stubborn", None)
        while not done.is_set():
            try:
                await done.wait()
            except asyncio.CancelledError:
                continue
        calls.end(call)

    async with asyncio.timeout(5):
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)  # noqa: TID251  # lets the task begin, no time passes
        await calls.finish(0.01)
        assert not task.done()
        done.set()
        await task


@pytest.mark.parametrize("error", [CanvasError("mine", "Mine."), RevisionConflict(1, 2)])
def test_an_answer_stays_what_it_is(error: CanvasError) -> None:
    assert translate(error, "action", "k") is error


def test_an_unexpected_error_leaks_nothing_and_is_logged_under_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = translate(KeyError("secret"), 'action "act"', "k")
    assert isinstance(answer, HandlerError)
    assert "secret" not in answer.message
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("canvas_provider.canvas", logging.ERROR)
    assert record.exc_info is not None
    reference = answer.message.rstrip(".").rpartition(" ")[2]
    assert len(reference) == 8
    assert reference in record.getMessage()
    assert "secret" not in record.getMessage()


def test_errors_of_the_state_say_what_helps() -> None:
    late = translate(StateClosed("x"), 'action "act"', "k")
    assert isinstance(late, Closing)
    broken = translate(NotJSON("/a/0: NaN is not JSON"), 'action "act"', "k")
    assert isinstance(broken, HandlerError)
    assert "/a/0: NaN is not JSON" in broken.message
    odd = translate(InvalidState("/cards/0/n: must be at least 1"), 'action "act"', "k")
    assert isinstance(odd, HandlerError)
    assert "/cards/0/n: must be at least 1" in odd.message
    lost = translate(StoreError("disk /secret/path full"), 'action "act"', "k")
    assert isinstance(lost, StoreUnavailable)
    assert "could not be saved" in lost.message
    assert "secret" not in lost.message
