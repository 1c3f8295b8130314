"""Take the pictures of the docs from the examples' real pages: `python -m docs.screenshots`."""

import asyncio
import copy
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from canvas_provider import JSONFileStore, MemoryStore
from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.types import JSONObject
from examples.focus_board.extension import diary, focus_board
from examples.kanban.extension import kanban
from tests.support.live import Live, open_live

IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"

CARDS = [
    ("Write the migration guide", "backlog", "Cover the renamed settings.", "Ana Lopez"),
    ("Ask design about empty states", "backlog", "", ""),
    ("Measure start-up on Windows", "backlog", "With and without byte code.", "Copilot"),
    ("Keep typed text when the agent edits the same card", "doing", "", "Jun Sato"),
    ("Port the exporter", "doing", "CSV works, JSON is next.", "Copilot"),
    ("Pin the Host header", "done", "", "Ana Lopez"),
]


MORNING = datetime(2026, 11, 30, 9, 5, tzinfo=UTC)


async def visit(browser: Browser, live: Live, scheme: str, width: int) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": width * 25 // 48},  # side by side: one shape
        device_scale_factor=2,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.clock.set_fixed_time(MORNING)
    await page.goto(live.url)
    return page


async def take_kanban(browser: Browser, live: Live, scheme: str, path: Path) -> None:
    page = await visit(browser, live, scheme, 960)
    await page.wait_for_selector(".card")
    [moved] = await live.agent("list_cards", text="Port the exporter")
    await live.agent("move_card", cardId=moved["id"], columnId="done", position=0)
    await page.wait_for_selector(".mark")
    await page.screenshot(path=path)
    await live.agent("move_card", cardId=moved["id"], columnId="doing")
    await page.context.close()


async def take_focus_board(browser: Browser, live: Live, scheme: str, path: Path) -> None:
    page = await visit(browser, live, scheme, 1200)
    await page.wait_for_selector(".task.focused")
    await page.screenshot(path=path)
    await page.context.close()


async def take_panel(browser: Browser, folder: Path, scheme: str, path: Path) -> None:
    """The development host, with the kanban in it."""
    extension = Extension(EXAMPLES / "kanban" / "extension.py", "kanban")
    bench = Workbench(
        extension,
        working_directory=str(folder),
        workspace_path=str(folder),
        copilot_home=folder / scheme,
    )
    panel = await PanelServer.start(bench, LoopbackServers())
    await bench.start()
    for title, column, notes, assignee in CARDS:
        card: JSONObject = {"title": title, "columnId": column, "notes": notes}
        await bench.runtime.invoke("main", "add_card", {**card, "assignee": assignee})
    context = await browser.new_context(
        viewport={"width": 1440, "height": 860},
        device_scale_factor=1.5,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(panel.url)
    await page.get_by_role("button", name="800", exact=True).click()
    await page.get_by_label("Theme of the host").select_option(scheme)
    await page.get_by_role("tab", name="State").click()
    await page.locator('[data-revision="6"] summary').first.click()
    await page.locator(".row.request", has_text="add_card").last.click()
    await page.frame_locator("iframe").locator(".card >> nth=5").wait_for()
    await page.wait_for_selector(".detail .json")
    await page.screenshot(path=path)
    await context.close()
    await bench.aclose(1)
    await panel.aclose()


async def fill_kanban(live: Live) -> None:
    for title, column, notes, assignee in CARDS:
        await live.agent("add_card", title=title, columnId=column, notes=notes, assignee=assignee)


async def fill_focus_board(live: Live) -> None:
    """A morning's work; each step takes a while."""
    minutes = iter(range(0, 600, 12))
    diary.now = lambda: MORNING + timedelta(minutes=next(minutes) // 4)
    for title in ("Book the train", "Read Jun's proposal"):
        await live.agent("add_task", title=title, status="done")
    await live.agent("add_task", title="Port the exporter to the new format", status="doing")
    guide = (await live.agent("add_task", title="Write the migration guide"))["id"]
    for text in ("Outline: renamed settings, the new store, what breaks", "All examples run again"):
        await live.agent("add_note", task_id=guide, text=text)
    await live.agent("count", counter_id="water", by=3)
    await live.agent("count", counter_id="steps", by=5_500)
    await live.agent("count", counter_id="pages", by=20)
    await live.agent("focus_on", task_id=guide)
    diary.now = lambda: MORNING


async def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        board = copy.copy(kanban)
        board.store = MemoryStore()
        async with open_live(board) as live:
            await fill_kanban(live)
            await take_kanban(browser, live, "light", IMAGES / "kanban.png")
            await take_kanban(browser, live, "dark", IMAGES / "kanban-dark.png")
        with tempfile.TemporaryDirectory() as folder:
            diary.folder, diary.now = Path(folder), lambda: MORNING
            day = copy.copy(focus_board)
            day.store = JSONFileStore(folder)
            async with open_live(day) as live:
                await fill_focus_board(live)
                await take_focus_board(browser, live, "light", IMAGES / "focus-board.png")
                await take_focus_board(browser, live, "dark", IMAGES / "focus-board-dark.png")
        with tempfile.TemporaryDirectory() as folder:
            for scheme, name in (("light", "panel.png"), ("dark", "panel-dark.png")):
                await take_panel(browser, Path(folder), scheme, IMAGES / name)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
