"""One contract for both transports, and what only descriptors can do; on both event loops."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from canvas_provider.wire.transports import MemoryTransport, PipeTransport, Transport, memory_pair

Pair = tuple[Transport, Transport]


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


def pipe_pair() -> Pair:
    read_one, write_one = os.pipe()
    read_other, write_other = os.pipe()
    return PipeTransport(read_one, write_other), PipeTransport(read_other, write_one)


def nonblocking_pipe_pair() -> Pair:
    """As they are after Node's `process.execve`."""
    fds = [*os.pipe(), *os.pipe()]
    for fd in fds:
        os.set_blocking(fd, False)
    return PipeTransport(fds[0], fds[3]), PipeTransport(fds[2], fds[1])


def socket_pair() -> Pair:
    """As Node's child processes have them."""
    one, other = (each.detach() for each in socket.socketpair())
    return PipeTransport(one, os.dup(one)), PipeTransport(other, other)


class Ears:
    """What a transport told."""

    def __init__(self, transport: Transport) -> None:
        self.heard = bytearray()
        self.ends: list[Exception | None] = []
        self.changed = asyncio.Event()
        transport.start(self._hear, self._end)

    def _hear(self, data: bytes) -> None:
        assert not self.ends, "nothing may follow the end"
        self.heard += data
        self.changed.set()

    def _end(self, exception: Exception | None) -> None:
        self.ends.append(exception)
        self.changed.set()

    async def wait_until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture(
    params=[memory_pair, pipe_pair, nonblocking_pipe_pair, socket_pair],
    ids=lambda create: create.__name__,
)
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    one, other = request.param()
    yield one, other
    one.abort()
    other.abort()


async def test_bytes_arrive_in_order_both_ways(pair: Pair) -> None:
    one, other = (Ears(each) for each in pair)
    for n in range(1000):
        pair[0].write(b"%d " % n)
        pair[1].write(b"%d," % n)
    await one.wait_until(lambda: one.heard.endswith(b"999,"))
    await other.wait_until(lambda: other.heard.endswith(b"999 "))
    assert one.heard == b"".join(b"%d," % n for n in range(1000))
    assert other.heard == b"".join(b"%d " % n for n in range(1000))


async def test_nothing_is_heard_within_start_or_write(pair: Pair) -> None:
    Ears(pair[0])
    pair[0].write(b"early")
    other = Ears(pair[1])
    assert not other.heard
    await other.wait_until(lambda: other.heard == b"early")


async def test_much_goes_both_ways_at_once(pair: Pair) -> None:
    """Were reading to wait for writing, both would wait for ever."""
    one, other = (Ears(each) for each in pair)
    much = os.urandom(1 << 20) * 4
    pair[0].write(much)
    pair[1].write(much)
    await one.wait_until(lambda: len(one.heard) == len(much))
    await other.wait_until(lambda: len(other.heard) == len(much))
    assert one.heard == much == other.heard


async def test_drain_waits_for_the_reader(pair: Pair) -> None:
    Ears(pair[0])
    async with asyncio.timeout(5):
        await pair[0].drain()
        pair[0].write(bytes(1 << 20))
        draining = [asyncio.ensure_future(pair[0].drain()) for _ in range(2)]
        done, _ = await asyncio.wait(draining, timeout=0)
        assert not done
        other = Ears(pair[1])
        await asyncio.gather(*draining)
    await other.wait_until(lambda: len(other.heard) == 1 << 20)


async def test_closing_writes_what_is_queued_and_then_ends(pair: Pair) -> None:
    one, other = (Ears(each) for each in pair)
    async with asyncio.timeout(5):
        pair[0].write(bytes(1 << 20))
        await asyncio.gather(pair[0].aclose(), pair[0].aclose())
        await pair[0].aclose()
    await other.wait_until(lambda: other.ends)
    assert len(other.heard) == 1 << 20
    assert other.ends == [None]
    assert one.ends == [], "whoever closes need not be told"
    pair[0].write(b"dropped")


