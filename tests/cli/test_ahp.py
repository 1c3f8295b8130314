"""`canvas-provider ahp`, against a host over the embedded runtime."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from canvas_provider.cli.main import main
from tests.support.ahp import EXTENSION, Desk, Hosted, hosted
from tests.support.ahp_host import TKN, ScriptedHost, begin, open_scripted_host, within
from tests.support.origins import open_origin, reply

SECRET = "tZ3mXq-9_LkW0aVfYh2RbQ7cJd5uEg8nPs1iOxTy4Kw"
PNG = b"\x89PNG\r\n\x1a\n\x00"


async def run(*args: str, code: int = 0, input: str | None = None) -> Result:
    """Run a command beside the host, and make sure that it tells nobody's secret."""
    invoked = asyncio.to_thread(CliRunner().invoke, main, ["ahp", *args], input=input)
    async with asyncio.timeout(20):
        result = await invoked
    assert result.exit_code == code, result.output
    assert SECRET not in result.output and "tkn" not in result.output.replace("tkn=TOKEN", "")
    return result


async def run_json(*args: str, code: int = 0) -> Any:
    return json.loads((await run(*args, "--json", code=code)).stdout)


async def test_a_canvas_is_opened_read_watched_and_closed(tmp_path: Path) -> None:
    pages = {
        f"/{SECRET}/": reply(b"<h1>Board</h1>", "text/html"),
        f"/{SECRET}/logo.png": reply(PNG, "image/png"),
    }
    async with open_origin(pages) as origin, hosted(desk := Desk(is_cold=True)) as it:
        desk.shown = {"url": f"{origin.url}/{SECRET}/", "title": "My\x1b[2J board", "status": "3"}
        url = it.host.url
        assert (await run("watch", url, "--once")).stdout == ""
        uri = (await run("open", url, "board")).stdout.strip()
        assert uri.startswith("ahp-canvas:/") and len(desk.runtime.list_open()) == 1
        assert desk.starts == 1

        shown = (await run("watch", url, "--once")).stdout
        assert shown == (
            f"  can be opened: board, report\n+ {uri}  My�[2J board  3  ({EXTENSION} board)\n"
        )
        assert (await run("read", url, uri)).stdout_bytes == b"<h1>Board</h1>"
        file = tmp_path / "logo.png"
        about = await run_json("read", url, uri, "logo.png", "-o", str(file), "--through-host")
        assert about == {"bytes": len(PNG), "contentType": "image/png"}
        assert file.read_bytes() == PNG
        folder = await run("read", url, uri, "-o", str(tmp_path / "no" / "x"), code=1)
        assert "No such file" in folder.stderr

        assert await run_json("dispose", url, uri) == {"canvas": uri}
        assert desk.runtime.list_open() == []
        assert (await run("dispose", url, uri)).stdout == ""
        gone = await run_json("read", url, uri, code=1)
        assert gone["error"]["code"] == "NotFound"


async def test_what_is_printed_as_json_holds_no_address() -> None:
    async with hosted(desk := Desk()) as it:
        desk.shown = {"url": f"http://127.0.0.1:1/{SECRET}/", "title": "Board"}
        opened = await run_json("open", it.host.url, "board")
        assert opened == {
            "canvas": opened["canvas"],
            "title": "Board",
            "instanceId": desk.runtime.list_open()[0]["instanceId"],
            "extensionId": EXTENSION,
            "extensionName": "demo",
            "canvasId": "board",
            "available": True,
        }
        await desk.kill()
        lines = (await run("watch", it.host.url, "--once", "--json")).stdout.splitlines()
        row = json.loads(lines[-1])
        assert row == {"event": "unavailable", **opened, "available": False}
        shown = (await run("watch", it.host.url, "--once")).stdout
        assert "its provider is gone" in shown
        assert (await run_json("read", it.host.url, opened["canvas"], code=1))["error"] == {
            "code": "Unavailable",
            "message": "The canvas has no source now.",
        }


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["open", "URL", "nothing"], "What can be opened: board, report."),
        (["open", "URL", "board", "--extension", "project:x"], "What can be opened"),
        (["open", "URL", "report"], "without an input"),
        (["open", "URL", "board", "--chat", "ahp-chat:/none"], "no such channel"),
        (["watch", "URL", "--once", "--chat", "ahp-chat:/none"], "no such channel"),
        (["read", "URL", "ahp-canvas:/none"], "no such channel"),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_sentence(args: list[str], expected: str) -> None:
    async with hosted(Desk()) as it:
        url = it.host.url
        failed = await run(*[url if each == "URL" else each for each in args], code=1)
        assert expected in failed.stderr and failed.stdout == ""


