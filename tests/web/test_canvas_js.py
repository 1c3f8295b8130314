"""`canvas.js` in a real browser: against real instances, and against streams that misbehave."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Page, expect
from starlette.types import Receive, Scope, Send

from canvas_provider import Canvas, CanvasContext, CanvasError, create_canvas
from canvas_provider.serving.responses import send_json, send_response
from canvas_provider.serving.sse import encode_event
from canvas_provider.serving.streams import EventStream
from canvas_provider.state.patch import diff
from canvas_provider.types import JSONValue
from canvas_provider.web.assets import read_asset
from tests.support.browser import Visit
from tests.support.instances import open_served
from tests.support.script import HTML, Script, changes_of, frame, run_clock_until, serve

pytestmark = pytest.mark.browser

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

ONE_FILE = f"""<!doctype html>
<title>One file</title>
<img id="pixel" src="{PIXEL}" alt="">
<p id="count">-</p>
<button id="add" onclick="window.add(1)">Add</button>
<script type="module">
  import {{ connect }} from "./canvas.js";
  const canvas = connect();
  window.changes = [];
  canvas.subscribe((state, change) => {{
    window.changes.push(change);
    document.getElementById("count").textContent = state.count;
  }});
  canvas.onStatus((status) => document.body.dataset.status = status);
  canvas.on("note", (data) => document.body.dataset.note = data.text);
  window.add = (by) => canvas.actions.add({{ by }});
  window.canvas = canvas;
</script>
"""


def make_counter(page: Path) -> Canvas:
    counter = create_canvas(
        id="counter", display_name="Counter", description="Counts.", page=page, state=initial
    )

    @counter.action
    async def add(state: dict[str, Any], by: int = 1) -> int:
        """Add to the counter."""
        state["count"] += by
        count: int = state["count"]
        return count

    @counter.action
    async def refuse(reason: str) -> None:
        """Refuse."""
        raise CanvasError("refused", reason)

    @counter.action
    async def note(ctx: CanvasContext, text: str) -> None:
        """Tell the pages."""
        ctx.emit("note", {"text": text})

    return counter


def initial(ctx: CanvasContext) -> dict[str, Any]:
    return {"count": 0}


@pytest.fixture
def counter(tmp_path: Path) -> Canvas:
    page = tmp_path / "page.html"
    page.write_text(ONE_FILE)
    return make_counter(page)


def frame_of(url: str, sandbox: str | None = None) -> Callable[..., Any]:
    """A host's page at another origin, with the canvas in a frame."""
    attribute = "" if sandbox is None else f'sandbox="{sandbox}"'

    async def host(scope: Scope, receive: Receive, send: Send) -> None:
        body = f'<!doctype html><iframe {attribute} src="{url}"></iframe>'.encode()
        await send_response(send, 200, body, HTML)

    return host


async def until(page: Page, condition: Callable[[], bool]) -> None:
    """Let the browser and our loop run until something of ours is so."""
    async with asyncio.timeout(5):
        while not condition():
            await page.evaluate("0")


def banner(page: Page) -> Any:
    return page.locator("[data-canvas-banner]")


# --- With a real instance


async def test_a_one_file_page_works_inside_a_frame_of_another_origin(
    counter: Canvas, visit: Visit
) -> None:
    """Inline module, inline onclick, data: image; the frame's navigation is cross-site."""
    async with open_served(counter) as (served, instance), serve(frame_of(served.url)) as host:
        page = await visit(host.base)
        frame = page.frame_locator("iframe")
        await expect(frame.locator("#count")).to_have_text("0")
        await frame.locator("#add").click()
        await expect(frame.locator("#count")).to_have_text("1")
        assert instance.state is not None
        assert instance.state.document == {"count": 1}
        width = await frame.locator("#pixel").evaluate("image => image.naturalWidth")
        assert width == 1


