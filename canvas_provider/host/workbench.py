"""The development session: one extension in an embedded runtime, and what there is to see of it.

Starts and reloads the extension, notices when and why it ends, and remembers instances, traffic
and what was logged, so that a panel that is opened late sees all of it. Knows nothing of HTTP.
"""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast

from canvas_provider.errors import ConnectionClosed
from canvas_provider.host.link import Message, ProviderLink
from canvas_provider.host.process import ExtensionProcess, create_environment, describe_exit
from canvas_provider.host.runtime import HostRefusal, Runtime
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.host.validation import Schema
from canvas_provider.protocol.copilot import CanvasEvent
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Extension", "LogLine", "Status", "Workbench"]

JOIN_DEADLINE: Final = 30.0
"""Seconds from the launch to `session.resume`; the rule of Copilot CLI 1.0.102."""

RELOAD_GRACE: Final = 5.0
"""Seconds from SIGTERM to SIGKILL at a reload; the rule of Copilot CLI 1.0.102."""

EXIT_GRACE: Final = 0.5
"""Seconds between the end of the connection and the end of the process."""

FIRST_INSTANCE: Final = "main"
"""The instance that is opened unasked: the same at every start, so that its state is found."""

MAX_LOG: Final = 2000

Listener = Callable[[str, JSONObject], None]


@dataclass(frozen=True, slots=True)
class Extension:
    """What is developed."""

    script: Path
    """Absolute."""
    name: str
    python: str = sys.executable
    """The interpreter that runs it."""

    @property
    def id(self) -> str:
        return f"project:{self.name}"


