"""Extensions that a test writes down: the wire and nothing else, so that they can misbehave."""

from pathlib import Path
from typing import Final

BOARD: Final = """
import asyncio, os, sys
from canvas_provider.errors import RemoteError
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.stdio import claim_stdio
from canvas_provider.wire.transports import PipeTransport

CANVAS = {
    "id": "board",
    "displayName": "Board",
    "description": "Tasks.",
    "inputSchema": {"properties": {"project": {"type": "string"}}, "additionalProperties": False},
    "actions": [
        {
            "name": "move",
            "description": "Move a card.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "card": {"type": "string"},
                    "column": {"enum": ["todo", "done"]},
                    "place": {"type": "integer"},
                },
                "required": ["card"],
            },
        },
        {"name": "fail"},
        {"name": "die"},
    ],
}


async def serve(method, params):
    if method == "canvas.open":
        return {"title": "My board", "status": str(os.getpid())}
    if method == "canvas.action.invoke":
        if params["actionName"] == "fail":
            raise RemoteError(-32603, "There is no card 7.")
        if params["actionName"] == "die":
            print("goodbye", file=sys.stderr, flush=True)
            os._exit(3)
        return {"moved": params.get("input")}


async def join(canvases=(CANVAS,)):
    pipes = claim_stdio()
    peer = Peer(PipeTransport(pipes.read_fd, pipes.write_fd), on_request=serve)
    peer.start()
    session = {"sessionId": os.environ["SESSION_ID"]}
    await peer.request("session.resume", {**session, "canvases": list(canvases)})
    return peer, session


async def main():
    peer, session = await join()
    await peer.wait_closed()
"""
"""A well-behaved extension with one canvas, up to the call of `main`."""

RUN: Final = "\nasyncio.run(main())\n"


def write_extension(folder: Path, source: str = BOARD + RUN) -> Path:
    """Write `extension.py` into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "extension.py"
    script.write_text(source, encoding="utf-8")
    return script
