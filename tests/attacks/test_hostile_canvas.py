"""What a canvas can read of the development host that shows it in a frame: nothing.

The worst case throughout: the canvas knows the panel's whole address, with its token.
"""

from pathlib import Path
from typing import Final

import httpx
import pytest
from playwright.async_api import Browser

from canvas_provider.types import JSONObject, JSONValue
from tests.attacks.test_hostile_page import Stranger
from tests.support.panel import serve_memory, show_panel
from tests.support.script import serve as serve_script

pytestmark = pytest.mark.browser

SECRET: Final = "s3cret-of-the-host"
"""In the description of a canvas: the panel's document, its snapshot and its traffic have it."""

BOARD: JSONObject = {"id": "board", "displayName": "Board", "description": SECRET}

READS: Final = {
    # First: later it has the addresses that the test gives it.
    "what was loaded": "JSON.stringify(performance.getEntries())",
    "the document": "parent.document.body.innerText",
    "the document on top": "top.document.body.innerText",
    "the address": "parent.location.href",
    "the address on top": "top.location.href",
    "the referrer": "document.referrer",
    "the opener": "String(opener)",
    "the frame element": "String(frameElement) + frameElement.ownerDocument.body.innerText",
    "its storage": "JSON.stringify(parent.localStorage) + JSON.stringify(parent.sessionStorage)",
    "cookies": "document.cookie",
    "origins above": "[...location.ancestorOrigins].join()",
    "its names": "parent.name + Object.keys(parent)",
    "a window of its name": "open('', '_top').document.body.innerText",
    "fetch": "fetch(panel).then((answer) => answer.text())",
    "fetch of the state": "fetch(panel + 'state/one').then((answer) => answer.text())",
    "fetch of a message": "fetch(panel + 'traffic/1').then((answer) => answer.text())",
    "fetch without CORS": """fetch(panel + 'traffic/1', { mode: "no-cors" })
        .then((answer) => answer.text())""",
    "a command": """fetch(panel + "close", { method: "POST", mode: "no-cors",
        body: '{"instanceId": "one"}' }).then((answer) => answer.text())""",
    "the event stream": """new Promise((resolve) => {
        const source = new EventSource(panel + "events");
        source.addEventListener("snapshot", (event) => resolve(event.data));
        source.onerror = () => { source.close(); resolve("refused"); }; })""",
    "its modules": "import(panel + 'model.js').then(({ model }) => JSON.stringify(model))",
    "a frame": """new Promise((resolve, reject) => { const frame = document.createElement("iframe");
        frame.onload = () => { try { resolve(frame.contentWindow.document.body.innerText); }
          catch (error) { reject(error); } };
        frame.src = panel; document.body.append(frame); })""",
    "messages": """new Promise((resolve) => { const heard = [];
        onmessage = ({ data }) => heard.push(JSON.stringify(data));
        for (const say of [{ canvasProvider: "hello" }, { canvasProvider: "snapshot" }, null])
          parent.postMessage(say, "*");
        const channel = new MessageChannel();
        parent.postMessage({ canvasProvider: "hello" }, "*", [channel.port2]);
        channel.port1.onmessage = ({ data }) => heard.push(JSON.stringify(data));
        const look = () => heard.length ? resolve(heard.join()) : requestAnimationFrame(look);
        look(); })""",
}
"""Ways in which a page in a frame reads from what shows it."""

LEAVES: Final = {
    "by its address": "top.location = away",
    "by replacing": "top.location.replace(away)",
    "by the parent": "parent.location.href = away",
    "by a window": "open(away, '_top')",
    "by a window of the parent": "open(away, '_parent')",
    "by a link": """Object.assign(document.createElement("a"), { href: away, target: "_top" })
        .click()""",
}
"""Ways in which a page in a frame leads away what shows it."""


async def test_a_canvas_reads_nothing_of_the_host_and_leads_it_nowhere(
    browser: Browser, tmp_path: Path
) -> None:
    stranger = Stranger()
    async with serve_script(stranger) as canvas:

        async def serve(method: str, params: JSONObject) -> JSONValue:
            return {"url": f"{canvas.base}/", "title": "Board"}

        async with serve_memory(tmp_path, {"canvases": [BOARD]}, serve) as panel:
            await panel.bench.runtime.open("board", "one")
            async with show_panel(browser, panel.url, name="demo") as page:
                await page.locator("iframe").wait_for()
                token = httpx.URL(panel.url).path.strip("/")
                frame = page.frames[1]
                await frame.wait_for_url(f"{canvas.base}/")
                # What is to be found is there.
                assert SECRET in await page.locator("body").inner_text()
                for way, how in READS.items():
                    script = f"async (panel) => {{ try {{ return String(await ({how})); }}"
                    script += " catch (error) { return error.name; } }"
                    got = await frame.evaluate(script, panel.url)
                    assert SECRET not in got, way
                    assert token not in got, way
                for way, how in LEAVES.items():
                    script = f"(away) => {{ try {{ {how}; }} catch {{}} }}"
                    await frame.evaluate(script, f"{canvas.base}/away")
                    # An answer from the panel's page itself, after whatever has begun.
                    await page.evaluate("() => new Promise(requestAnimationFrame)")
                    assert page.url == panel.url, way
                # No command of the canvas's came through.
                assert "one" in panel.bench.journal.instances
    assert token not in "".join(stranger.requests)
    assert not any(request.startswith("/away") for request in stranger.requests)
