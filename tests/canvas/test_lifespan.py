import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from canvas_provider.canvas.lifespan import LifespanTask

Create = Callable[[], AbstractAsyncContextManager[Any]]


def recording(log: list[str], *, before: Any = None, after: Any = None) -> Create:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[str]:
        log.append("enter")
        if before is not None:
            await before()
        try:
            yield "resource"
        finally:
            log.append("leave")
            if after is not None:
                await after()

    return lifespan


async def fail() -> None:
    raise ValueError("no")


async def never(reached: asyncio.Event | None = None) -> None:
    if reached is not None:
        reached.set()
    await asyncio.Event().wait()


async def test_what_it_yields_is_there_between_enter_and_leave() -> None:
    log: list[str] = []
    lifespan = LifespanTask(recording(log))
    await lifespan.enter()
    assert lifespan.resources == "resource"
    assert log == ["enter"]
    await lifespan.leave()
    assert log == ["enter", "leave"]


async def test_one_task_enters_and_leaves() -> None:
    tasks: list[Any] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:  # would fail if another task left it
            tasks.append(asyncio.current_task())
            child = group.create_task(never())
            yield
            child.cancel()
        tasks.append(asyncio.current_task())

    task = LifespanTask(lifespan)
    async with asyncio.timeout(5):
        await asyncio.create_task(task.enter())
        await asyncio.create_task(task.leave())
    assert tasks[0] is tasks[1]


async def test_errors_come_out_where_they_happen() -> None:
    with pytest.raises(ValueError, match="no"):
        await LifespanTask(recording([], before=fail)).enter()
    lifespan = LifespanTask(recording([], after=fail))
    await lifespan.enter()
    with pytest.raises(ValueError, match="no"):
        await lifespan.leave()


async def test_leaving_what_was_never_entered_does_nothing() -> None:
    await LifespanTask(recording([])).leave()


async def test_a_cancelled_entry_is_cancelled_inside() -> None:
    log: list[str] = []
    reached = asyncio.Event()
    lifespan = LifespanTask(recording(log, before=partial(never, reached)))
    async with asyncio.timeout(5):
        entering = asyncio.create_task(lifespan.enter())
        await reached.wait()
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering


async def test_a_cancelled_exit_is_cut_short() -> None:
    log: list[str] = []
    reached = asyncio.Event()
    lifespan = LifespanTask(recording(log, after=partial(never, reached)))
    await lifespan.enter()
    async with asyncio.timeout(5):
        leaving = asyncio.create_task(lifespan.leave())
        await reached.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving


async def test_one_that_cancels_itself_does_not_cancel_who_closes() -> None:
    async def cancel_self() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await never()

    lifespan = LifespanTask(recording([], after=cancel_self))
    await lifespan.enter()
    await lifespan.leave()
