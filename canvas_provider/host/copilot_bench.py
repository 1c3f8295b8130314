"""The development session in the real Copilot CLI: an agent beside the canvases.

Copilot finds the extension as a plugin in a folder of ours, starts and ends it; this shows what
happens and passes on what the person does. What only a runtime of ours can do to an extension
(kill it, hold back what it says) is no command here.
"""

import asyncio
import json
import os
from collections.abc import Collection, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, cast

from canvas_provider.host.bench import BadCommand, Command, text_of
from canvas_provider.host.changes import drop_bytecode
from canvas_provider.host.copilot import CopilotHost, Model
from canvas_provider.host.copilot_log import follow_log
from canvas_provider.host.journal import Journal, Listener
from canvas_provider.host.last_words import LastWords
from canvas_provider.host.link import Message
from canvas_provider.host.process import STRIPPED
from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.status import Extension, Level, Source, Status
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.host.transcript import Transcript
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.protocol.names import CanvasEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["CopilotBench", "CopilotOptions"]

PLUGIN: Final = "dev"
"""What Copilot calls the plugin: an extension's id is `plugin:dev:NAME`."""

NOISE: Final = (
    "model.",
    "assistant.streaming_delta",
    "assistant.message_delta",
    "pending_messages",
)
"""Events that come in a flood and tell an author of canvases nothing: not in the traffic."""


class CopilotOptions:
    """How Copilot is to be run.

    Args:
        binary: the CLI.
        home: its `COPILOT_HOME`; None: the user's own, with the user's login.
        model: who answers; None: Copilot's own models, which takes a login.
        model_name: which of Copilot's models.
    """

    def __init__(
        self,
        binary: Path,
        *,
        home: Path | None = None,
        model: Model | None = None,
        model_name: str | None = None,
    ) -> None:
        self.binary: Final = binary
        self.home: Final = home
        self.model: Final = model
        self.model_name: Final = model_name


