"""The three forms of a provider process, and every way it can end."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from canvas_provider.errors import RemoteError
from canvas_provider.types import JSONObject, JSONValue
from tests.support.provider import provider

pytestmark = pytest.mark.process

BOARD = """
import asyncio, time
from canvas_provider import CanvasContext, JSONFileStore, create_canvas, join_session, run

board = create_canvas(
    id="board", display_name="Board", description="A board.", state=dict, store=JSONFileStore(),
    state_key=lambda ctx: "board",
)

@board.action
async def add(state: dict, text: str) -> int:
    state.setdefault("items", []).append(text)
    return len(state["items"])

@board.action
async def give(size: int) -> str:
    return "x" * size

@board.action
async def leave(error: str) -> None:
    async def end() -> None:
        raise {"exit": SystemExit(3), "interrupt": KeyboardInterrupt()}[error]
    await asyncio.gather(end(), end())

@board.action
def nap(ctx: CanvasContext) -> None:
    ctx.emit("napping")
    time.sleep(30)
"""

FORMS = {
    "run": "run(board)",
    "async with": """
async def main():
    async with join_session(canvases=[board]) as session:
        await session.wait_closed()
asyncio.run(main())
""",
    "await": """
async def main():
    session = await join_session(canvases=[board])
    await session.wait_closed()
asyncio.run(main())
""",
    "await, without waiting for the end": """
async def main():
    session = await join_session(canvases=[board])
    await asyncio.Event().wait()
asyncio.run(main())
""",
    "async with, without waiting for the end": """
async def main():
    async with join_session(canvases=[board]) as session:
        await asyncio.Event().wait()
