"""The kanban's page in Chromium: what a person sees and does while an agent works on the board."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.support.live import Live

pytestmark = pytest.mark.browser

Open = Callable[..., Awaitable[Page]]


def card(page: Page, id: str) -> Locator:
    return page.locator(f'.card[data-id="{id}"]:not(.ghost)')


def column(page: Page, id: str) -> Locator:
    return page.locator(f'.column[data-id="{id}"]')


def titles(page: Page, column_id: str) -> Locator:
    return column(page, column_id).locator(".card-title")


async def board_of(live: Live) -> dict[str, list[str]]:
    overview = await live.agent("get_board")
    return {one["id"]: [card["title"] for card in one["cards"]] for one in overview}


async def middle(locator: Locator) -> tuple[float, float]:
    box = await locator.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


async def drag(page: Page, source: Locator, x: float, y: float) -> None:
    await page.mouse.move(*await middle(source))
    await page.mouse.down()
    await page.mouse.move(x, y, steps=6)
    await page.mouse.up()


async def test_the_agents_move_shows_with_a_mark(board: Live, look: Open) -> None:
    page = await look(board)
    await board.agent("move_card", cardId="card-1", columnId="done")
    await expect(titles(page, "done")).to_have_text(["Ship it"])
    await expect(card(page, "card-1").locator(".mark")).to_have_text("Agent moved this")
    await expect(page.locator("#news")).to_have_text("Agent moved “Ship it” to Done")


async def test_a_mark_fades_in_its_time(board: Live, look: Open) -> None:
    page = await look(board)
    await page.clock.install()
    await board.agent("edit_card", cardId="card-1", notes="To nobody")
    await expect(card(page, "card-1").locator(".mark")).to_have_text("Agent edited this")
    await page.clock.run_for(9000)
    await expect(page.locator(".mark")).to_have_count(0)


async def test_what_a_person_does_gets_no_mark(board: Live, look: Open) -> None:
    page = await look(board)
    await column(page, "doing").get_by_role("button", name="Add card to In progress").click()
    await page.keyboard.type("By hand")
    await page.keyboard.press("Enter")
    await expect(titles(page, "doing")).to_have_text(["By hand"])
    await expect(page.locator(".mark")).to_have_count(0)


async def test_a_dragged_card_is_where_the_agent_finds_it(board: Live, look: Open) -> None:
    page = await look(board)
    await drag(page, card(page, "card-1"), *await middle(column(page, "done")))
    await expect(titles(page, "done")).to_have_text(["Ship it"])
    assert await board_of(board) == {"backlog": [], "doing": [], "done": ["Ship it"]}
    await expect(page.locator("dialog[open], .ghost, .gap")).to_have_count(0)


async def test_a_card_is_dragged_to_a_place_in_its_column(board: Live, look: Open) -> None:
    await board.agent("add_card", title="Second")
    await board.agent("add_card", title="Third")
    page = await look(board)
    x, y = await middle(card(page, "card-2"))
    await drag(page, card(page, "card-1"), x, y + 15)
    await expect(titles(page, "backlog")).to_have_text(["Second", "Ship it", "Third"])
    assert (await board_of(board))["backlog"] == ["Second", "Ship it", "Third"]


async def test_a_card_dropped_where_it_was_is_not_opened(board: Live, look: Open) -> None:
    page = await look(board)
    x, y = await middle(card(page, "card-1"))
    await drag(page, card(page, "card-1"), x + 8, y + 4)
    await expect(page.locator(".ghost")).to_have_count(0)
    await expect(page.locator("dialog[open]")).to_have_count(0)
    assert (await board_of(board))["backlog"] == ["Ship it"]


async def test_escape_puts_a_dragged_card_back(board: Live, look: Open) -> None:
    page = await look(board)
    x, y = await middle(card(page, "card-1"))
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(*await middle(column(page, "done")), steps=6)
    await expect(column(page, "done").locator(".gap")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.mouse.move(x, y)
    await expect(page.locator(".ghost, .gap")).to_have_count(0)
    await page.mouse.up()
    await expect(page.locator("dialog[open]")).to_have_count(0)
    assert (await board_of(board))["backlog"] == ["Ship it"]


async def test_a_finger_drags_after_a_short_press_only(board: Live, look: Open) -> None:
    page = await look(board, touch=True)
    touch = await page.context.new_cdp_session(page)

    async def send(kind: str, *points: tuple[float, float]) -> None:
        await touch.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
        )

    start, end = await middle(card(page, "card-1")), await middle(column(page, "doing"))
    await send("touchStart", start)
    await expect(page.locator(".ghost")).to_be_visible()
    await send("touchMove", end)
    await send("touchEnd")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])


async def test_the_board_works_by_keyboard_alone(board: Live, look: Open) -> None:
    await board.agent("add_card", title="Second")
    page = await look(board)
    press = page.keyboard.press
    while await page.evaluate("document.activeElement.className") != "card-title":
        await press("Tab")
    await press("ArrowDown")
    await expect(titles(page, "backlog").nth(1)).to_be_focused()

    await press("Shift+ArrowUp")
    await expect(titles(page, "backlog")).to_have_text(["Second", "Ship it"])
    await expect(titles(page, "backlog").nth(0)).to_be_focused()
    await press("Shift+ArrowRight")
    await expect(titles(page, "doing")).to_have_text(["Second"])
    await expect(titles(page, "doing").nth(0)).to_be_focused()

    await press("Enter")
    await expect(page.locator("#card-dialog")).to_be_visible()
    await page.keyboard.type(" thoughts")
    await press("Enter")
    await expect(titles(page, "doing")).to_have_text(["Second thoughts"])
    await expect(titles(page, "doing").nth(0)).to_be_focused()

    await press("n")
    composer = page.locator('.column[data-id="doing"] .composer-form').locator("input, textarea")
    await expect(composer).to_be_focused()
    await page.keyboard.type("Third")
    await expect(composer).to_have_value("Third")
    await press("Enter")
    await expect(titles(page, "doing")).to_have_text(["Second thoughts", "Third"])
    await press("Escape")

    await titles(page, "doing").nth(1).focus()
    await press("Delete")
    await expect(titles(page, "doing")).to_have_text(["Second thoughts"])
    await expect(titles(page, "doing").nth(0)).to_be_focused()


async def test_columns_are_managed_from_their_menu(board: Live, look: Open) -> None:
    page = await look(board)
    await page.get_by_role("button", name="Add column").click()
    await page.keyboard.type("Review")
    await page.keyboard.press("Enter")
    await expect(page.locator(".column h2")).to_have_text(
        ["Backlog", "In progress", "Done", "Review"]
    )
    for _ in range(2):
        await page.get_by_role("button", name="Column Review").click()
        await page.get_by_role("menuitem", name="Move left").click()
        await expect(page.get_by_role("menu")).to_have_count(0)
    await expect(page.locator(".column h2")).to_have_text(
        ["Backlog", "Review", "In progress", "Done"]
    )
    await page.get_by_role("button", name="Column Review").click()
    await page.keyboard.press("Enter")
    await page.keyboard.type("Check")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Column Done").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await expect(page.locator(".column h2")).to_have_text(["Backlog", "Check", "In progress"])


async def test_a_refusal_is_shown_and_nothing_is_lost(board: Live, look: Open) -> None:
    page = await look(board)
    await page.get_by_role("button", name="Column Backlog").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await expect(page.get_by_role("alert").first).to_contain_text("still holds 1 card")
    await page.get_by_role("button", name="Add column").click()
    await page.keyboard.type("done")
    await page.keyboard.press("Enter")
    await expect(page.locator(".toast").last).to_contain_text("There is a column 'Done' already")
    await expect(page.locator(".column-form input")).to_have_value("done")


CARET = """e => [
  e.value, e.selectionStart, e.selectionEnd, e.scrollTop, e === document.activeElement
]"""


async def test_half_a_title_survives_what_the_agent_does(board: Live, look: Open) -> None:
    """Cards come and go around it, the column itself moves; text, selection and focus stay."""
    page = await look(board)
    await column(page, "doing").get_by_role("button", name="Add card to In progress").click()
    field = column(page, "doing").locator("textarea")
    await field.press_sequentially("Half a tit")
    await field.evaluate("e => e.setSelectionRange(2, 6)")
    before: list[Any] = await field.evaluate(CARET)
    await field.evaluate("e => { window.typed = e; e.onblur = () => (window.blurred = true); }")

    await board.agent("add_card", title="Above", columnId="doing")
    await board.agent("move_card", cardId="card-1", columnId="doing", position=0)
    await board.agent("move_column", columnId="doing", position=0)
    await board.agent("rename_column", columnId="doing", title="Doing")
    await board.agent("add_column", title="First", position=0)
    await board.agent("remove_column", columnId="backlog")
    await board.agent("delete_card", cardId="card-2")
    await expect(page.locator(".column h2")).to_have_text(["First", "Doing", "Done"])

    assert await field.evaluate(CARET) == before
    assert await field.evaluate("e => e === window.typed && !window.blurred")


async def test_text_in_a_removed_column_moves_to_another(board: Live, look: Open) -> None:
    page = await look(board)
    await column(page, "done").get_by_role("button", name="Add card to Done").click()
    await page.keyboard.type("Half a title")
    await board.agent("remove_column", columnId="done")
    await expect(column(page, "backlog").locator("textarea")).to_have_value("Half a title")
    await expect(column(page, "backlog").locator("textarea")).to_be_focused()


async def test_an_open_form_keeps_what_is_typed_and_shows_what_changed(
    board: Live, look: Open
) -> None:
    page = await look(board)
    await card(page, "card-1").click()
    dialog = page.locator("#card-dialog")
    notes = dialog.get_by_label("Notes")
    await notes.fill("To some, at fir")
    await notes.evaluate("e => e.setSelectionRange(3, 7)")
    before: list[Any] = await notes.evaluate(CARET)
    await board.agent("edit_card", cardId="card-1", notes="To nobody", assignee="Copilot")

    # The field nobody touched follows; the other one tells.
    await expect(dialog.get_by_label("Assignee")).to_have_value("Copilot")
    hint = dialog.locator('[data-for="notes"]')
    await expect(hint).to_contain_text("The agent changed this to “To nobody”")
    assert await notes.evaluate(CARET) == before

    # Nothing is overwritten before a person has chosen.
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.locator("#card-error")).to_contain_text("Choose")
    await expect(notes).to_be_focused()
    assert (await board.agent("list_cards"))[0]["notes"] == "To nobody"
    await hint.get_by_role("button", name="Keep mine").click()
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_be_hidden()
    [saved] = await board.agent("list_cards")
    assert (saved["notes"], saved["assignee"]) == ("To some, at fir", "Copilot")


async def test_two_texts_are_joined_when_a_person_wants_both(board: Live, look: Open) -> None:
    page = await look(board)
    await card(page, "card-1").click()
    notes = page.locator("#card-dialog").get_by_label("Notes")
    await notes.fill("What I found")
    await board.agent("edit_card", cardId="card-1", notes="What the agent found")
    await page.get_by_role("button", name="Keep both").click()
    await expect(notes).to_have_value("What I found\n\nWhat the agent found")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#card-dialog")).to_be_hidden()
    [saved] = await board.agent("list_cards")
    assert saved["notes"] == "What I found\n\nWhat the agent found"


async def test_a_change_that_is_on_its_way_is_not_overwritten(board: Live, look: Open) -> None:
    """The page has not heard of the agent's edit when Save is pressed; the extension has."""
    page = await look(board)
    await card(page, "card-1").click()
    await page.locator("#card-dialog").get_by_label("Title").fill("Mine")

    async def edit_first(route: Route) -> None:
        await board.agent("edit_card", cardId="card-1", title="Theirs")
        await route.continue_()

    await page.route("**/actions/edit_card", edit_first, times=1)
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator('[data-for="title"]')).to_contain_text("Theirs")
    await expect(page.locator("#card-error")).to_contain_text("Choose")
    await expect(page.locator("#card-dialog").get_by_label("Title")).to_have_value("Mine")
    assert (await board_of(board))["backlog"] == ["Theirs"]


