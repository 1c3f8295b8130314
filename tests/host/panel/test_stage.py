"""What the panel does to canvases: themes, panels, state, faults; in a browser, for real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from canvas_provider.cli.watching import watch_folders
from canvas_provider.host.hot_reload import HotReload
from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers
from tests.support.panel import show_panel
from tests.support.scripted import write_extension

pytestmark = [pytest.mark.process, pytest.mark.browser]

NOTES = '''
import sys
from pathlib import Path

from canvas_provider import Opened, command, create_canvas, run, tool

notes = create_canvas(
    id="notes", display_name="Notes", description="Keeps notes.", state=dict,
    page=Path(__file__).with_name("page"),
)
raw = create_canvas(
    id="raw", display_name="Raw", description="No canvas.js.",
    page=Path(__file__).with_name("raw.html"),
)


@notes.on_open
async def opened(ctx, topic: str = "none") -> Opened:
    return Opened(title=f"On {topic}")


@notes.action
async def write(state: dict, text: str) -> dict:
    """Write it down."""
    state.setdefault("notes", []).append({"text": text})
    return {"count": len(state["notes"])}


@notes.action
async def crash(state: dict) -> None:
    """Raise."""
    raise KeyError("no such note")


@tool
async def look_up(word: str, times: int = 1) -> str:
    """Look a word up."""
    return word * times


@command
async def greet(call) -> None:
    """Say hello."""
    print("hello", call.args, file=sys.stderr)


run(notes, raw, tools=[look_up], commands=[greet])
'''

PAGE = """<!doctype html>
<html>
<link rel="stylesheet" href="./canvas.css">
<p id="count">-</p>
<script type="module">
  import { connect } from "./canvas.js";
  const canvas = connect();
  canvas.subscribe((state) => {
    document.getElementById("count").textContent = (state.notes ?? []).length;
  });
  window.statuses = [];
  canvas.onStatus?.((status) => window.statuses.push(status));