async def test_two_extensions_with_the_same_type_have_to_be_told_apart() -> None:
    async with hosted(desk := Desk()) as it:
        second = Desk(extension_id="user:second")
        second.runtime = desk.runtime
        await second.start()
        failed = await run("open", it.host.url, "board", code=1)
        assert f"--extension: {EXTENSION}, user:second" in failed.stderr
        await run("open", it.host.url, "board", "--extension", "user:second")
        (instance,) = desk.runtime.list_open()
        assert instance["extensionId"] == "user:second"
        await second.kill()


@pytest.mark.parametrize(
    "args",
    [
        ["watch"],
        ["watch", "http://127.0.0.1:1/?tkn=tkn0"],
        ["watch", "127.0.0.1:1"],
        ["open", "ws://127.0.0.1:1/"],
        ["fly", "ws://127.0.0.1:1/"],
    ],
)
async def test_wrong_use_ends_with_2(args: list[str]) -> None:
    await run(*args, code=2)


async def test_a_canvas_is_named_by_its_uri() -> None:
    async with hosted(Desk()) as it:
        failed = await run("read", it.host.url, "board", code=2)
        assert "no channel" in failed.stderr
        failed = await run("watch", it.host.url, "--chat", "board", code=2)
        assert "chats" in failed.stderr


async def test_a_host_that_is_not_there_or_does_not_know_us_ends_with_1() -> None:
    async with hosted(Desk()) as it:
        url = it.host.url
        refused = await run("watch", url[:-3], code=1)
        assert "403" in refused.stderr and "token" in refused.stderr
    assert "cannot be reached" in (await run("watch", url, code=1)).stderr


async def test_the_address_may_come_from_standard_input() -> None:
    async with hosted(Desk()) as it:
        shown = await run("watch", "-", "--once", input=f"{it.host.url}\n")
        assert "board" in shown.stdout


async def test_a_host_without_canvases_says_so() -> None:
    async with hosted(Desk(), has_registry=False) as it:
        failed = await run("open", it.host.url, "board", code=1)
        assert "capability" in failed.stderr


async def test_what_a_host_says_cannot_move_the_cursor() -> None:
    async with open_scripted_host() as host:
        running = begin(run("watch", host.url, code=1))
        await refuse(host)
        assert "x�[2Jy" in (await within(running)).stderr


async def refuse(host: ScriptedHost) -> None:
    peer = await host.accept()
    await peer.fail(await peer.expect("initialize"), -32603, "x\x1b[2Jy")
    assert host.requests[0].query["tkn"] == TKN


@pytest.mark.process
async def test_watching_goes_on_until_it_is_interrupted() -> None:
    async with hosted(desk := Desk()) as it:
        process = await start_watch(it)
        assert process.stdout is not None
        async with asyncio.timeout(20):
            assert b"board, report" in await process.stdout.readline()
            await desk.runtime.open("board", "b1")
            opened = (await process.stdout.readline()).decode()
            desk.show_many("b1", 1)
            changed = (await process.stdout.readline()).decode()
            await desk.runtime.close("b1")
            # Its address goes first, which the client may not see by itself.
            while (closed := (await process.stdout.readline()).decode())[0] == "!":
                pass
            assert [line[0] for line in (opened, changed, closed)] == ["+", "~", "-"]
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 130


async def start_watch(it: Hosted) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "canvas_provider", "ahp", "watch", it.host.url]
    return await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "", "PYTHONIOENCODING": "utf-8"},
    )
