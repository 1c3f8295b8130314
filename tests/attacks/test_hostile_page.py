"""What a stranger's page in the same browser can do to an open canvas: nothing.

The worst case throughout: the stranger knows the port and the secret path. (It does not, and a
guess is one in 2**256; but a guard that stands behind a secret only is never seen to work.)
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.async_api import Page
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvas_provider import Canvas, CanvasContext, create_canvas
from canvas_provider.serving.responses import send_response
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.web.service import serve_instance
from tests.support.browser import Visit
from tests.support.instances import open_instance
from tests.support.script import HTML, serve

pytestmark = pytest.mark.browser

SECRET: Final = "s3cret-of-the-board"


class Victim:
    """A canvas on the air, seen from its socket."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str, int]] = []
        """Method, path without the secret, and status of each request."""
        self._news = asyncio.Event()

    def watch(self, app: ASGIApp) -> ASGIApp:
        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    path = scope["path"].rpartition("/")[2]
                    self.answers.append((scope["method"], path, message["status"]))
                    self._news.set()
                await send(message)

            await app(scope, receive, noted)

        return watched

    async def asked(self) -> list[tuple[str, str, int]]:
        """Wait until there is an answer."""
        async with asyncio.timeout(5):
            while not self.answers:
                self._news.clear()
                await self._news.wait()
        return self.answers


class Stranger:
    """A site of somebody else's. It remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests.append(f"{scope['path']} {scope['query_string']!r} {scope['headers']}")
        await send_response(send, 200, b"<!doctype html><title>Stranger</title><body>", HTML)


@pytest.fixture
def canvas(tmp_path: Path) -> Canvas:
    (tmp_path / "index.html").write_text("<!doctype html><title>Board</title><p>Board")
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        page=tmp_path,
        state=make_state,
    )

    @canvas.action
    async def wipe(state: dict[str, Any], why: str = "") -> str:
        """Take everything away."""
        state.clear()
        return SECRET

    @canvas.route("/upload", methods=["POST"], content_types=["*/*"])
    async def upload(request: Request, ctx: CanvasContext) -> Response:
        async with ctx.state.change() as draft:
            draft.clear()
        return PlainTextResponse(SECRET)

    return canvas


def make_state(context: object) -> dict[str, Any]:
    return {"secret": SECRET}


@asynccontextmanager
async def besieged(
    canvas: Canvas, port: int = 0
) -> AsyncIterator[tuple[Victim, str, Callable[[], int]]]:
    """A victim, its address, and what tells its revision."""
    servers = LoopbackServers()
    victim = Victim()

    class Watching:
        async def serve(self, app: ASGIApp) -> Any:
            return await servers.serve(victim.watch(app), port=port)

    async with open_instance(canvas) as instance:
        served = await serve_instance(instance, Watching())
        assert instance.state is not None
        state = instance.state
        try:
            yield victim, served.url, lambda: state.revision
        finally:
            await served.aclose()
            await servers.aclose()


ORIGINS: Final = ["127.0.0.1", "localhost", "evil.test"]
"""Names that a stranger's page has: another port of the same host, and another host."""

HELPERS: Final = """
const framed = (html, sandbox) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  if (sandbox !== undefined) frame.sandbox = sandbox;
  frame.srcdoc = html;
  frame.onload = () => resolve(frame);
  document.body.append(frame);
});
const sent = (enctype, name, value, path = "actions/wipe") => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.name = "sink";
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: url + path, target: "sink", enctype });
  const input = document.createElement("input");
  Object.assign(input, { name, value });
  form.append(input);
  document.body.append(form);
  frame.onload = resolve;
  form.submit();
});
const loads = (tag, attributes) => new Promise((resolve) => {
  const element = document.createElement(tag);
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("refused");
  Object.assign(element, attributes);
  document.body.append(element);
});
const post = (options) => fetch(`${url}actions/wipe`, { method: "POST", body: "{}", ...options })
  .then((answer) => answer.text(), String);
const get = (path, options) => fetch(`${url}${path}`, options)
  .then((answer) => answer.text(), String);
"""

