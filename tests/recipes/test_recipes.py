"""The recipes of docs/examples, as the agent and the page use them."""

import asyncio
import struct
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from canvas_provider import CanvasError, JSONFileStore
from canvas_provider.testing import Panel, open_canvas
from docs.examples.browser.extension import window
from docs.examples.crew.extension import crew
from docs.examples.deck.extension import cards
from docs.examples.diagram.extension import diagram
from docs.examples.orb.extension import orb
from docs.examples.picture.extension import SCALE, SIZE, picture, png
from docs.examples.site.extension import site
from tests.support.browser import ARGUMENTS
from tests.support.require import require_chromium


async def test_the_orb_takes_what_the_agent_answers() -> None:
    async with open_canvas(orb) as panel:
        await panel.person.ask()
        assert [line.text for line in panel.timeline] == []
        await panel.agent.set_color(color="#1A7F37", mood="calm")
        assert panel.state == {"color": "#1a7f37", "mood": "calm"}
        with pytest.raises(CanvasError, match="six digits"):
            await panel.agent.set_color(color="green")


async def test_a_deck_outlives_its_panel(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    async with open_canvas(cards, input={"deck": "French verbs"}, store=store) as panel:
        assert await panel.agent.add_card(front="être", back="to be") == 1
        await panel.person.mark(front="être", known=True)
        await panel.close()
    async with open_canvas(cards, input={"deck": "french  VERBS"}, store=store) as panel:
        assert await panel.agent.get_deck() == [{"front": "être", "back": "to be", "known": True}]
    async with open_canvas(cards, store=store) as panel:
        assert await panel.agent.get_deck() == []


async def test_notes_stay_with_the_nodes_that_stay() -> None:
    nodes = [{"id": "a", "label": "Plan"}, {"id": "b", "label": "Build", "needs": ["a"]}]
    async with open_canvas(diagram) as panel:
        await panel.agent.draw(nodes=nodes)
        await panel.person.write_note(node_id="a", text="too vague")
        await panel.person.write_note(node_id="b", text="later")
        await panel.person.discuss(node_id="a")
        await panel.agent.draw(nodes=nodes[:1])
        assert await panel.agent.get_notes() == {"a": "too vague"}
        with pytest.raises(CanvasError, match="needs \\['x'\\]"):
            await panel.agent.draw(nodes=[{"id": "a", "label": "Plan", "needs": ["x"]}])


async def test_a_picture_is_given_as_a_png() -> None:
    async with open_canvas(picture) as panel:
        await panel.person.paint(x=0, y=0, color="#ff0000")
        seen = await panel.agent.look()
        assert seen["textResultForLlm"] == "The picture, in 2 colours."
        [image] = seen["binaryResultsForLlm"]
        assert image["mimeType"] == "image/png"
        with pytest.raises(CanvasError, match="0 to 15"):
            await panel.agent.paint(x=16, y=0, color="#ff0000")


def test_the_png_holds_the_pixels() -> None:
    data = png(["#ff0000"] + ["#ffffff"] * (SIZE * SIZE - 1))
    assert struct.unpack(">II", data[16:24]) == (SIZE * SCALE, SIZE * SCALE)
    start = data.index(b"IDAT") + 4
    lines = zlib.decompressobj().decompress(data[start:])
    assert lines[:4] == b"\0\xff\x00\x00"
    assert lines[1 + 3 * SCALE : 4 + 3 * SCALE] == b"\xff\xff\xff"


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


async def test_a_page_of_the_site_is_a_file_shown_in_a_sandbox() -> None:
    async with open_canvas(site) as panel:
        path = await panel.agent.write_page(name="home", title="<Home>", body="<h1>Hi</h1>")
        await panel.person.set_status(name="home", status="review")
        text = read(path)
        assert "&lt;Home&gt;" in text
        shown = await panel.http.get("pages/home")
        assert shown.text == text
        assert shown.headers["Content-Security-Policy"].startswith("sandbox;")
        assert (await panel.http.get("pages/other")).status_code == 404
        with pytest.raises(CanvasError, match="letters, digits"):
            await panel.agent.write_page(name="../escape", title="", body="")
        await panel.agent.write_page(name="home", title="Home", body="<h1>Hi again</h1>")
        assert panel.state["pages"]["home"] == {"title": "Home", "status": "review"}


async def work(panel: Panel, worker: str) -> None:
    """One agent of a crew: it claims what is open, and tries again what was refused."""
    for task in await panel.agent.list_tasks():
        try:
            await panel.agent.claim(task_id=task["id"], worker=worker)
        except CanvasError as error:
            if error.code == "task_taken":
                continue
            await panel.agent.claim(task_id=task["id"], worker=worker)
        await panel.agent.finish(task_id=task["id"], worker=worker, result="done")


async def test_a_crew_copes_with_faults() -> None:
    async with open_canvas(crew) as panel:
        ids = await panel.agent.plan(texts=["one", "two", "three"])
        await panel.person.set_fault(action="claim", fault="refuse")
        await work(panel, "Ada")
        assert [task["status"] for task in panel.state["tasks"]] == ["done"] * 3
        with pytest.raises(CanvasError, match="task-1 is done"):
            await panel.agent.claim(task_id=ids[0], worker="Bob")

        await panel.person.set_fault(action="plan", fault="crash")
        with pytest.raises(CanvasError) as caught:
            await panel.agent.plan(texts=["four"])
        assert caught.value.code == "canvas_handler_error"
        assert len(panel.state["tasks"]) == 3

        await panel.agent.plan(texts=["four"])
        await panel.agent.undo()
        assert len(panel.state["tasks"]) == 3


async def test_an_action_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = crew.plans["plan"]
    assert plan is not None
    monkeypatch.setattr(plan, "timeout", 0.05)
    async with open_canvas(crew) as panel:
        await panel.person.set_fault(action="plan", fault="hang")
        with pytest.raises(CanvasError, match="took longer"):
            await panel.agent.plan(texts=["one"])
        assert panel.state["tasks"] == []


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<title>Shop</title><button id=next onclick=\"document.title='Cart'\">Next</button>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def shop() -> Any:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.mark.browser
async def test_a_browser_of_ones_own_is_driven_and_ended(
    shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PROGRAM", require_chromium())
    monkeypatch.setenv("BROWSER_OPTIONS", " ".join(("--headless", *ARGUMENTS)))
    started: list[asyncio.subprocess.Process] = []

    async def start(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await create(*args, **options))
        return started[-1]

    create = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    async with open_canvas(window) as panel:
        seen = await panel.agent.go(url=shop)
        assert seen["textResultForLlm"] == f"Shop\n{shop}"
        shown = await panel.http.get("picture")
        assert shown.content.startswith(b"\x89PNG")
        seen = await panel.agent.click(selector="#next")
        assert seen["textResultForLlm"].startswith("Cart\n")
        with pytest.raises(CanvasError, match="Nothing on the page"):
            await panel.agent.click(selector="#nowhere")
        with pytest.raises(CanvasError, match="whole address"):
            await panel.agent.go(url="file:///etc/passwd")
        await panel.close()
    [process] = started
    assert process.returncode is not None