asyncio.run(main())
""",
}


@pytest.fixture(params=FORMS)
def extension(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return _write(tmp_path, BOARD + FORMS[request.param])


def _write(folder: Path, source: str) -> Path:
    file = folder / "extension.py"
    file.write_text(source, encoding="utf-8")
    return file


def _stored() -> JSONValue:
    folder = Path(os.environ["COPILOT_HOME"]) / "extensions" / "board" / "artifacts"
    (file,) = folder.glob("*.json")
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


async def test_a_result_that_is_too_large_for_a_message_ends_one_call_and_not_the_process(
    tmp_path: Path,
) -> None:
    """The other side reads no frame beyond 64 MiB, which is ours, too, unless set."""
    size = 64 * 1024 * 1024
    async with provider(_write(tmp_path, BOARD + FORMS["run"])) as it:
        await it.open()
        with pytest.raises(RemoteError, match="result is too large to be told") as caught:
            await it.invoke("give", {"size": size})
        assert caught.value.data == {"code": "result_too_large", "message": caught.value.message}
        assert await it.invoke("give", {"size": 3}) == "xxx"
    assert b"the result of canvas.action.invoke is too large" in it.stderr


async def test_an_exit_in_a_task_of_a_handler_ends_its_call_and_not_the_process(
    tmp_path: Path,
) -> None:
    async with provider(_write(tmp_path, BOARD + FORMS["run"])) as it:
        await it.open()
        for error in ("exit", "interrupt"):
            with pytest.raises(RemoteError, match='The action "leave" failed unexpectedly'):
                await it.invoke("leave", {"error": error})
        assert await it.invoke("add", {"text": "still here"}) == 1
        it.process.send_signal(signal.SIGINT)
        assert await it.exit_code(within=3) == 0
    assert it.stderr.count(b"a task would have ended the program") >= 2


@pytest.mark.parametrize("end", ["EOF", "SIGTERM", "SIGINT"])
async def test_every_form_ends_at_once_and_keeps_the_last_change(extension: Path, end: str) -> None:
    async with provider(extension) as it:
        await it.open()
        assert await it.invoke("add", {"text": "last"}) == 1
        if end == "EOF":
            await it.peer.aclose()
        else:
            it.process.send_signal(getattr(signal, end))
        assert await it.exit_code() == 0
        assert it.errors() == ""
    assert "last" in json.dumps(_stored())


async def test_open_pages_are_told_of_the_end_and_the_port_is_free(tmp_path: Path) -> None:
    async with provider(_write(tmp_path, BOARD + "run(board)")) as it:
        url = str((await it.open())["url"])
        async with (
            httpx.AsyncClient(trust_env=False) as http,
            http.stream("GET", url + "events") as response,
        ):
            lines = response.aiter_lines()
            assert (await anext(lines)).startswith("id: 0-")
            assert await anext(lines) == "event: snapshot"
            it.process.terminate()
            rest = [line async for line in lines]
        assert 'data: {"reason":"shutdown"}' in [line.replace(" :", ":") for line in rest]
        assert await it.exit_code() == 0
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ConnectError):
                await http.get(url)


async def test_a_close_frees_the_port(tmp_path: Path) -> None:
    async with provider(_write(tmp_path, BOARD + "run(board)")) as it:
        url = str((await it.open())["url"])
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.get(url)).status_code == 200
        await it.close()
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ConnectError):
                await http.get(url)


async def test_the_end_of_copilot_ends_the_process_though_its_stdin_stays_open(
    tmp_path: Path,
) -> None:
    """A grandchild may hold the pipe: then there is neither EOF nor a signal."""
    copilot = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    extension = _write(tmp_path, BOARD + "run(board)")
    async with provider(extension, COPILOT_EXTENSION_PARENT_PID=str(copilot.pid)) as it:
        await it.open()
        copilot.kill()
        await copilot.wait()
        assert await it.exit_code(within=3) == 0


async def test_a_sleeping_handler_does_not_hold_up_the_exit(tmp_path: Path) -> None:
    async with provider(_write(tmp_path, BOARD + "run(board)")) as it:
        url = str((await it.open())["url"])
        async with (
            httpx.AsyncClient(trust_env=False) as http,
            http.stream("GET", url + "events") as response,
        ):
            lines = response.aiter_lines()
            nap = asyncio.ensure_future(it.invoke("nap"))
            async with asyncio.timeout(5):
                while await anext(lines) != "event: napping":
                    pass
            it.process.terminate()
        await it.exit_code(within=3)
        with pytest.raises(Exception):  # noqa: B017  # answered or cut off: both are an end
            await nap


async def test_what_hangs_is_cut_off_at_the_deadline(tmp_path: Path) -> None:
    source = BOARD + (
        "import atexit, threading\natexit.register(threading.Event().wait)\nrun(board)\n"
    )
    async with provider(_write(tmp_path, source)) as it:
        await it.open()
        it.process.terminate()
        assert await it.exit_code(within=3) == 1


async def test_a_rejected_join_ends_the_process_and_says_why(extension: Path) -> None:
    async def refuse(method: str, params: JSONObject) -> JSONValue:
        if method == "session.resume":
            raise RemoteError(-32603, 'Extension "project:board" was denied permission access')
        return {"ok": True}

    async with provider(extension, answer=refuse, join=False) as it:
        assert await it.exit_code() != 0
        assert "was denied permission access" in it.errors()


async def test_sigterm_during_the_join_ends_the_process(extension: Path) -> None:
    asked = asyncio.Event()

    async def never(method: str, params: JSONObject) -> JSONValue:
        if method == "session.resume":
            asked.set()
            await asyncio.Event().wait()
        return {"ok": True}

    async with provider(extension, answer=never, join=False) as it:
        async with asyncio.timeout(10):
            await asked.wait()
        it.process.terminate()
        assert await it.exit_code(within=3) != 0


async def test_without_copilot_the_error_says_how_to_run_it(
    extension: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provider(extension, join=False, SESSION_ID="") as it:
        assert await it.exit_code() != 0
        assert "canvas-provider dev" in it.errors()


@pytest.mark.parametrize(
    ("end", "word"),
    [
        ("async def main():\n    run(board)\nasyncio.run(main())", "outside of async code"),
        ("run([board])", "run(canvas, other)"),
    ],
)
async def test_a_call_that_cannot_work_is_refused_in_one_line(
    tmp_path: Path, end: str, word: str
) -> None:
    async with provider(_write(tmp_path, BOARD + end), join=False) as it:
        assert await it.exit_code() == 1
        assert word in it.errors()
        assert "Traceback" not in it.errors()


async def test_a_second_run_says_that_one_takes_all_canvases(tmp_path: Path) -> None:
    async with provider(_write(tmp_path, BOARD + "run(board)\nrun(board)")) as it:
        await it.peer.aclose()
        assert await it.exit_code() == 1
        assert "run(canvas, other)" in it.errors()
        assert "Traceback" not in it.errors()


async def test_a_wrong_setting_names_its_variable(tmp_path: Path) -> None:
    extension = _write(tmp_path, BOARD + "run(board)")
    async with provider(extension, join=False, CANVAS_PROVIDER_SHUTDOWN_DEADLINE="soon") as it:
        assert await it.exit_code() == 1
        assert "CANVAS_PROVIDER_SHUTDOWN_DEADLINE" in it.errors()


async def test_a_long_handshake_passes_a_pipe_that_is_read_late(tmp_path: Path) -> None:
    """200 kB of declaration do not fit into a pipe; the blocking write waits for its reader."""
    source = """
from canvas_provider import create_canvas, run
run(*(
    create_canvas(id=f"c{n}", display_name="C", description="x" * 1000)
    for n in range(200)
))
"""
    async with provider(_write(tmp_path, source)) as it:
        await it.open(canvas_id="c199")