WRITES: Final = {
    "a form": "sent('application/x-www-form-urlencoded', '{}', '')",
    "a form with files": "sent('multipart/form-data', 'why', 'x')",
    "a form that is JSON": """sent('text/plain', '{"why": "', '"}')""",
    "a form to a route that takes forms": "sent('multipart/form-data', 'why', 'x', 'upload')",
    "fetch of a route that takes anything": """fetch(`${url}upload`, { method: "POST",
        mode: "no-cors", body: "x" })""",
    "a frame of no origin, to such a route": """framed(`<form method="POST" action="${url}upload">
        </form><script>document.forms[0].submit()<${"/"}script>`, "allow-scripts allow-forms")""",
    "fetch without CORS": "post({ mode: 'no-cors' })",
    "fetch without CORS, as a form": """post({ mode: "no-cors",
        headers: { "Content-Type": "application/x-www-form-urlencoded" } })""",
    "fetch without CORS, of no type": "post({ mode: 'no-cors', body: new Blob(['{}']) })",
    "fetch of JSON": "post({ headers: { 'Content-Type': 'application/json' } })",
    "fetch with credentials": """post({ credentials: "include",
        headers: { "Content-Type": "application/json" } })""",
    "fetch that outlives the page": "post({ keepalive: true, mode: 'no-cors' })",
    "a beacon": "navigator.sendBeacon(`${url}actions/wipe`, '{}')",
    "a beacon of JSON": """navigator.sendBeacon(`${url}actions/wipe`,
        new Blob(["{}"], { type: "application/json" }))""",
    "a PUT": "post({ method: 'PUT' })",
    "an override": """post({ mode: "no-cors", headers: { Accept: "application/json" } })""",
    "an image": "loads('img', { src: `${url}actions/wipe` })",
    "a script": "loads('script', { src: `${url}actions/wipe` })",
    "a frame": "loads('iframe', { src: `${url}actions/wipe` })",
    "a frame of no origin": """framed(`<script>fetch("${url}actions/wipe", { method: "POST",
        mode: "no-cors", body: "{}" })<${"/"}script>`, "allow-scripts")""",
    "a worker": """new Promise((resolve) => {
        const code = `fetch("${url}actions/wipe", { method: "POST", mode: "no-cors", body: "{}" })
          .then(() => postMessage(1), () => postMessage(2))`;
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = resolve; })""",
}
"""Ways in which a page sends something to another origin."""

READS: Final = {
    "fetch": "get('state')",
    "fetch without CORS": "get('state', { mode: 'no-cors' })",
    "fetch of the same origin only": "get('state', { mode: 'same-origin' })",
    "XMLHttpRequest": """new Promise((resolve) => { const request = new XMLHttpRequest();
        request.onloadend = () => resolve(request.responseText);
        request.open("GET", `${url}state`); request.send(); })""",
    "an event stream": """new Promise((resolve) => { const source = new EventSource(`${url}events`);
        source.onmessage = source.onopen = () => resolve("heard");
        source.addEventListener("snapshot", (event) => resolve(event.data));
        source.onerror = () => { source.close(); resolve("refused"); }; })""",
    "a web socket": """new Promise((resolve) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}events`);
        socket.onopen = () => resolve("open"); socket.onerror = () => resolve("refused"); })""",
    "an image": "loads('img', { src: `${url}state` })",
    "a script": "loads('script', { src: `${url}state` })",
    "a style": "loads('link', { rel: 'stylesheet', href: `${url}state` })",
    "a frame": """(async () => { const frame = document.createElement("iframe");
        frame.src = `${url}state`;
        const loaded = new Promise((resolve) => { frame.onload = resolve; });
        document.body.append(frame); await loaded;
        try { return frame.contentWindow.document.body.innerText; }
        catch (error) { return String(error); } })()""",
    "a window": """(async () => { const other = open(`${url}state`);
        await get("canvas.js");
        try { return other.document.body.innerText; }
        catch (error) { return String(error); } finally { other.close(); } })()""",
    "the page's own half": """(async () => {
        const { connect } = await import(`${url}canvas.js`);
        const canvas = connect({ banner: false });
        const answer = await canvas.actions.wipe().catch(String);
        await get("state");
        return JSON.stringify([answer, canvas.state ?? null]); })()""",
}
"""Ways in which a page reads from another origin."""

