"""Whatever a process does to stdin and stdout, the wire stays right and nothing is lost."""

import asyncio
import fcntl
import os
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import PipeTransport

pytestmark = pytest.mark.process

PROGRAM = """
import asyncio, ctypes, logging, os, subprocess, sys
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.stdio import claim_stdio
from canvas_provider.wire.transports import PipeTransport

async def on_request(method, params):
    if method == "echo":
        return params
    names = dict(globals())
    exec(params["code"], names)
    return names.get("result")

async def main():
    assert claim_stdio() == claim_stdio()
    peer = Peer(PipeTransport(*claim_stdio()), on_request=on_request)
    peer.start()
    await peer.wait_closed()
    await peer.aclose()
"""

MEGABYTE = 1_000_000


class Program:
    """A child process that answers on its stdio, and whose stderr is read only when asked."""

    def __init__(self, process: asyncio.subprocess.Process, peer: Peer, stderr: int) -> None:
        self.process = process
        self.peer = peer
        self._stderr = stderr
        self._reading: asyncio.Task[bytes] | None = None

    async def run(self, code: str) -> JSONValue:
        return await self.peer.request("run", {"code": code})

    async def wait_until_stderr_is_full(self) -> None:
        """Wait until the process can write nothing more: from here on it blocks, or loses."""
        size = fcntl.fcntl(self._stderr, fcntl.F_GETPIPE_SZ)
        while _unread(self._stderr) < size:  # noqa: ASYNC110  # no event tells it
            await asyncio.sleep(0)  # noqa: TID251

    def read_stderr(self) -> None:
        self._reading = asyncio.create_task(asyncio.to_thread(_read_all, self._stderr))

    async def finish(self) -> bytes:
        """End it by EOF; return what it wrote to stderr."""
        if self._reading is None:
            self.read_stderr()
        assert self._reading is not None
        await self.peer.aclose()
        assert await self.process.wait() == 0
        return await self._reading


def _unread(fd: int) -> int:
    size: int = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]
    return size