class CopilotBench:
    """A `Bench`, with an agent: listeners are told `transcript` (one entry) and `turn`, too.

    Args:
        plugin: a folder of the host's own, in which `extensions/NAME` is installed.
    """

    sources: JSONObject

    def __init__(
        self,
        extension: Extension,
        *,
        working_directory: str,
        plugin: Path,
        options: CopilotOptions,
    ) -> None:
        self.extension = extension
        self.status = Status("starting")
        self.sources = {}
        self.journal = Journal(lambda: self._canvases)
        self._transcript = Transcript(lambda entry: self.journal.tell("transcript", entry))
        self._canvases: list[JSONValue] = []
        self._working_directory = working_directory
        self._plugin = plugin
        self._folder = str(extension.script.parent)
        self._options = options
        self._host: CopilotHost | None = None
        self._logs = (options.home or _default_home()) / "logs"
        self._last_words = LastWords()
        self._following: asyncio.Task[None] | None = None
        self._followed: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._is_gone = False
        self.commands: Mapping[str, Command] = {
            "open": self._open,
            "invoke": self._invoke,
            "close": self._close,
            "reload": self._reload,
            "add-panel": self._add_panel,
            "remove-panel": self._remove_panel,
            "send": self._send,
            "abort": self._abort,
            "answer": self._answer,
        }

    @property
    def traffic(self) -> TrafficLog:
        """The session's events, and what the panel asked of it."""
        return self.journal.traffic

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with everything that happens from now on."""
        self.journal.subscribe(listener)

    def describe(self) -> JSONObject:
        """Return everything there is to see, except the bodies of messages."""
        session_id = "" if self._host is None else self._host.session_id
        return {
            "extension": {
                "id": self._extension_id,
                "name": self.extension.name,
                "script": str(self.extension.script),
            },
            "session": {"id": session_id, "workingDirectory": self._working_directory},
            "commands": list(self.commands),
            "status": self.status.describe(),
            "contributions": {"tools": [], "commands": [], "hooks": []},
            "transcript": self._transcript.entries,
            "turn": self._describe_turn(),
            **self.journal.describe(),
        }

    async def read_state(self, instance_id: str, after: str | None) -> JSONValue:
        """Refuse: Copilot asks an extension for nothing but its canvases."""
        raise HostRefusal(
            "Copilot has no door to an extension's state. Without --runtime copilot it is shown."
        )

    # Its life

    async def start(self) -> None:
        """Start Copilot, and with it the extension; `status` says what came of it."""
        manifest = {"name": PLUGIN, "version": "0.0.0", "description": "Under development."}
        (self._plugin / "plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
        options = self._options
        self._is_gone = False
        self._host = CopilotHost(
            binary=options.binary,
            working_directory=self._working_directory,
            home=options.home,
            environment=_environment(has_login=options.model is None),
            model=options.model,
            model_name=options.model_name,
            plugins=[self._plugin],
            on_event=self._hear,
            on_gone=self._note_gone,
            ask=self._transcript.ask,
        )
        try:
            await self._host.start()
        except HostRefusal as refusal:
            self._note_status(Status("failed", detail=refusal.message))
            self.add_log("host", "error", refusal.message)
        else:
            self.journal.tell("session", cast(JSONObject, self.describe()["session"]))
            await self._look()

    def begin_reload(self, grace: float, changed: Collection[Path]) -> None:
        """Have Copilot end the extension and start it again; `grace` is Copilot's own, 5 s."""
        drop_bytecode(changed)
        self._spawn(self._reload_extensions())

    def reload_pages(self) -> None:
        """Have the frames of every instance loaded again; the extension notices nothing else."""
        self.journal.tell("pages", {"instances": list(self.journal.instances)})

    def add_log(self, source: Source, level: Level, text: str) -> None:
        """Remember a line and show it to everybody."""
        self.journal.add_log(source, level, text)

    async def aclose(self, grace: float) -> None:
        """End the session and the CLI, within about `grace` seconds."""
        self._is_closed = True
        for task in (*self._tasks, *([self._following] if self._following else [])):
            task.cancel()
        if self._host is not None:
            await self._host.aclose(grace)
        while self._tasks:
            await asyncio.wait(self._tasks)

    # Commands

    async def _open(self, body: JSONObject) -> JSONValue:
        names = ("canvasId", "instanceId", "extensionId")
        params = {name: text_of(body, name) for name in names if name in body}
        return await self._ask("canvas", "open", **params, **_input(body))

    async def _invoke(self, body: JSONObject) -> JSONValue:
        names = ("instanceId", "actionName")
        params = {name: text_of(body, name) for name in names}
        answer = await self._ask("canvas", "action", "invoke", **params, **_input(body))
        return answer.get("result") if isinstance(answer, dict) else answer

    async def _close(self, body: JSONObject) -> JSONValue:
        return await self._ask("canvas", "close", instanceId=text_of(body, "instanceId"))

    async def _reload(self, body: JSONObject) -> JSONValue:
        await self._reload_extensions()
        return None

    async def _add_panel(self, body: JSONObject) -> JSONValue:
        instance = self.journal.find(text_of(body, "instanceId"))
        self.journal.show_panels(str(instance["instanceId"]), 1)
        return await self._open(
            {
                name: instance[name]
                for name in ("canvasId", "instanceId", "extensionId", "input")
                if name in instance
            }
        )

    async def _remove_panel(self, body: JSONObject) -> JSONValue:
        self.journal.show_panels(text_of(body, "instanceId"), -1)
        return None

    async def _send(self, body: JSONObject) -> JSONValue:
        prompt = text_of(body, "prompt")
        if not prompt.strip():
            raise HostRefusal("Say something.")
        await self._live.send(prompt)
        return None

    async def _abort(self, body: JSONObject) -> JSONValue:
        await self._live.abort()
        return None

    async def _answer(self, body: JSONObject) -> JSONValue:
        number, reply = body.get("number"), body.get("reply")
        if not isinstance(number, int) or not isinstance(reply, dict):
            raise BadCommand("Send number as an integer, and reply as an object.")
        self._transcript.answer(number, reply)
        return None

    # Details

    @property
    def _live(self) -> CopilotHost:
        if self._host is None:
            raise HostRefusal("Copilot is not running.")
        return self._host

    @property
    def _extension_id(self) -> str:
        return f"plugin:{PLUGIN}:{self.extension.name}"

    async def _ask(self, *path: str, **params: JSONValue) -> JSONValue:
        """Ask the session, and show it in the traffic."""
        self._record("out", {"method": f"session.{'.'.join(path)}", "params": params})
        return await self._live.request(*path, **params)

    def _note_gone(self) -> None:
        self._is_gone = True
        self._transcript.end_turn()
        self.journal.tell("turn", self._describe_turn())
        for instance_id, instance in self.journal.instances.items():
            self.journal.show(instance_id, {**instance, "isReady": False})
        self.journal.tell_canvases()
        self._note_status(Status("failed", detail="Copilot has ended. A reload starts it anew."))

    async def _reload_extensions(self) -> None:
        self._note_status(Status("starting"))
        if self._is_gone:
            # A new session: the panels of the old one went with it.
            await self._live.aclose(0)
            self.journal.instances.clear()
            await self.start()
            return
        try:
            await self._ask("extensions", "reload")
        except HostRefusal as refusal:
            self.add_log("host", "error", refusal.message)
        await self._look()

    async def _look(self) -> None:
        """Look how the extension is doing, and what is declared."""
        try:
            listed = cast(Any, await self._live.request("extensions", "list"))["extensions"]
            canvases = cast(Any, await self._live.request("canvas", "list"))["canvases"]
        except HostRefusal as refusal:
            self._note_status(Status("failed", detail=refusal.message))
            return
        self._canvases = canvases
        self.journal.tell_canvases()
        found = next((each for each in listed if each["id"] == self._extension_id), None)
        if found is not None:
            self._follow(found.get("pid"))
            self._note_status(self._status_of(found))

    def _status_of(self, found: JSONObject) -> Status:
        pid = found.get("pid")
        match found["status"]:
            case "running":
                return Status("ready", pid=pid if isinstance(pid, int) else None)
            case "starting":
                return Status("starting")
            case status:
                return Status(
                    "failed",
                    detail=f"Copilot says that the extension is {status}.",
                    traceback=self._last_words.find_traceback(),
                )

    def _follow(self, pid: object) -> None:
        """Show what this process writes to stderr, in place of the one before."""
        if not isinstance(pid, int) or pid == self._followed:
            return
        self._followed = pid
        if self._following is not None:
            self._following.cancel()
        self._last_words = LastWords()
        self._following = asyncio.ensure_future(follow_log(self._logs, pid, self._take_line))

    def _take_line(self, line: str) -> None:
        # Where it is installed are only links to where its author has it.
        line = line.replace(str(self._plugin / "extensions" / self.extension.name), self._folder)
        self._last_words.add(line)
        self.add_log("stderr", "info", line)

    def _hear(self, event: SessionEvent) -> None:
        if self._is_closed:
            return
        kind = event["type"]
        if not kind.startswith(NOISE):
            self._record("in", {"method": "session.event", "params": {"event": event}})
        was_busy = self._transcript.is_busy
        self._transcript.take(event)
        if was_busy != self._transcript.is_busy:
            self.journal.tell("turn", self._describe_turn())
        if kind == CanvasEvent.REGISTRY_CHANGED:
            self._canvases = cast(Any, event)["data"]["canvases"]
        elif kind == "session.extensions_loaded":
            self._spawn(self._look())
        self.journal.note_event(event)

    def _describe_turn(self) -> JSONObject:
        return {"isBusy": self._transcript.is_busy}

    def _record(self, direction: Any, message: Mapping[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, default=str).encode()
        self.journal.note_message(Message(self._extension_id, direction, body))

    def _note_status(self, status: Status) -> None:
        self.status = status
        self.journal.tell("status", status.describe())

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _input(body: JSONObject) -> JSONObject:
    return {"input": body["input"]} if "input" in body else {}


def _default_home() -> Path:
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")


def _environment(*, has_login: bool) -> dict[str, str]:
    """The user's and ours; where no login is wanted, without what the CLI would take for one."""
    secrets = frozenset() if has_login else STRIPPED | {"GH_TOKEN"}
    kept = {name: value for name, value in os.environ.items() if name not in secrets}
    return kept | {
        "CANVAS_PROVIDER_DEVELOPMENT": "1",
        # What extensions write to stderr is kept, each in a file.
        "COPILOT_RUNTIME_PROCESS_FILE_LOGGING": "1",
    }
