"""The panel at a port of its own."""

import socket
from pathlib import Path

import httpx
import pytest

from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    extension = Extension(tmp_path / "extension.py", "demo")
    return Workbench(extension, working_directory="/work", workspace_path=str(tmp_path))


async def test_it_is_served_until_it_is_closed(bench: Workbench) -> None:
    server = await PanelServer.start(bench, LoopbackServers())
    async with httpx.AsyncClient(base_url=server.url) as http:
        assert (await http.get("")).status_code == 200
        async with http.stream("GET", "events") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: snapshot"
            await server.aclose()
            assert "event: closed" in [line async for line in lines]
        with pytest.raises(httpx.ConnectError):
            await http.get("")


async def test_each_panel_has_a_token_of_256_bits(bench: Workbench) -> None:
    servers = LoopbackServers()
    one, two = await PanelServer.start(bench, servers), await PanelServer.start(bench, servers)
    tokens = {server.url.split("/")[3] for server in (one, two)}
    assert [len(token) for token in tokens] == [43, 43]
    await one.aclose()
    await two.aclose()


async def test_a_given_port_is_used_or_refused(bench: Workbench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            await PanelServer.start(bench, LoopbackServers(), port=port)
    server = await PanelServer.start(bench, LoopbackServers(), port=port)
    assert server.url.startswith(f"http://127.0.0.1:{port}/")
    await server.aclose()
