"""The development host's session, as AHP clients see it, with a real process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from canvas_provider.ahp.development import DevelopmentChat
from canvas_provider.ahp.host import AHPHost
from canvas_provider.host.session_file import SessionFile
from tests.support.ahp import Client
from tests.support.bench import Watched, workbench
from tests.support.scripted import BOARD, RUN

pytestmark = pytest.mark.process

SERVING = BOARD.replace(
    'return {"title"', 'return {"url": f"http://127.0.0.1:1/{os.getpid()}/", "title"'
)


@asynccontextmanager
async def bridged(it: Watched) -> AsyncIterator[tuple[Client, str]]:
    """Yield a client, and the chat that it has subscribed to."""
    chat = f"ahp-chat:/{it.bench.runtime.session_id}"
    async with (
        await AHPHost.start([DevelopmentChat(it.bench)]) as host,
        aiohttp.ClientSession() as http,
    ):
        client = Client(await http.ws_connect(host.url))
        await client.initialize(chat)
        yield client, chat
        await client.aclose()


async def test_rule_3_no_url_survives_its_provider_or_the_host(tmp_path: Path) -> None:
    """Canvas channel reference; channels-canvas/state.ts at 47503039."""
    file = SessionFile(tmp_path / "session.json")
    async with workbench(tmp_path, SERVING + RUN, session_file=file) as it:
        await it.bench.start()
        async with bridged(it) as (client, chat):
            (reference,) = (await client.subscribe(chat))["canvases"]
            uri = reference["resource"]
            first = (await client.subscribe(uri))["url"]
            await it.bench.kill()
            await client.idle()
            assert "url" not in await client.subscribe(uri)
        async with bridged(it) as (client, _):
            assert "url" not in await client.subscribe(uri)
    assert first not in (tmp_path / "session.json").read_text(encoding="utf-8")
    async with (
        workbench(tmp_path, SERVING + RUN, session_file=file) as it,
        bridged(it) as (client, chat),
    ):
        state = await client.subscribe(chat)
        assert state["canvases"] == [{"resource": uri}]
        assert "canvasRegistry" not in state
        assert "url" not in await client.subscribe(uri)
        await client.dispatch(chat, "chat/canvasRegistryRequested")
        envelope = await client.action()
        while envelope["channel"] != uri:
            envelope = await client.action()
        assert envelope["action"]["canvas"]["url"] not in (None, first)


async def test_a_chat_is_cold_while_its_extension_does_not_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with workbench(tmp_path) as it, bridged(it) as (client, chat):
        await client.dispatch(chat, "chat/canvasRegistryRequested")
        kinds = [(await client.action())["action"]["type"] for _ in range(2)]
        assert kinds == ["chat/canvasRegistryRequested", "chat/canvasRegistryChanged"]
        (extension,) = (await client.subscribe(chat))["canvasRegistry"]["extensions"]
        assert extension["extensionId"] == "project:board"
        assert it.phase == "ready" and it.instances() == []
        await it.bench.kill()
        cleared = (await client.idle())[-1]["params"]["action"]
        assert cleared == {"type": "chat/canvasRegistryChanged"}
        # A reload is a start, too: it is waited for, and nothing is started twice.
        it.bench.begin_reload()
        await it.wait_until(lambda: it.phase == "starting")
        await client.dispatch(chat, "chat/canvasRegistryRequested")
        await it.wait_until(lambda: it.phase == "ready")
        frames = await client.idle()
        while not frames or "canvasRegistry" not in frames[-1]["params"]["action"]:
            frames += await client.idle()
        pids = {data["pid"] for _, data in it.told if data.get("phase") == "ready"}
        assert len(pids) == 2
    assert caplog.records == []


async def test_an_extension_that_cannot_start_leaves_its_chat_cold(tmp_path: Path) -> None:
    async with (
        workbench(tmp_path, "import no_such_package\n") as it,
        bridged(it) as (client, chat),
    ):
        await client.dispatch(chat, "chat/canvasRegistryRequested")
        await it.wait_until(lambda: it.phase == "failed")
        await client.idle()
        assert "canvasRegistry" not in await client.subscribe(chat)


async def test_a_focused_instance_keeps_its_input(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start(open_canvas=False)
        async with bridged(it) as (client, chat):
            await it.bench.runtime.open("board", "b1", {"project": "x"})
            (reference,) = (await client.action())["action"]["canvases"]
            await client.run(
                "openCanvas",
                channel=reference["resource"],
                chat=chat,
                extensionId="project:board",
                canvasId="board",
            )
            (instance,) = it.instances()
            assert instance["input"] == {"project": "x"}
            await client.run("disposeCanvas", channel=reference["resource"])
            assert it.instances() == []