async def test_another_card_may_change_while_one_is_saved(board: Live, look: Open) -> None:
    """That is no conflict, although the board is another: the save goes through."""
    other = await board.agent("add_card", title="Other")
    page = await look(board)
    await card(page, "card-1").click()
    await page.locator("#card-dialog").get_by_label("Title").fill("Mine")

    async def edit_other(route: Route) -> None:
        await board.agent("edit_card", cardId=other["id"], notes="New")
        await route.continue_()

    await page.route("**/actions/edit_card", edit_other, times=1)
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#card-dialog")).to_be_hidden()
    assert (await board_of(board))["backlog"] == ["Mine", "Other"]


async def take_in_hand(page: Page, source: Locator, target: Locator) -> None:
    await page.mouse.move(*await middle(source))
    await page.mouse.down()
    await page.mouse.move(*await middle(target), steps=6)
    await expect(target.locator(".gap")).to_be_visible()


async def test_a_card_that_is_deleted_in_the_hand_is_let_go(board: Live, look: Open) -> None:
    page = await look(board)
    await take_in_hand(page, card(page, "card-1"), column(page, "done"))
    await board.agent("delete_card", cardId="card-1")
    await expect(page.locator(".toast")).to_contain_text("was deleted")
    await expect(page.locator(".ghost, .gap")).to_have_count(0)
    await page.mouse.up()
    await expect(page.locator(".toast")).to_have_count(1)


