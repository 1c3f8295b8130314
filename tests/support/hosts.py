"""One seam over two runtimes: ours, and the real Copilot CLI, with real child processes.

A contract test gets a `Host`, one session with the extensions that the test asked for, and cannot
see which runtime it has but by `kind`, which is for differences that are wanted.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Protocol, cast

import pytest

from canvas_provider.cli.installation import install_extension
from canvas_provider.errors import RemoteError
from canvas_provider.host.runtime import HostRefusal, Runtime
from canvas_provider.host.status import Extension, Status
from canvas_provider.host.supervisor import RELOAD_GRACE, Supervisor
from canvas_provider.protocol.copilot import DiscoveredCanvas, Method, OpenCanvas
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.testing import CLISession, CopilotCLI
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing
from tests.support.copilot import until
from tests.support.puppets import Puppet

__all__ = [
    "TIMEOUT",
    "CopilotHost",
    "EmbeddedHost",
    "Host",
    "Kind",
    "canvas_events",
    "refusal_of",
    "wait_event",
    "wait_listed",
    "wait_open",
    "wait_status",
]

Kind = Literal["embedded", "copilot"]

DISCONNECT_GRACE: Final = 1.0
"""Seconds from SIGTERM to SIGKILL when a session ends; the rule of Copilot CLI 1.0.102."""

TIMEOUT: Final = 60.0
"""Seconds, for each call; more than the slowest rule takes."""

PREFIX: Final = "session.canvas."


class Host(Protocol):
    """One session of a runtime, seen by its host. What is refused raises; see `refusal_of`."""

    kind: Kind
    folder: Path
    """The session's working directory."""
    puppets: dict[str, Puppet]

    async def start(self) -> None:
        """Begin; the extensions start, and are waited for by `wait_joined`."""

    async def aclose(self) -> None:
        """Let go of the session. Idempotent."""

    async def canvases(self) -> list[DiscoveredCanvas]: ...

    async def open_instances(self) -> list[OpenCanvas]: ...

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        extension_id: str | None = None,
    ) -> OpenCanvas: ...

    async def invoke(
        self, instance_id: str, action: str, input: JSONValue | Missing = MISSING
    ) -> JSONValue: ...

    async def close(self, instance_id: str) -> None: ...

    async def reload(self) -> None:
        """End the extensions and start them again."""

    async def resume_cold(self, *, kill: bool = False) -> None:
        """End the runtime, or kill it, and go on with the session in a new one."""

    async def status(self, name: str) -> str:
        """How an extension is doing: starting, running or failed."""

    def events(self) -> list[SessionEvent]:
        """Every event of the session since the runtime started, oldest first."""

    def log(self, name: str) -> str:
        """What an extension wrote to stderr, with the runtime's own notes on it."""


class _Base:
    """What does not depend on the runtime."""

    def __init__(self, folder: Path, puppets: dict[str, Puppet]) -> None:
        self.folder = folder
        self.puppets = puppets


class EmbeddedHost(_Base):
    """The embedded runtime, and what supervises its extensions."""

    kind: Kind = "embedded"

    def __init__(self, folder: Path, puppets: dict[str, Puppet]) -> None:
        super().__init__(folder, puppets)
        self._runtime = self._create(None, "[]")
        self._supervisors: dict[str, Supervisor] = {}
        self._lines: dict[str, list[str]] = {name: [] for name in puppets}
        self._events: list[SessionEvent] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def _create(self, session_id: str | None, records: str) -> Runtime:
        return Runtime(
            working_directory=str(self.folder),
            workspace_path=str(self.folder),
            session_id=session_id,
            records=json.loads(records),
        )

    async def start(self) -> None:
        self._events = []
        self._runtime.subscribe(self._events.append)
        self._runtime.conversation.reload = lambda: self._spawn(self.reload())
        for name, puppet in self.puppets.items():
            self._supervisors[name] = supervisor = Supervisor(
                Extension(puppet.folder / "extension.py", name),
                self._runtime,
                environment={},
                note_status=lambda status: None,
                log=lambda source, level, text, name=name: self._lines[name].append(text),
            )
            self._spawn(supervisor.start())

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        await self._end(DISCONNECT_GRACE)

    async def _end(self, grace: float) -> None:
        await asyncio.gather(*(each.aclose(grace) for each in self._supervisors.values()))
        await self._runtime.aclose()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def canvases(self) -> list[DiscoveredCanvas]:
        return self._runtime.list()

    async def open_instances(self) -> list[OpenCanvas]:
        return self._runtime.list_open()

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        extension_id: str | None = None,
    ) -> OpenCanvas:
        async with asyncio.timeout(TIMEOUT):
            return await self._runtime.open(canvas_id, instance_id, input, extension_id)

    async def invoke(
        self, instance_id: str, action: str, input: JSONValue | Missing = MISSING
    ) -> JSONValue:
        async with asyncio.timeout(TIMEOUT):
            return await self._runtime.invoke(instance_id, action, input)

    async def close(self, instance_id: str) -> None:
        async with asyncio.timeout(TIMEOUT):
            await self._runtime.close(instance_id)

    async def reload(self) -> None:
        supervisors = self._supervisors.values()
        await asyncio.gather(*(each.restart(RELOAD_GRACE) for each in supervisors))

    async def resume_cold(self, *, kill: bool = False) -> None:
        # On disk, whatever stores them, records are JSON.
        records = json.dumps(self._runtime.records())
        await self._end(0 if kill else DISCONNECT_GRACE)
        self._runtime = self._create(self._runtime.session_id, records)
        await self.start()

    async def status(self, name: str) -> str:
        phases: dict[str, str] = {"ready": "running"}
        phase = self._status(name).phase
        return phases.get(phase, phase)

    def _status(self, name: str) -> Status:
        return self._supervisors[name].status

    def events(self) -> list[SessionEvent]:
        return self._events

    def log(self, name: str) -> str:
        return "\n".join(self._lines[name])