</script>
"""


@asynccontextmanager
async def served(
    folder: Path, *, hot: bool = False, source: str = NOTES
) -> AsyncIterator[tuple[Workbench, str]]:
    script = write_extension(folder / "notes", source)
    (script.parent / "page").mkdir()
    (script.parent / "page" / "index.html").write_text(PAGE, encoding="utf-8")
    (script.parent / "raw.html").write_text("<p>raw</p>", encoding="utf-8")
    bench = Workbench(
        Extension(script, "notes"), working_directory=str(folder), workspace_path=str(folder)
    )
    panel = await PanelServer.start(bench, LoopbackServers())
    reloading = HotReload(bench, watch_folders)
    if hot:
        reloading.start()
    try:
        await bench.start()
        await bench.runtime.open("notes", "main", {"topic": "birds"})
        yield bench, panel.url
    finally:
        await reloading.aclose()
        await bench.aclose(2)
        await panel.aclose()


def inside(page: Page) -> FrameLocator:
    return page.frame_locator(".frame:visible iframe >> nth=0")


async def test_a_page_wears_the_theme_of_the_app_or_none_at_any_width(
    browser: Browser, tmp_path: Path
) -> None:
    """The app sets the documented attributes and variables; other hosts set nothing."""
    async with (
        served(tmp_path) as (bench, url),
        show_panel(browser, url, name="notes", width=1600) as page,
    ):
        root = inside(page).locator("html")
        await expect(inside(page).locator("#count")).to_have_text("0")
        await expect(root).not_to_have_attribute("data-color-mode", "dark")
        theme = page.get_by_label("Theme of the host")
        for mode, background in (("dark", "rgb(13, 17, 23)"), ("light", "rgb(255, 255, 255)")):
            await theme.select_option(mode)
            await expect(root).to_have_attribute("data-color-mode", mode)
            await expect(root).to_have_attribute("data-theme-tone", mode)
            await expect(inside(page).locator("body")).to_have_css("background-color", background)
            for width in (380, 800, 1200):
                button = page.get_by_role("button", name=str(width), exact=True)
                await button.click()
                await expect(button).to_have_attribute("aria-pressed", "true")
                await expect(page.locator(".frame:visible .width")).to_have_text(f"{width} px")
                assert await page.frames[1].evaluate("innerWidth") == width
        # It comes again with every page: also after a reload of it.
        await page.get_by_role("button", name="Reload page").click()
        await expect(root).to_have_attribute("data-color-mode", "light")
        await theme.select_option("none")
        await expect(root).not_to_have_attribute("data-color-mode", "light")
        # One without canvas.js cannot be reached, and that is said.
        await bench.runtime.open("raw", "raw")
        await expect(page.locator(".deaf")).to_be_visible()
        await page.get_by_role("tab", name="On birds").click()
        await expect(page.locator(".deaf")).to_have_count(0)


async def test_an_instance_has_several_panels_and_each_comes_back_when_its_stream_is_cut(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (bench, url),
        show_panel(browser, url, name="notes") as page,
    ):
        await page.get_by_role("button", name="+ panel").click()
        frames = page.locator(".frame:visible iframe")
        await expect(frames).to_have_count(2)
        for number in range(2):
            frame = page.frame_locator(f".frame:visible iframe >> nth={number}")
            await expect(frame.locator("#count")).to_have_text("0")
        await page.get_by_role("button", name="Drop stream").click()
        await bench.runtime.invoke("main", "write", {"text": "a"})
        for number in range(2):
            frame = page.frame_locator(f".frame:visible iframe >> nth={number}")
            await expect(frame.locator("#count")).to_have_text("1")
        await page.get_by_role("button", name="− panel").click()
        await expect(frames).to_have_count(1)
        link = page.get_by_role("link", name="New tab")
        assert await link.get_attribute("rel") == "noreferrer"


async def test_the_state_is_followed_explained_and_taken_back(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (bench, url),
        show_panel(browser, url, name="notes") as page,
    ):
        await page.get_by_role("tab", name="State").click()
        state = page.locator(".state:visible")
        await expect(state).to_contain_text("Nothing has changed yet.")
        for text in ("one", "two"):
            await bench.runtime.invoke("main", "write", {"text": text})
        await expect(state).to_contain_text("revision 2")
        second = state.locator('[data-revision="2"]')
        await expect(second).to_contain_text("agent")
        await expect(second).to_contain_text("write")
        await second.locator("summary").first.click()
        await expect(second.locator(".change.add .place")).to_have_text("notes › 1")
        await expect(second.locator(".change .new")).to_contain_text('"text": "two"')
        await state.get_by_role("button", name="Undo", exact=True).click()
        await expect(inside(page).locator("#count")).to_have_text("1")
        third = state.locator('[data-revision="3"]')
        await expect(third).to_contain_text("takes 2 back")
        await expect(third).to_contain_text("person")
        await third.locator("summary").first.click()
        await expect(third.locator(".change.remove .old")).to_contain_text('"text": "two"')
        # What somebody has opened stays open.
        await expect(second.locator(".change.add")).to_be_visible()
        await state.get_by_role("button", name="Redo").click()
        await expect(inside(page).locator("#count")).to_have_text("2")
        await state.locator('[data-revision="1"]').get_by_role("button", name="undo").click()
        await expect(page.locator(".log-line.error").last).to_contain_text("revision")
        await page.get_by_role("button", name="Reload extension").click()
        await expect(page.locator("#status")).to_have_text("running")
        await expect(state).to_contain_text('"notes"')


async def test_faults_are_brought_about_by_buttons(browser: Browser, tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (bench, url),
        show_panel(browser, url, name="notes") as page,
    ):
        await expect(inside(page).locator("#count")).to_have_text("0")
        confirm = page.locator("#confirm")
        await page.get_by_role("button", name="Kill").click()
        await confirm.get_by_role("button", name="Cancel").click()
        assert bench.status.phase == "ready"
        await page.get_by_role("button", name="Kill").click()
        await confirm.get_by_role("button", name="Kill").click()
        await expect(page.locator("#blank")).to_contain_text("SIGKILL")
        await page.locator("#blank").get_by_role("button", name="Reload extension").click()
        await expect(page.locator("#status")).to_have_text("running")
        await page.get_by_role("button", name="Hang").click()
        await expect(page.locator("#status")).to_have_text("hangs")
        action = page.locator('details.action[data-action="write"]')
        await action.locator("summary").first.click()
        await action.get_by_role("textbox").fill("late")
        await action.get_by_role("textbox").press("Control+Enter")
        await expect(page.locator(".row.request .duration").last).to_have_text("…")
        await page.get_by_role("button", name="Let go").click()
        await expect(action.locator(".outcome")).to_contain_text('"count": 1')
        await bench.runtime.open("notes", "main", {"topic": "fish"})
        await expect(page.get_by_role("tab", name="On fish")).to_be_visible()
        await page.get_by_role("button", name="Resume cold").click()
        await confirm.get_by_role("button", name="Resume cold").click()
        await expect(page.get_by_role("tab", name="On birds")).to_be_visible()
        await expect(inside(page).locator("#count")).to_have_text("0")


async def test_tools_and_commands_are_called_and_an_exception_is_called_one(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (_, url),
        show_panel(browser, url, name="notes") as page,
    ):
        side = page.locator("#contributions")
        await side.get_by_role("button", name="Call…").click()
        dialog = page.locator("#dialog")
        await dialog.locator('[data-pointer="/word"]').get_by_role("textbox").fill("ab")
        await dialog.locator('[data-pointer="/times"]').get_by_role("textbox").fill("2")
        await dialog.get_by_role("button", name="Call").click()
        await expect(dialog.locator(".outcome")).to_contain_text("abab")
        await dialog.get_by_label("Close the dialog").click()
        await side.get_by_role("button", name="Run…").click()
        await dialog.get_by_label("/greet").fill("you")
        await dialog.get_by_role("button", name="Run").click()
        await expect(dialog.locator(".outcome")).to_contain_text("✓ result")
        await dialog.get_by_label("Close the dialog").click()
        await page.locator("#show-log").click()
        await expect(page.locator(".log-line.stderr").last).to_contain_text("hello you")
        action = page.locator('details.action[data-action="crash"]')
        await action.locator("summary").first.click()
        await action.get_by_role("button", name="Invoke").click()
        await expect(action.locator(".outcome")).to_contain_text("✗ an exception in the handler")
        await action.locator("summary", has_text="Traceback").click()
        await expect(action.locator(".last-words")).to_contain_text("KeyError: 'no such note'")


HOSTILE = """<!doctype html>
<script type="module">
  import "./canvas.js";
  const text = "<img src=x onerror=window.taken=1>";
  const say = (data) => parent.postMessage({ canvasProvider: "blocked", ...data }, "*");
  window.heard = [];
  window.addEventListener("message", (event) => window.heard.push(JSON.stringify(event.data)));
  say({ directive: text, blocked: text, file: text, line: text, sample: text });
  say(null);
  parent.postMessage(text, "*");
  parent.postMessage({ canvasProvider: "theme", theme: { variables: { "--bg": "red" } } }, "*");
  const script = document.createElement("script");
  script.textContent = "window.taken = 1";
  document.head.append(script);
  const panel = location.ancestorOrigins[0];
  window.stolen = [];
  for (const address of [panel, `${panel}/`, document.referrer || `${panel}/events`]) {
    fetch(address, { mode: "no-cors" }).then(
      () => window.stolen.push(address),
      () => {},
    );
  }
  window.opened = window.open("", "_parent");