async def test_a_card_that_moves_in_the_hand_goes_where_it_is_put(board: Live, look: Open) -> None:
    page = await look(board)
    await take_in_hand(page, card(page, "card-1"), column(page, "done"))
    await board.agent("move_card", cardId="card-1", columnId="doing")
    await expect(page.locator("#news")).to_have_text("Agent moved “Ship it” to In progress")
    await page.mouse.up()
    await expect(titles(page, "done")).to_have_text(["Ship it"])
    await expect(page.locator(".toast")).to_contain_text("moved this card to In progress")


async def test_a_card_put_back_does_not_undo_a_move(board: Live, look: Open) -> None:
    page = await look(board)
    x, y = await middle(card(page, "card-1"))
    await take_in_hand(page, card(page, "card-1"), column(page, "done"))
    await board.agent("move_card", cardId="card-1", columnId="doing")
    await expect(page.locator("#news")).to_have_text("Agent moved “Ship it” to In progress")
    await page.mouse.move(x, y, steps=6)
    await page.mouse.up()
    await expect(page.locator(".toast")).to_contain_text("It is there now")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])


async def test_what_nobody_typed_is_not_saved_over_a_change(board: Live, look: Open) -> None:
    """The cursor is in the title, which the agent changes; only the notes are edited here."""
    page = await look(board)
    await card(page, "card-1").click()
    await expect(page.locator("#card-dialog").get_by_label("Title")).to_be_focused()
    await board.agent("edit_card", cardId="card-1", title="Ship it today")
    await expect(page.locator('[data-for="title"]')).to_contain_text("Ship it today")
    await page.locator("#card-dialog").get_by_label("Notes").fill("To some")
    await page.get_by_role("button", name="Save").click()
    await expect(titles(page, "backlog")).to_have_text(["Ship it today"])
    [saved] = await board.agent("list_cards")
    assert saved["notes"] == "To some"