async def test_changes_say_what_changed_who_did_it_and_how(counter: Canvas, visit: Visit) -> None:
    async with open_served(counter) as (served, instance):
        page = await visit(served.url)
        await changes_of(page, 1)
        await page.evaluate("window.before = canvas.state")
        await instance.invoke("add", {"by": 2}, author="agent")
        await changes_of(page, 2)
        await page.evaluate("add(3)")
        assert instance.state is not None
        await instance.state.undo(author="agent")
        made = [revision.time for revision in instance.state.history()]
        snapshot, *patches = await changes_of(page, 4)
        assert snapshot == {"kind": "snapshot", "revision": 0, "paths": [""]} | dict.fromkeys(
            ("author", "action", "time", "reverts")
        )
        told = [patch.pop("time").timestamp() for patch in patches]
        assert told == pytest.approx(made, abs=0.001)
        patch = {"kind": "patch", "paths": ["/count"], "action": "add", "reverts": None}
        assert patches == [
            patch | {"revision": 1, "author": "agent"},
            patch | {"revision": 2, "author": "person"},
            patch | {"revision": 3, "author": "agent", "action": None, "reverts": 2},
        ]
        assert await page.evaluate("[canvas.state, canvas.revision]") == [{"count": 2}, 3]
        assert await page.evaluate("before === canvas.state"), "patched in place"


async def test_an_action_answers_with_its_result(counter: Canvas, visit: Visit) -> None:
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        assert await page.evaluate("canvas.actions.add({ by: 2 })") == 2
        assert await page.evaluate("canvas.actions.add()") == 3
        assert await page.evaluate("canvas.call('add', null)") == 4
        await page.evaluate("document.getElementById('add').onclick = canvas.actions.add; 0")
        await page.click("#add")
        await expect(page.locator("#count")).to_have_text("5")


async def catch(page: Page, call: str) -> Any:
    """What a call rejects with."""
    script = f"""async () => {{
      try {{ return ["answered", await ({call})]; }}
      catch (error) {{
        return [error instanceof Error, error.name, error.code, error.status, error.message];
      }}
    }}"""
    return await page.evaluate(script)


