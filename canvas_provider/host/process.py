"""A program whose stdin and stdout are the wire, above all an extension, as Copilot runs it.

stdin and stdout are the wire, stderr is read line by line. The end is SIGTERM, a grace, SIGKILL;
stdin stays open until then, so that an extension can still say goodbye. Whoever starts one must
`stop()` it: that leaves no process, not even one that hangs or is stopped.

Knows no protocol. The environment is that of Copilot CLI 1.0.102 (observed).
"""

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from canvas_provider.wire.descriptor import open_reader
from canvas_provider.wire.transports import PipeTransport

__all__ = [
    "STRIPPED",
    "ChildProcess",
    "ExtensionProcess",
    "create_environment",
    "describe_exit",
]

STRIPPED: Final = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "COPILOT_GITHUB_TOKEN",
        "COPILOT_PROVIDER_API_KEY",
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "GITHUB_TOKEN",
        "OPENAI_API_KEY",
    }
)
"""What an extension does not get of the host's environment."""

MAX_LINE: Final = 16 * 1024
"""Characters of stderr that are kept together when no newline comes."""

DRAIN: Final = 0.2
"""Seconds for what an ended process, or a child it left behind, still has to say on stderr."""


def create_environment(
    script: Path, session_id: str, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of an extension: the host's, with a session and without secrets."""
    host = os.environ if base is None else base
    environment = {name: value for name, value in host.items() if name not in STRIPPED}
    environment["SESSION_ID"] = session_id
    environment["EXTENSION_PATH"] = str(script.parent / "extension.mjs")
    environment["COPILOT_EXTENSION_PARENT_PID"] = str(os.getpid())
    return environment


def describe_exit(code: int) -> str:
    """Say how a process ended; a negative code is a signal's number, as in `subprocess`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


class ChildProcess:
    """One run of a program. `spawn` it, give its `transport` to a peer, `stop` it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        transport: PipeTransport,
        stderr_fd: int,
        on_stderr: Callable[[str], None],
    ) -> None:
        self.transport = transport
        self._process = process
        self._lines = _Lines(on_stderr)
        self._stderr_ended = asyncio.Event()
        self._is_group_gone = False
        self._stderr = open_reader(stderr_fd)
        self._stderr.start(self._lines.feed, lambda _: self._stderr_ended.set())

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str],
        *,
        working_directory: str,
        environment: Mapping[str, str],
        on_stderr: Callable[[str], None],
    ) -> Self:
        """Start a program; `on_stderr` gets each line of its stderr, without the newline.

        Raises:
            OSError: the program or the working directory is not there.
        """
        from_child, stdout = os.pipe()
        stdin, to_child = os.pipe()
        from_stderr, stderr = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=working_directory,
                env=environment,
                # Ctrl-C in the host's terminal is the host's: it ends the child in order.
                start_new_session=True,
            )
        except BaseException:
            for fd in (from_child, to_child, from_stderr):
                os.close(fd)
            raise
        finally:
            for fd in (stdout, stdin, stderr):
                os.close(fd)
        return cls(process, PipeTransport(from_child, to_child), from_stderr, on_stderr)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> int:
        """Wait for its end, and for the last of its stderr; return the exit code."""
        code = await self._process.wait()
        # A child that it left behind may still hold the pipe.
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self._stderr_ended.wait()
        self._lines.flush()
        return code

    async def wait_alone(self) -> int:
        """Wait for its end, whoever still holds its pipes; return the exit code."""
        return await self._process.wait()

    async def stop(self, grace: float) -> int:
        """End it: SIGTERM, at most `grace` seconds, SIGKILL. Idempotent; returns the exit code.

        What it has started in its process group goes with it.
        """
        try:
            if self._process.returncode is None:
                self._terminate()
                with suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        await self._process.wait()
            self.kill()
            return await self.wait()
        finally:
            self.kill()
            self._stderr.close()

    def kill(self) -> None:
        """End it at once, with whatever it has started in its process group. Idempotent."""
        has_ended = self._process.returncode is not None
        if sys.platform == "win32":
            if not has_ended:
                self._process.kill()
        elif not self._is_group_gone:
            # The number stays taken as long as anybody is in the group; later it may be another's.
            self._is_group_gone = has_ended
            # PermissionError: macOS, where there are but zombies in it.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def kill_alone(self) -> None:
        """End it at once, and nothing that it has started. Idempotent."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _terminate(self) -> None:
        # Not by Popen, which would reap a process that has just ended, behind asyncio's back.
        if sys.platform == "win32":
            self._process.terminate()
        else:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)


class ExtensionProcess(ChildProcess):
    """One run of an extension, as `start` starts it."""

    @classmethod
    async def start(
        cls,
        script: Path,
        *,
        working_directory: str,
        environment: Mapping[str, str],
        on_stderr: Callable[[str], None],
        python: str = sys.executable,
    ) -> Self:
        """Start `script`; see `spawn`.

        Raises:
            OSError: the interpreter or the working directory is not there.
        """
        return await cls.spawn(
            (python, "-P", "-m", "canvas_provider.boot", str(script)),
            working_directory=working_directory,
            environment=environment,
            on_stderr=on_stderr,
        )


class _Lines:
    """Bytes in, lines out; whatever the bytes are."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._on_line(line.removesuffix("\r"))
        if len(self._rest) > MAX_LINE:
            self.flush()

    def flush(self) -> None:
        rest, self._rest = self._rest, ""
        if rest:
            self._on_line(rest)
