"""The panel in a browser, on a real extension in a real process."""

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from canvas_provider.host.panel.server import PanelServer
from canvas_provider.host.workbench import Extension, Workbench
from canvas_provider.serving.server import LoopbackServers
from tests.support.panel import show_panel
from tests.support.require import ROOT
from tests.support.scripted import write_extension

pytestmark = [pytest.mark.process, pytest.mark.browser]

COUNTER = '''
import sys
from pathlib import Path
from typing import Annotated, Literal

from canvas_provider import CanvasError, Opened, create_canvas, run

counter = create_canvas(
    id="counter",
    display_name="Counter",
    description="Counts.",
    state=dict,
    page=Path(__file__).with_name("page.html"),
)


@counter.on_open
async def opened(ctx, name: Annotated[str, "What is counted."] = "things") -> Opened:
    return Opened(title=f"Counter of {name}", status="idle")


@counter.action
async def add(
    count: dict,
    by: Annotated[int, "How many."],
    unit: Literal["one", "ten"] = "one",
    tags: list[str] | None = None,
) -> dict[str, int]:
    """Add to the counter."""
    if by == 13:
        raise CanvasError("unlucky", "Not thirteen.")
    print("adding", by, file=sys.stderr)
    count["value"] = count.get("value", 0) + by * (10 if unit == "ten" else 1)
    return {"value": count["value"]}


run(counter)
'''

PAGE = """<!doctype html>
<title>Counter</title>
<p id="value">-</p>
<script type="module">
  import { connect } from "./canvas.js";
  connect().subscribe((count) => (document.getElementById("value").textContent = count.value ?? 0));
</script>
"""


@asynccontextmanager
async def served(folder: Path, source: str = COUNTER) -> AsyncIterator[tuple[Workbench, str]]:
    """The development host in this process, and the panel's URL."""
    script = write_extension(folder / "counter", source)
    (script.parent / "page.html").write_text(PAGE, encoding="utf-8")
    extension = Extension(script, "counter")
    bench = Workbench(extension, working_directory=str(folder), workspace_path=str(folder))
    panel = await PanelServer.start(bench, LoopbackServers())
    try:
        await bench.start()
        yield bench, panel.url
    finally:
        await bench.aclose(2)
        await panel.aclose()