async def test_the_other_text_can_be_taken_instead(board: Live, look: Open) -> None:
    page = await look(board)
    await card(page, "card-1").click()
    await page.locator("#card-dialog").get_by_label("Title").fill("Mine")
    await board.agent("edit_card", cardId="card-1", title="Theirs")
    await page.get_by_role("button", name="Take theirs").click()
    await expect(page.locator("#card-dialog").get_by_label("Title")).to_have_value("Theirs")
    await page.get_by_role("button", name="Save").click()
    await expect(titles(page, "backlog")).to_have_text(["Theirs"])


async def test_a_card_deleted_under_an_open_form_can_be_put_back(board: Live, look: Open) -> None:
    page = await look(board)
    await card(page, "card-1").click()
    await page.locator("#card-dialog").get_by_label("Title").fill("Still wanted")
    await board.agent("delete_card", cardId="card-1")
    await expect(page.locator("#card-notice")).to_contain_text("deleted this card")
    await page.get_by_role("button", name="Save").click()
    await expect(titles(page, "backlog")).to_have_text(["Still wanted"])
    [saved] = await board.agent("list_cards")
    assert saved["notes"] == "To everybody"


async def test_a_deleted_card_is_offered_back(board: Live, look: Open) -> None:
    page = await look(board)
    await card(page, "card-1").hover()
    await card(page, "card-1").locator(".card-title").press("Delete")
    await expect(titles(page, "backlog")).to_have_count(0)
    await board.agent("add_card", title="Meanwhile", columnId="doing")
    await page.locator(".toast").get_by_role("button", name="Undo").click()
    await expect(titles(page, "backlog")).to_have_text(["Ship it"])
    await expect(page.locator(".toast")).to_have_text("Undid: Deleted “Ship it”✕")