async def test_an_action_that_fails_rejects_with_its_code(counter: Canvas, visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        refused = await catch(page, "canvas.actions.refuse({ reason: 'Not today.' })")
        assert refused == [True, "CanvasError", "refused", 409, "Not today."]
        wrong = await catch(page, "canvas.actions.add({ by: 'x' })")
        assert wrong[2:4] == ["invalid_input", 400]
        assert "by" in wrong[4]
        assert (await catch(page, "canvas.actions.nothing()"))[2:4] == ["unknown_action", 404]
        assert (await catch(page, "canvas.call('a/../b')"))[2:4] == ["unknown_action", 404]


async def test_an_action_can_ask_for_the_state_it_was_made_for(
    counter: Canvas, visit: Visit
) -> None:
    visit.expected += ["Failed to load resource"]
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        assert await page.evaluate("canvas.actions.add({}, { ifMatch: 0 })") == 1
        stale = await catch(page, "canvas.actions.add({}, { ifMatch: 0 })")
        assert stale[2:4] == ["revision_conflict", 412]
        retried = """async () => {
          try { return await canvas.actions.add({}, { ifMatch: 0 }); }
          catch ({ revision }) {
            return [revision, await canvas.actions.add({}, { ifMatch: revision })];
          }
        }"""
        assert await page.evaluate(retried) == [1, 2], "the error says what to try it with"
        assert await page.evaluate("canvas.actions.add({}, { ifMatch: 2 })") == 3


async def test_an_option_that_there_is_not_is_told(counter: Canvas, visit: Visit) -> None:
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        for call in ("actions.add({}, { ifmatch: 0 })", "call('add', {}, { revision: 0 })"):
            refused = await catch(page, f"canvas.{call}")
            assert refused[1] == "TypeError"
            assert "ifMatch" in refused[4]
        connecting = "import('./canvas.js').then(({ connect }) => connect({ baner: false }))"
        assert "banner and progress" in (await catch(page, connecting))[4]
        both = "Promise.all([{ by: 1 }, { by: 2 }].map(canvas.actions.add))"
        assert await page.evaluate(both) == [1, 3], "an index is no option"


async def test_an_action_without_an_answer_is_unreachable(visit: Visit) -> None:
    script = Script()
    async with serve(script) as origin:
        page = await visit(origin.base)
        answer = await catch(page, "canvas.actions.add()")
        assert answer[:4] == [True, "CanvasError", "unreachable", 200]


async def test_an_input_that_is_no_json_is_refused_here(counter: Canvas, visit: Visit) -> None:
    """And not called a missing answer."""
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        cycle = "(() => { const a = {}; return (a.a = a); })()"
        for call in ("actions.add(1n)", f"actions.add({cycle})", "call('\\ud800')"):
            answer = await catch(page, f"canvas.{call}")
            assert answer[:3] == [True, "CanvasError", "invalid_input"]


async def test_the_actions_are_no_promise(counter: Canvas, visit: Visit) -> None:
    """Else `await canvas.actions` would call an action named `then`."""
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        assert await page.evaluate("(async () => await canvas.actions === canvas.actions)()")


async def test_what_a_handler_emits_reaches_the_page(counter: Canvas, visit: Visit) -> None:
    async with open_served(counter) as (served, instance):
        page = await visit(served.url)
        await changes_of(page, 1)
        await instance.invoke("note", {"text": "hello"}, author="agent")
        await expect(page.locator("body")).to_have_attribute("data-note", "hello")
        await page.evaluate(
            """window.notes = [];
            window.stop = canvas.on("later", (data) => notes.push(data));
            canvas.on("later", (data) => notes.push([data])); 0"""
        )
        instance.emit("later", 1)
        await page.wait_for_function("() => notes.length === 2")
        await page.evaluate("stop()")
        instance.emit("later", 2)
        await page.wait_for_function("() => notes.length === 3")
        assert await page.evaluate("notes") == [1, [1], [2]]


async def test_events_of_the_connection_itself_are_not_offered(visit: Visit) -> None:
    async with serve(Script()) as origin:
        page = await visit(origin.base)
        for name in (
            "snapshot",
            "patch",
            "store",
            "presence",
            "progress",
            "closed",
            "open",
            "error",
        ):
            answer = await catch(page, f"canvas.on('{name}', () => {{}})")
            assert "subscribe, onStatus, onPresence or onProgress" in answer[4]


async def test_a_page_of_a_closed_canvas_says_so_and_asks_no_more(
    counter: Canvas, visit: Visit
) -> None:
    async with open_served(counter) as (served, _):
        page = await visit(served.url, clock=True)
        await expect(page.locator("body")).to_have_attribute("data-status", "live")
        await expect(banner(page)).to_have_count(0)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        await served.aclose("closed")
        await expect(page.locator("body")).to_have_attribute("data-status", "closed")
        await expect(banner(page)).to_have_text("This canvas was closed.")
        await page.clock.run_for(60_000)
        assert requests == []


async def test_a_page_resumes_where_it_was_when_the_line_comes_back(
    counter: Canvas, visit: Visit
) -> None:
    async with open_served(counter) as (served, instance):
        page = await visit(served.url)
        await changes_of(page, 1)
        for connection in tuple(served._origin._state.connections):  # type: ignore[attr-defined]
            connection.transport.abort()
        await expect(page.locator("body")).to_have_attribute("data-status", "reconnecting")
        await instance.invoke("add", {"by": 2}, author="agent")
        await expect(page.locator("body")).to_have_attribute("data-status", "live")
        assert [change["kind"] for change in await changes_of(page, 2)] == ["snapshot", "patch"]
        await expect(banner(page)).to_have_count(0)


async def test_when_an_action_has_answered_its_page_shows_what_it_did(
    counter: Canvas, visit: Visit
) -> None:
    async with open_served(counter) as (served, _):
        page = await visit(served.url)
        await changes_of(page, 1)
        seen = """async () => {
          const seen = [];
          for (let i = 0; i < 50; i++) {
            const count = await canvas.actions.add();
            seen.push(canvas.state.count === count && changes.at(-1).revision === count);
          }
          return seen;
        }"""
        assert await page.evaluate(seen) == [True] * 50


# --- With a stream that says what we want


async def test_a_subscriber_that_comes_late_gets_the_state_at_once(visit: Visit) -> None:
    script = Script()
    script.opening = frame("snapshot", revision=7, state={"a": 1})
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        late = (
            "(() => { let got; canvas.subscribe((s, c) => got = [s, c.revision]); return got })()"
        )
        assert await page.evaluate(late) == [{"a": 1}, 7]


async def test_a_subscriber_that_throws_stops_nobody(visit: Visit) -> None:
    visit.expected += ["^error: broken listener"]
    script = Script()
    script.opening = frame("snapshot", revision=1, state=1)
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        await page.evaluate(
            """canvas.subscribe(() => { throw new Error("broken listener"); });
            canvas.subscribe((state) => window.last = state); 0"""
        )
        script.say("snapshot", revision=2, state=2)
        await page.wait_for_function("() => window.last === 2")
        assert sum("broken listener" in line for line in visit.console) == 2


async def test_unsubscribing_and_closing_end_the_calls(visit: Visit) -> None:
    script = Script()
    script.opening = frame("snapshot", revision=1, state=1)
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        await page.evaluate(
            "window.seen = []; window.stop = canvas.subscribe((s) => seen.push(s)); stop()"
        )
        script.say("snapshot", revision=2, state=2)
        await changes_of(page, 2)
        assert await page.evaluate("seen") == [1]
        await page.evaluate("canvas.close()")
        assert await page.evaluate("[canvas.status, statuses.at(-1)]") == ["closed", "closed"]
        await until(page, lambda: script.stream.pages == 0)
        await expect(banner(page)).to_have_count(0)


async def test_a_listener_may_end_the_calls_of_itself_and_of_others(visit: Visit) -> None:
    script = Script()
    script.opening = frame("snapshot", revision=1, state=1)
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        await page.evaluate(
            """() => {
              window.seen = [];
              let other = () => {};
              let itself = () => {};
              itself = canvas.subscribe(() => { seen.push("a"); itself(); other(); });
              other = canvas.subscribe(() => seen.push("b"));
              canvas.subscribe(() => seen.push("c"));
              seen.length = 0;
            }"""
        )
        script.say("snapshot", revision=2, state=2)
        script.say("snapshot", revision=3, state=3)
        await changes_of(page, 3)
        assert await page.evaluate("seen") == ["a", "c", "c"]


async def test_each_of_many_changes_at_once_is_told_in_its_turn(visit: Visit) -> None:
    """Each has an author and an action of its own, so none is merged with another."""
    script = Script()
    script.opening = frame("snapshot", revision=0, state={"n": 0})
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        for number in range(1, 101):
            ops: JSONValue = [{"op": "replace", "path": "/n", "value": number}]
            script.say("patch", revision=number, ops=ops, author="agent", action=f"a{number}")
        changes = await changes_of(page, 101)
        told = [(state["n"], change["action"]) for state, change in changes[1:]]
        assert told == [(number, f"a{number}") for number in range(1, 101)]


CALL = """() => {
  window.seen = null;
  canvas.actions.add().catch(({ code }) => code).then((outcome) => {
    seen = [outcome, canvas.state, changes.length];
  });
}"""


async def call_and_wait_for_its_answer(page: Page) -> None:
    async with page.expect_response("**/actions/add") as answer:
        await page.evaluate(CALL)
    await (await answer.value).finished()
    await page.evaluate("fetch('./state').then((response) => response.text())")


CONFLICT: Final[JSONValue] = {
    "error": {"code": "revision_conflict", "message": "Changed.", "revision": 3}
}


@pytest.mark.parametrize(
    ("status", "answer", "outcome"),
    [(200, {"result": "ok", "revision": 3}, "ok"), (412, CONFLICT, "revision_conflict")],
    ids=["done", "refused by a conflict"],
)
async def test_a_call_waits_until_the_stream_is_where_it_answered(
    status: int, answer: JSONValue, outcome: str, visit: Visit
) -> None:
    visit.expected += ["Failed to load resource"] * (status != 200)
    script = Script()
    script.opening = frame("snapshot", revision=1, state=1)
    script.status, script.answer = status, answer
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        await call_and_wait_for_its_answer(page)
        ops: JSONValue = [{"op": "replace", "path": "", "value": 2}]
        script.say("patch", revision=2, ops=ops, author="agent", action="other")
        await changes_of(page, 2)
        assert await page.evaluate("seen") is None
        ops = [{"op": "replace", "path": "", "value": 3}]
        script.say("patch", revision=3, ops=ops, author="person", action="add")
        await page.wait_for_function("() => seen !== null")
        assert await page.evaluate("seen") == [outcome, 3, 3]


@pytest.mark.parametrize("end", ["time", "reset", "loss"])
async def test_a_call_does_not_wait_for_what_does_not_come(end: str, visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.opening = frame("snapshot", revision=1, state=1)
    script.answer = {"result": "ok", "revision": 3}
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        await call_and_wait_for_its_answer(page)
        assert await page.evaluate("seen") is None
        match end:
            case "time":
                await page.clock.run_for(2000)
            case "reset":
                snapshot: JSONValue = {"revision": 0, "state": 0}
                text = encode_event("snapshot", json.dumps(snapshot), id="0-another")
                script.stream.publish(text)
            case "loss":
                script.streaming = False
                script.stream.close(b":\n\n")
        await page.wait_for_function("() => seen !== null")
        assert (await page.evaluate("seen"))[0] == "ok"


async def test_a_page_that_was_put_away_has_its_line_when_it_is_taken_out(visit: Visit) -> None:
    """The browser's back and forward: the page is kept as it was, its line is not."""
    script = Script()
    script.opening = frame("snapshot", revision=4, state="known")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        await until(page, lambda: script.stream.pages == 1)
        await page.evaluate(put_away := transition("pagehide"))
        await until(page, lambda: script.stream.pages == 0)
        await page.clock.run_for(60_000)
        assert script.asked == [""], "it rests"
        script.opening = frame("patch", revision=5, ops=[])
        await page.evaluate(transition("pageshow"))
        await page.wait_for_function("() => canvas.revision === 5")
        assert script.asked == ["", "after=4"]
        assert await page.evaluate("statuses") == ["connecting", "live", "reconnecting", "live"]

        await page.evaluate("canvas.close()")
        await page.evaluate(put_away)
        await page.evaluate(transition("pageshow"))
        await page.evaluate("fetch('./state').then((response) => response.text())")
        assert len(script.asked) == 2, "a page that has left stays away"


def transition(name: str) -> str:
    return f"void dispatchEvent(new PageTransitionEvent('{name}', {{ persisted: true }}))"


async def test_a_page_that_is_looked_at_again_does_not_wait_for_its_next_try(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.opening = frame("snapshot", revision=4, state="known")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)

        async def lose_the_line(condition: str) -> None:
            await page.evaluate("window.tries = 0")
            script.streaming = False
            script.stream.close(b":\n\n")
            await run_clock_until(page, condition)
            script.streaming = True
            script.stream = EventStream(opening=script._open, snapshot=lambda: b"")

        await page.evaluate(
            """() => {
              const Real = EventSource;
              globalThis.EventSource = class extends Real {
                constructor(url) { super(url); window.tries += 1; }
              };
            }"""
        )
        await lose_the_line("tries === 7")  # the next one is more than ten seconds away
        await page.evaluate("void dispatchEvent(new Event('online'))")
        await page.wait_for_function("() => canvas.status === 'live'")
        await lose_the_line("canvas.status === 'closed'")
        await page.evaluate("void document.dispatchEvent(new Event('visibilitychange'))")
        await page.wait_for_function("() => canvas.status === 'live'")
        await expect(banner(page)).to_have_count(0)


UNFIT: list[dict[str, JSONValue]] = [
    {"revision": 9, "ops": []},
    {"revision": 2, "previous": 0, "ops": []},
    {"revision": 2, "ops": [{"op": "remove", "path": "/nothing"}]},
    {"revision": 2, "ops": [{"op": "explode", "path": ""}]},
    {"revision": 2, "ops": [{"op": "test", "path": "/a", "value": 2}]},
]


async def test_a_patch_that_does_not_fit_makes_the_page_ask_for_all_of_it(visit: Visit) -> None:
    visit.expected += ["a patch did not fit"]
    script = Script()
    script.opening = frame("snapshot", revision=1, state={"a": 1})
    async with serve(script) as origin:
        page = await visit(origin.base)
        for number, unfit in enumerate(UNFIT, start=1):
            await changes_of(page, number)
            await until(page, lambda: script.stream.pages == 1)
            script.say("patch", author="agent", action=None, **unfit)
        assert [state for state, _ in await changes_of(page, 6)] == [{"a": 1}] * 6
        assert script.asked == [""] * 6


async def test_a_patch_over_several_revisions_is_taken_when_it_says_so(visit: Visit) -> None:
    script = Script()
    script.opening = frame("snapshot", revision=3, state={"a": 1})
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        ops: JSONValue = [{"op": "replace", "path": "/a", "value": 2}]
        script.say("patch", revision=7, previous=3, ops=ops, author="system", action=None)
        script.say("patch", revision=2, previous=7, ops=[], author="system", action=None)
        changes = await changes_of(page, 3)
        assert [(state, change["revision"]) for state, change in changes] == [
            ({"a": 1}, 3),
            ({"a": 2}, 7),
            ({"a": 2}, 2),
        ]


async def test_a_snapshot_of_a_lower_revision_is_taken(visit: Visit) -> None:
    """The store was reset."""
    script = Script()
    script.opening = frame("snapshot", revision=9, state="old")
    async with serve(script) as origin:
        page = await visit(origin.base)
        await changes_of(page, 1)
        script.say("snapshot", revision=0, state="new")
        await changes_of(page, 2)
        assert await page.evaluate("[canvas.state, canvas.revision]") == ["new", 0]


async def test_the_page_comes_back_with_the_version_that_it_saw(visit: Visit) -> None:
    """A number alone may be another document's: after a restart, or a reset of the store."""
    visit.expected += ["Failed to load resource"]
    script = Script()
    data = json.dumps({"revision": 4, "state": {"a": 1}})
    script.opening = encode_event("snapshot", data, id="4-old")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        await page.evaluate("canvas.call('x', null, { ifMatch: 3 }).catch(() => {})")
        patch = {"revision": 5, "ops": [], "author": "agent", "action": None, "time": 0}
        script.stream.publish(encode_event("patch", json.dumps(patch), id="5-new"))
        script.stream.publish(frame("note"))
        await changes_of(page, 2)
        await page.evaluate("canvas.call('x', null, { ifMatch: 5 }).catch(() => {})")
        assert script.tags == ['"3-old"', '"5-new"']
        script.stream.close(b": the line breaks\n\n")
        script.stream = EventStream(opening=script._open, snapshot=lambda: b"")
        await page.wait_for_function("() => canvas.status === 'reconnecting'")
        await run_clock_until(page, "canvas.status === 'live'")
        assert script.asked == ["", "after=5-new"]


async def test_a_line_that_is_gone_for_good_is_given_up(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.opening = frame("snapshot", revision=4, state="known")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        script.streaming = False
        script.stream.close(b": the line breaks without a word\n\n")
        await run_clock_until(page, "canvas.status === 'closed'")
        assert script.asked == [""] + ["after=4"] * 10
        assert await page.evaluate("statuses") == ["connecting", "live", "reconnecting", "closed"]
        await page.clock.run_for(600_000)
        assert len(script.asked) == 11, "and then it is quiet"

        await expect(banner(page)).to_contain_text("The connection to the extension was lost.")
        script.streaming = True
        script.stream = EventStream(opening=script._open, snapshot=lambda: b"")
        script.asked.clear()
        button = banner(page).get_by_role("button", name="Try again")
        await button.evaluate("(button) => { button.click(); button.click(); }")
        await page.wait_for_function("() => canvas.status === 'live'")
        await expect(banner(page)).to_have_count(0)
        script.say("patch", revision=5, ops=[{"op": "replace", "path": "", "value": "more"}])
        await page.wait_for_function("() => canvas.state === 'more'")
        assert script.asked == ["after=4"], "an impatient click opens no second stream"


async def test_after_a_shutdown_the_page_tries_for_a_short_while(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.opening = frame("snapshot", revision=4, state="known")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        script.streaming = False
        script.stream.close(frame("closed", reason="shutdown"))
        await run_clock_until(page, "canvas.status === 'closed'")
        assert script.asked == [""] + ["after=4"] * 5
        await expect(banner(page)).to_contain_text("connection to the extension was lost")


async def test_a_longer_interruption_is_told(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.opening = frame("snapshot", revision=4, state="known")
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        await changes_of(page, 1)
        script.streaming = False
        script.stream.close(b":\n\n")
        await page.wait_for_function("() => canvas.status === 'reconnecting'")
        await expect(banner(page)).to_have_count(0)
        await run_clock_until(page, "document.querySelector('[data-canvas-banner]') !== null")
        await expect(banner(page)).to_have_text("Reconnecting…")


async def test_a_page_can_do_without_the_banner(visit: Visit) -> None:
    script = Script()
    async with serve(script) as origin:
        page = await visit(origin.base)
        await page.wait_for_function("() => canvas.status === 'live'")
        await page.evaluate(
            "import('./canvas.js').then(({connect}) => { window.quiet = connect({banner: false}) })"
        )
        await page.wait_for_function("() => window.quiet?.status === 'live'")
        await page.evaluate("canvas.close()")
        script.stream.close(frame("closed", reason="closed"))
        await page.wait_for_function("() => quiet.status === 'closed'")
        await expect(banner(page)).to_have_count(0)


async def test_a_relayed_page_without_a_stream_shows_the_state_anyway(visit: Visit) -> None:
    visit.expected += ["Failed to load resource"]
    script = Script()
    script.streaming = False
    async with serve(script) as origin:
        page = await visit(origin.base, clock=True)
        assert (await changes_of(page, 1))[0][0] == {"from": "GET state"}
        await run_clock_until(page, "canvas.status === 'closed'")
        assert await page.evaluate("statuses") == ["connecting", "reconnecting", "closed"]
        await expect(banner(page)).to_contain_text("No live updates here: reload to see changes.")


async def test_a_page_without_event_sources_shows_the_state_once(visit: Visit) -> None:
    script = Script()
    async with serve(script) as origin:
        page = await visit(origin.base, script="delete globalThis.EventSource")
        assert (await changes_of(page, 1))[0][0] == {"from": "GET state"}
        await expect(banner(page)).to_have_text("No live updates here: reload to see changes.")
        assert script.asked == []


# --- What the browser forbids


@pytest.mark.parametrize("where", ["inline", "file"])
async def test_a_frame_sandboxed_without_allow_same_origin_is_told_what_is_missing(
    where: str, tmp_path: Path, visit: Visit
) -> None:
    visit.expected += ["sandboxed without allow-same-origin"]
    (tmp_path / "app.js").write_text('import { connect } from "./canvas.js"; connect();')
    inline = 'import { connect } from "./canvas.js"; connect();'
    script = f'type="module">{inline}' if where == "inline" else 'type="module" src="app.js">'
    (tmp_path / "index.html").write_text(f"<!doctype html><script {script}</script>")
    async with (
        open_served(make_counter(tmp_path)) as (served, _),
        serve(frame_of(served.url, sandbox="allow-scripts")) as host,
    ):
        page = await visit(host.base)
        told = page.frame_locator("iframe").locator("[data-canvas-banner]")
        await expect(told).to_contain_text("sandboxed without allow-same-origin")


async def test_what_was_blocked_is_reported_with_what_to_write_instead(
    tmp_path: Path, visit: Visit
) -> None:
    visit.expected += [
        "Content Security Policy",
        "canvas.js: the page's security policy",
        "blocked",
    ]
    page_file = tmp_path / "page.html"
    page_file.write_text(
        """<!doctype html>
        <img src="https://images.test/before.png" alt="">
        <div id="target"></div>
        <script type="module">
          import "./canvas.js";
          document.getElementById("target").innerHTML = "<b onclick='alert(1)'>x</b>";
          document.querySelector("b").click();
          const late = document.createElement("script");
          late.textContent = "window.injected = true";
          document.body.append(late);
          try { new Function("1"); } catch {}
          fetch("https://api.test/").catch(() => {});
          document.body.append(Object.assign(document.createElement("base"), { href: "/x/" }));
        </script>"""
    )
    async with open_served(make_counter(page_file)) as (served, _):
        page = await visit(served.url)

        def told(*parts: str) -> bool:
            ours = [line for line in visit.console if line.startswith("warning: canvas.js")]
            return any(all(part in line for part in parts) for line in ours)

        async with asyncio.timeout(5):
            while not (
                told("addEventListener")
                and told("script was added at run time")
                and told("eval and new Function")
                and told('csp={"img-src": ["https://…"]}', "https://images.test/before.png")
                and told('csp={"connect-src": ["https://…"]}', "https://api.test/")
                and told("<base>")
            ):
                await page.evaluate("0")
        assert not await page.evaluate("'injected' in window")


async def test_sources_an_author_adds_are_allowed(tmp_path: Path, visit: Visit) -> None:
    page_file = tmp_path / "page.html"

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"access-control-allow-origin", b"*")]
        await send_json(send, {"answer": 42}, headers=headers)

    async with serve(api) as other:
        page_file.write_text(
            f"""<!doctype html><script type="module">
            const response = await fetch("{other.base}/");
            window.answer = (await response.json()).answer;
            </script>"""
        )
        canvas = create_canvas(
            id="wide",
            display_name="Wide",
            description="Asks another server.",
            page=page_file,
            csp={"connect-src": other.base},
        )
        async with open_served(canvas) as (served, _):
            page = await visit(served.url)
            await page.wait_for_function("() => window.answer === 42")


def test_no_browser_storage_is_used() -> None:
    """It throws in some frames, and forgets in others."""
    text = read_asset("canvas.js").decode()
    for name in ("localStorage", "sessionStorage", "indexedDB", "document.cookie", "caches."):
        assert name not in text


# --- Patches


def random_value(rng: random.Random, depth: int) -> JSONValue:
    kind = rng.randrange(6 if depth else 4)
    if kind == 4:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(5))]
    if kind == 5:
        keys = ["a", "b", "c/d", "e~f", "", "__proto__", "0", "length", "é"]
        chosen = rng.sample(keys, rng.randrange(5))
        return {key: random_value(rng, depth - 1) for key in chosen}
    return rng.choice([None, True, False, 0, 1, -2.5, "", "text", "ü"])


async def test_patches_have_the_same_result_in_the_browser_as_here(visit: Visit) -> None:
    rng = random.Random(7)
    cases = []
    for _ in range(400):
        before = random_value(rng, 4)
        after = random_value(rng, 4) if rng.random() < 0.3 else mutate(rng, before)
        cases.append([before, diff(before, after), after])
    script = Script()
    async with serve(script) as origin:
        page = await visit(origin.base)
        results = await page.evaluate(
            """async (cases) => {
              const { applyPatch } = await import("./canvas.js");
              return JSON.parse(cases).map(
                ([before, ops]) => JSON.stringify(applyPatch(before, ops)[0]));
            }""",
            json.dumps(cases),
        )
    assert [json.loads(result) for result in results] == [after for _, _, after in cases]


def mutate(rng: random.Random, value: JSONValue) -> JSONValue:
    """Change a little of it, as an action would."""
    if isinstance(value, list) and value:
        items = list(value)
        match rng.randrange(4):
            case 0:
                items.insert(rng.randrange(len(items) + 1), random_value(rng, 1))
            case 1:
                items.pop(rng.randrange(len(items)))
            case 2:
                items.insert(rng.randrange(len(items)), items.pop(rng.randrange(len(items))))
            case _:
                index = rng.randrange(len(items))
                items[index] = mutate(rng, items[index])
        return items
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.3:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: mutate(rng, value[key])}
    return random_value(rng, 2)


