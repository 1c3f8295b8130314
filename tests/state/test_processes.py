"""Several processes on one file, and processes that die."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from canvas_provider.state.json_file import JSONFileStore

pytestmark = pytest.mark.process

WRITER = """
import asyncio, sys
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.shared import SharedState
from canvas_provider.errors import RevisionConflict

async def main(folder, name, times):
    state = await SharedState.open(JSONFileStore(folder), "board", initial=lambda: {"n": 0})

    def count(draft):
        draft["n"] += 1
        draft[name] = draft.get(name, 0) + 1

    async def persist():
        while True:
            try:
                return await state.update(count)
            except RevisionConflict:
                pass

    await asyncio.gather(*(persist() for _ in range(int(times))))

asyncio.run(main(*sys.argv[1:]))
"""

COMMITTER = """
import asyncio, sys
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.shared import SharedState

async def main(folder):
    state = await SharedState.open(JSONFileStore(folder), "board", initial=lambda: {"log": []})
    for number in range(100_000):
        await state.update(lambda draft: draft["log"].append({"n": number, "text": "x" * 200}))
        print(state.revision, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def start(code: str, *args: object) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, *map(str, args), stdout=subprocess.PIPE
    )


async def test_four_processes_of_many_writers_lose_no_update(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        writers = [await start(WRITER, tmp_path, f"w{n}", 12) for n in range(4)]
        assert [await writer.wait() for writer in writers] == [0, 0, 0, 0]
    stored = await JSONFileStore(tmp_path).load("board")
    assert stored is not None
    assert stored.document == {"n": 48, "w0": 12, "w1": 12, "w2": 12, "w3": 12}
    assert stored.revision == 48


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("acknowledged", [1, 7, 30, 61])
async def test_a_process_killed_while_committing_loses_nothing_it_acknowledged(
    tmp_path: Path, acknowledged: int
) -> None:
    last = 0
    async with asyncio.timeout(30):
        child = await start(COMMITTER, tmp_path)
        assert child.stdout is not None
        while last < acknowledged:
            last = int(await child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = (await child.stdout.read()).split()
        await child.wait()
    last = int(rest[-1]) if rest else last
    found = json.loads((tmp_path / "board.json").read_text("utf-8"))
    assert found["revision"] in (last, last + 1)
    assert [entry["n"] for entry in found["state"]["log"]] == list(range(found["revision"]))
    # The lock of the dead does not hold up the living.
    store = JSONFileStore(tmp_path)
    async with asyncio.timeout(5):
        await store.commit("board", found["revision"], {}, [])
    assert sorted(os.listdir(tmp_path)) in (
        [".board.json.lock", "board.json"],
        # A write that was under way leaves its beginning, which the next write replaces.
        [".board.json.lock", ".board.json.tmp", "board.json"],
    )
