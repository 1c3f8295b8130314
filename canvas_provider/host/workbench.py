"""The development session: one extension in an embedded runtime, and what there is to see of it.

Starts and reloads the extension, brings about on purpose what seldom happens by itself, and
remembers instances, traffic and what was logged, so that a panel that is opened late sees all of
it. Knows nothing of HTTP, and watches no files.
"""

import asyncio
import os
import shutil
from collections.abc import Collection, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from canvas_provider.host.bench import Command
from canvas_provider.host.changes import drop_bytecode
from canvas_provider.host.journal import Journal, Listener
from canvas_provider.host.link import ProviderLink
from canvas_provider.host.questions import ask
from canvas_provider.host.runtime import HostRefusal, Runtime
from canvas_provider.host.secrets import Secrets
from canvas_provider.host.session_file import SessionFile
from canvas_provider.host.status import Extension, Level, Source, Status
from canvas_provider.host.supervisor import RELOAD_GRACE, Supervisor
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.host.validation import Schema
from canvas_provider.host.workbench_commands import create_commands
from canvas_provider.protocol.copilot import CanvasEvent, OpenCanvas
from canvas_provider.protocol.development import DevelopmentMethod
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing

__all__ = ["Extension", "Status", "Workbench"]

FIRST_INSTANCE: Final = "main"
"""The instance that is opened unasked: the same at every start, so that its state is found."""

MEMORY: Final = "CANVAS_PROVIDER_MEMORY_DIRECTORY"

DEVELOPMENT: Final = "CANVAS_PROVIDER_DEVELOPMENT"


