"""`CopilotCLI`: the real Copilot CLI in a test, offline, with the test as its host.

It gets a home and a project (a git repository) of its own, no login and no token, and a model that
is a script, or nobody at all. The wire is ours (`copilot --headless --stdio`), so nothing but the
program has to be installed.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, Self, cast

from canvas_provider.errors import ConnectionClosed, MethodNotFound, RemoteError
from canvas_provider.host.copilot_binary import CopilotCLINotFound, find_copilot_cli
from canvas_provider.host.link import Message
from canvas_provider.host.process import STRIPPED, ChildProcess
from canvas_provider.host.scripted_model import ScriptedModel
from canvas_provider.host.traffic import TrafficLog
from canvas_provider.protocol.copilot import Method
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.protocol.hosting import HostMethod
from canvas_provider.testing.copilot_session import Answers, CLISession, Handler
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer

__all__ = ["CopilotCLI"]

TIMEOUT: Final = 30.0
"""Seconds, for whatever the CLI does. Usually it takes less than one."""

GRACE: Final = 5.0
"""Seconds that it gets to quit by itself."""

ARGUMENTS: Final = (
    *("--headless", "--stdio", "--no-auto-update", "--no-auto-login"),
    *("--log-level", "info"),
)

TOKENS: Final = STRIPPED | {"GH_TOKEN"}
"""With a token the CLI would call out; a dummy is no better."""

NOBODY: Final = "http://127.0.0.1:9/v1"
"""The discard port: for sessions in which the model is never asked."""


class CopilotCLI:
    """One installation of the CLI, started when the block is entered and quit when it is left.

        async with ScriptedModel("Done.") as model, CopilotCLI() as copilot:
            copilot.install(Path("extension.py"))
            session = await copilot.create_session(model)
            await session.ask("Open the board.")

    Args:
        folder: Where `home` and the project are made; default: a temporary folder.
        binary: The program; default: see `find_copilot_cli`.
        project: The name of the project's folder, which is the sessions' working directory.
        environment: Added to this process's, which loses its tokens and keys for models.
        timeout: Seconds, for each wait.

    Raises:
        CopilotCLINotFound: there is none. A test skips for it, or asks `is_installed` first.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        binary: Path | str | None = None,
        project: str = "project",
        environment: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.binary: Final = find_copilot_cli() if binary is None else Path(binary)
        if not self.binary.is_file():
            raise CopilotCLINotFound(f"There is no Copilot CLI at {self.binary}.")
        self._temporary = None if folder is not None else tempfile.TemporaryDirectory()
        # macOS has its temporary folders behind a link, and the CLI tells the real path.
        root = Path(folder or self._temporary_name).resolve()
        self.home: Final = root / "copilot home"
        """Its `COPILOT_HOME`."""
        self.project: Final = root / project
        """Where its sessions work; extensions are in `.github/extensions`."""
        self.traffic: Final = TrafficLog()
        """The JSON-RPC between it and the test; `in` comes from the CLI."""
        self.stderr: Final[deque[str]] = deque(maxlen=200)
        """The last lines that the CLI itself has written."""
        self._environment = _scrub(os.environ, self.home) | dict(environment or {})
        self._timeout = timeout
        self._process: ChildProcess | None = None
        self._peer: Peer | None = None
        self._sessions: dict[str, CLISession] = {}
        self.home.mkdir(exist_ok=True)
        self.project.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)

    @staticmethod
    def is_installed() -> bool:
        """Whether there is a Copilot CLI: for `pytest.mark.skipif(not …)`."""
        try:
            find_copilot_cli()
        except CopilotCLINotFound:
            return False
        return True

    def install(self, source: Path | str, *, name: str | None = None) -> Path:
        """Install an extension into the project, as `canvas-provider install` does.

        It runs with the Python that runs the test. A session has it from its start; one that runs
        already has to `reload`.

        Args:
            source: A `.py` file, or a folder with `extension.py`.
            name: Default: the name of the folder or file.

        Returns:
            The folder in which it is now.
        """
        # What installs is part of the command line, and only who installs pays for that.
        from canvas_provider.cli.installation import install_extension

        extensions = self.project / ".github" / "extensions"
        return install_extension(Path(source), extensions, python=sys.executable, name=name).folder

    def log(self) -> str:
        """What every extension has written to stderr, with the CLI's own notes on it."""
        files = sorted((self.home / "logs").glob("process-*.log"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        return "\n".join(text for text in texts if "=== launch" in text)

    # Its life

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            self._clean_up()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            await self.stop()
        finally:
            self._clean_up()

    async def start(self) -> None:
        """Start the program; entering the block does."""
        self._process = await ChildProcess.spawn(
            (str(self.binary), *ARGUMENTS),
            working_directory=str(self.project),
            environment=self._environment,
            on_stderr=self.stderr.append,
        )
        self._peer = Peer(
            self._process.transport,
            on_request=self._answer,
            on_notification=self._notice,
            on_message=self._record,
        )
        self._peer.start()
        try:
            await self._peer.request(Method.CONNECT, {}, timeout=self._timeout)
        except (ConnectionClosed, RemoteError, TimeoutError) as error:
            await self.kill()
            said = "\n".join(self.stderr)
            raise RuntimeError(f"{self.binary} did not start: {error!r}\n{said}") from None

    async def stop(self) -> None:
        """Quit, as a host does when its user leaves: the sessions are let go, and kept on disk."""
        process, peer = self._process, self._peer
        if process is None or peer is None:
            return
        for session in self._sessions.values():
            with suppress(RemoteError, ConnectionClosed, TimeoutError):
                await session.disconnect()
        with suppress(RemoteError, ConnectionClosed, TimeoutError):
            await peer.request(HostMethod.RUNTIME_SHUTDOWN, {}, timeout=GRACE)
        await self._let_go()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
        await process.stop(GRACE)

    async def kill(self) -> int:
        """SIGKILL the CLI, which can then tell nobody; its extensions have to notice."""
        process = self._process
        assert process is not None
        process.kill_alone()
        code = await process.wait()
        await self._let_go()
        await process.stop(0)
        return code

    async def restart(self) -> None:
        """Quit, unless it was killed, and start again: the same home, as for a cold resume."""
        await self.stop()
        await self.start()

    async def _let_go(self) -> None:
        peer, self._peer, self._process = self._peer, None, None
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session._aclose()
        if peer is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    await peer.aclose()

    def _clean_up(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def _temporary_name(self) -> str:
        assert self._temporary is not None
        return self._temporary.name

    # Sessions

    async def create_session(
        self,
        model: ScriptedModel | None = None,
        *,
        on_permission: Handler | None = None,
        on_elicitation: Handler | None = None,
        on_request: Mapping[str, Handler] | None = None,
        **options: Any,
    ) -> CLISession:
        """Start a session. Its extensions start with it; the first prompt waits for them.

        Args:
            model: Who answers the agent; None for a session in which nobody asks it.
            on_permission: A request for permission to True, False, or a decision as on the wire.
                Default: everything is approved.
            on_elicitation: A form to `{"action": "accept", "content": {…}}`, `decline` or
                `cancel`. Default: this host shows no forms.
            on_request: Further methods that the runtime may call, params to a result.
            options: More fields of `session.create`, as on the wire; they win.
        """
        answers = Answers(on_permission, on_elicitation, on_request or {})
        session_id = str(uuid.uuid4())
        return await self._begin(HostMethod.SESSION_CREATE, session_id, model, answers, options)

    async def resume_session(
        self,
        session_id: str,
        model: ScriptedModel | None = None,
        *,
        on_permission: Handler | None = None,
        on_elicitation: Handler | None = None,
        on_request: Mapping[str, Handler] | None = None,
        **options: Any,
    ) -> CLISession:
        """Go on with a session of an earlier process. It is on disk once a turn was taken."""
        answers = Answers(on_permission, on_elicitation, on_request or {})
        return await self._begin(Method.SESSION_RESUME, session_id, model, answers, options)

    async def _begin(
        self,
        method: str,
        session_id: str,
        model: ScriptedModel | None,
        answers: Answers,
        options: Mapping[str, JSONValue],
    ) -> CLISession:
        peer = self._peer
        if peer is None:
            raise RuntimeError("The CLI is not running: use `async with`, or start() it.")
        session = CLISession(peer, session_id, model=model, answers=answers, timeout=self._timeout)
        # Events come before the answer.
        self._sessions[session_id] = session
        params = self._params(session_id, model, answers) | dict(options)
        try:
            info = await peer.request(method, params, timeout=self._timeout)
        except BaseException:
            del self._sessions[session_id]
            raise
        session.info = cast(JSONObject, info)
        return session

    def _params(self, session_id: str, model: ScriptedModel | None, answers: Answers) -> JSONObject:
        """What the official SDK sends (observed with github-copilot-sdk 1.0.27)."""
        return {
            "sessionId": session_id,
            "model": "gpt-5",
            # Without it, pictures are dropped before they reach the model.
            "modelCapabilities": {"supports": {"vision": True}},
            "provider": {
                "type": "openai",
                "baseUrl": NOBODY if model is None else model.url,
                "apiKey": "nobody" if model is None else model.api_key,
                "wireApi": "completions",
            },
            "workingDirectory": str(self.project),
            "requestCanvasRenderer": True,
            "requestExtensions": True,
            "requestPermission": True,
            "requestElicitation": answers.elicitation is not None,
            "requestUserInput": "userInput.request" in answers.requests,
            "requestExitPlanMode": "exitPlanMode.request" in answers.requests,
            "requestAutoModeSwitch": "autoModeSwitch.request" in answers.requests,
            "includeSubAgentStreamingEvents": True,
            "envValueMode": "direct",
        }

    # The wire

    async def _answer(self, method: str, params: JSONObject) -> JSONValue:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise MethodNotFound(method)
        return await session._answer(method, params)

    def _notice(self, method: str, params: JSONValue) -> None:
        if method != Method.SESSION_EVENT or not isinstance(params, dict):
            return
        session = self._sessions.get(str(params.get("sessionId")))
        if session is not None:
            session._note(cast(SessionEvent, params["event"]))

    def _record(self, direction: Literal["in", "out"], body: bytes) -> None:
        self.traffic.record(Message("copilot", direction, body), time.time())


def _scrub(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """What a terminal without any login, and outside of any session, has."""
    ours = {"SESSION_ID", "EXTENSION_PATH"} | TOKENS
    kept = {
        name: value
        for name, value in environ.items()
        if name not in ours and not name.startswith("COPILOT_")
    }
    # With the last one, what extensions write to stderr is kept, each in a file.
    return kept | {"COPILOT_HOME": str(home), "COPILOT_RUNTIME_PROCESS_FILE_LOGGING": "1"}
