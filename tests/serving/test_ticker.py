import asyncio

from canvas_provider.serving.ticker import Ticker


async def test_everything_registered_is_called_at_each_tick() -> None:
    called: list[str] = []
    ticker = Ticker()
    with ticker.calling(lambda: called.append("a")), ticker.calling(lambda: called.append("b")):
        ticker.tick()
        ticker.tick()
    ticker.tick()
    assert called == ["a", "b", "a", "b"]


async def test_it_runs_only_while_somebody_is_registered() -> None:
    ticker = Ticker()
    assert not ticker.running
    with ticker.calling(print):
        assert ticker.running
        with ticker.calling(print):
            pass
        assert ticker.running
    assert not ticker.running


async def test_it_ticks_again_and_again() -> None:
    third = asyncio.Event()
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            third.set()

    ticker = Ticker(interval=0.001)
    with ticker.calling(count):
        async with asyncio.timeout(5):
            await third.wait()


async def test_a_callback_may_end_others() -> None:
    called = []
    ticker = Ticker()
    with ticker.calling(lambda: called.append("first")):
        second = ticker.calling(lambda: called.append("second"))
        with second:
            ticker.tick()
        ticker.tick()
    assert called == ["first", "second", "first"]


async def test_one_timer_serves_them_all() -> None:
    loop = asyncio.get_running_loop()
    timers = []
    call_later = loop.call_later

    def counted(delay, callback, *args, **kwargs):  # type: ignore[no-untyped-def]
        timers.append(delay)
        return call_later(delay, callback, *args, **kwargs)

    loop.call_later = counted  # type: ignore[assignment,method-assign]
    ticker = Ticker(15.0)
    contexts = [ticker.calling(print) for _ in range(100)]
    for context in contexts:
        context.__enter__()
    for context in contexts:
        context.__exit__(None, None, None)
    assert timers == [15.0]
