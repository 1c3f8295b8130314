"""What seldom happens by itself, brought about on purpose: each fault, and the way back."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.session_file import SessionFile
from canvas_provider.types import JSONObject, JSONValue
from tests.support.bench import Watched, workbench
from tests.support.processes import gone
from tests.support.scripted import BOARD, RUN

pytestmark = pytest.mark.process

NOTES = """
from canvas_provider import MemoryStore, create_canvas, run

one = create_canvas(id="one", display_name="One", description="Notes.", state=dict)
two = create_canvas(
    id="two", display_name="Two", description="Others.", state=dict, store=MemoryStore()
)


@one.on_open
async def opened(ctx, project: str = "none"):
    print("opened", ctx.instance_id, project, ctx.reopened)


@one.action
@two.action
async def note(state: dict, text: str) -> list[str]:
    "Write a note."
    state["notes"] = [*state.get("notes", []), text]
    return state["notes"]


run(one, two)
"""
"""An extension of ours, whose state is in memory."""

FAMILY = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid, file=sys.stderr, flush=True)
"""
"""Starts a process that holds the pipes of the extension."""


@asynccontextmanager
async def notes(folder: Path, source: str = NOTES) -> AsyncIterator[Watched]:
    async with workbench(folder, source) as it:
        await it.bench.start()
        assert it.phase == "ready", it.log("stderr")
        yield it


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_memory_outlives_the_process_and_not_a_cold_resume(tmp_path: Path) -> None:
    async with notes(tmp_path) as it:
        runtime = it.bench.runtime
        await runtime.open("one", "a", {"project": "first"})
        await runtime.open("one", "a", {"project": "latest"})
        await runtime.open("two", "b")
        assert await runtime.invoke("a", "note", {"text": "1"}) == ["1"]
        assert await runtime.invoke("b", "note", {"text": "other"}) == ["other"]
        await it.bench.reload()
        await it.wait_until(lambda: [each["isReady"] for each in it.instances()] == [True, True])
        assert "opened a latest True" in it.log("stderr")
        assert await runtime.invoke("a", "note", {"text": "2"}) == ["1", "2"]
        assert await runtime.invoke("b", "note", {"text": "3"}) == ["other", "3"]
        await it.bench.kill()
        assert it.bench.status.detail == "The extension ended (SIGKILL)."
        assert [each["isReady"] for each in it.instances()] == [False, False]
        await it.bench.reload()
        await it.wait_until(lambda: [each["isReady"] for each in it.instances()] == [True, True])
        assert await runtime.invoke("a", "note", {"text": "4"}) == ["1", "2", "4"]
        await it.bench.resume_cold()
        await it.wait_until(lambda: [each["isReady"] for each in it.instances()] == [True, True])
        assert it.log("stderr")[-1] == "opened a first True"
        assert await runtime.invoke("a", "note", {"text": "5"}) == ["5"]


async def test_a_session_goes_on_after_the_host(tmp_path: Path) -> None:
    file = SessionFile(tmp_path / "state" / "session.json")
    async with workbench(tmp_path, NOTES, session_file=file) as it:
        await it.bench.start()
        session_id = it.bench.runtime.session_id
        await it.bench.runtime.open("one", "a", {"project": "first"})
        await it.bench.runtime.open("one", "a", {"project": "latest"})
        await it.bench.runtime.open("two", "gone")
        await it.bench.runtime.close("gone")
    assert file.path.stat().st_mode & 0o077 == 0
    async with workbench(tmp_path, NOTES, session_file=file) as it:
        (waiting,) = it.instances()
        assert (waiting["instanceId"], waiting["isReady"]) == ("a", False)
        await it.bench.start()
        assert it.bench.runtime.session_id == session_id
        await it.wait_until(lambda: it.instances()[0]["isReady"] is True)
        assert it.log("stderr") == ["opened a first True"]
        # It opens nothing unasked where something was open, and has recorded nothing anew.
        assert [each["instanceId"] for each in it.instances()] == ["a"]
        await it.bench.runtime.close("a")
    file.path.write_text("nonsense")
    async with workbench(tmp_path, NOTES, session_file=file) as it:
        assert it.bench.runtime.session_id != session_id
        assert it.instances() == []