async def test_ctrl_z_is_the_boards_outside_of_a_field_and_the_fields_inside(
    board: Live, look: Open
) -> None:
    page = await look(board)
    await card(page, "card-1").locator(".card-title").press("Shift+ArrowRight")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])
    await column(page, "done").get_by_role("button", name="Add card to Done").click()
    await page.keyboard.type("Half")
    await page.keyboard.press("Control+z")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+z")
    await expect(titles(page, "backlog")).to_have_text(["Ship it"])
    await page.keyboard.press("Control+Shift+z")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])
    await expect(page.locator(".toast").last).to_contain_text("Redid: Moved “Ship it”")


async def test_an_undo_that_is_in_the_way_of_another_is_told_in_words(
    board: Live, look: Open
) -> None:
    page = await look(board)
    await card(page, "card-1").locator(".card-title").press("Shift+ArrowRight")
    await expect(titles(page, "doing")).to_have_text(["Ship it"])
    await board.agent("move_card", cardId="card-1", columnId="done")
    await expect(titles(page, "done")).to_have_text(["Ship it"])
    await page.keyboard.press("Control+z")
    await expect(page.locator(".toast")).to_contain_text(
        "cannot be undone any more: Moved “Ship it” to In"
    )
    await expect(page.locator(".toast")).to_contain_text("the agent: Moved “Ship it” to Done")
    await expect(titles(page, "done")).to_have_text(["Ship it"])


async def test_the_history_shows_who_did_what_and_undoes_each(board: Live, look: Open) -> None:
    page = await look(board)
    await page.keyboard.press("h")
    entries = page.locator(".entry")
    await expect(entries.locator(".entry-text")).to_have_text(["Added “Ship it” to Backlog"])
    await card(page, "card-1").locator(".card-title").press("Shift+ArrowRight")
    await board.agent("edit_card", cardId="card-1", notes="To nobody")
    await expect(entries.locator(".entry-text")).to_have_text(
        [
            "Edited the notes of “Ship it”",
            "Moved “Ship it” to In progress",
            "Added “Ship it” to Backlog",
        ]
    )
    await expect(entries.locator(".entry-when")).to_have_text(
        ["Agent · just now", "Person · just now", "Agent · just now"]
    )
    await entries.nth(0).get_by_role("button", name="Undo").click()
    await expect(entries.nth(0)).to_contain_text("Undid: Edited the notes of “Ship it”")
    await expect(entries.nth(1).get_by_role("button", name="Undo")).to_have_count(0)
    [shown] = await board.agent("list_cards")
    assert shown["notes"] == "To everybody"
    await page.locator("#history").press("Escape")
    await expect(page.locator("#history")).to_be_hidden()
    await expect(page.locator("#history-button")).to_be_focused()