OPERATIONS: list[tuple[JSONValue, list[dict[str, JSONValue]], JSONValue, list[str]]] = [
    ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}, ["/b"]),
    ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}, ["/a/-"]),
    ([1, 3], [{"op": "add", "path": "/1", "value": 2}], [1, 2, 3], ["/1"]),
    ({"a": 1}, [{"op": "replace", "path": "", "value": 5}], 5, [""]),
    ([1, 2], [{"op": "move", "from": "/1", "path": "/0"}], [2, 1], ["/1", "/0"]),
    ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": [1], "c": [1]}, ["/c"]),
    ({"a~/": 1}, [{"op": "remove", "path": "/a~0~1"}], {}, ["/a~0~1"]),
    ({"a": [1]}, [{"op": "test", "path": "/a", "value": [1]}], {"a": [1]}, []),
    (
        {},
        [{"op": "add", "path": "/__proto__", "value": {"x": 1}}],
        {"__proto__": {"x": 1}},
        ["/__proto__"],
    ),
]


async def test_each_operation_does_what_rfc_6902_says(visit: Visit) -> None:
    async with serve(Script()) as origin:
        page = await visit(origin.base)
        results = await page.evaluate(
            """async (cases) => {
              const { applyPatch } = await import("./canvas.js");
              return cases.map(([before, ops]) => {
                const [after, paths] = applyPatch(before, ops);
                return [JSON.stringify(after), paths, ({}).x ?? after.x ?? null];
              });
            }""",
            [[document, ops] for document, ops, _, _ in OPERATIONS],
        )
    for (_, ops, after, paths), (applied, changed, polluted) in zip(
        OPERATIONS, results, strict=True
    ):
        assert (json.loads(applied), changed, polluted) == (after, paths, None), ops


