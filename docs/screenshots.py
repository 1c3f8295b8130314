"""Take the README's pictures of the kanban, from the real page: `python -m docs.screenshots`."""

import asyncio
import copy
import shutil
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from canvas_provider import MemoryStore
from examples.kanban.extension import kanban
from tests.support.live import Live, open_live

IMAGES = Path(__file__).parent / "images"

CARDS = [
    ("Write the migration guide", "backlog", "Cover the renamed settings.", "Ana Lopez"),
    ("Ask design about empty states", "backlog", "", ""),
    ("Measure start-up on Windows", "backlog", "With and without byte code.", "Copilot"),
    ("Keep typed text when the agent edits the same card", "doing", "", "Jun Sato"),
    ("Port the exporter", "doing", "CSV works, JSON is next.", "Copilot"),
    ("Pin the Host header", "done", "", "Ana Lopez"),
]


async def take(browser: Browser, live: Live, scheme: str, path: Path) -> None:
    context = await browser.new_context(
        viewport={"width": 960, "height": 500},
        device_scale_factor=2,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(live.url)
    await page.wait_for_selector(".card")
    await live.agent("move_card", cardId="card-5", columnId="done", position=0)
    await page.wait_for_selector(".mark")
    await page.screenshot(path=path)
    await live.agent("move_card", cardId="card-5", columnId="doing")
    await context.close()


async def main() -> None:
    canvas = copy.copy(kanban)
    canvas.store = MemoryStore()
    IMAGES.mkdir(exist_ok=True)
    async with async_playwright() as playwright, open_live(canvas) as live:
        for title, column, notes, assignee in CARDS:
            await live.agent(
                "add_card", title=title, columnId=column, notes=notes, assignee=assignee
            )
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        await take(browser, live, "light", IMAGES / "kanban.png")
        await take(browser, live, "dark", IMAGES / "kanban-dark.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