def _read_all(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


async def echo(method: str, params: JSONObject) -> JSONValue:
    return params


@asynccontextmanager
async def program(
    folder: Path,
    code: str,
    *,
    boot: bool = True,
    blocking: bool = True,
    unbuffered: bool = False,
    on_notification: Callable[[JSONValue], None] = lambda params: None,
) -> AsyncIterator[Program]:
    """Start `code` with PROGRAM's names at hand. Not blocking: as after Node's execve."""
    file = folder / "extension.py"
    file.write_text(code, encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    far_in, near_out = os.pipe()
    near_in, far_out = os.pipe()
    near_err, far_err = os.pipe()
    far = (far_in, far_out, far_err)
    for fd in far:
        os.set_blocking(fd, blocking)
    start = ["-P", "-m", "canvas_provider.boot"] if boot else []
    environ = {**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *start, file, stdin=far_in, stdout=far_out, stderr=far_err, env=environ
    )
    for fd in far:
        os.close(fd)
    peer = Peer(
        PipeTransport(near_in, near_out),
        on_request=echo,
        on_notification=lambda _, params: on_notification(params),
    )
    peer.start()
    try:
        async with asyncio.timeout(20):
            yield Program(process, peer, near_err)
    finally:
        if process.returncode is None:
            process.kill()
        await peer.aclose()


BODY = "from program import *\nasyncio.run(main())\n"

CHILD = """
child = '''
import sys
assert sys.stdin.read() == ""
print("c" * 1_000_000, flush=True)
'''
result = subprocess.run([sys.executable, "-c", child], check=True).returncode
"""

INPUT = """
try:
    result = input("What? ")
except EOFError:
    result = "end"
"""

C_CODE = """
libc = ctypes.CDLL(None)
libc.puts(b"from C")
libc.fflush(None)
result = libc.getchar()
"""

LOGGING = """
logging.basicConfig(format="%(message)s")
logging.warning("l" * 1_000_000)
"""

MUCH = {
    "print": ('print("ä" * 500_000)', "ä".encode() * 500_000 + b"\n"),
    "a child": (CHILD, b"c" * MEGABYTE + b"\n"),
    "logging": (LOGGING, b"l" * MEGABYTE + b"\n"),
    "os.write": (
        'result = os.write(1, b"w" * 1_000_000)',
        b"w" * MEGABYTE,
    ),
    "sys.stdout.buffer": (
        'sys.stdout.buffer.write(b"b" * 1_000_000); sys.stdout.flush()',
        b"b" * MEGABYTE,
    ),
}


@pytest.mark.parametrize("unbuffered", [False, True], ids=["buffered", "PYTHONUNBUFFERED"])
@pytest.mark.parametrize("kind", MUCH)
async def test_a_megabyte_reaches_a_stderr_that_is_read_late(
    tmp_path: Path, kind: str, unbuffered: bool
) -> None:
    code, expected = MUCH[kind]
    async with program(tmp_path, BODY, blocking=False, unbuffered=unbuffered) as child:
        running = asyncio.create_task(child.run(code))
        await child.wait_until_stderr_is_full()
        child.read_stderr()
        await running
        assert await child.peer.request("echo", {"a": "x" * MEGABYTE}) == {"a": "x" * MEGABYTE}
        errors = await child.finish()
    assert errors == expected


@pytest.mark.parametrize(
    ("code", "result", "errors"),
    [
        ('print("hello")', None, b"hello\n"),
        ('print("\\ud800")', None, b"\\ud800\n"),
        (INPUT, "end", b"What? "),
        ("result = sys.stdin.read()", "", b""),
        ("result = os.read(0, 10).decode()", "", b""),
        (C_CODE, -1, b"from C\n"),
        ("sys.__stdout__.write('kept\\n')", None, b"kept\n"),
        ("result = os.get_inheritable(claim_stdio().write_fd)", False, b""),
        ("result = [os.get_blocking(fd) for fd in range(3)]", [True, True, True], b""),
        ("result = sys.stdout.line_buffering", True, b""),
    ],
    ids=str,
)
async def test_what_is_printed_goes_to_stderr_and_what_is_read_is_empty(
    tmp_path: Path, code: str, result: JSONValue, errors: bytes
) -> None:
    async with program(tmp_path, BODY, blocking=False) as child:
        assert await child.run(code) == result
        assert await child.finish() == errors


@pytest.mark.parametrize("unbuffered", [False, True], ids=["buffered", "PYTHONUNBUFFERED"])
async def test_a_print_at_import_disturbs_nothing(tmp_path: Path, unbuffered: bool) -> None:
    noise = "import os; print('import', flush=True); os.write(1, b'os\\n'); os.system('echo sh')\n"
    async with program(tmp_path, noise + BODY, unbuffered=unbuffered) as child:
        assert await child.peer.request("echo", {"a": 1}) == {"a": 1}
        assert await child.finish() == b"import\nos\nsh\n"


async def test_without_boot_what_was_printed_before_the_claim_is_not_lost(tmp_path: Path) -> None:
    """As long as it was not flushed: stdout to a pipe is written in blocks."""
    code = "import sys; kept = sys.stdout; print('early')\n" + BODY
    async with program(tmp_path, code, boot=False) as child:
        assert await child.peer.request("echo", {"a": 1}) == {"a": 1}
        assert await child.run("print('late')") is None
        assert await child.finish() == b"early\nlate\n"


async def test_a_stream_that_somebody_replaced_stays(tmp_path: Path) -> None:
    code = "import io, sys; mine = sys.stdout = io.StringIO()\n" + BODY
    async with program(tmp_path, code, boot=False) as child:
        assert await child.run("result = type(sys.stdout).__name__") == "StringIO"
        await child.finish()


async def test_a_handshake_is_written_before_there_is_a_loop(tmp_path: Path) -> None:
    code = """
import sys
from canvas_provider.wire.connection import Connection
from canvas_provider.wire.stdio import claim_stdio, write_all
connection = Connection()
connection.send_notification("hello", "x" * 1_000_000)
write_all(claim_stdio().write_fd, connection.data_to_send())
assert "asyncio" not in sys.modules
"""
    heard: list[JSONValue] = []
    async with program(tmp_path, code, boot=False, on_notification=heard.append) as child:
        await child.peer.wait_closed()
        assert await child.finish() == b""
    assert heard == ["x" * MEGABYTE]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_missing_descriptors_are_replaced_by_the_null_device(
    tmp_path: Path, closed: str
) -> None:
    code = """
import sys
from canvas_provider.wire.stdio import claim_stdio
pipes = claim_stdio()
print("printed")
print("printed", file=sys.stderr)
with open(sys.argv[1], "w") as file:
    file.write(f"{min(pipes) > 2} {sys.stdin.read()!r}")
"""
    file, out = tmp_path / "extension.py", tmp_path / "out"
    file.write_text(code, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$0" "$1" "$2" {closed}', sys.executable, file, out),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(5):
        stdout, stderr = await process.communicate()
    assert (process.returncode, stdout) == (0, b""), stderr
    assert stderr == (b"" if "2>&-" in closed else b"printed\nprinted\n")
    assert out.read_text(encoding="utf-8") == "True ''"
