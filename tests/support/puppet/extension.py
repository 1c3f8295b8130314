"""A provider on strings: does what the calls tell it, and writes down what it was asked.

The wire and nothing else, so that it can misbehave. `puppet.json` beside it says what it declares
and how it starts and ends; what it notes is in `notes.jsonl`. See `tests/support/puppets.py`.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from canvas_provider.errors import ConnectionClosed, RemoteError
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.stdio import claim_stdio
from canvas_provider.wire.transports import PipeTransport

HERE = Path(os.path.abspath(sys.argv[0])).parent
SESSION: dict[str, Any] = {"sessionId": os.environ["SESSION_ID"]}


def note(what: str, value: Any = None) -> None:
    line = json.dumps([what, value, time.monotonic()]) + "\n"
    descriptor = os.open(HERE / "notes.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Puppet:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.pipes = claim_stdio()
        self.opened: dict[str, Any] = {}
        self.releases: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.tasks: set[asyncio.Task[None]] = set()
        self.peer = Peer(
            PipeTransport(self.pipes.read_fd, self.pipes.write_fd),
            on_request=self.serve,
            on_notification=self.hear,
        )

    async def run(self) -> None:
        if self.config.get("sigterm"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, self.spawn_last_words)
        self.peer.start()
        try:
            await self.resume(self.config.get("canvases", []))
        except RemoteError as error:
            say(f"refused: {error.message}")
            if not self.config.get("stays"):
                sys.exit(4)
        note("joined")
        await self.peer.wait_closed()
        note("closed")

    def hear(self, method: str, params: Any) -> None:
        if method == "host.event":
            note(method, params)
        event = params.get("event", {}) if isinstance(params, dict) else {}
        if not str(event.get("type", method)).startswith(("session.", "model.", "host.")):
            note("heard", method)

    async def serve(self, method: str, params: dict[str, Any]) -> Any:
        note(method, params)
        if method == "canvas.open":
            return await self.open(params)
        if method == "canvas.close":
            return await self.close(params)
        action = getattr(self, f"act_{params['actionName']}")
        return await action(params.get("input"))

    async def open(self, params: dict[str, Any]) -> Any:
        input = params.get("input")
        wish = input if isinstance(input, dict) else {}
        self.opened[params["instanceId"]] = wish
        if "wait" in wish:
            await self.releases[wish["wait"]].wait()
        if "error" in wish and not (HERE / "well").exists():
            raise RemoteError(-32000, wish["error"])
        if "call" in wish and not wish.get("again"):
            return await self.act_call(wish["call"])
        return wish.get("answer")

    async def close(self, params: dict[str, Any]) -> None:
        wish = self.opened.pop(params["instanceId"], {})
        if "wait_close" in wish:
            await self.releases[wish["wait_close"]].wait()
        if "error_close" in wish:
            raise RemoteError(-32000, wish["error_close"])

    # Actions.

    async def act_echo(self, input: Any) -> Any:
        return input

    async def act_fail(self, input: Any) -> Any:
        raise RemoteError(input["code"], input["message"], input.get("data"))

    async def act_wait(self, input: Any) -> Any:
        await self.releases[input["for"]].wait()
        return input

    async def act_release(self, input: Any) -> None:
        self.releases[input["for"]].set()

    async def act_sleep(self, input: Any) -> Any:
        await asyncio.sleep(input["seconds"])  # noqa: TID251  # what is tested is a time-out
        return input

    async def act_die(self, input: Any) -> None:
        os._exit(input["code"])

    async def act_say(self, input: Any) -> None:
        say(input["text"])

    async def act_write(self, input: Any) -> None:
        os.write(self.pipes.write_fd, input["text"].encode())

    async def act_call(self, input: Any) -> Any:
        """Ask the session something, from within a handler."""
        params = input.get("params", {})
        if not input.get("bare"):
            params = SESSION | params
        try:
            return {"result": await self.peer.request(input["method"], params)}
        except RemoteError as error:
            return {"error": {"code": error.code, "message": error.message, "data": error.data}}

    async def act_declare(self, input: Any) -> None:
        """Declare anew, beside the handlers: the outcome is noted."""
        self.spawn(self.declare(input["canvases"]))

    async def act_declare_within(self, input: Any) -> str:
        """Declare anew and wait for it, which cannot work."""
        resuming = asyncio.ensure_future(self.declare(input["canvases"]))
        self.tasks.add(resuming)
        await asyncio.wait([resuming], timeout=0.3)
        note("declaring")
        done, _ = await asyncio.wait([resuming], timeout=1)
        note("waited")
        return "taken" if done else "waiting"

    # Details.

    async def declare(self, canvases: Any) -> None:
        try:
            await self.resume(canvases)
        except RemoteError as error:
            note("declared", error.message)
        else:
            note("declared", "")

    async def resume(self, canvases: Any) -> None:
        params = {"canvases": canvases, "requestPermission": False, "disableResume": True}
        await self.peer.request("session.resume", SESSION | params)

    def spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def spawn_last_words(self) -> None:
        note("SIGTERM")
        self.spawn(self.last_words())

    async def last_words(self) -> None:
        answer = await self.act_call({"method": "session.canvas.list"})
        note("answered", "result" in answer)
        if self.config["sigterm"] == "leave":
            os._exit(0)


async def main() -> None:
    config = json.loads((HERE / "puppet.json").read_text(encoding="utf-8"))
    note("start", os.getpid())
    if "exit" in config:
        say("leaving")
        sys.exit(config["exit"])
    if config.get("hangs"):
        await asyncio.Event().wait()
    puppet = Puppet(config)
    if "junk" in config:
        os.write(puppet.pipes.write_fd, config["junk"].encode())
    try:
        await puppet.run()
    except ConnectionClosed:
        note("closed")
    if config.get("stays"):
        await asyncio.Event().wait()


asyncio.run(main())
