"""`canvas-provider dev --runtime copilot --ahp`: AHP clients on the real CLI."""

import json
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from tests.support.ahp import ROOT, Client
from tests.support.extension import KANBAN
from tests.support.require import require_copilot_cli
from tests.support.terminal import dev

pytestmark = [pytest.mark.copilot, pytest.mark.process]

MINE: Final = "ahp-canvas:/mine"


async def test_clients_open_read_and_close_canvases_in_the_real_copilot(tmp_path: Path) -> None:
    script = tmp_path / "steps.json"
    script.write_text(json.dumps(["Nobody asks."]), encoding="utf-8")
    cli = str(require_copilot_cli())
    options = ("--runtime", "copilot", "--script", str(script), "--copilot-cli", cli)
    async with (
        dev(str(KANBAN), *options, "--no-browser", "--ahp", directory=tmp_path) as terminal,
        aiohttp.ClientSession() as http,
    ):
        url = await terminal.see(r"ws://127\.0\.0\.1:\d+/\?tkn=\S{43}")
        client = Client(await http.ws_connect(url, max_msg_size=0))
        await client.initialize(ROOT)
        chat, declared = await find_canvas(client)
        canvas = {"channel": MINE, "chat": chat, "canvasId": "agentic-kanban"}
        frames = await client.run("openCanvas", **canvas, extensionId=declared["extensionId"])
        assert frames[-1]["result"] is None
        assert frames[-2]["params"]["action"]["canvases"] == [{"resource": MINE}]
        state = await client.subscribe(MINE)
        assert state["instanceId"].startswith("ahp-")
        read = await client.ask("resourceRead", channel=ROOT, uri=state["url"])
        assert read["contentType"].startswith("text/html")
        frames = await client.run("disposeCanvas", channel=MINE)
        assert [frame.get("method") for frame in frames] == ["action", "action", None]
        await client.aclose()


async def find_canvas(client: Client) -> tuple[str, Any]:
    """Wait for the session and its registry; return the chat and the one extension."""
    frames = []
    items = (await client.run("listSessions", channel=ROOT))[-1]["result"]["items"]
    while not items:
        frames.append(await client.take())
        items = [frame["params"]["summary"] for frame in frames if "params" in frame]
    chat = str(items[0]["defaultChat"])
    state = await client.subscribe(chat)
    if "canvasRegistry" not in state:
        await client.dispatch(chat, "chat/canvasRegistryRequested")
    while not state.get("canvasRegistry", {}).get("extensions"):
        state = (await client.action())["action"]
    (extension,) = state["canvasRegistry"]["extensions"]
    return chat, extension
