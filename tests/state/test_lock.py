"""Turns."""

import asyncio

from canvas_provider.state.lock import TurnLock


async def test_turns_come_in_the_order_of_asking() -> None:
    lock = TurnLock()
    order: list[int] = []

    async def take(number: int) -> None:
        await lock.take()
        order.append(number)
        lock.give()

    assert lock.take_nowait()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(take(number))
        group.create_task(_give_later(lock))
    assert order == [0, 1, 2, 3, 4]
    assert lock.take_nowait()


async def _give_later(lock: TurnLock) -> None:
    assert not lock.take_nowait()
    lock.give()


async def test_who_gives_up_waiting_is_passed_over() -> None:
    lock = TurnLock()
    assert lock.take_nowait()
    waiting = [asyncio.create_task(lock.take()) for _ in range(3)]
    await asyncio.sleep(0)  # noqa: TID251  # lets the tasks begin to wait
    waiting[0].cancel()
    lock.give()
    # Handed the lock and cancelled in the same moment: it must be passed on.
    waiting[1].cancel()
    async with asyncio.timeout(5):
        await waiting[2]
    assert waiting[0].cancelled()
    assert waiting[1].cancelled()
