"""The real Copilot CLI, offline, with the official Python SDK as its host.

Each `CopilotCLI` has a home and a project (a git repository) of its own. No login and no network
is needed: the model's provider is a scripted one on the loopback interface, or nobody at all.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support.require import require_copilot_cli

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession

TIMEOUT: Final = 20.0
"""Seconds, for whatever the CLI does. Usually it takes less than one."""

# With a token the CLI would call out; a dummy is no better.
TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN")

NOBODY: Final = "http://127.0.0.1:9/v1"
"""The discard port: for sessions in which the model is never asked."""


class CopilotCLI:
    """One process of the CLI. Use it as a context manager."""

    def __init__(self, folder: Path, *, project: str = "project", **environment: str) -> None:
        self._binary = require_copilot_cli()
        self.home = folder / "copilot home"
        self.project = folder / project
        self._environment = {
            name: value for name, value in os.environ.items() if name not in TOKENS
        } | environment
        self._client: CopilotClient | None = None
        self.home.mkdir(exist_ok=True)
        self.project.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet", str(self.project)], check=True)

    async def __aenter__(self) -> "CopilotCLI":
        # Importing it takes more than a second, so only who needs it pays.
        from copilot import CopilotClient, RuntimeConnection

        self._client = CopilotClient(
            connection=RuntimeConnection.for_stdio(path=str(self._binary)),
            env=self._environment,
            base_directory=str(self.home),
            working_directory=str(self.project),
            use_logged_in_user=False,
        )
        async with asyncio.timeout(TIMEOUT):
            await self._client.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Quit, as a host does when its user leaves."""
        client, self._client = self._client, None
        if client is None:
            return
        process = client._cli_process
        try:
            async with asyncio.timeout(TIMEOUT):
                await client.stop()
        except Exception:
            await client.force_stop()
        finally:
            _close_pipes(process)

    async def kill(self) -> None:
        """SIGKILL the CLI, which can then tell nobody."""
        assert self._client is not None
        client, self._client = self._client, None
        process = client._cli_process
        assert process is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        await client.force_stop()
        _close_pipes(process)

    async def create_session(self, model: str = NOBODY) -> "CLISession":
        """Start a session; its extensions start with it."""
        from copilot.session import PermissionHandler

        assert self._client is not None
        events: list[Any] = []
        session = await self._client.create_session(
            **self._options(model),
            on_permission_request=PermissionHandler.approve_all,
            on_event=events.append,
        )
        return CLISession(session, events)

    async def resume_session(self, session_id: str, model: str = NOBODY) -> "CLISession":
        """Go on with a session of an earlier process."""
        from copilot.session import PermissionHandler

        assert self._client is not None
        events: list[Any] = []
        session = await self._client.resume_session(
            session_id,
            **self._options(model),
            on_permission_request=PermissionHandler.approve_all,
            on_event=events.append,
        )
        return CLISession(session, events)

    def _options(self, model: str) -> dict[str, Any]:
        provider = {"type": "openai", "base_url": model, "api_key": "x", "wire_api": "completions"}
        return {
            "model": "gpt-5",
            "provider": provider,
            "working_directory": str(self.project),
            "request_canvas_renderer": True,
            "request_extensions": True,
        }

    def log(self) -> str:
        """What every extension has written to stderr."""
        files = sorted((self.home / "logs").glob("process-*.log"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        return "\n".join(text for text in texts if "=== launch" in text)

    def processes(self) -> dict[int, str]:
        """The extensions that run in this project, by process id: their command lines."""
        mark = os.fsencode(self.project / ".github" / "extensions")
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    environment = (folder / "environ").read_bytes()
                    command = (folder / "cmdline").read_bytes()
                except OSError:
                    continue  # gone meanwhile, or not ours
                if b"EXTENSION_PATH=" + mark in environment and command:
                    words = command.rstrip(b"\0").split(b"\0")
                    found[int(folder.name)] = b" ".join(words).decode(errors="replace")
        return found

    async def wait_no_processes(self, timeout: float) -> None:  # noqa: ASYNC109
        """Wait until no extension of this project runs any more."""
        await until(lambda: not self.processes(), timeout, lambda: f"{self.processes()} still run")


class CLISession:
    """A session of the CLI, seen by its host: dicts as they cross the wire."""

    def __init__(self, session: "CopilotSession", events: list[Any]) -> None:
        self._session = session
        self._events = events
        self.session_id: Final[str] = session.session_id

    async def canvases(self) -> list[dict[str, Any]]:
        """What every extension has declared."""
        async with asyncio.timeout(TIMEOUT):
            listed: dict[str, Any] = (await self._session.rpc.canvas.list()).to_dict()
        return listed["canvases"]  # type: ignore[no-any-return]

    async def wait_listed(self, canvas_id: str) -> dict[str, Any]:
        """Wait until an extension has declared this canvas."""

        async def find() -> dict[str, Any] | None:
            canvases = await self.canvases()
            return next((each for each in canvases if each["canvasId"] == canvas_id), None)

        return await self._poll(find, f"canvas {canvas_id!r} to be listed")

    async def open_instances(self) -> list[dict[str, Any]]:
        async with asyncio.timeout(TIMEOUT):
            listed: dict[str, Any] = (await self._session.rpc.canvas.list_open()).to_dict()
        return listed["openCanvases"]  # type: ignore[no-any-return]

    async def wait_open(self, instance_id: str) -> dict[str, Any]:
        """Wait until the runtime has opened this instance, or opened it again."""

        async def find() -> dict[str, Any] | None:
            instances = await self.open_instances()
            return next((each for each in instances if each["instanceId"] == instance_id), None)

        return await self._poll(find, f"instance {instance_id!r} to be open")

    async def open(
        self, canvas_id: str, instance_id: str, input: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        from copilot.rpc import CanvasOpenRequest

        request = CanvasOpenRequest(canvas_id=canvas_id, instance_id=instance_id, input=input)
        async with asyncio.timeout(TIMEOUT):
            opened: dict[str, Any] = (await self._session.rpc.canvas.open(request)).to_dict()
        return opened

    async def invoke(
        self, instance_id: str, action_name: str, input: dict[str, Any] | None = None
    ) -> Any:
        from copilot.rpc import CanvasActionInvokeRequest

        request = CanvasActionInvokeRequest(
            action_name=action_name, instance_id=instance_id, input=input
        )
        async with asyncio.timeout(TIMEOUT):
            answer = await self._session.rpc.canvas.action.invoke(request)
        return answer["result"]

    async def close(self, instance_id: str) -> None:
        from copilot.rpc import CanvasCloseRequest

        async with asyncio.timeout(TIMEOUT):
            await self._session.rpc.canvas.close(CanvasCloseRequest(instance_id=instance_id))

    async def extensions(self) -> list[dict[str, Any]]:
        async with asyncio.timeout(TIMEOUT):
            listed: dict[str, Any] = (await self._session.rpc.extensions.list()).to_dict()
        return listed["extensions"]  # type: ignore[no-any-return]

    async def wait_status(self, extension: str, status: str) -> dict[str, Any]:
        """Wait until the runtime reports this status: starting, running, failed."""

        async def find() -> dict[str, Any] | None:
            extensions = await self.extensions()
            found = next((each for each in extensions if each["name"] == extension), None)
            return found if found is not None and found["status"] == status else None

        return await self._poll(find, f"extension {extension!r} to be {status}")

    async def reload(self) -> None:
        """Restart every extension."""
        async with asyncio.timeout(TIMEOUT):
            await self._session.rpc.extensions.reload()

    async def disconnect(self) -> None:
        """Let go of the session; what is on disk stays."""
        async with asyncio.timeout(TIMEOUT):
            await self._session.disconnect()

    async def turn(self, prompt: str) -> None:
        """Let the model answer a prompt, and wait for the end of its turn."""
        async with asyncio.timeout(TIMEOUT):
            await self._session.send_and_wait(prompt)

    def events(self, kind: str) -> list[Any]:
        """The data of every event of this type so far."""
        return [event.data for event in self._events if str(event.type.value) == kind]

    async def _poll(self, find: Callable[[], Any], what: str) -> dict[str, Any]:
        found: dict[str, Any] | None = None
        try:
            async with asyncio.timeout(TIMEOUT):
                while found is None:
                    found = await find()
                    await asyncio.sleep(0.02)  # noqa: TID251  # the CLI has no event for it
        except TimeoutError:
            raise TimeoutError(f"waited {TIMEOUT} s for {what}") from None
        return found


async def until(
    holds: Callable[[], bool],
    timeout: float,  # noqa: ASYNC109
    describe: Callable[[], str],
) -> None:
    """Wait for something that happens in another process, which sends no event."""
    try:
        async with asyncio.timeout(timeout):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # noqa: TID251
    except TimeoutError:
        raise AssertionError(f"after {timeout} s: {describe()}") from None


def _close_pipes(process: "subprocess.Popen[bytes] | None") -> None:
    """The SDK leaves them to the garbage collector, which warns."""
    for pipe in (process.stdin, process.stdout, process.stderr) if process is not None else ():
        if pipe is not None:
            pipe.close()
