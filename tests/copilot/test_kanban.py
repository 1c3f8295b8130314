"""The main job: the kanban in the real CLI, with a person at its page."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from canvas_provider.testing import CLISession, CopilotCLI, PageEvents
from tests.support.copilot import processes, until, wait_no_processes
from tests.support.extension import KANBAN, is_listening
from tests.support.require import require_chromium

if TYPE_CHECKING:
    from playwright.async_api import Locator

pytestmark = [pytest.mark.copilot, pytest.mark.process]

CANVAS = "agentic-kanban"


async def start(cli: CopilotCLI) -> CLISession:
    cli.install(KANBAN)
    session = await cli.create_session()
    await session.wait_listed(CANVAS)
    return session


@asynccontextmanager
async def at_page(url: str) -> AsyncIterator[tuple[httpx.AsyncClient, PageEvents]]:
    """A page that is connected to its event stream."""
    events = PageEvents()
    async with httpx.AsyncClient(base_url=url) as http:
        await events.follow(http)
        try:
            yield http, events
        finally:
            await events.unfollow()


async def middle(locator: "Locator") -> tuple[float, float]:
    box = await locator.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def column_of(state: dict[str, Any], card_id: str) -> str:
    for column in state["columns"]:
        if card_id in [card["id"] for card in column["cards"]]:
            return str(column["id"])
    raise AssertionError(f"{card_id} is nowhere")


async def test_a_person_and_an_agent_move_the_same_cards(cli: CopilotCLI) -> None:
    session = await start(cli)
    listed = await session.wait_listed(CANVAS)
    assert listed["extensionId"] == "project:kanban"
    assert {"add_card", "move_card"} <= {action["name"] for action in listed["actions"]}

    opened = await session.open(CANVAS, "board", {"project": "release"})
    assert opened["title"] == "Agentic Kanban: release"
    async with at_page(opened["url"]) as (http, events):
        page = await http.get("")
        assert page.headers["content-type"].startswith("text/html")
        assert "<title>Agentic Kanban</title>" in page.text

        added = await http.post("actions/add_card", json={"title": "Ship it"})
        card = added.json()["result"]
        moved = await session.invoke(
            "board", "move_card", {"cardId": card["id"], "columnId": "done"}
        )
        assert moved["columnId"] == "done"
        patch = await events.wait_for("patch", lambda event: event.data["action"] == "move_card")
        assert patch.data["author"] == "agent"
        state = (await http.get("state")).json()["state"]
        assert column_of(state, card["id"]) == "done"


async def test_a_browser_shows_the_agents_move_and_the_agent_sees_the_persons(
    cli: CopilotCLI,
) -> None:
    chromium = require_chromium()
    from playwright.async_api import async_playwright, expect

    session = await start(cli)
    url = (await session.open(CANVAS, "board"))["url"]
    card = await session.invoke("board", "add_card", {"title": "Ship it"})
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        # Without motion a card is where it is seen, at once.
        page = await browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(10_000)
        await page.goto(url)
        shown = page.locator(f'.card[data-id="{card["id"]}"]:not(.ghost)')
        await expect(page.locator('.column[data-id="backlog"]').locator(shown)).to_be_visible()

        await session.invoke("board", "move_card", {"cardId": card["id"], "columnId": "doing"})
        await expect(page.locator('.column[data-id="doing"]').locator(shown)).to_be_visible()

        target = page.locator('.column[data-id="done"]')
        await page.mouse.move(*await middle(shown))
        await page.mouse.down()
        await page.mouse.move(*await middle(target), steps=6)
        await page.mouse.up()
        await expect(target.locator(shown)).to_be_visible()
        (seen,) = await session.invoke("board", "list_cards", {"columnId": "done"})
        assert seen["id"] == card["id"]
        await browser.close()


async def test_a_close_frees_the_port_and_tells_the_page(cli: CopilotCLI) -> None:
    session = await start(cli)
    url = (await session.open(CANVAS, "board"))["url"]
    async with at_page(url) as (_, events):
        await session.close("board")
        assert (await events.wait_for("closed")).data == {"reason": "closed"}
    assert not await is_listening(httpx.URL(url).port or 0)
    assert len(processes(cli)) == 1


async def test_a_reload_brings_back_the_instance_and_its_state(cli: CopilotCLI) -> None:
    session = await start(cli)
    before = await session.open(CANVAS, "board", {"project": "release"})
    card = await session.invoke("board", "add_card", {"title": "Ship it"})
    (old,) = processes(cli)
    async with at_page(before["url"]) as (_, events):
        await session.reload()
        assert (await events.wait_for("closed")).data == {"reason": "shutdown"}

    after = await session.wait_open("board")
    (new,) = processes(cli)
    assert new != old
    assert (after["title"], after["instanceId"]) == (before["title"], "board")
    assert [each["id"] for each in await session.invoke("board", "list_cards")] == [card["id"]]
    assert len(processes(cli)) == 1


async def test_after_a_sigkill_of_the_cli_nothing_is_left(cli: CopilotCLI) -> None:
    session = await start(cli)
    port = httpx.URL((await session.open(CANVAS, "board"))["url"]).port or 0
    assert await is_listening(port)
    await cli.kill()
    async with asyncio.timeout(3):
        await until(lambda: not processes(cli), 3, lambda: f"{processes(cli)} still run")
    assert not await is_listening(port)


async def test_quitting_the_cli_ends_the_extension(cli: CopilotCLI) -> None:
    await start(cli)
    await cli.stop()
    await wait_no_processes(cli, 3)
