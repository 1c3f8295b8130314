"""Who waits, and for how much."""

import asyncio
from collections.abc import Awaitable

from canvas_provider.wire.backlog import HIGH_WATER, Backlog


async def test_a_writer_waits_above_high_water_only() -> None:
    backlog = Backlog()
    async with asyncio.timeout(5):
        await backlog.wait_low()
        await backlog.wait_empty()

        backlog.grow(HIGH_WATER)
        await backlog.wait_low()
        backlog.grow(1)
        low, empty = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(set_after(low, backlog.wait_low()))
            group.create_task(set_after(empty, backlog.wait_empty()))
            await asyncio.sleep(0)  # noqa: TID251  # lets both begin to wait
            assert not low.is_set()
            backlog.shrink(1)
            await low.wait()
            assert not empty.is_set()
            backlog.drop()
        assert empty.is_set()


async def set_after(event: asyncio.Event, waiting: Awaitable[None]) -> None:
    await waiting
    event.set()
