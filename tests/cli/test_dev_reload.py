"""`canvas-provider dev` with real files, real processes and a page that listens."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.test_dev import SOON, snapshot
from tests.support.processes import gone
from tests.support.scripted import BOARD, RUN, write_extension
from tests.support.terminal import dev

pytestmark = pytest.mark.process

COUNTER = """
from pathlib import Path
from canvas_provider import JSONFileStore, create_canvas, run

counter = create_canvas(
    id="counter", display_name="Counter", description="Counts.", state=dict,
    page=Path(__file__).parent / "page",
)

@counter.action
async def add(state: dict, by: int = 1) -> int:
    "Count."
    state["n"] = state.get("n", 0) + by
    return state["n"]

run(counter)
"""


class Listener:
    """The panel's event stream, and its commands."""

    def __init__(self, http: httpx.AsyncClient, lines: AsyncIterator[str]) -> None:
        self._http = http
        self._lines = lines

    async def hear(self, kind: str, **wanted: object) -> dict[str, Any]:
        """Wait for an event with this data in it."""
        async with asyncio.timeout(20):
            async for line in self._lines:
                if line == f"event: {kind}":
                    data: dict[str, Any] = json.loads((await anext(self._lines))[len("data: ") :])
                    if wanted.items() <= data.items():
                        return data
        raise AssertionError("the stream ended")

    async def add(self) -> object:
        body = {"instanceId": "main", "actionName": "add"}
        return (await self._http.post("invoke", json=body)).json().get("result")

    async def until_open(self) -> None:
        while not (each := (await self.hear("canvases"))["instances"]) or not each[0]["isReady"]:
            pass


@asynccontextmanager
async def listening(url: str) -> AsyncIterator[Listener]:
    async with httpx.AsyncClient(base_url=url) as http, http.stream("GET", "events") as stream:
        yield Listener(http, stream.aiter_lines())


async def test_saving_is_enough(tmp_path: Path) -> None:
    script = write_extension(tmp_path / "counter", COUNTER)
    page = script.parent / "page" / "index.html"
    page.parent.mkdir()
    page.write_text("<h1>Counter</h1>")
    async with dev("counter", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        async with listening(url) as panel:
            await panel.until_open()
            assert await panel.add() == 1
            page.write_text("<h1>Better</h1>")
            assert (await panel.hear("pages"))["instances"] == ["main"]
            # As editors do it: beside the old file, then in its place.
            beside = script.with_name("extension.py.new")
            beside.write_text(COUNTER.replace("by: int = 1", "by: int = 5"))
            beside.replace(script)
            await panel.hear("status", phase="ready")
            await panel.until_open()
            assert await panel.add() == 6
            script.write_text("def broken(:\n")
            failed = await panel.hear("status", phase="failed")
            assert "SyntaxError" in failed["traceback"]
            await terminal.see(r"Fix it and save\.")
            script.write_text(COUNTER)
            await panel.hear("status", phase="ready")
            await panel.until_open()
            assert await panel.add() == 7
        assert await terminal.end(signal.SIGINT, within=SOON) == 130
    assert "Traceback" not in terminal.output


async def test_no_reload_means_none(tmp_path: Path) -> None:
    script = write_extension(tmp_path / "board")
    async with dev("board", "--no-browser", "--no-reload", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        await terminal.see("ready")
        script.write_text("import no_such_package\n")
        async with httpx.AsyncClient(base_url=url) as http:
            assert (await http.post("reload", json={})).status_code == 200
        await terminal.see("reload it in the panel")
    assert "Saved" not in terminal.output


async def test_each_extension_has_a_state_of_its_own(tmp_path: Path) -> None:
    """And panels that come back, unless they are to be forgotten."""
    source = COUNTER.replace(
        '    page=Path(__file__).parent / "page",\n', "    store=JSONFileStore(),\n"
    )
    write_extension(tmp_path / "counter", source)
    arguments = ("counter", "--no-browser", "--no-reload")
    mine = {"XDG_STATE_HOME": str(tmp_path / "states"), "COPILOT_HOME": str(tmp_path / "real")}
    seen: list[object] = []
    places: list[str] = []
    for more in ((), ("--fresh",), ("--state", "real")):
        async with dev(*arguments, *more, directory=tmp_path, **mine) as terminal:
            url = await terminal.see(r"http://\S+")
            async with listening(url) as panel:
                await panel.until_open()
                seen += [await panel.add(), (await snapshot(url))["session"]["id"]]  # type: ignore[index]
            places.append((await terminal.see(r"What it stores is in (\S+)")).split()[-1])
            assert await terminal.end(signal.SIGINT, within=SOON) == 130
    # The last one begins anew with the counting, and goes on with the session.
    assert seen[0::2] == [1, 2, 1]
    assert seen[1] != seen[3] == seen[5]
    assert places[0].startswith(mine["XDG_STATE_HOME"])
    assert places == [places[0], places[0], mine["COPILOT_HOME"]]
    assert (tmp_path / "real" / "extensions" / "counter" / "artifacts").is_dir()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_family_that_is_stopped_is_gone_soon(
    tmp_path: Path, number: signal.Signals
) -> None:
    family = (
        "\nimport subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('child', child.pid, file=sys.stderr, flush=True)\n"
    )
    write_extension(tmp_path / "board", BOARD + family + RUN)
    async with dev("board", "--no-browser", directory=tmp_path) as terminal:
        url = await terminal.see(r"http://\S+")
        child = int((await terminal.see(r"child \d+")).split()[1])
        pid = int(re.sub(r"\D", "", await terminal.see(r"ready \(process \d+")))
        os.kill(pid, signal.SIGSTOP)
        assert await terminal.end(number, within=SOON) == 130
        for each in (pid, child):
            await gone(each)
        with pytest.raises(httpx.ConnectError):
            await snapshot(url)