async def test_the_board_is_there_at_once_and_a_form_drives_it(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (_, url), show_panel(browser, url) as page:
        await expect(page.locator("#status")).to_have_text("running")
        value = page.frame_locator("iframe").locator("#value")
        await expect(value).to_have_text("0")
        action = page.locator("details.action", has_text="add")
        await expect(action).to_have_attribute("open", "")
        await action.get_by_label("by").fill("4")
        await action.get_by_label("unit").select_option("ten")
        await action.get_by_label("by").press("Control+Enter")
        await expect(value).to_have_text("40")
        await expect(action.locator(".outcome")).to_contain_text('"value": 40')
        row = page.locator(".row.result", has_text="canvas.action.invoke")
        await expect(row.locator(".duration")).to_contain_text("ms")
        await row.click()
        await expect(page.locator(".detail")).to_contain_text('"value": 40')
        await page.locator("#show-log").click()
        await expect(page.locator(".log-line.stderr")).to_contain_text("adding 4")


async def test_what_is_refused_is_said_at_the_field(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (_, url), show_panel(browser, url) as page:
        action = page.locator("details.action", has_text="add")
        invoke = action.get_by_role("button", name="Invoke")
        await invoke.click()
        await expect(action.locator(".refusal")).to_contain_text('"by" is a required property')
        await expect(action.locator(".wrong .label")).to_have_text("by *")
        await action.get_by_label("by").fill("many")
        await invoke.click()
        await expect(action.locator(".refusal")).to_contain_text('"many" is not of type "integer"')
        await expect(action.get_by_label("by")).to_be_focused()
        await action.get_by_label("by").fill("13")
        await invoke.click()
        await expect(action.locator(".refusal")).to_have_text("Not thirteen.")
        await action.get_by_role("button", name="JSON").click()
        text = action.get_by_label("Input as JSON")
        await expect(text).to_have_value('{\n  "by": 13\n}')
        await text.fill('{"by": ')
        await invoke.click()
        await expect(action.locator(".refusal")).to_contain_text("This is not JSON")
        await text.fill('{"by": 2, "tags": ["a"]}')
        await action.get_by_role("button", name="Form").click()
        await expect(action.get_by_label("by")).to_have_value("2")
        await invoke.click()
        await expect(action.locator(".refusal")).to_be_hidden()
        await expect(action.locator(".outcome")).to_contain_text('"value": 2')


async def test_a_canvas_is_opened_by_its_form_and_closed(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (bench, url), show_panel(browser, url) as page:
        await page.keyboard.press("o")
        dialog = page.locator("#dialog")
        await expect(dialog.get_by_label("name")).to_be_focused()
        await dialog.get_by_label("name").fill("birds")
        await dialog.get_by_label("instance").fill("b a d")
        await dialog.get_by_role("button", name="Open").click()
        await expect(dialog.locator(".refusal")).to_contain_text("Invalid canvas instance ID")
        await dialog.get_by_label("instance").fill("birds")
        await dialog.get_by_role("button", name="Open").click()
        await expect(dialog).to_be_hidden()
        tab = page.get_by_role("tab", name="Counter of birds")
        await expect(tab).to_have_attribute("aria-selected", "true")
        await expect(page.locator("iframe:visible")).to_have_count(1)
        await tab.press("ArrowLeft")
        await expect(page.get_by_role("tab", name="Counter of things")).to_be_focused()
        await page.keyboard.press("2")
        await expect(tab).to_have_attribute("aria-selected", "true")
        await page.keyboard.press("w")
        await expect(tab).to_have_count(0)
        await page.get_by_role("button", name="Close main").click()
        await expect(page.locator("#blank")).to_contain_text("Nothing is open")
        assert bench.runtime.list_open() == []


async def test_half_typed_text_survives_what_happens_around_it(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (bench, url), show_panel(browser, url) as page:
        await page.get_by_label("by").fill("12")
        frame = page.frame_locator("iframe").locator("#value")
        await expect(frame).to_have_text("0")
        await bench.runtime.invoke("main", "add", {"by": 1})
        await expect(frame).to_have_text("1")
        await bench.reload()
        await expect(page.locator("#status")).to_have_text("running")
        await expect(page.get_by_label("by")).to_have_value("12")


async def test_a_killed_extension_is_explained_and_brought_back(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (bench, url), show_panel(browser, url) as page:
        assert bench.status.pid is not None
        await expect(page.frame_locator("iframe").locator("#value")).to_have_text("0")
        os.kill(bench.status.pid, signal.SIGKILL)
        await expect(page.locator("#status")).to_have_text("stopped")
        await expect(page.locator("#blank")).to_contain_text("The extension ended (SIGKILL).")
        await expect(page.locator(".veil")).to_be_visible()
        await page.locator("#blank").get_by_role("button", name="Reload extension").click()
        await expect(page.locator("#status")).to_have_text("running")
        await expect(page.locator(".veil")).to_be_hidden()
        await expect(page.frame_locator("iframe").locator("#value")).to_have_text("0")


async def test_a_crash_at_start_shows_its_traceback(browser: Browser, tmp_path: Path) -> None:
    async with (
        served(tmp_path, "import no_such_package\n") as (bench, url),
        show_panel(browser, url) as page,
    ):
        blank = page.locator("#blank")
        await expect(blank).to_contain_text("ended before it had joined the session (exit code 1)")
        await expect(blank).to_contain_text("No module named 'no_such_package'")
        bench.extension.script.write_text("raise ValueError('another fault')\n", encoding="utf-8")
        await page.keyboard.press("r")
        await expect(blank).to_contain_text("another fault")
        await expect(blank).not_to_contain_text("no_such_package")
        bench.extension.script.write_text(COUNTER, encoding="utf-8")
        await page.keyboard.press("r")
        await expect(page.locator("#status")).to_have_text("running")
        await page.get_by_role("button", name="Counter", exact=True).click()
        await page.locator("#dialog").get_by_role("button", name="Open").click()
        await expect(page.frame_locator("iframe").locator("#value")).to_have_text("0")


async def test_a_frame_can_read_and_do_nothing_in_the_panel(
    browser: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path) as (_, url), show_panel(browser, url) as page:
        await expect(page.frame_locator("iframe").locator("#value")).to_have_text("0")
        frame = page.frames[1]
        token = url.split("/")[3]
        assert token not in await frame.evaluate("document.referrer + location.href")
        with pytest.raises(Exception, match="cross-origin"):
            await frame.evaluate("parent.location.href")
        with pytest.raises(Exception, match="permission|Failed|Unsafe"):
            await frame.evaluate("top.location.assign('about:blank')")
        ancestors = await frame.evaluate("[...location.ancestorOrigins].join()")
        assert ancestors == url.rsplit("/", 2)[0]


async def test_the_end_of_the_host_is_show_panel(browser: Browser, tmp_path: Path) -> None:
    async with AsyncExitStack() as host:
        _, url = await host.enter_async_context(served(tmp_path))
        async with show_panel(browser, url) as page:
            await expect(page.locator("#status")).to_have_text("running")
            await host.aclose()
            await expect(page.locator("#status")).to_have_text("host has ended")
            await expect(page.locator("#reload")).to_be_disabled()


async def test_it_fits_its_window_in_both_colours(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (_, url):
        for width, dark in [(380, False), (900, True), (1600, True)]:
            async with show_panel(browser, url, width=width, dark=dark) as page:
                await expect(page.locator("details.action")).to_be_visible()
                await page.locator(".row").first.click()
                await expect(page.locator(".detail .json")).to_be_visible()
                await page.get_by_role("tab", name="State").click()
                await expect(page.locator(".state .document")).to_be_visible()
                assert await page.evaluate("document.documentElement.scrollWidth") <= width
                background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
                shades = [int(number) for number in re.findall(r"\d+", background)[:3]]
                assert (max(shades) < 60) is dark


async def test_its_own_colours_can_be_chosen(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (_, url), show_panel(browser, url) as page:
        toggle = page.locator("#theme")
        for name in ("light", "dark", "system"):
            await toggle.click()
            await expect(toggle).to_have_attribute("aria-label", f"Colours: {name}")
        await page.keyboard.press("?")
        await expect(page.locator("#help")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("t")
        await expect(page.locator("#traffic")).to_be_hidden()
        await page.keyboard.press("t")
        await page.keyboard.press("/")
        await expect(page.locator("#filter")).to_be_focused()
        await page.keyboard.type("resume")
        await expect(page.locator(".row:visible")).to_have_count(2)


HOSTILE = """
from tests.support.scripted import BOARD, RUN
X = "<img src=x onerror=window.taken=1>"
text = {"type": "string", "description": X, "title": X, "default": X}
wide = {"type": "object", "properties": {name: {"$ref": "#"} for name in "abcdefghij"}}
schemas = {
    X: {"type": "object", "properties": {X: text, "__proto__": text, "e": {"enum": [X, {X: X}]}}},
    "": False,
    "wide": wide,
    "bad pointer": {"properties": {"a": {"$ref": "#/definitions/%"}}, "definitions": {"%": text}},
    "many": {"properties": {f"p{n}": {"enum": list(range(500))} for n in range(500)}},
    "booleans": {"properties": {"a": True, "b": False, "c": {"items": [text]}}, "required": ["a"]},
}
actions = [{"name": name, "description": X, "inputSchema": schemas[name]} for name in schemas]
opened = {"title": X, "status": X, "url": "http://127.0.0.1:1/" + X}
exec(BOARD)
CANVAS = {"id": X, "displayName": X, "description": X, "actions": actions}
async def serve(method, params):
    print(X, file=sys.stderr, flush=True)
    return opened if method == "canvas.open" else {X: X, "__proto__": {"a": X}}
async def main():
    peer, session = await join((CANVAS,))
    await peer.wait_closed()
exec(RUN)
"""


async def test_what_a_hostile_extension_says_is_only_show_panel(
    browser: Browser, tmp_path: Path
) -> None:
    source = f"import sys\nsys.path.append({str(ROOT)!r})\n{HOSTILE}"
    async with served(tmp_path, source) as (_, url), show_panel(browser, url) as page:
        actions = page.locator("details.action")
        await expect(actions).to_have_count(6)
        for number in range(6):
            action = actions.nth(number)
            await action.locator("summary").click()
            await action.get_by_role("button", name="Invoke").click()
            await expect(action.locator(".outcome")).not_to_be_empty()
        assert await page.locator("input, select, textarea").count() < 1000
        await page.locator("#show-log").click()
        await expect(page.locator(".log-line.stderr").first).to_contain_text("<img")
        assert await page.evaluate("window.taken") is None
        assert await page.locator("img").count() == 0


async def test_a_flood_of_output_leaves_the_page_usable(browser: Browser, tmp_path: Path) -> None:
    async with served(tmp_path) as (bench, url), show_panel(browser, url) as page:
        for number in range(20_000):
            bench.add_log("stderr", "info", f"line {number}")
        await page.locator("#show-log").click()
        lines = page.locator(".log-line")
        await expect(lines.last).to_contain_text("line 19999")
        await expect(lines).to_have_count(2000)
        await expect(page.locator("#log-count")).to_have_text("2000")
