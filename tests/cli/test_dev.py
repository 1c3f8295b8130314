"""`canvas-provider dev`, as a command in a terminal."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
from pathlib import Path

import aiohttp
import httpx
import pytest
from click.testing import CliRunner

from canvas_provider.cli.main import main
from tests.support.ahp import Client
from tests.support.processes import gone
from tests.support.scripted import BOARD, RUN, write_extension
from tests.support.terminal import dev

pytestmark = pytest.mark.process

SOON = 3.0
"""Seconds to the end, on a machine that is busy with other tests. It is meant to be one."""


async def snapshot(url: str) -> dict[str, object]:
    """What the panel shows now."""
    async with httpx.AsyncClient(base_url=url) as http, http.stream("GET", "events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                shown: dict[str, object] = json.loads(line.removeprefix("data: "))
                return shown
    raise AssertionError("the stream ended")


async def test_one_address_is_printed_and_the_board_is_open(tmp_path: Path) -> None:
    write_extension(tmp_path / "my board é")
    async with dev("my board é", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        pid = int((await terminal.see(r"ready \(process (\d+)\)")).split()[-1].strip(")"))
        async with asyncio.timeout(5):
            while not (shown := await snapshot(url))["instances"]:
                pass
        assert isinstance(shown["extension"], dict)
        assert shown["extension"]["id"] == "project:my board é"
        assert isinstance(shown["session"], dict)
        assert shown["session"]["workingDirectory"] == str(tmp_path)
        assert await terminal.end(signal.SIGINT, within=SOON) == 130
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        with pytest.raises(httpx.ConnectError):
            await snapshot(url)
    assert len(re.findall(r"http://", terminal.output)) == 1
    assert "Traceback" not in terminal.output


async def test_an_extension_that_hangs_is_gone_soon(tmp_path: Path) -> None:
    source = BOARD + "\nimport signal\nsignal.signal(15, signal.SIG_IGN)\n" + RUN
    write_extension(tmp_path / "board", source)
    async with dev("board", "--no-browser", directory=tmp_path) as terminal:
        pid = int((await terminal.see(r"ready \(process (\d+)\)")).split()[-1].strip(")"))
        assert await terminal.end(signal.SIGINT, within=SOON) == 130
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_host_that_is_killed_leaves_no_extension_and_no_port(tmp_path: Path) -> None:
    """It cannot end anything any more: the extension ends at the end of its input."""
    write_extension(tmp_path / "board")
    async with dev("board", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        pid = int((await terminal.see(r"ready \(process (\d+)\)")).split()[-1].strip(")"))
        assert await terminal.end(signal.SIGKILL, within=SOON) == -signal.SIGKILL
        await gone(pid)
        with pytest.raises(httpx.ConnectError):
            await snapshot(url)


async def test_an_impatient_ctrl_c_changes_nothing(tmp_path: Path) -> None:
    """Not even in the last moments, when the loop is closed and threads are waited for."""
    write_extension(tmp_path / "board")
    async with dev("board", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        await terminal.see("ready")
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.get("panel.js")).status_code == 200  # read in a thread
        ending = asyncio.create_task(terminal.end(signal.SIGINT, within=10))
        while not ending.done():
            with contextlib.suppress(ProcessLookupError):
                # Not send_signal(), which polls: it would take the exit status from the loop.
                os.kill(terminal.process.pid, signal.SIGINT)
            await asyncio.wait([ending], timeout=0.01)
        assert ending.result() == 130
    assert "Traceback" not in terminal.output


async def test_a_crash_at_start_is_told_in_plain_words_and_can_be_mended(tmp_path: Path) -> None:
    script = write_extension(tmp_path / "board", "import no_such_package\n")
    async with dev("board", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        await terminal.see("No module named 'no_such_package'")
        await terminal.see(r"The extension ended before it had joined the session \(exit code 1\)")
        await terminal.see("Fix it and save.")
        script.write_text(BOARD + RUN, encoding="utf-8")
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.post("reload", json={})).status_code == 200
        await terminal.see("ready")
        assert await terminal.end(signal.SIGTERM, within=SOON) == 130


async def test_a_file_is_named_after_itself_and_stderr_is_shown(tmp_path: Path) -> None:
    script = write_extension(tmp_path, "import sys\nprint('hi', file=sys.stderr)\n" + BOARD + RUN)
    script.rename(tmp_path / "tasks.py")
    async with dev("tasks.py", "--no-browser", directory=tmp_path) as terminal:
        assert await terminal.see("tasks")
        await terminal.see("│ hi\n")
        await terminal.see("ready")


async def test_a_browser_is_opened_where_there_is_a_display(tmp_path: Path) -> None:
    write_extension(tmp_path / "board")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "opened $1"\n', encoding="utf-8")
    browser.chmod(0o755)
    environment = {"DISPLAY": ":0", "BROWSER": str(browser)}
    async with dev("board", directory=tmp_path, **environment) as terminal:
        await terminal.see(r"opened http://127.0.0.1:\d+/\S{43}/")


def test_a_port_that_is_taken_is_explained(tmp_path: Path) -> None:
    script = write_extension(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for option in ("--port", "--ahp"):
            result = CliRunner().invoke(main, ["dev", str(script), option, port, "--no-browser"])
            assert result.exit_code == 1
            assert f"Port {port} cannot be used" in result.output


@pytest.mark.parametrize(
    ("create", "name", "message"),
    [
        ("", "nowhere", "does not exist"),
        ("empty/readme.md", "empty", "has no extension.py: name the .py file itself"),
        ("notes.txt", "notes.txt", "is no .py file"),
    ],
)
def test_a_path_that_is_no_extension_is_a_usage_error(
    tmp_path: Path, create: str, name: str, message: str
) -> None:
    if create:
        (tmp_path / create).parent.mkdir(exist_ok=True)
        (tmp_path / create).touch()
    result = CliRunner().invoke(main, ["dev", str(tmp_path / name)])
    assert result.exit_code == 2
    assert message in result.output


async def test_ahp_clients_see_and_drive_what_the_panel_shows(tmp_path: Path) -> None:
    write_extension(tmp_path / "board")
    async with (
        dev("board", "--no-browser", "--ahp", directory=tmp_path) as terminal,
        aiohttp.ClientSession() as http,
    ):
        url = await terminal.see(r"ws://127\.0\.0\.1:\d+/\?tkn=\S{43}")
        await terminal.see("ready")
        client = Client(await http.ws_connect(url))
        await client.initialize()
        (session,) = (await client.ask("listSessions", channel="ahp-root://"))["items"]
        chat = session["defaultChat"]
        opened = await client.run(
            "openCanvas",
            channel="ahp-canvas:/mine",
            chat=chat,
            extensionId="project:board",
            canvasId="board",
        )
        assert opened[-1]["result"] is None
        assert (await client.subscribe("ahp-canvas:/mine"))["title"] == "My board"
        panel = await snapshot(await terminal.see(r"http://\S+"))
        assert isinstance(panel["instances"], list)
        # Beside the one that opens by itself.
        assert any(str(each["instanceId"]).startswith("ahp-") for each in panel["instances"])
        assert await terminal.end(signal.SIGINT, within=SOON) == 130
        await client.wait_closed()
    assert "Traceback" not in terminal.output
