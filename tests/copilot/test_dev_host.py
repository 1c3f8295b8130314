"""`canvas-provider dev --runtime copilot`: the panel on the real CLI, with a scripted agent."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Final

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from canvas_provider import JSONFileStore
from canvas_provider.testing import open_canvas
from examples.kanban.extension import kanban
from tests.support.browser import anyio_backend, browser
from tests.support.extension import KANBAN, is_listening
from tests.support.panel import show_panel
from tests.support.processes import gone
from tests.support.require import require_copilot_cli
from tests.support.terminal import Terminal, dev

__all__ = ["anyio_backend", "browser"]

pytestmark = [pytest.mark.copilot, pytest.mark.browser, pytest.mark.process]

SOON: Final = 6.0
"""Seconds to the end: Copilot gives its extensions one."""


def invoke(action: str, **input: str) -> dict[str, object]:
    arguments = {"instanceId": "board", "actionName": action, "input": input}
    return {"tool": "invoke_canvas_action", "arguments": arguments}


OPEN: Final = {
    "tool": "open_canvas",
    "arguments": {"canvasId": "agentic-kanban", "instanceId": "board", "input": {}},
}


async def write_board(folder: Path) -> str:
    """Keep a board with one card where the kanban will find it; return the card's id."""
    async with open_canvas(kanban, input={}, store=JSONFileStore(folder)) as panel:
        card = await panel.agent.add_card(columnId="backlog", title="Ship it")
    return str(card["id"])


def write_script(folder: Path, steps: object) -> str:
    file = folder / "steps.json"
    file.write_text(json.dumps(steps), encoding="utf-8")
    return str(file)


def arguments(extension: Path, script: str) -> tuple[str, ...]:
    cli = str(require_copilot_cli())
    options = ("--runtime", "copilot", "--script", script, "--copilot-cli", cli, "--no-browser")
    return (str(extension), *options)


async def address(terminal: Terminal) -> str:
    return await terminal.see(r"http://127\.0\.0\.1:\d+/\S+/")


async def processes(page: Page) -> list[int]:
    """The extension and the CLI that has started it."""
    status = page.locator("#status")
    await expect(status).to_have_text("running")
    title = await status.get_attribute("title")
    found = re.fullmatch(r"Process (\d+)", title or "")
    assert found is not None
    return [int(found[1]), parent_of(int(found[1]))]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def prompt(page: Page, text: str) -> None:
    await page.fill("#prompt", text)
    await page.press("#prompt", "Enter")


async def test_the_agent_opens_the_kanban_and_moves_a_card_in_front_of_the_person(
    browser: Browser, tmp_path: Path
) -> None:
    card = await write_board(tmp_path / "boards")
    steps = [
        OPEN,
        [invoke("get_board"), invoke("list_cards")],
        "There is one card.",
        invoke("move_card", cardId=card, columnId="done"),
        "It is done.",
    ]
    environment = {"KANBAN_STORE": str(tmp_path / "boards")}
    options = arguments(KANBAN, write_script(tmp_path, steps))
    async with dev(*options, directory=tmp_path, **environment) as terminal:
        url = await address(terminal)
        async with show_panel(browser, url, name="kanban") as page:
            pids = await processes(page)
            await prompt(page, "Plan the release.")
            await expect(page.locator(".said.prompt")).to_have_text("Plan the release.")
            await expect(page.locator(".said.asks")).to_contain_text("use open_canvas")
            assert await page.locator("iframe").count() == 0
            await page.get_by_role("button", name="Allow", exact=True).click()
            board = page.frame_locator("iframe")
            await expect(board.locator("body")).to_contain_text("Backlog")
            await page.check("#allow-all")
            await expect(page.locator(".said.answer")).to_have_text("There is one card.")
            await expect(page.locator(".said.tool .mark-done")).to_have_count(3)
            await expect(page.locator("#stop")).to_be_hidden()
            moved = board.locator('.column[data-id="done"]').get_by_text("Ship it")
            await expect(moved).to_have_count(0)

            await prompt(page, "Now finish it.")
            await expect(page.locator(".said.answer").last).to_have_text("It is done.")
            await expect(moved).to_be_visible()

            await page.reload()
            await expect(page.locator(".said.answer").last).to_have_text("It is done.")
            await page.get_by_role("button", name="Reload extension").click()
            after = await processes_after(page, pids)
            await expect(page.frame_locator("iframe").locator("body")).to_contain_text("Ship it")
            for name in ("#faults", "#dialog"):
                await expect(page.locator(name)).to_be_hidden()
        assert await terminal.end(signal.SIGINT, SOON) == 130
        for pid in {*pids, *after}:
            await gone(pid)
        assert not await is_listening(httpx.URL(url).port or 0)


async def processes_after(page: Page, before: list[int]) -> list[int]:
    """The processes once the extension is another one."""
    await expect(page.locator(f'#status:not([title="Process {before[0]}"])')).to_have_text(
        "running"
    )
    return await processes(page)


async def test_an_extension_that_fails_is_mended_by_saving_it(
    browser: Browser, tmp_path: Path
) -> None:
    extension = tmp_path / "board" / "extension.py"
    extension.parent.mkdir()
    extension.write_text("raise RuntimeError('not yet')\n", encoding="utf-8")
    script = write_script(tmp_path, ["Hello."])
    async with dev(*arguments(extension.parent, script), directory=tmp_path) as terminal:
        async with show_panel(browser, await address(terminal), name="board") as page:
            await expect(page.locator("#blank")).to_contain_text("not yet")
            await expect(page.locator("#blank")).to_contain_text(f'File "{extension}", line 1')
            extension.write_text(
                "from canvas_provider import create_canvas, run\n"
                "run(create_canvas(id='a', display_name='Late', description='A.', state=dict))\n",
                encoding="utf-8",
            )
            await expect(page.locator("#canvases")).to_contain_text("Late")
            await expect(page.locator("#status")).to_have_text("running")
            await prompt(page, "Hello?")
            await expect(page.locator(".said.answer")).to_have_text("Hello.")
            await prompt(page, "And now?")
            await expect(page.locator(".said.error")).to_be_visible()
        assert await terminal.end(signal.SIGTERM, SOON) == 130


async def test_a_host_that_is_killed_leaves_nobody_behind(browser: Browser, tmp_path: Path) -> None:
    script = write_script(tmp_path, [OPEN])
    async with dev(*arguments(KANBAN, script), directory=tmp_path) as terminal:
        async with show_panel(browser, await address(terminal), name="kanban") as page:
            pids = await processes(page)
        terminal.process.kill()
        async with asyncio.timeout(SOON):
            await terminal.process.wait()
            for pid in pids:
                await gone(pid)


async def test_copilot_that_is_killed_is_started_anew_by_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    script = write_script(tmp_path, [OPEN, "It is open.", "Hello again."])
    async with dev(*arguments(KANBAN, script), directory=tmp_path) as terminal:
        async with show_panel(browser, await address(terminal), name="kanban") as page:
            extension, cli = await processes(page)
            await page.check("#allow-all")
            await prompt(page, "Open it.")
            await expect(page.locator(".said.answer")).to_have_text("It is open.")
            os.kill(cli, signal.SIGKILL)
            await gone(extension)
            await expect(page.locator("#blank")).to_contain_text("Copilot has ended")
            await page.get_by_role("button", name="Reload extension").first.click()
            assert not {extension, cli} & {*await processes(page)}
            await prompt(page, "Hello?")
            await expect(page.locator(".said.answer").last).to_have_text("Hello again.")
        assert await terminal.end(signal.SIGINT, SOON) == 130
        assert "Traceback" not in terminal.output