@dataclass(frozen=True, slots=True)
class Status:
    """How the extension's process is doing."""

    phase: Literal["starting", "ready", "failed", "stopped"]
    detail: str = ""
    """Why, in plain words."""
    pid: int | None = None

    def describe(self) -> JSONObject:
        return {"phase": self.phase, "detail": self.detail, "pid": self.pid}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line for a reader."""

    source: Literal["stderr", "session", "host"]
    level: Literal["info", "warning", "error"]
    text: str
    time: float
    """Unix seconds."""

    def describe(self) -> JSONObject:
        return {"source": self.source, "level": self.level, "text": self.text, "time": self.time}


class Workbench:
    """Call `start()`, and `aclose()` in the end.

    Listeners get a kind and its data: `status`, `canvases` (everything declared and open),
    `traffic` (one message) and `log` (one line), in order.
    """

    def __init__(
        self, extension: Extension, *, working_directory: str, workspace_path: str
    ) -> None:
        self.extension = extension
        self.runtime = Runtime(working_directory=working_directory, workspace_path=workspace_path)
        self.status = Status("stopped")
        self.traffic = TrafficLog()
        self.log: deque[LogLine] = deque(maxlen=MAX_LOG)
        self._listeners: list[Listener] = []
        self._instances: dict[str, JSONObject] = {}
        self._process: ExtensionProcess | None = None
        self._run: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        self._is_stopping = False
        self._is_closed = False
        self._reloading: asyncio.Task[None] | None = None
        self.runtime.conversation.reload = self._begin_reload
        self.runtime.subscribe(self._note_event)
        self.runtime.subscribe_messages(self._note_message)

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with everything that happens from now on."""
        self._listeners.append(listener)

    def describe(self) -> JSONObject:
        """Return everything there is to see, except the bodies of messages."""
        return {
            "extension": {
                "id": self.extension.id,
                "name": self.extension.name,
                "script": str(self.extension.script),
            },
            "session": {
                "id": self.runtime.session_id,
                "workingDirectory": self.runtime.working_directory,
            },
            "status": self.status.describe(),
            "log": [line.describe() for line in self.log],
            "traffic": [entry.describe() for entry in self.traffic.entries],
            **self._describe_canvases(),
        }

    async def start(self, *, open_canvas: bool = True) -> None:
        """Start the extension, and open its canvas if that is wished and needs no decision.

        Returns when it is ready or has failed; `status` says which, and nothing is raised for what
        an author can get wrong.
        """
        async with self._changing:
            await self._launch()
        # Not within the lock: an extension may never answer, and a reload has to be possible then.
        if open_canvas and self.status.phase == "ready":
            await self._open_only_canvas()

    async def reload(self) -> None:
        """End the extension and start it again; its instances are opened again with their input."""
        async with self._changing:
            await self._stop(RELOAD_GRACE)
            await self._launch()

    def _begin_reload(self) -> None:
        """Reload on behalf of the extension, which cannot wait for its own end."""
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.ensure_future(self.reload())

    async def aclose(self, grace: float) -> None:
        """End everything, within about `grace` seconds; nothing can be started any more."""
        self._is_closed = True
        await self._stop(grace)
        # A reload that was under way sees that, and starts nothing.
        async with self._changing:
            await self._stop(grace)
        if self._reloading is not None:
            await asyncio.wait([self._reloading])
        await self.runtime.aclose()

    # The process.

    async def _launch(self) -> None:
        if self._is_closed:
            return
        self._is_stopping = False
        self._set_status(Status("starting"))
        extension = self.extension
        try:
            self._process = process = await ExtensionProcess.start(
                extension.script,
                working_directory=self.runtime.working_directory,
                environment=create_environment(extension.script, self.runtime.session_id),
                on_stderr=lambda line: self.add_log("stderr", "info", line),
                python=extension.python,
            )
        except OSError as error:
            self._fail(f"The extension could not be started: {error}")
            return
        if self._is_closed:  # meanwhile
            await process.stop(0)
            await process.transport.aclose()
            return
        self._set_status(replace(self.status, pid=process.pid))
        link = await self.runtime.attach(
            process.transport,
            extension_id=extension.id,
            extension_name=extension.name,
            extension_directory=str(extension.script.parent),
        )
        settled = asyncio.Event()
        self._run = asyncio.create_task(self._supervise(process, link, settled))
        await settled.wait()

    async def _supervise(
        self, process: ExtensionProcess, link: ProviderLink, settled: asyncio.Event
    ) -> None:
        """See one run of the extension through to its end."""
        try:
            reason = await self._wait_joined(link)
            if reason is None:
                self._set_status(replace(self.status, phase="ready"))
                settled.set()
                await link.wait_closed()
            ended = await self._end(process, link)
            if not self._is_stopping:
                self._fail(reason or ended)
        finally:
            settled.set()

    async def _wait_joined(self, link: ProviderLink) -> str | None:
        """Wait for the join; return why there is none, empty if the process tells by its end."""
        try:
            async with asyncio.timeout(JOIN_DEADLINE):
                await link.wait_joined()
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

    async def _end(self, process: ExtensionProcess, link: ProviderLink) -> str:
        """Wait for the end of a process whose connection has ended, or bring it about."""
        code: int | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_GRACE):
                code = await process.wait()
        await process.stop(EXIT_GRACE)
        await link.aclose()
        await link.wait_closed()
        self.traffic.forget_pending(link.extension_id)
        if code is None:
            return (
                "The connection broke while the extension was running. Something that is no "
                "message was written to its standard output, or that was closed."
            )
        when = "" if link.is_joined else " before it had joined the session"
        text = f"The extension ended{when} ({describe_exit(code)})."
        if code == 0 and not link.is_joined:
            text += " Does it call run(canvas) as its last line?"
        return text

    async def _stop(self, grace: float) -> None:
        self._is_stopping = True
        if self._process is not None:
            await self._process.stop(grace)
        if self._run is not None:
            # Whoever waits may give up; what is waited for goes on.
            await asyncio.shield(self._run)
        self._process = self._run = None
        self._set_status(Status("stopped"))

    async def _open_only_canvas(self) -> None:
        canvases = self.runtime.list()
        if len(canvases) != 1 or Schema(canvases[0].get("inputSchema")).explain({}) is not None:
            return
        try:
            await self.runtime.open(canvases[0]["canvasId"], FIRST_INSTANCE)
        except HostRefusal as refusal:
            self.add_log("host", "error", str(refusal))

    # What is seen.

    def add_log(
        self,
        source: Literal["stderr", "session", "host"],
        level: Literal["info", "warning", "error"],
        text: str,
    ) -> None:
        """Remember a line and show it to everybody."""
        line = LogLine(source, level, text, time.time())
        self.log.append(line)
        self._tell("log", line.describe())

    def _fail(self, detail: str) -> None:
        self.add_log("host", "error", detail)
        self._set_status(Status("failed", detail))

    def _set_status(self, status: Status) -> None:
        self.status = status
        self._tell("status", status.describe())

    def _note_message(self, message: Message) -> None:
        self._tell("traffic", self.traffic.record(message, time.time()).describe())

    def _note_event(self, event: SessionEvent) -> None:
        data = cast(JSONObject, event.get("data") or {})
        match event["type"]:
            case CanvasEvent.OPENED:
                self._instances[str(data["instanceId"])] = {**data, "isReady": True}
            case CanvasEvent.UNAVAILABLE:
                instance_id = str(data["instanceId"])
                self._instances[instance_id] = {**self._instances[instance_id], "isReady": False}
            case CanvasEvent.CLOSED:
                self._instances.pop(str(data["instanceId"]), None)
            case "session.info" | "session.warning" | "session.error" as name:
                level = cast(Literal["info", "warning", "error"], name.removeprefix("session."))
                self.add_log("session", level, str(data.get("message", "")))
            case "user.message":
                self.add_log("session", "info", f"Prompt to the agent: {data.get('content')}")
        if event["type"].startswith("session.canvas."):
            self._tell("canvases", self._describe_canvases())

    def _describe_canvases(self) -> JSONObject:
        return {
            "canvases": cast(JSONValue, self.runtime.list()),
            "instances": list(self._instances.values()),
        }

    def _tell(self, kind: str, data: JSONObject) -> None:
        for listener in self._listeners:
            listener(kind, data)