class CopilotHost(_Base):
    """A session of the real CLI, in a project of its own."""

    kind: Kind = "copilot"

    def __init__(self, folder: Path, puppets: dict[str, Puppet], cli: CopilotCLI) -> None:
        super().__init__(folder, puppets)
        self.cli = cli
        self.session: CLISession
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
        for puppet in puppets.values():
            # In place: it gets its shim.
            install_extension(puppet.folder, puppet.folder.parent, python=sys.executable)

    async def start(self) -> None:
        self.session = await self.cli.create_session(workingDirectory=str(self.folder))

    async def aclose(self) -> None:
        with suppress(RemoteError):  # it is gone already
            await self.session.disconnect()

    async def canvases(self) -> list[DiscoveredCanvas]:
        return await self.session.canvases()

    async def open_instances(self) -> list[OpenCanvas]:
        return await self.session.open_instances()

    async def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        extension_id: str | None = None,
    ) -> OpenCanvas:
        params: JSONObject = {"canvasId": canvas_id, "instanceId": instance_id}
        if not isinstance(input, Missing):
            params["input"] = input
        if extension_id is not None:
            params["extensionId"] = extension_id
        return cast(OpenCanvas, await self.session.request(Method.SESSION_CANVAS_OPEN, params))

    async def invoke(
        self, instance_id: str, action: str, input: JSONValue | Missing = MISSING
    ) -> JSONValue:
        return cast(JSONValue, await self.session.invoke(instance_id, action, input))

    async def close(self, instance_id: str) -> None:
        await self.session.close(instance_id)

    async def reload(self) -> None:
        await self.session.reload()

    async def resume_cold(self, *, kill: bool = False) -> None:
        session_id = self.session.session_id
        if kill:
            await self.cli.kill()
        await self.cli.restart()
        self.session = await self.cli.resume_session(session_id, workingDirectory=str(self.folder))

    async def status(self, name: str) -> str:
        extensions = await self.session.extensions()
        return next((str(each["status"]) for each in extensions if each["name"] == name), "unknown")

    def events(self) -> list[SessionEvent]:
        return self.session.events

    def log(self, name: str) -> str:
        files = (self.cli.home / "logs").glob("process-*.log")
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        mark = str(self.puppets[name].folder)
        return "\n".join(text for text in texts if mark in text)


async def refusal_of(asking: Awaitable[object]) -> str:
    """Wait for a refusal, and return all of its text."""
    with pytest.raises((HostRefusal, RemoteError)) as caught:
        await asking
    return str(caught.value)


def canvas_events(host: Host, *kinds: str) -> list[tuple[str, JSONObject]]:
    """The events of canvases so far, without the beginning that all have in common."""
    found = [
        (event["type"].removeprefix(PREFIX), event["data"])
        for event in host.events()
        if event["type"].startswith(PREFIX)
    ]
    return [event for event in found if not kinds or event[0] in kinds]


async def wait_status(host: Host, name: str, status: str, timeout: float = 20) -> None:  # noqa: ASYNC109
    """Wait until an extension is in this state."""
    seen = ""
    async with asyncio.timeout(timeout):
        while seen != status:
            seen = await host.status(name)
            await asyncio.sleep(0.02)  # noqa: TID251  # there is no event


async def wait_open(host: Host, *instance_ids: str) -> None:
    """Wait until exactly these instances are open."""
    seen: set[str] = set()
    async with asyncio.timeout(20):
        while seen != set(instance_ids):
            seen = {each["instanceId"] for each in await host.open_instances()}
            await asyncio.sleep(0.02)  # noqa: TID251  # a restore that fails has no event


async def wait_event(host: Host, kind: str, instance_id: str, count: int = 1) -> None:
    """Wait until so many events of a kind have come about an instance."""

    def seen() -> int:
        events = canvas_events(host, kind)
        return sum(data.get("instanceId") == instance_id for _, data in events)

    await until(lambda: seen() >= count, 20, lambda: str(canvas_events(host)))


async def wait_listed(host: Host, *canvas_ids: str) -> None:
    """Wait until exactly these canvases are declared."""
    seen: set[str] = set()
    async with asyncio.timeout(20):
        while seen != set(canvas_ids):
            seen = {each["canvasId"] for each in await host.canvases()}
            await asyncio.sleep(0.02)  # noqa: TID251  # a refused declaration has no event