async def test_what_waits_to_come_back_can_be_closed(tmp_path: Path) -> None:
    file = SessionFile(tmp_path / "session.json")
    record: JSONObject = {"instanceId": "x", "extensionId": "project:board", "canvasId": "board"}
    file.write("s-1", [record])  # type: ignore[list-item]  # it is one
    async with workbench(tmp_path, "import no_such\n", session_file=file) as it:
        await it.bench.start()
        assert it.phase == "failed"
        await it.bench.runtime.close("x")
        assert it.instances() == []
    saved = file.read()
    assert saved is not None and saved.records == []


async def test_what_nothing_declares_any_more_keeps_nothing_from_opening(tmp_path: Path) -> None:
    """An author renames the canvas while the host is not running."""
    file = SessionFile(tmp_path / "session.json")
    record: JSONObject = {"instanceId": "main", "extensionId": "project:board", "canvasId": "old"}
    file.write("s-1", [record])  # type: ignore[list-item]  # it is one
    async with workbench(tmp_path, session_file=file) as it:
        await it.bench.start()
        assert [(each["canvasId"], each["isReady"]) for each in it.instances()] == [("board", True)]
    saved = file.read()
    assert saved is not None
    assert [each["canvasId"] for each in saved.records] == ["board"]


async def test_a_hanging_extension_answers_when_it_is_let_go(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        it.bench.hold()
        calling = asyncio.create_task(it.bench.runtime.invoke("main", "move", {"card": "7"}))
        await it.wait_until(lambda: it.bench.traffic.entries[-1].method == "canvas.action.invoke")
        status = it.bench.describe()["status"]
        assert isinstance(status, dict) and status["isHeld"] is True
        assert not calling.done()
        it.bench.release()
        assert await calling == {"moved": {"card": "7"}}
        assert it.bench.status.is_held is False


@pytest.mark.parametrize("way", ["reload", "kill"])
async def test_a_hanging_extension_can_be_ended(tmp_path: Path, way: str) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        it.bench.hold()
        calling = asyncio.create_task(it.bench.runtime.invoke("main", "move", {"card": "7"}))
        await it.wait_until(lambda: it.bench.traffic.entries[-1].method == "canvas.action.invoke")
        await (it.bench.reload() if way == "reload" else it.bench.kill())
        (outcome,) = await asyncio.gather(calling, return_exceptions=True)
        assert "connection closed" in str(outcome)
        assert it.bench.status.is_held is False
        assert it.phase == ("ready" if way == "reload" else "failed")


async def test_a_fault_needs_a_process(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        with pytest.raises(HostRefusal, match="no process"):
            await it.bench.kill()
        with pytest.raises(HostRefusal, match="no process"):
            it.bench.hold()
        with pytest.raises(HostRefusal, match="not running"):
            await it.bench.drop_streams("main")
        with pytest.raises(HostRefusal, match="not open"):
            await it.bench.add_panel("main")


async def test_a_page_whose_stream_is_cut_resumes_where_it_was(tmp_path: Path) -> None:
    async with notes(tmp_path) as it, httpx.AsyncClient() as http:
        opened = await it.bench.runtime.open("one", "a")
        url = opened["url"]
        assert await it.bench.drop_streams("a") == 0
        async with http.stream("GET", url + "events") as stream:
            lines = stream.aiter_lines()
            version = (await anext(lines)).removeprefix("id: ")
            assert await anext(lines) == "event: snapshot"
            assert await it.bench.drop_streams("a") == 1
            # To the end, which comes; and nothing says that the canvas is closed.
            assert not [line async for line in lines if line == "event: closed"]
        await it.bench.runtime.invoke("a", "note", {"text": "missed"})
        headers = {"last-event-id": version}
        async with http.stream("GET", url + "events", headers=headers) as stream:
            lines = stream.aiter_lines()
            assert (await anext(lines)).startswith("id: 1-")
            assert await anext(lines) == "event: patch"


async def test_only_our_own_pages_can_lose_their_stream(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        with pytest.raises(HostRefusal, match="Only pages that canvas_provider serves"):
            await it.bench.drop_streams("main")


async def test_a_second_panel_opens_the_instance_again(tmp_path: Path) -> None:
    async with notes(tmp_path) as it:
        first = await it.bench.runtime.open("one", "a", {"project": "x"})
        assert (await it.bench.add_panel("a"))["url"] == first["url"]
        assert it.log("stderr") == ["opened a x False", "opened a x True"]
        assert [each["panels"] for each in it.instances()] == [2]
        for _ in range(3):
            it.bench.remove_panel("a")
        assert [each["panels"] for each in it.instances()] == [1]


async def test_a_failure_carries_its_traceback(tmp_path: Path) -> None:
    source = "import sys\nprint('noise', file=sys.stderr)\n\ndef broken(:\n    pass\n"
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        traceback = it.bench.status.traceback
        assert traceback.startswith('  File "')
        assert "def broken(:" in traceback
        assert "SyntaxError" in traceback
        it.bench.extension.script.write_text(
            "try:\n    1 / 0\nexcept Exception as error:\n    raise ValueError('why') from error\n"
        )
        await it.bench.reload()
        traceback = it.bench.status.traceback
        assert traceback.index("ZeroDivisionError") < traceback.index("ValueError: why")
        it.bench.extension.script.write_text(BOARD + RUN)
        await it.bench.reload()
        assert (it.phase, it.bench.status.traceback) == ("ready", "")


@pytest.mark.parametrize("fault", ["stopped", "deaf", "dead"])
async def test_closing_leaves_no_process_of_the_family(tmp_path: Path, fault: str) -> None:
    deaf = "\nimport signal\nsignal.signal(15, signal.SIG_IGN)\n" if fault == "deaf" else ""
    async with workbench(tmp_path, BOARD + deaf + FAMILY + RUN) as it:
        await it.bench.start()
        pid = it.bench.status.pid
        assert pid is not None
        (line,) = (line for line in it.log("stderr") if line.startswith("child"))
        child = int(line.split()[1])
        if fault == "stopped":
            os.kill(pid, signal.SIGSTOP)
        elif fault == "dead":
            os.kill(pid, signal.SIGKILL)
            # Though its child still holds the pipes.
            await it.wait_until(lambda: it.phase == "failed")
        await it.bench.aclose(0.2)
        assert not is_alive(pid)
        await gone(child)


async def test_a_start_that_hangs_gives_way_to_the_next(tmp_path: Path) -> None:
    async with workbench(tmp_path, "import time\ntime.sleep(60)\n") as it:
        starting = asyncio.create_task(it.bench.start())
        await it.wait_until(lambda: it.bench.status.pid is not None)
        it.bench.extension.script.write_text(BOARD + RUN)
        await it.bench.reload()
        await starting
        assert it.phase == "ready"


CONTRIBUTING = """
import asyncio
from canvas_provider import CanvasError, Hooks, command, run, tool


@tool
async def count(text: str) -> int:
    "Count characters."
    if text == "hang":
        await asyncio.sleep(60)
    return len(text)


@command
async def shout(ctx):
    "Say it loudly."
    if not ctx.args:
        raise CanvasError("nothing", "Say what.")
    await ctx.session.log(ctx.args.upper())


async def ended(input, session): ...

run(tools=[count], commands=[shout], hooks=Hooks(on_session_end=ended))
"""


async def test_tools_and_commands_are_listed_and_called(tmp_path: Path) -> None:
    async with workbench(tmp_path, CONTRIBUTING) as it:
        await it.bench.start()
        assert it.phase == "ready", it.log("stderr")
        given = it.bench.describe()["contributions"]
        assert isinstance(given, dict)
        (tool,), (command,) = listed(given["tools"]), listed(given["commands"])
        assert (tool["name"], tool["description"]) == ("count", "Count characters.")
        assert isinstance(tool["parameters"], dict)
        assert command == {
            "name": "shout",
            "description": "Say it loudly.",
            "extensionId": "project:board",
        }
        assert given["hooks"] == ["project:board"]
        assert await it.bench.call_tool("count", {"text": "four"}) == "4"
        failed = await it.bench.call_tool("count", {"text": 4})
        assert isinstance(failed, dict) and failed["resultType"] == "failure"
        await it.bench.run_command("shout", "hey")
        assert it.log("session") == ["HEY"]
        with pytest.raises(HostRefusal, match=r"Say what\."):
            await it.bench.run_command("shout")
        with pytest.raises(HostRefusal, match='no tool "nope"'):
            await it.bench.call_tool("nope", {})
        with pytest.raises(HostRefusal, match='no command "/nope"'):
            await it.bench.run_command("nope")
        hanging = asyncio.create_task(it.bench.call_tool("count", {"text": "hang"}))
        await it.wait_until(
            lambda: "external_tool.requested" in it.bench.traffic.entries[-1].summary
        )
        await it.bench.kill()
        with pytest.raises(HostRefusal, match="connection closed"):
            await hanging
        assert it.bench.runtime.contributions.describe()["tools"] == []


def listed(value: JSONValue) -> list[JSONObject]:
    assert isinstance(value, list)
    return value  # type: ignore[return-value]  # that is what they are
