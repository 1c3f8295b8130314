"""One extension's process: started, joined, ended, and each end explained in plain words.

Knows no panel and keeps no log: it calls `note_status` and `log`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from canvas_provider.errors import ConnectionClosed
from canvas_provider.host.gate import Gate
from canvas_provider.host.last_words import LastWords
from canvas_provider.host.link import ProviderLink
from canvas_provider.host.process import ExtensionProcess, create_environment, describe_exit
from canvas_provider.host.runtime import HostRefusal, Runtime
from canvas_provider.host.status import Extension, Level, Source, Status

__all__ = ["RELOAD_GRACE", "Supervisor"]

JOIN_DEADLINE: Final = 30.0
"""Seconds from the launch to `session.resume`; the rule of Copilot CLI 1.0.102."""

RELOAD_GRACE: Final = 5.0
"""Seconds from SIGTERM to SIGKILL at a reload; the rule of Copilot CLI 1.0.102."""

EXIT_GRACE: Final = 0.5
"""Seconds between the end of the connection and the end of the process."""


class Log(Protocol):
    """Takes a line for a reader."""

    def __call__(self, source: Source, level: Level, text: str) -> None: ...


class _Run:
    """One process and its connection."""

    def __init__(
        self, process: ExtensionProcess, gate: Gate, link: ProviderLink, last_words: LastWords
    ) -> None:
        self.process = process
        self.gate = gate
        self.link = link
        self.last_words = last_words
        self.settled = asyncio.Event()
        """It is ready, or will never be."""
        self.ending: asyncio.Task[None] | None = None


class Supervisor:
    """Call `start()`, and `aclose()` in the end.

    Args:
        environment: variables of the process, on top of those that Copilot sets.
    """

    def __init__(
        self,
        extension: Extension,
        runtime: Runtime,
        *,
        environment: Mapping[str, str],
        note_status: Callable[[Status], None],
        log: Log,
    ) -> None:
        self.status = Status("stopped")
        self._extension = extension
        self._runtime = runtime
        self._environment = environment
        self._note_status = note_status
        self._log = log
        self._run: _Run | None = None
        self._changing = asyncio.Lock()
        self._is_stopping = False
        self._is_closed = False

    @property
    def link(self) -> ProviderLink | None:
        """The connection, while there is one that has joined."""
        run = self._run
        return run.link if run is not None and self.status.phase == "ready" else None

    async def start(self) -> None:
        """Start the process; returns when it is ready or has failed. Raises nothing for that."""
        await self.restart(0)

    async def restart(self, grace: float, between: Callable[[], object] | None = None) -> None:
        """End the process, if there is one, and start it again; returns as `start` does.

        One that is starting is ended, too: it may never be ready.

        Args:
            grace: seconds from SIGTERM to SIGKILL.
            between: called when there is no process.
        """
        async with self._changing:
            await self._stop(grace)
            if between is not None:
                between()
            run = await self._launch()
        # Not within the lock: it may never join, and a restart has to be possible then.
        if run is not None:
            await run.settled.wait()

    async def kill(self) -> None:
        """Kill the process as `kill -9` does, and wait for what follows from that."""
        run = self._run
        if run is None or run.ending is None:
            raise HostRefusal("There is no process: start it by a reload.")
        run.process.kill_alone()
        # What it had still to say is lost with it.
        run.gate.open()
        await asyncio.shield(run.ending)

    def hold(self) -> None:
        """Let nothing of what the process says arrive, as if it hung.

        Raises:
            HostRefusal: there is no process.
        """
        if self._run is None or self.status.phase not in ("starting", "ready"):
            raise HostRefusal("There is no process that could hang: start it by a reload.")
        self._run.gate.shut()
        self._set_status(replace(self.status, is_held=True))

    def release(self) -> None:
        """Let go of what was held back. Idempotent."""
        if self._run is not None and self.status.is_held:
            self._set_status(replace(self.status, is_held=False))
            self._run.gate.open()

    async def aclose(self, grace: float) -> None:
        """End the process, within about `grace` seconds; none can be started any more."""
        self._is_closed = True
        await self._stop(grace)
        # A restart that was under way sees that, and starts nothing.
        async with self._changing:
            await self._stop(grace)

    async def _launch(self) -> _Run | None:
        if self._is_closed:
            return None
        self._is_stopping = False
        self._set_status(Status("starting"))
        extension = self._extension
        words = LastWords()

        def hear(line: str) -> None:
            words.add(line)
            self._log("stderr", "info", line)

        environment = create_environment(extension.script, self._runtime.session_id)
        try:
            process = await ExtensionProcess.start(
                extension.script,
                working_directory=self._runtime.working_directory,
                environment={**environment, **self._environment},
                on_stderr=hear,
                python=extension.python,
            )
        except OSError as error:
            self._fail(f"The extension could not be started: {error}")
            return None
        if self._is_closed:  # meanwhile
            await process.stop(0)
            await process.transport.aclose()
            return None
        self._set_status(replace(self.status, pid=process.pid))
        gate = Gate(process.transport)
        link = await self._runtime.attach(
            gate,
            extension_id=extension.id,
            extension_name=extension.name,
            extension_directory=str(extension.script.parent),
        )
        self._run = run = _Run(process, gate, link, words)
        run.ending = asyncio.create_task(self._supervise(run))
        return run

    async def _supervise(self, run: _Run) -> None:
        """See one run of the extension through to its end."""
        try:
            reason = await self._wait_joined(run)
            if reason is None:
                self._set_status(replace(self.status, phase="ready"))
                run.settled.set()
                await _first(run.link.wait_closed(), run.process.wait_alone())
            ended = await self._end(run)
            if not self._is_stopping:
                self._fail(reason or ended, run.last_words.find_traceback())
        finally:
            run.settled.set()

    async def _wait_joined(self, run: _Run) -> str | None:
        """Wait for the join; return why there is none, empty if the process tells by its end."""
        joining = asyncio.ensure_future(run.link.wait_joined())
        try:
            async with asyncio.timeout(JOIN_DEADLINE):
                # A child that holds the pipes keeps the connection open beyond the process.
                await _first(joining, run.process.wait_alone())
            joining.result()
        except asyncio.CancelledError:
            if joining.cancelled():
                return ""
            raise
        except HostRefusal as refusal:
            return f"The session refused what the extension declares: {refusal.message}"
        except ConnectionClosed:
            return ""
        except TimeoutError:
            return (
                f"The extension did not join the session within {JOIN_DEADLINE:.0f} seconds. "
                "Does it call run() or join_session()? Does it do slow work before that?"
            )
        return None

    async def _end(self, run: _Run) -> str:
        """Wait for the end of a process whose connection has ended, or bring it about."""
        code: int | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_GRACE):
                code = await run.process.wait()
        await run.process.stop(EXIT_GRACE)
        await run.link.aclose()
        await run.link.wait_closed()
        if code is None:
            return (
                "The connection broke while the extension was running. Something that is no "
                "message was written to its standard output, or that was closed."
            )
        when = "" if run.link.is_joined else " before it had joined the session"
        text = f"The extension ended{when} ({describe_exit(code)})."
        if code == 0 and not run.link.is_joined:
            text += " Does it call run(canvas) as its last line?"
        return text

    async def _stop(self, grace: float) -> None:
        self._is_stopping = True
        if (run := self._run) is not None:
            await run.process.stop(grace)
            run.gate.open()
            if run.ending is not None:
                # Whoever waits may give up; what is waited for goes on.
                await asyncio.shield(run.ending)
        self._run = None
        if self.status.phase != "stopped":
            self._set_status(Status("stopped"))

    def _fail(self, detail: str, traceback: str = "") -> None:
        self._log("host", "error", detail)
        self._set_status(Status("failed", detail, traceback=traceback))

    def _set_status(self, status: Status) -> None:
        self.status = status
        self._note_status(status)


async def _first(*awaitables: Awaitable[object]) -> None:
    """Wait until one of them is done; the coroutines among the others are given up."""
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
