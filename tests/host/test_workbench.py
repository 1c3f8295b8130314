"""The development session: an extension's life, from start to end, in plain words."""

import asyncio
import os
from pathlib import Path

import pytest

from canvas_provider.host.registry import HostRefusal
from canvas_provider.types import JSONValue
from tests.support.bench import workbench
from tests.support.scripted import BOARD, RUN, write_extension

pytestmark = pytest.mark.process


async def test_the_only_canvas_that_needs_no_input_opens_by_itself(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        assert it.phase == "ready"
        (instance,) = it.instances()
        assert (instance["instanceId"], instance["title"]) == ("main", "My board")
        assert instance["isReady"] is True
    assert it.phase == "stopped"


async def test_a_canvas_that_needs_input_waits_for_it(tmp_path: Path) -> None:
    source = BOARD + '\nCANVAS["inputSchema"] = {"required": ["project"]}\n' + RUN
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        assert it.phase == "ready"
        assert it.instances() == []


async def test_of_two_canvases_none_opens_by_itself(tmp_path: Path) -> None:
    source = BOARD.replace("(CANVAS,)", '(CANVAS, {**CANVAS, "id": "other"})') + RUN
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        assert len(it.bench.runtime.list()) == 2
        assert it.instances() == []


async def test_a_reload_starts_a_new_process_and_keeps_what_is_open(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        before = it.bench.status.pid
        await it.bench.reload()
        assert it.phase == "ready"
        assert it.bench.status.pid not in (None, before)
        # It was asked for before the extension had its answer, but that may come later.
        await it.bench.runtime.open("board", "main")
        (instance,) = it.instances()
        assert instance["status"] == str(it.bench.status.pid)
        assert instance["isReady"] is True


async def test_an_extension_may_have_itself_started_again(tmp_path: Path) -> None:
    """Observed with Copilot CLI 1.0.102: `session.extensions.reload` works on the caller, too."""
    begin = "    peer, session = await join()\n    await peer.wait_closed()"
    again = """    peer, session = await join()
    if not os.path.exists("again"):
        open("again", "w").close()
        await peer.request("session.extensions.reload", session)
    await peer.wait_closed()"""
    assert begin in BOARD
    async with workbench(tmp_path, BOARD.replace(begin, again) + RUN) as it:
        await it.bench.start()

        def ready_pids() -> list[JSONValue]:
            return [data["pid"] for kind, data in it.told if data.get("phase") == "ready"]

        await it.wait_until(lambda: len(ready_pids()) == 2)
        first, second = ready_pids()
        assert first != second


async def test_a_crash_is_explained_and_leaves_the_instance_waiting(tmp_path: Path) -> None:
    async with workbench(tmp_path) as it:
        await it.bench.start()
        with pytest.raises(HostRefusal, match="failed with message: .+"):
            await it.bench.runtime.invoke("main", "die")
        await it.wait_until(lambda: it.phase == "failed")
        assert it.bench.status.detail == "The extension ended (exit code 3)."
        assert "goodbye" in it.log("stderr")
        (instance,) = it.instances()
        assert instance["isReady"] is False
        await it.bench.reload()
        assert it.phase == "ready"


async def test_a_crash_at_start_is_explained_with_its_stderr(tmp_path: Path) -> None:
    async with workbench(tmp_path, "import no_such_package\n") as it:
        await it.bench.start()
        assert it.phase == "failed"
        assert it.bench.status.detail == (
            "The extension ended before it had joined the session (exit code 1)."
        )
        assert any("No module named 'no_such_package'" in line for line in it.log("stderr"))
        (it.bench.extension.script).write_text(BOARD, encoding="utf-8")
        await it.bench.reload()
        assert "Does it call run(canvas)" in (it.bench.status.detail or "")
        (it.bench.extension.script).write_text(BOARD + RUN, encoding="utf-8")
        await it.bench.reload()
        assert it.phase == "ready"


async def test_a_refused_declaration_is_explained(tmp_path: Path) -> None:
    source = BOARD + '\ndel CANVAS["description"]\n' + RUN
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        assert it.phase == "failed"
        assert it.bench.status.detail == (
            "The session refused what the extension declares: "
            "invalid canvas contributions: missing field `description`"
        )


async def test_stray_output_breaks_the_connection_and_is_explained(tmp_path: Path) -> None:
    """Specification: facts 2.5. What writes past the claimed descriptor is beyond help."""
    source = (
        BOARD
        + "async def main():\n    peer, _ = await join()\n"
        + "    os.write(claim_stdio().write_fd, b'hello\\n\\n\\n\\r\\n\\r\\n')\n"
        + "    await asyncio.sleep(60)\n"
        + RUN
    )
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        await it.wait_until(lambda: it.phase == "failed")
        assert it.bench.status.detail.startswith("The connection broke while")
        assert it.bench.runtime.list() == []


async def test_an_extension_that_never_joins_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Specification: facts 2.1."""
    monkeypatch.setattr("canvas_provider.host.supervisor.JOIN_DEADLINE", 0.3)
    async with workbench(tmp_path, "import time\ntime.sleep(60)\n") as it:
        await it.bench.start()
        assert it.phase == "failed"
        assert "did not join the session within" in it.bench.status.detail


async def test_an_extension_that_never_answers_can_be_reloaded(tmp_path: Path) -> None:
    source = BOARD + "\nasync def serve(method, params):\n    await asyncio.sleep(60)\n" + RUN
    async with workbench(tmp_path, source) as it:
        starting = asyncio.create_task(it.bench.start())
        await it.wait_until(lambda: it.phase == "ready")
        before = it.bench.status.pid
        write_extension(tmp_path / "board")
        await it.bench.reload()
        await starting
        assert it.phase == "ready"
        assert it.bench.status.pid != before


async def test_giving_up_a_reload_leaves_nothing_half_done(tmp_path: Path) -> None:
    """The panel's request of it is cut off when the host ends."""
    source = BOARD + "\nimport signal\nsignal.signal(15, signal.SIG_IGN)\n" + RUN
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        reloading = asyncio.create_task(it.bench.reload())
        await asyncio.sleep(0)  # noqa: TID251 - so that the reload has begun
        closing = asyncio.create_task(it.bench.aclose(0.2))
        await asyncio.sleep(0)  # noqa: TID251
        reloading.cancel()
        await closing
        assert it.phase == "stopped"


async def test_closing_during_the_start_leaves_no_process(tmp_path: Path) -> None:
    async with workbench(tmp_path, "import time\ntime.sleep(60)\n") as it:
        starting = asyncio.create_task(it.bench.start())
        await it.wait_until(lambda: it.bench.status.pid is not None)
        pid = it.bench.status.pid
        assert pid is not None
        await it.bench.aclose(0.2)
        await starting
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_closing_during_a_reload_starts_nothing(tmp_path: Path) -> None:
    source = BOARD + "\nimport signal\nsignal.signal(15, signal.SIG_IGN)\n" + RUN
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        pid = it.bench.status.pid
        assert pid is not None
        reloading = asyncio.create_task(it.bench.reload())
        await asyncio.sleep(0)  # noqa: TID251 - so that the reload has begun
        await it.bench.aclose(0.2)
        await reloading
        assert it.phase == "stopped"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert [data["pid"] for _, data in it.told if data.get("phase") == "starting"] == [
            None,
            pid,
        ]


async def test_what_the_extension_logs_and_asks_is_shown(tmp_path: Path) -> None:
    source = (
        BOARD
        + "async def main():\n    peer, session = await join()\n"
        + "    await peer.request('session.log', {**session, 'message': 'hm'})\n"
        + "    await peer.request('session.send', {**session, 'prompt': 'Do it.'})\n"
        + "    print('sent', file=sys.stderr, flush=True)\n    await peer.wait_closed()\n"
        + RUN
    )
    async with workbench(tmp_path, source) as it:
        await it.bench.start()
        await it.wait_until(lambda: "sent" in it.log("stderr"))
        assert it.log("session") == ["hm", "Prompt to the agent: Do it."]
        methods = [entry.method for entry in it.bench.traffic.entries]
        assert methods.count("session.log") == 2