async def test_a_close_that_is_cancelled_closes_at_once(pair: Pair) -> None:
    Ears(pair[0])
    pair[0].write(bytes(1 << 20))
    if isinstance(pair[0], MemoryTransport):
        return  # Its close has nothing to wait for.
    closing = [asyncio.ensure_future(pair[0].aclose()) for _ in range(2)]
    async with asyncio.timeout(5):
        done, _ = await asyncio.wait(closing, timeout=0)
        assert not done
        closing[0].cancel()
        await asyncio.wait(closing)
    assert closing[0].cancelled()
    other = Ears(pair[1])
    await other.wait_until(lambda: other.ends)
    assert len(other.heard) < 1 << 20


async def test_whoever_hears_the_end_may_still_write(pair: Pair) -> None:
    """The end of one direction: what was asked before may still be answered."""
    one, other = (Ears(each) for each in pair)
    pair[1].write(b"last words")
    async with asyncio.timeout(5):
        await pair[1].aclose()
    await one.wait_until(lambda: one.ends)
    assert one.heard == b"last words"
    pair[0].write(b"into the void")
    await pair[0].drain()
    await asyncio.sleep(0)  # noqa: TID251  # a second end would be told now
    assert len(one.ends) == 1
    assert other.ends == []


async def test_a_transport_that_never_started_can_be_closed(pair: Pair) -> None:
    async with asyncio.timeout(5):
        await pair[0].aclose()
    other = Ears(pair[1])
    await other.wait_until(lambda: other.ends)


async def test_a_reader_that_went_away_is_told_once_and_as_an_error() -> None:
    read_fd, write_fd = os.pipe()
    silent_fd, open_fd = os.pipe()
    transport = PipeTransport(silent_fd, write_fd)
    ears = Ears(transport)
    os.close(read_fd)
    for _ in range(3):
        transport.write(b"x")
    assert ears.ends == [], "never from inside write()"
    await ears.wait_until(lambda: ears.ends)
    assert [type(each) for each in ears.ends] == [BrokenPipeError]
    async with asyncio.timeout(5):
        await transport.drain()
        await transport.aclose()
    os.close(open_fd)


async def test_a_reader_that_goes_away_in_the_middle_of_much_frees_whoever_waits() -> None:
    read_fd, write_fd = os.pipe()
    silent_fd, open_fd = os.pipe()
    transport = PipeTransport(silent_fd, write_fd)
    ears = Ears(transport)
    transport.write(bytes(1 << 20))
    async with asyncio.timeout(5):
        draining = asyncio.ensure_future(transport.drain())
        os.close(read_fd)
        await draining
    await ears.wait_until(lambda: ears.ends)
    assert [type(each) for each in ears.ends] == [BrokenPipeError]
    transport.abort()
    os.close(open_fd)


async def test_files_work_although_no_loop_can_poll_them(tmp_path: Path) -> None:
    much = os.urandom(300_000)
    (tmp_path / "in").write_bytes(much)
    transport = PipeTransport(
        os.open(tmp_path / "in", os.O_RDONLY),
        os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT, 0o600),
    )
    ears = Ears(transport)
    await ears.wait_until(lambda: ears.ends)
    assert ears.heard == much
    transport.write(much)
    transport.write(b"end")
    async with asyncio.timeout(5):
        await transport.drain()
        await transport.aclose()
    assert (tmp_path / "out").read_bytes() == much + b"end"


async def test_the_null_device_is_at_its_end() -> None:
    transport = PipeTransport(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
    ears = Ears(transport)
    transport.write(b"x")
    await ears.wait_until(lambda: ears.ends)
    assert ears.ends == [None]
    transport.abort()


async def test_a_terminal_works_and_stays_blocking() -> None:
    """Whoever else writes to that terminal would lose output otherwise."""
    terminal, line = os.openpty()
    transport = PipeTransport(os.dup(line), os.dup(line))
    ears = Ears(transport)
    os.write(terminal, b"typed\n")
    await ears.wait_until(lambda: ears.heard == b"typed\n")
    assert os.get_blocking(line)
    transport.abort()
    os.close(terminal)
    os.close(line)


async def test_the_descriptors_are_closed_with_the_transport() -> None:
    read_fd, far_write_fd = os.pipe()
    far_read_fd, write_fd = os.pipe()
    transport = PipeTransport(read_fd, write_fd)
    Ears(transport)
    async with asyncio.timeout(5):
        await transport.aclose()
    transport.abort()
    for fd in (read_fd, write_fd):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
    os.close(far_write_fd)
    os.close(far_read_fd)
