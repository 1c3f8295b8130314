"""The bridge to AHP, over a runtime that gives its session an id late."""

from pathlib import Path

import aiohttp
import pytest

from canvas_provider.cli.bridge import start_bridge
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.types import JSONObject
from tests.support.ahp import ROOT, Client
from tests.support.scripted import write_extension


class LateBench(Workbench):
    """A bench whose session begins when it is told to."""

    has_session = False

    def describe(self) -> JSONObject:
        described = super().describe()
        if not self.has_session:
            described["session"] = {"id": "", "workingDirectory": "/work"}
        return described

    def begin(self) -> None:
        self.has_session = True
        self.journal.tell("session", {})


async def test_a_session_is_shown_when_it_has_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extension = Extension(write_extension(tmp_path), "board")
    bench = LateBench(extension, working_directory="/work", workspace_path=str(tmp_path))
    async with await start_bridge(bench, 0) as host, aiohttp.ClientSession() as http:
        assert host.url in capsys.readouterr().out
        client = Client(await http.ws_connect(host.url))
        await client.initialize(ROOT)
        assert (await client.ask("listSessions", channel=ROOT))["items"] == []
        bench.begin()
        added = await client.take()
        assert added["params"]["summary"]["title"] == "board"
        assert added["params"]["summary"]["resource"] == (
            f"ahp-session:/{bench.runtime.session_id}"
        )
        await client.aclose()
    await bench.aclose(0)