MISFITS: list[dict[str, JSONValue]] = [
    {"op": "remove", "path": "/x"},
    {"op": "replace", "path": "/x", "value": 1},
    {"op": "replace", "path": "/list/2", "value": 1},
    {"op": "add", "path": "/list/3", "value": 1},
    {"op": "add", "path": "/list/01", "value": 1},
    {"op": "add", "path": "/list/-1", "value": 1},
    {"op": "add", "path": "/list/1e0", "value": 1},
    {"op": "remove", "path": "/list/-"},
    {"op": "add", "path": "/text/0", "value": 1},
    {"op": "add", "path": "/x/y", "value": 1},
    {"op": "add", "path": "no-pointer", "value": 1},
    {"op": "copy", "from": "/x", "path": "/y"},
    {"op": "remove", "path": "/constructor"},
    {"op": "test", "path": "/list", "value": [1]},
    {"op": "unknown", "path": ""},
]


async def test_an_operation_that_does_not_fit_is_an_error(visit: Visit) -> None:
    async with serve(Script()) as origin:
        page = await visit(origin.base)
        taken = await page.evaluate(
            """async (operations) => {
              const { applyPatch } = await import("./canvas.js");
              return operations.filter((operation) => {
                try { applyPatch({ list: [1, 2], text: "t" }, [operation]); return true; }
                catch (error) { return !(error instanceof Error); }
              });
            }""",
            MISFITS,
        )
    assert taken == []