NEVER_SENT: Final = {"fetch of the same origin only"}
"""The browser refuses it before it asks."""


async def attack(page: Page, url: str, how: str) -> str:
    script = f"async (url) => {{ {HELPERS} return String(await ({how})); }}"
    answer: str = await page.evaluate(script, url)
    return answer


@pytest.mark.parametrize("name", ORIGINS)
async def test_no_page_of_another_origin_can_write(canvas: Canvas, visit: Visit, name: str) -> None:
    visit.expected.append(".")  # the browser complains to the stranger's console
    async with serve(Stranger()) as stranger:
        page = await visit(stranger.base.replace("127.0.0.1", name))
        for way, how in WRITES.items():
            async with besieged(canvas) as (victim, url, revision):
                assert SECRET not in await attack(page, url, how), way
                answers = await victim.asked()
                assert all(status >= 400 for _, _, status in answers), (way, answers)
                assert revision() == 0, way
                await page.reload()


@pytest.mark.parametrize("name", ORIGINS)
async def test_no_page_of_another_origin_can_read(canvas: Canvas, visit: Visit, name: str) -> None:
    visit.expected.append(".")
    async with serve(Stranger()) as stranger:
        page = await visit(stranger.base.replace("127.0.0.1", name))
        for way, how in READS.items():
            async with besieged(canvas) as (victim, url, revision):
                assert SECRET not in await attack(page, url, how), way
                assert revision() == 0, way
                assert way in NEVER_SENT or await victim.asked(), way
                await page.reload()


async def test_a_name_that_was_rebound_gets_no_answer(canvas: Canvas, visit: Visit) -> None:
    """The page is of the same origin as the canvas: the stranger's name, and the same port."""
    visit.expected.append(".")
    async with serve(Stranger()) as stranger:
        port = httpx.URL(stranger.base).port
        assert port is not None
        page = await visit(f"http://evil.test:{port}/")
    async with besieged(canvas, port) as (victim, url, revision):
        rebound = url.replace("127.0.0.1", "evil.test")
        for how in (
            *(f"get('{path}')" for path in ("", "state", "events", "canvas.js")),
            "post({ headers: { 'Content-Type': 'application/json' } })",
        ):
            answer = await attack(page, rebound, how)
            assert "allowed_hosts" in answer, "the page can read what the guard has answered"
            assert SECRET not in answer
        assert {status for _, _, status in victim.answers} == {421}
        assert revision() == 0


LEAVING: Final = """<!doctype html><title>Board</title>
<a id="link" href="{stranger}link">Away</a>
<a id="tab" href="{stranger}tab" target="_blank">Away, in a tab of its own</a>
<img src="{stranger}image" alt="">
<script>
  fetch("{stranger}fetch", {{ mode: "no-cors", referrerPolicy: "no-referrer" }});
  fetch("{stranger}fetch-again", {{ mode: "no-cors" }});
</script>
"""


async def test_the_secret_does_not_leave_with_a_page_that_goes_elsewhere(
    tmp_path: Path, visit: Visit
) -> None:
    """Also not to an origin that its author has allowed."""
    stranger = Stranger()
    async with serve(stranger) as origin:
        (tmp_path / "index.html").write_text(LEAVING.format(stranger=f"{origin.base}/"))
        allowed = [origin.base.rstrip("/")]
        canvas = create_canvas(
            id="board",
            display_name="Board",
            description="A board.",
            page=tmp_path,
            state=dict,
            csp={"img-src": allowed, "connect-src": allowed},
        )
        async with besieged(canvas) as (_, url, _):
            secret = httpx.URL(url).path.strip("/")
            page = await visit(url)
            async with page.context.expect_page() as opened:
                await page.click("#tab")
            tab = await opened.value
            await tab.wait_for_load_state()
            assert await tab.evaluate("[document.referrer, String(opener)]") == ["", "null"]
            await page.click("#link")
            await page.wait_for_url(f"{origin.base}/link")
            assert await page.evaluate("document.referrer") == ""
        asked = {request.partition(" ")[0] for request in stranger.requests}
        assert asked >= {"/link", "/tab", "/image", "/fetch", "/fetch-again"}
        assert secret not in "".join(stranger.requests)
        assert "referer" not in "".join(stranger.requests)
