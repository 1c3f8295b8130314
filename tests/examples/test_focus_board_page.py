"""The focus board's page in Chromium: what a person sees and does while an agent works on it."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from examples.focus_board.extension import diary
from tests.support.live import Live

pytestmark = pytest.mark.browser

Open = Callable[..., Awaitable[Page]]


def task(page: Page, title: str) -> Locator:
    return page.locator(".task").filter(has=page.get_by_role("button", name=title, exact=True))


def titles(page: Page, status: str) -> Locator:
    return page.locator(f'.task[data-status="{status}"] .task-title')


def focused(page: Page) -> Locator:
    return page.locator(".task.focused")


async def id_of(live: Live, title: str) -> str:
    board = await live.agent("get_board")
    return next(str(one["id"]) for one in board["tasks"] if one["title"] == title)


async def tasks_of(live: Live) -> list[tuple[str, str]]:
    board = await live.agent("get_board")
    return [(one["title"], one["status"]) for one in board["tasks"]]


async def choose(page: Page, title: str, item: str) -> None:
    await task(page, title).hover()
    await page.get_by_role("button", name=f"More for {title}").click()
    await page.get_by_role("menuitem", name=item, exact=True).click()


async def test_the_agents_work_shows_with_a_mark_and_in_the_feed(
    focus_day: Live, look: Open
) -> None:
    page = await look(focus_day)
    await focus_day.agent(
        "move_task", task_id=await id_of(focus_day, "Write the guide"), status="done"
    )
    await expect(titles(page, "done")).to_have_text(["Write the guide"])
    await expect(task(page, "Write the guide").locator(".mark")).to_have_text("Agent finished this")
    await expect(page.locator("#news")).to_have_text("Agent: Finished “Write the guide”")
    await expect(page.locator(".moment").first).to_contain_text("Agent Finished “Write the guide”")
    await expect(page.locator("#progress")).to_have_text("1 of 2 done")


async def test_what_a_person_does_gets_no_mark(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.get_by_role("textbox", name="New task").fill("By hand")
    await page.keyboard.press("Enter")
    await expect(titles(page, "todo")).to_have_text(["Write the guide", "Call Ben", "By hand"])
    await page.get_by_role("checkbox", name="Done: By hand").click()
    await expect(titles(page, "done")).to_have_text(["By hand"])
    await expect(page.locator(".moment").first).to_contain_text("You Finished “By hand”")
    await expect(page.locator(".mark")).to_have_count(0)
    assert ("By hand", "done") in await tasks_of(focus_day)


async def test_one_task_is_put_in_focus_and_finished(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await task(page, "Call Ben").hover()
    await page.get_by_role("button", name="Focus: Call Ben").click()
    await expect(focused(page)).to_contain_text("In focus")
    await expect(page.locator("body")).to_have_class("calm")
    await page.get_by_role("textbox", name="New note on Call Ben").fill("He is out")
    await page.keyboard.press("Enter")
    await expect(focused(page).locator(".note-text")).to_have_text(["He is out"])
    await focused(page).get_by_role("button", name="Done", exact=True).click()
    await expect(focused(page)).to_have_count(0)
    await expect(titles(page, "done")).to_have_text(["Call Ben"])
    await expect(page.locator("body")).not_to_have_class("calm")


async def test_a_note_in_hand_stays_when_the_agent_ends_the_focus(
    focus_day: Live, look: Open
) -> None:
    page = await look(focus_day)
    await focus_day.agent("focus_on", task_id=await id_of(focus_day, "Call Ben"))
    field = focused(page).locator("textarea")
    await field.fill("He is o")
    await field.evaluate("e => e.setSelectionRange(2, 4)")
    before = await task(page, "Call Ben").locator("textarea").evaluate(CARET)
    await focus_day.agent("end_focus")
    await expect(focused(page)).to_have_count(0)
    assert await task(page, "Call Ben").locator("textarea").evaluate(CARET) == before


async def test_the_board_works_by_keyboard_alone(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    press = page.keyboard.press

    def title(name: str) -> Locator:
        return page.get_by_role("button", name=name, exact=True)

    await press("n")
    await page.keyboard.type("Third")
    await press("Enter")
    await expect(titles(page, "todo")).to_have_count(3)
    while await page.evaluate("document.activeElement.className") != "task-title":
        await press("Tab")
    await expect(title("Write the guide")).to_be_focused()
    await press("ArrowDown")
    await expect(title("Call Ben")).to_be_focused()

    await press("Shift+ArrowUp")
    await expect(titles(page, "todo")).to_have_text(["Call Ben", "Write the guide", "Third"])
    await expect(title("Call Ben")).to_be_focused()
    await press("Shift+ArrowRight")
    await expect(titles(page, "doing")).to_have_text(["Call Ben"])
    await expect(title("Call Ben")).to_be_focused()

    await press("f")
    await expect(focused(page).locator(".task-title")).to_have_text("Call Ben")
    await press("Escape")
    await expect(focused(page)).to_have_count(0)
    await expect(title("Call Ben")).to_be_focused()
    await press("Enter")
    await expect(task(page, "Call Ben").locator(".details")).to_be_visible()

    await press("r")
    await page.keyboard.type("Write to Ben")
    await press("Enter")
    await expect(title("Write to Ben")).to_be_focused()
    await press("d")
    await expect(titles(page, "done")).to_have_text(["Write to Ben"])
    await expect(title("Write to Ben")).to_be_focused()

    await press("Delete")
    await page.get_by_role("button", name="Let go", exact=True).click()
    await expect(titles(page, "done")).to_have_count(0)
    await expect(title("Third")).to_be_focused()

    await press("b")
    await page.keyboard.type("On my mind")
    await press("Enter")
    await expect(page.locator(".thought-text")).to_have_text(["On my mind"])


async def test_the_menu_does_what_the_keys_do(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await choose(page, "Call Ben", "Move up")
    await expect(titles(page, "todo")).to_have_text(["Call Ben", "Write the guide"])
    await choose(page, "Call Ben", "Start")
    await expect(titles(page, "doing")).to_have_text(["Call Ben"])
    await choose(page, "Call Ben", "Back to to do")
    await expect(titles(page, "todo")).to_have_text(["Write the guide", "Call Ben"])
    await choose(page, "Call Ben", "Carry over")
    await expect(titles(page, "carried")).to_have_text(["Call Ben"])
    await task(page, "Call Ben").hover()
    await page.get_by_role("button", name="Bring back: Call Ben").click()
    await expect(titles(page, "todo")).to_have_text(["Write the guide", "Call Ben"])


async def test_the_day_is_ended_without_shame(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.get_by_role("button", name="Carry over").click()
    await expect(page.locator("#confirm-text")).to_contain_text("nothing is late")
    await page.locator("#confirm").get_by_role("button", name="Carry over").click()
    await expect(titles(page, "carried")).to_have_text(["Write the guide", "Call Ben"])
    await expect(page.locator(".toast")).to_contain_text("Rest well")
    await expect(page.get_by_role("button", name="Carry over")).to_be_hidden()


async def test_counters_count_and_change(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    water = page.get_by_role("group", name="Glasses of water")
    for _ in range(2):
        await page.get_by_role("button", name="Add 1 to Glasses of water").click()
    await expect(water.locator(".counter-value")).to_have_text("2")
    await page.get_by_role("button", name="Take 1 from Glasses of water").click()
    await expect(water.locator(".counter-standing")).to_have_text("1 of 8")

    await water.get_by_role("button", name="Glasses of water", exact=True).click()
    dialog = page.locator("#counter-dialog")
    await dialog.get_by_label("Target").fill("10")
    await focus_day.agent("count", counter_id="water", by=4)
    await expect(dialog.get_by_label("Now")).to_have_value("5")
    await expect(dialog.get_by_label("Target")).to_have_value("10")
    await dialog.get_by_role("button", name="Save").click()
    await expect(water.locator(".counter-standing")).to_have_text("5 of 10")

    await page.get_by_role("button", name="Add a counter").click()
    await dialog.get_by_label("Name").fill("steps")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("There is a counter 'Steps'")
    await dialog.get_by_label("Name").fill("Push-ups")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("group", name="Push-ups")).to_be_visible()


async def test_thoughts_are_put_down_and_sorted_later(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.locator("#dump-text").fill("Buy milk\nWhy is it slow?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".thought-text")).to_have_text(["Buy milk", "Why is it slow?"])
    await expect(page.locator("#dump-text")).to_have_value("")
    await page.get_by_role("button", name="Make “Why is it slow?” a task").click()
    await expect(titles(page, "todo").last).to_have_text("Why is it slow?")
    await page.get_by_role("button", name="Let “Buy milk” go").click()
    await expect(page.locator(".thought")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".thought-text")).to_have_text(["Buy milk"])


async def test_a_removed_note_can_be_had_again(focus_day: Live, look: Open) -> None:
    await focus_day.agent("add_note", task_id=await id_of(focus_day, "Call Ben"), text="He is out")
    page = await look(focus_day)
    await page.get_by_role("button", name="Call Ben", exact=True).click()
    await task(page, "Call Ben").locator(".note").hover()
    await page.get_by_role("button", name="Remove this note").click()
    await expect(page.locator(".note")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".note-text")).to_have_text(["He is out"])


async def test_the_recap_is_copied(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy recap").click()
    await expect(page.locator(".toast")).to_contain_text("copied")
    text = await page.evaluate("navigator.clipboard.readText()")
    assert text == await focus_day.agent("recap")
    await page.get_by_role("button", name="Show it").click()
    await expect(page.locator("#recap-text")).to_have_value(text)


async def test_the_recap_is_shown_where_nothing_can_be_copied(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"
    )
    await page.get_by_role("button", name="Copy recap").click()
    area = page.locator("#recap-text")
    await expect(area).to_have_value(await focus_day.agent("recap"))
    assert await area.evaluate("e => e.selectionEnd - e.selectionStart === e.value.length")


CARET = """e => [
  e.value, e.selectionStart, e.selectionEnd, e.scrollTop, e === document.activeElement
]"""


async def test_half_a_note_survives_what_the_agent_does(focus_day: Live, look: Open) -> None:
    """The task is moved, reworded, put in focus and out of it; text, selection and focus stay."""
    page = await look(focus_day)
    await page.get_by_role("button", name="Call Ben", exact=True).click()
    field = page.locator(".task textarea:visible")
    await field.press_sequentially("Half a note")
    await field.evaluate("e => e.setSelectionRange(2, 6)")
    before: list[Any] = await field.evaluate(CARET)
    await field.evaluate("e => { window.typed = e; e.onblur = () => (window.blurred = true); }")

    ben = await id_of(focus_day, "Call Ben")
    guide = await id_of(focus_day, "Write the guide")
    await focus_day.agent("move_task", task_id=ben, status="doing")
    await focus_day.agent("add_task", title="Above", status="doing")
    await focus_day.agent("move_task", task_id=ben, status="doing", position=5)
    await focus_day.agent("edit_task", task_id=ben, title="Write to Ben")
    await focus_day.agent("focus_on", task_id=ben)
    await focus_day.agent("add_note", task_id=ben, text="From the agent")
    await focus_day.agent("focus_on", task_id=guide)
    await focus_day.agent("move_task", task_id=ben, status="done")
    await focus_day.agent("remove_task", task_id=guide)
    await focus_day.agent("capture", text="One more")
    await expect(page.locator(".thought-text")).to_have_text(["One more"])
    await expect(titles(page, "done")).to_have_text(["Write to Ben"])

    assert await field.evaluate(CARET) == before
    assert await field.evaluate("e => e === window.typed && !window.blurred")


async def test_what_was_written_about_a_removed_task_is_kept(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.get_by_role("button", name="Call Ben", exact=True).click()
    await page.locator(".task textarea:visible").fill("Half a note")
    await focus_day.agent("remove_task", task_id=await id_of(focus_day, "Call Ben"))
    await expect(page.locator("#dump-text")).to_have_value("Half a note")
    await expect(page.locator(".toast")).to_contain_text("in the brain dump now")
    await expect(page.get_by_role("button", name="Write the guide", exact=True)).to_be_focused()


async def test_a_refused_task_stays_in_its_field(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    field = page.get_by_role("textbox", name="New task")
    await field.evaluate("e => e.removeAttribute('maxlength')")
    await field.fill("x" * 201)
    await page.keyboard.press("Enter")
    await expect(page.locator(".toast")).to_contain_text("201 characters")
    await expect(field).to_have_value("x" * 201)


async def test_an_edit_in_an_editor_shows_up_and_takes_nothing_away(
    focus_day: Live, look: Open
) -> None:
    page = await look(focus_day)
    field = page.get_by_role("textbox", name="New task")
    await field.press_sequentially("Half a ta")
    path = Path(diary.folder) / f"{diary.today}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["state"]["tasks"].append({"id": "by-hand", "title": "In the editor"})
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    await expect(titles(page, "todo")).to_have_text(
        ["Write the guide", "Call Ben", "In the editor"]
    )
    await expect(page.locator("#news")).to_have_text("The board’s file was changed")
    await expect(field).to_have_value("Half a ta")
    await expect(field).to_be_focused()


async def test_a_day_that_is_over_says_so(
    focus_day: Live, look: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await look(focus_day)
    await expect(page.locator("#new-day")).to_be_hidden()
    await page.clock.set_fixed_time("2099-01-01T08:00:00")
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(page.locator("#new-day")).to_contain_text("it was enough")


async def test_nothing_is_cut_off_at_any_width(focus_day: Live, look: Open) -> None:
    long = "Anunbreakablewordthatislongerthanacolumniswide" * 3
    new = await focus_day.agent("add_task", title=long, note=long)
    await focus_day.agent("add_counter", name=long)
    await focus_day.agent("capture", text=long)
    await focus_day.agent("carry_over", task_ids=[await id_of(focus_day, "Call Ben")])
    await focus_day.agent("focus_on", task_id=new["id"])
    page = await look(focus_day)
    for width in (320, 375, 559, 560, 760, 839, 840, 1000, 1600):
        await page.set_viewport_size({"width": width, "height": 640})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        await page.locator(".counter-name").first.click()
        box = await page.locator("#counter-dialog").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        await page.keyboard.press("Escape")


CONTRAST = """() => {
  const canvas = document.createElement("canvas");
  const paint = canvas.getContext("2d", { willReadFrequently: true });
  const light = (colour, under) => {
    paint.fillStyle = under; paint.fillRect(0, 0, 1, 1);
    paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((byte) => {
      const c = byte / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    if (!element) return "white";
    const colour = getComputedStyle(element).backgroundColor;
    const clear = /(, 0\\)|\\/ 0\\))$/.test(colour);
    return clear ? ground(element.parentElement) : colour;
  };
  const selector = ".task-title, .meta, .note-text, .note-who, .kicker, .mark, .button, h1, h2," +
    " .count, #progress, #news, #status-text, .counter-name, .counter-value, .counter-goal," +
    " .thought-text, .moment-who, .moment-text, time, .quiet";
  const failing = {};
  for (const element of document.querySelectorAll(selector)) {
    if (!element.checkVisibility() || !element.textContent) continue;
    const page = ground(document.body);
    const [a, b] = [light(getComputedStyle(element).color, page), light(ground(element), page)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) failing[element.className || element.id || element.tagName] = ratio;
  }
  return failing;
}"""

SET_MODE = """mode => {
  if (mode) document.documentElement.dataset.colorMode = mode;
  else delete document.documentElement.dataset.colorMode;
}"""


async def test_text_can_be_read_in_every_theme_in_focus_and_out_of_it(
    focus_day: Live, look: Open
) -> None:
    """Whatever steps back can still be read. The host's mode may differ from the system's."""
    guide = await id_of(focus_day, "Write the guide")
    await focus_day.agent("add_task", title="Finished", status="done")
    await focus_day.agent("carry_over", task_ids=[await id_of(focus_day, "Call Ben")])
    await focus_day.agent("capture", text="A thought")
    page = await look(focus_day)
    await focus_day.agent("add_note", task_id=guide, text="Marked now")
    await expect(page.locator(".mark")).to_be_visible()
    for action in ({"focus_on": guide}, {"end_focus": None}):
        for name, task_id in action.items():
            await focus_day.agent(name, **({"task_id": task_id} if task_id else {}))
        await expect(focused(page)).to_have_count(1 if "focus_on" in action else 0)
        for system, mode in itertools.product(("light", "dark"), (None, "light", "dark")):
            await page.emulate_media(color_scheme="dark" if system == "dark" else "light")
            await page.evaluate(SET_MODE, mode)
            assert await page.evaluate(CONTRAST) == {}, (action, system, mode)
            ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            is_dark = (mode or system) == "dark"
            assert ground == ("rgb(13, 17, 23)" if is_dark else "rgb(255, 255, 255)")


async def test_tasks_glide_unless_less_motion_is_asked_for(focus_day: Live, look: Open) -> None:
    """Same board, same change; the one page animates, the other does not."""
    lively, calm = await look(focus_day, calm=False), await look(focus_day, calm=True)
    for page in (lively, calm):
        await page.evaluate(
            "() => { glides = 0; Element.prototype.animate = () => { glides++; }; }"
        )
    ben = await id_of(focus_day, "Call Ben")
    await focus_day.agent("move_task", task_id=ben, status="todo", position=0)
    for page, glides in ((lively, 2), (calm, 0)):
        await expect(titles(page, "todo")).to_have_text(["Call Ben", "Write the guide"])
        assert await page.evaluate("window.glides") == glides


async def test_two_panels_show_the_same_board(focus_day: Live, look: Open) -> None:
    first, second = await look(focus_day), await look(focus_day)
    await first.get_by_role("checkbox", name="Done: Call Ben").click()
    await expect(titles(second, "done")).to_have_text(["Call Ben"])
    await expect(second.locator(".mark")).to_have_count(0)


async def test_a_closed_board_says_so_and_keeps_what_is_typed(focus_day: Live, look: Open) -> None:
    page = await look(focus_day)
    await page.locator("#dump-text").fill("Half a thought")
    await expect(page.locator("#status-text")).to_have_text("Live")
    async with asyncio.timeout(5):
        await focus_day.close()
    await expect(page.locator("#status-text")).to_have_text("Closed")
    await expect(page.locator("[data-canvas-banner]")).to_contain_text("closed")
    await expect(page.locator("#dump-text")).to_have_value("Half a thought")
