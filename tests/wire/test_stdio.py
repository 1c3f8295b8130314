"""`write_all`; what a claim does to a process is in `tests/process`."""

import asyncio
import os

import pytest

from canvas_provider.wire.stdio import write_all


@pytest.mark.parametrize("blocking", [True, False])
async def test_everything_is_written_however_small_the_pipe(blocking: bool) -> None:
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, blocking)
    data = os.urandom(1_000_000)

    def read() -> bytes:
        with open(read_fd, "rb") as file:
            return file.read()

    async with asyncio.timeout(5):
        reading = asyncio.create_task(asyncio.to_thread(read))
        try:
            await asyncio.to_thread(write_all, write_fd, data)
        finally:
            os.close(write_fd)
        assert await reading == data


def test_a_reader_that_is_gone_is_an_error() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with pytest.raises(BrokenPipeError):
        write_all(write_fd, b"x")
    os.close(write_fd)