</script>
"""


async def test_a_hostile_page_is_told_nothing_and_only_shown(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path) as (bench, url),
        show_panel(browser, url, name="notes") as page,
    ):
        script = bench.extension.script
        (script.parent / "page" / "index.html").write_text(HOSTILE, encoding="utf-8")
        await page.get_by_role("button", name="Reload page").click()
        await page.locator("#show-log").click()
        lines = page.locator(".log-line.page")
        await expect(lines.filter(has_text="<img").first).to_be_visible()
        # And what the policy of the page really blocked is there, too.
        await expect(lines.filter(has_text="script-src-elem").first).to_contain_text("inline")
        await page.get_by_label("Theme of the host").select_option("dark")
        await expect(inside(page).locator("html")).to_have_attribute("data-color-mode", "dark")
        token = url.split("/")[3]
        frame = page.frames[1]
        heard = await frame.evaluate("[...heard, document.referrer, ...stolen].join()")
        assert "data-color-mode" in heard
        assert token not in heard
        assert await frame.evaluate("stolen.length") == 0
        assert await page.evaluate("window.taken") is None
        assert await page.locator("img").count() == 0
        color = await page.evaluate("document.documentElement.style.getPropertyValue('--bg')")
        assert color == ""
        assert page.url == url


async def test_saving_code_or_a_page_keeps_what_is_half_typed(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        served(tmp_path, hot=True) as (bench, url),
        show_panel(browser, url, name="notes") as page,
    ):
        await bench.runtime.invoke("main", "write", {"text": "a"})
        await expect(inside(page).locator("#count")).to_have_text("1")
        action = page.locator('details.action[data-action="write"]')
        await action.locator("summary").first.click()
        box = action.get_by_role("textbox")
        await box.fill("half ty")
        folder = bench.extension.script.parent
        (folder / "page" / "index.html").write_text(
            PAGE.replace("<html>", '<html data-version="2">'), encoding="utf-8"
        )
        await expect(inside(page).locator("html")).to_have_attribute("data-version", "2")
        await expect(box).to_have_value("half ty")
        await expect(box).to_be_focused()
        pid = bench.status.pid
        bench.extension.script.write_text(
            NOTES.replace("text: str)", 'text: str, mark: str = "")'), encoding="utf-8"
        )
        await expect(action.locator('[data-pointer="/mark"]')).to_be_visible()
        assert bench.status.pid != pid
        await expect(action.locator('[data-pointer="/text"]').get_by_role("textbox")).to_have_value(
            "half ty"
        )
        await expect(inside(page).locator("#count")).to_have_text("1")
        bench.extension.script.write_text("raise ValueError('broken')\n", encoding="utf-8")
        await expect(page.locator("#blank")).to_contain_text("ValueError: broken")
        await expect(action.locator('[data-pointer="/text"]').get_by_role("textbox")).to_have_value(
            "half ty"
        )
