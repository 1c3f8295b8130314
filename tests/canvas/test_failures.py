"""Whatever an author's code raises, the caller is answered and the canvas goes on."""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.instance import Instance
from canvas_provider.errors import CanvasError, HandlerError, InvalidInput
from tests.canvas.conftest import Make


def _parse() -> None:
    argparse.ArgumentParser().parse_args(["--no-such-option"])


def _exit() -> None:
    sys.exit(3)


def _cancelled() -> None:
    raise asyncio.CancelledError


def _group() -> None:
    raise BaseExceptionGroup("two at once", [SystemExit(), asyncio.CancelledError()])


def _stop() -> None:
    raise StopIteration


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Somebody waits for a Ctrl-C, as in each program that asyncio or Copilot has started."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


FAILURES = [_parse, _exit, _cancelled, _group, _stop, _interrupt]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("fail", FAILURES)
@pytest.mark.parametrize("author", ["agent", "person"])
async def test_an_async_handler_may_raise_anything(
    make: Make, fail: Callable[[], None], author: Any
) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def plain() -> None:
        fail()

    @canvas.action
    async def changing(state: dict[str, Any]) -> None:
        state["lost"] = True
        fail()

    @canvas.action
    async def block(ctx: CanvasContext) -> None:
        async with ctx.state.change() as state:
            state["lost"] = True
            fail()

    await _refuse_all(await make.opened(canvas), author)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("fail", FAILURES)
async def test_a_def_handler_may_raise_anything(make: Make, fail: Callable[[], None]) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    def plain() -> None:
        fail()

    @canvas.action
    def changing(state: dict[str, Any]) -> None:
        state["lost"] = True
        fail()

    @canvas.action
    def block(ctx: CanvasContext) -> None:
        with ctx.state.change() as state:
            state["lost"] = True
            fail()

    await _refuse_all(await make.opened(canvas), "agent")


async def _refuse_all(instance: Instance, author: Any) -> None:
    for name in instance.canvas.actions:
        async with asyncio.timeout(5):
            with pytest.raises(HandlerError, match=f'The action "{name}" failed unexpectedly'):
                await instance.invoke(name, author=author)
    assert instance.state is not None
    assert (instance.state.revision, instance.state.document) == (0, {})
    # Nobody holds the turn.
    await instance.state.update(lambda draft: draft.update(kept=True))
    assert instance.state.document == {"kept": True}


async def test_a_ctrl_c_that_nobody_else_takes_notice_of_ends_the_program(make: Make) -> None:
    """Python's own handler raises it wherever the program is, also in an author's code."""
    canvas = make.canvas()

    @canvas.action
    async def work() -> None:
        signal.raise_signal(signal.SIGINT)

    instance = await make.opened(canvas)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            await instance.invoke("work", author="agent")
    finally:
        signal.signal(signal.SIGINT, before)


async def test_waiting_for_something_that_was_cancelled_is_a_failure_too(make: Make) -> None:
    canvas = make.canvas()

    @canvas.action
    async def wait() -> None:
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task

    instance = await make.opened(canvas)
    with pytest.raises(HandlerError):
        await instance.invoke("wait", author="agent")


async def test_a_cancelled_call_stays_cancelled(make: Make) -> None:
    canvas = make.canvas()
    started = asyncio.Event()

    @canvas.action
    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    instance = await make.opened(canvas)
    call = asyncio.ensure_future(instance.invoke("wait", author="agent"))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("fail", FAILURES)
async def test_opening_and_closing_may_raise_anything(make: Make, fail: Callable[[], None]) -> None:
    failing = "on_open"

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        if failing == "lifespan":
            fail()
        yield
        fail()

    canvas = make.canvas(lifespan=lifespan)

    @canvas.on_open
    async def opened(ctx: CanvasContext) -> None:
        if failing == "on_open":
            fail()

    @canvas.on_close
    async def closed(ctx: CanvasContext) -> None:
        fail()

    instance = make.instance(canvas)
    with pytest.raises(CanvasError):
        await instance.open()
    failing = "lifespan"
    with pytest.raises(CanvasError):
        await instance.open()
    failing = "close"
    await instance.open()
    async with asyncio.timeout(5):
        await instance.close(explicit=True)
    assert instance.phase == "closed"


@pytest.mark.parametrize(
    ("create", "kind", "said"),
    [
        (lambda: CanvasError("", "Said."), ValueError, "the code of a CanvasError is blank"),
        (lambda: CanvasError("mine", " "), ValueError, "the message of a CanvasError is blank"),
        (lambda: CanvasError(404, "Said."), TypeError, "the code of a CanvasError is int"),  # type: ignore[arg-type]
        (lambda: CanvasError("mine", KeyError()), TypeError, "the message .* is KeyError"),  # type: ignore[arg-type]
        (lambda: InvalidInput(""), ValueError, "the message of a CanvasError is blank"),
    ],
)
def test_an_answer_that_tells_nobody_anything_is_refused_where_it_is_made(
    create: Callable[[], CanvasError], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        create()
    assert 'CanvasError("no_such_card", "There is no card 7.")' in str(caught.value)
