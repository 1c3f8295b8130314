"""The canvas of the README, as a reader would use it: two files, a browser, and an agent."""

import re
import types
from pathlib import Path

import pytest
from playwright.async_api import expect

from canvas_provider import Canvas, JSONFileStore
from tests.docs.test_blocks import blocks
from tests.support.browser import Visit
from tests.support.live import open_live
from tests.support.require import ROOT

README = ROOT / "README.md"


def write_canvas(folder: Path) -> Canvas:
    """Save the README's two files, run the Python one, and keep its state in the same folder."""
    [html] = blocks(README, "html")
    (folder / "page.html").write_text(html, encoding="utf-8")
    code = blocks(README, "python")[0]
    module = types.ModuleType("extension")
    module.__file__ = str(folder / "extension.py")
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    canvas: Canvas = module.canvas
    canvas.store = JSONFileStore(folder / "state")
    return canvas


def test_it_has_forty_lines() -> None:
    code = [blocks(README, "python")[0], *blocks(README, "html")]
    lines = [line for block in code for line in block.splitlines() if line.strip()]
    assert len(lines) <= 40


def test_it_is_durable_by_itself() -> None:
    assert re.search(r"store=JSONFileStore\(\)", blocks(README, "python")[0])


@pytest.mark.browser
async def test_agent_and_person_tick_the_same_list_and_it_lasts(
    tmp_path: Path, visit: Visit
) -> None:
    async with open_live(write_canvas(tmp_path)) as live:
        page = await visit(live.url)
        await page.get_by_label("New item").fill("Tag the release")
        await page.keyboard.press("Enter")
        items = page.get_by_role("button")
        await expect(items).to_have_text(["☐ Tag the release"])
        await live.agent("tick", item="Tag the release")
        await expect(items).to_have_text(["☑ Tag the release"])
        await items.click()
        await expect(items).to_have_text(["☐ Tag the release"])
        await live.agent("add", item="Write the notes")
    async with open_live(write_canvas(tmp_path)) as live:
        page = await visit(live.url)
        items = page.get_by_role("button")
        await expect(items).to_have_text(["☐ Tag the release", "☐ Write the notes"])