async def test_changes_are_not_thrown_away_by_one_key(board: Live, look: Open) -> None:
    page = await look(board)
    await card(page, "card-1").click()
    await page.locator("#card-dialog").get_by_label("Title").fill("Half typed")
    await page.keyboard.press("Escape")
    await expect(page.locator("#confirm")).to_be_visible()
    await page.get_by_role("button", name="Keep").click()
    await expect(page.locator("#card-dialog").get_by_label("Title")).to_have_value("Half typed")


async def test_a_long_column_keeps_its_scroll_position(board: Live, look: Open) -> None:
    for number in range(30):
        await board.agent("add_card", title=f"Card {number}", columnId="doing")
    page = await look(board)
    cards = column(page, "doing").locator(".cards")
    await cards.evaluate("e => { e.scrollTop = 700; }")
    await board.agent("move_column", columnId="doing", position=0)
    await board.agent("add_card", title="One more", columnId="doing")
    await expect(titles(page, "doing")).to_have_count(31)
    assert await cards.evaluate("e => e.scrollTop") == 700


async def test_nothing_is_cut_off_at_any_width(board: Live, look: Open) -> None:
    await board.agent("add_card", title="Anunbreakablewordthatislongerthanacolumniswide" * 3)
    page = await look(board)
    for width in (320, 375, 559, 560, 760, 1000, 1600):
        await page.set_viewport_size({"width": width, "height": 640})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        await card(page, "card-1").click()
        box = await page.locator("#card-dialog").bounding_box()
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
  const selector = ".card-title, .card-notes, .assignee, .avatar, .card-id, h1, h2, .count," +
    " .empty, .add, .mark, #news, #status-text";
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


async def test_text_can_be_read_in_every_theme(board: Live, look: Open) -> None:
    """The host's own mode, where it sets one, may differ from the system's."""
    page = await look(board)
    await board.agent("edit_card", cardId="card-1", notes="Marked now")
    await expect(page.locator(".mark")).to_be_visible()
    for system, mode in itertools.product(("light", "dark"), (None, "light", "dark")):
        await page.emulate_media(color_scheme="dark" if system == "dark" else "light")
        await page.evaluate(SET_MODE, mode)
        assert await page.evaluate(CONTRAST) == {}, (system, mode)
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        is_dark = (mode or system) == "dark"
        assert ground == ("rgb(13, 17, 23)" if is_dark else "rgb(255, 255, 255)")


COUNT_GLIDES = """() => {
  window.glides = 0;
  Element.prototype.animate = () => { window.glides++; };
}"""


async def test_cards_glide_unless_less_motion_is_asked_for(board: Live, look: Open) -> None:
    """Same board, same change; the one page animates, the other does not."""
    lively, calm = await look(board, calm=False), await look(board, calm=True)
    for page in (lively, calm):
        await page.evaluate(
            "() => { glides = 0; Element.prototype.animate = () => { glides++; }; }"
        )
    await board.agent("move_card", cardId="card-1", columnId="done")
    for page, glides in ((lively, 1), (calm, 0)):
        await expect(titles(page, "done")).to_have_text(["Ship it"])
        assert await page.evaluate("window.glides") == glides


async def test_two_panels_show_the_same_board(board: Live, look: Open) -> None:
    first, second = await look(board), await look(board)
    await drag(first, card(first, "card-1"), *await middle(column(first, "doing")))
    await expect(titles(second, "doing")).to_have_text(["Ship it"])
    await expect(second.locator(".mark")).to_have_count(0)


async def test_a_closed_board_says_so_and_keeps_what_is_typed(board: Live, look: Open) -> None:
    page = await look(board)
    await column(page, "doing").get_by_role("button", name="Add card to In progress").click()
    await page.keyboard.type("Half a title")
    await expect(page.locator("#status-text")).to_have_text("Live")
    async with asyncio.timeout(5):
        await board.close()
    await expect(page.locator("#status-text")).to_have_text("Closed")
    await expect(page.locator("[data-canvas-banner]")).to_contain_text("closed")
    await expect(column(page, "doing").locator("textarea")).to_have_value("Half a title")