class Workbench:
    """Call `start()`, and `aclose()` in the end.

    Listeners get a kind and its data, in order: `status`, `canvases` (everything declared and
    open), `contributions` (tools, commands, hooks), `traffic` (one message), `log` (one line),
    `pages` (`instances`: whose frames are to be loaded again) and `sources` (where the running code
    comes from).

    Args:
        workspace_path: a folder of the host's own, private, emptied by its owner in the end. What
            a MemoryStore of the extension holds is kept there meanwhile.
        copilot_home: where the extension finds what Copilot keeps for a user; None: at the usual
            place.
        session_file: where the session is remembered for the next start; None: nowhere.
        granted: variables that the extension gets if it asks for them, although they are secret.
    """

    def __init__(
        self,
        extension: Extension,
        *,
        working_directory: str,
        workspace_path: str,
        copilot_home: Path | None = None,
        session_file: SessionFile | None = None,
        granted: Collection[str] = (),
    ) -> None:
        self.extension = extension
        self._file = session_file
        self._memory = Path(workspace_path, "memory")
        before = None if session_file is None else session_file.read()
        self.runtime = Runtime(
            working_directory=working_directory,
            workspace_path=workspace_path,
            session_id=None if before is None else before.session_id,
            records=() if before is None else before.records,
            secrets=Secrets(os.environ, granted, self._note_denied),
        )
        self.journal = Journal(lambda: cast(JSONValue, self.runtime.list()))
        self.sources: JSONObject = {}
        """`modules` and `pages`: the paths that the extension told last; empty if it never did."""
        self.commands: Mapping[str, Command] = create_commands(self)
        self._show_records()
        environment = {MEMORY: str(self._memory), DEVELOPMENT: "1"}
        if copilot_home is not None:
            environment["COPILOT_HOME"] = str(copilot_home)
        self._supervisor = Supervisor(
            extension,
            self.runtime,
            environment=environment,
            note_status=self._note_status,
            log=self.add_log,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_reload_asked = False
        self.runtime.conversation.reload = self._reload_unless_asked
        self.runtime.subscribe(self._note_event)
        self.runtime.subscribe_messages(self.journal.note_message)

    @property
    def traffic(self) -> TrafficLog:
        """The messages between the runtime and the extension."""
        return self.journal.traffic

    @property
    def status(self) -> Status:
        """How the extension's process is doing."""
        return self._supervisor.status

    @property
    def link(self) -> ProviderLink | None:
        """The extension's connection, while it has joined."""
        return self._supervisor.link

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with everything that happens from now on."""
        self.journal.subscribe(listener)

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
            "commands": list(self.commands),
            "status": self.status.describe(),
            "contributions": self.runtime.contributions.describe(),
            **self.journal.describe(),
        }

    # Its life.

    async def start(self, *, open_canvas: bool = True) -> None:
        """Start the extension, and open its canvas if that is wished and needs no decision.

        Returns when it is ready or has failed; `status` says which, and nothing is raised for what
        an author can get wrong. What the session had open before comes back instead.
        """
        await self._supervisor.start()
        if open_canvas and self.status.phase == "ready" and not self._has_what_comes_back():
            await self._open_only_canvas()

    async def reload(self, grace: float = RELOAD_GRACE, changed: Collection[Path] = ()) -> None:
        """End the extension and start it again; its instances are opened again with their input.

        Args:
            grace: seconds that it gets to end.
            changed: Python files that are to be compiled anew.
        """
        await self._supervisor.restart(grace, lambda: drop_bytecode(changed))

    def begin_reload(self, grace: float = RELOAD_GRACE, changed: Collection[Path] = ()) -> None:
        """Reload without waiting for it; `aclose` does."""
        self._spawn(self.reload(grace, changed))

    async def resume_cold(self) -> None:
        """End everything, and go on as Copilot does when it resumes the session another day.

        Instances are opened again with the input they were opened with first, and what was in
        memory only is gone, a MemoryStore's documents included.
        """
        await self._supervisor.restart(RELOAD_GRACE, self._forget)

    async def aclose(self, grace: float) -> None:
        """End everything, within about `grace` seconds; nothing can be started any more."""
        await self._supervisor.aclose(grace)
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self.runtime.aclose()

    # Faults. Each raises HostRefusal where it makes no sense.

    async def kill(self) -> None:
        """Kill the process, as `kill -9` does. It stays dead until a reload."""
        await self._supervisor.kill()

    def hold(self) -> None:
        """Let the extension seem to hang: what it says is held back until `release`."""
        self._supervisor.hold()

    def release(self) -> None:
        """Let go of what was held back. Idempotent."""
        self._supervisor.release()

    async def drop_streams(self, instance_id: str) -> int:
        """Cut the event streams of an instance's pages; return how many pages had one."""
        method, params = DevelopmentMethod.DROP_STREAMS, {"instanceId": instance_id}
        otherwise = "Only pages that canvas_provider serves can lose their stream here."
        answer = await ask(self.link, method, {**params}, otherwise=otherwise)
        dropped = answer.get("dropped") if isinstance(answer, dict) else None
        if not isinstance(dropped, int):
            raise HostRefusal(otherwise)
        return dropped

    async def add_panel(self, instance_id: str) -> OpenCanvas:
        """Show an instance in one panel more, which opens it again as every host does."""
        instance = self.journal.find(instance_id)
        self.journal.show_panels(instance_id, 1)
        return await self.runtime.open(
            str(instance["canvasId"]),
            instance_id,
            instance.get("input", MISSING),
            str(instance["extensionId"]),
        )

    def remove_panel(self, instance_id: str) -> None:
        """Show an instance in one panel less; the last one ends with the instance only."""
        self.journal.show_panels(instance_id, -1)

    # The document of an instance, and how it came about.

    async def read_state(self, instance_id: str, after: str | None) -> JSONValue:
        """Return it as `protocol.development` has it; with `after`, once it is another version."""
        params: JSONObject = {"instanceId": instance_id}
        if after is not None:
            params["after"] = after
        return await self._ask_state(DevelopmentMethod.HISTORY, params)

    async def undo(self, instance_id: str, revision: JSONValue | Missing = MISSING) -> JSONValue:
        """Take back the newest edit, or one revision."""
        params: JSONObject = {"instanceId": instance_id}
        if revision is not MISSING:
            params["revision"] = revision
        return await self._ask_state(DevelopmentMethod.UNDO, params)

    async def redo(self, instance_id: str) -> JSONValue:
        """Take the newest undo back."""
        return await self._ask_state(DevelopmentMethod.REDO, {"instanceId": instance_id})

    async def _ask_state(self, method: DevelopmentMethod, params: JSONObject) -> JSONValue:
        otherwise = "Only canvases of canvas_provider show their state here."
        return await ask(self.link, method, params, otherwise=otherwise)

    # What an agent or a person does beside canvases.

    async def call_tool(self, name: str, arguments: JSONValue) -> JSONValue:
        """Call a tool as the agent would; see `Contributions`."""
        return await self.runtime.contributions.call_tool(name, arguments)

    async def run_command(self, name: str, args: str = "") -> None:
        """Run a slash command as the person would; see `Contributions`."""
        await self.runtime.contributions.run_command(name, args)

    def reload_pages(self) -> None:
        """Have the frames of every instance loaded again; the extension notices nothing else."""
        self.journal.tell("pages", {"instances": list(self.journal.instances)})

    def add_log(self, source: Source, level: Level, text: str) -> None:
        """Remember a line and show it to everybody."""
        self.journal.add_log(source, level, text)

    # Details.

    def _reload_unless_asked(self) -> None:
        """Reload on behalf of the extension, which cannot wait for its own end."""
        if not self._is_reload_asked:
            self._is_reload_asked = True
            self._spawn(self._reload_once())

    async def _reload_once(self) -> None:
        try:
            await self.reload()
        finally:
            self._is_reload_asked = False

    def _forget(self) -> None:
        self.runtime.resume_cold()
        self.journal.instances.clear()
        self._show_records()
        shutil.rmtree(self._memory, ignore_errors=True)
        self.journal.tell_canvases()

    def _has_what_comes_back(self) -> bool:
        """Whether a panel was open before whose canvas is still there."""
        declared = {(each["extensionId"], each["canvasId"]) for each in self.runtime.list()}
        return any(
            (each["extensionId"], each["canvasId"]) in declared for each in self.runtime.records()
        )

    async def _open_only_canvas(self) -> None:
        canvases = self.runtime.list()
        if len(canvases) != 1 or Schema(canvases[0].get("inputSchema")).explain({}) is not None:
            return
        try:
            await self.runtime.open(canvases[0]["canvasId"], FIRST_INSTANCE)
        except HostRefusal as refusal:
            self.add_log("host", "error", str(refusal))

    async def _take_sources(self) -> None:
        with suppress(HostRefusal):
            answer = await ask(self.link, DevelopmentMethod.SOURCES, {}, otherwise="")
            if isinstance(answer, dict):
                self.sources = answer
                self.journal.tell("sources", answer)

    def _note_denied(self, names: list[str]) -> None:
        options = " ".join(f"--grant {name}" for name in names)
        text = f"The extension asks for {', '.join(names)}: start the host with {options}."
        self.add_log("host", "error", text)

    def _note_status(self, status: Status) -> None:
        if status.phase == "starting":
            # The next connection counts its requests from 0 again.
            self.traffic.forget_pending(self.extension.id)
        self.journal.tell("status", status.describe())
        if status.phase == "ready" and not status.is_held:
            self._spawn(self._take_sources())
        if status.phase != "starting":
            self.journal.tell("contributions", self.runtime.contributions.describe())

    def _note_event(self, event: SessionEvent) -> None:
        if event["type"] in (CanvasEvent.RECORDED, CanvasEvent.REMOVED) and self._file is not None:
            self._file.write(self.runtime.session_id, self.runtime.records())
        elif event["type"] == "user.message":
            data = cast(JSONObject, event.get("data") or {})
            self.add_log("session", "info", f"Prompt to the agent: {data.get('content')}")
        self.journal.note_event(event)

    def _show_records(self) -> None:
        """Show what the session had open before as waiting to come back."""
        for record in self.runtime.records():
            self.journal.show(record["instanceId"], {**cast(JSONObject, record), "isReady": False})

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
