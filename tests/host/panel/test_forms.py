"""Forms from schemas: what is filled in is what arrives, and what is wrong is said at its field."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from canvas_provider.types import JSONObject, JSONValue
from tests.support.panel import serve_memory, show_panel

pytestmark = pytest.mark.browser

SCHEMA: JSONObject = {
    "type": "object",
    "required": ["title", "shape", "place"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "description": "What it is called."},
        "note": {"type": ["string", "null"], "default": None},
        "place": {
            "type": "object",
            "required": ["x"],
            "properties": {"x": {"type": "integer", "maximum": 9}, "y": {"type": "integer"}},
        },
        "shape": {
            "oneOf": [
                {
                    "type": "object",
                    "required": ["kind", "radius"],
                    "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                },
                {
                    "type": "object",
                    "required": ["kind", "side"],
                    "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                },
            ]
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "color": {"enum": ["red", "green", 3]},
        "on": {"type": "boolean"},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "tree": {"$ref": "#/definitions/tree"},
        "either": {"type": ["integer", "string"]},
    },
    "definitions": {
        "tree": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/definitions/tree"}},
            },
        }
    },
}

ACTIONS: list[JSONValue] = [
    {"name": "draw", "inputSchema": SCHEMA},
    {"name": "free"},
    {"name": "list", "inputSchema": {"type": "array", "items": {"type": "integer"}}},
]

BOARD: JSONObject = {"id": "board", "displayName": "Board", "description": "", "actions": ACTIONS}

received: list[JSONValue] = []


async def serve(method: str, params: JSONObject) -> JSONValue:
    if method == "canvas.action.invoke":
        received.append(params.get("input", "absent"))
    return {}


@pytest.fixture
async def page(browser: Browser, tmp_path: Path) -> AsyncIterator[Page]:
    received.clear()
    async with serve_memory(tmp_path, {"canvases": [BOARD]}, serve) as panel:
        await panel.bench.runtime.open("board", "one")
        async with show_panel(browser, panel.url, name="demo") as page:
            yield page


async def unfold(page: Page, action: str) -> Locator:
    details = page.locator(f'details.action[data-action="{action}"]')
    await details.locator("summary").first.click()
    return details


def field(inside: Locator, pointer: str) -> Locator:
    return inside.locator(f'[data-pointer="{pointer}"]')


async def invoke(action: Locator) -> JSONValue:
    count = len(received)
    await action.get_by_role("button", name="Invoke").click()
    await expect(action.locator(".outcome")).to_contain_text("✓ result")
    assert len(received) == count + 1
    return received[-1]


async def mode(action: Locator, name: str) -> None:
    await action.locator(".modes").get_by_role("button", name=name, exact=True).click()


FILLED: JSONValue = {
    "title": "A",
    "place": {"x": 4},
    "shape": {"kind": "square", "side": 2.5},
    "tags": ["b", "c", "a"],
    "color": 3,
    "on": False,
    "labels": {"k": 7},
    "tree": {"name": "root", "children": [{"name": "leaf"}]},
    "either": "x",
}


async def fill(draw: Locator) -> None:
    await field(draw, "/title").get_by_role("textbox").fill("A")
    await field(draw, "/place/x").get_by_role("textbox").fill("4")
    await draw.get_by_label("Kind of shape").select_option("square")
    await field(draw, "/shape/side").get_by_role("textbox").fill("2.5")
    tags = field(draw, "/tags")
    await tags.get_by_role("button", name="add").click()
    for text in "abc":
        await tags.get_by_role("button", name="+ item").click()
        await tags.get_by_role("textbox").last.fill(text)
    await field(draw, "/tags/0").get_by_role("textbox").press("Alt+ArrowDown")
    await field(draw, "/tags/2").get_by_label("Move this item up").click()
    await field(draw, "/color").get_by_role("combobox").select_option("3")
    await field(draw, "/on").get_by_role("combobox").select_option("false")
    labels = field(draw, "/labels")
    await labels.get_by_role("button", name="add").click()
    await labels.get_by_role("button", name="+ property").click()
    await labels.get_by_label("Name of a property").fill("k")
    await field(labels, "/labels/k").get_by_role("textbox").last.fill("7")
    tree = field(draw, "/tree")
    await tree.get_by_role("button", name="add").first.click()
    await field(tree, "/tree/name").get_by_role("textbox").fill("root")
    await field(tree, "/tree/children").get_by_role("button", name="add").click()
    await field(tree, "/tree/children").get_by_role("button", name="+ item").click()
    await field(tree, "/tree/children/0/name").get_by_role("textbox").fill("leaf")
    either = field(draw, "/either")
    await either.get_by_role("button", name="add").click()
    await either.get_by_label("Kind of either").select_option("string")
    await either.get_by_role("textbox").fill("x")


async def test_every_kind_of_field_arrives_as_it_was_filled_in(page: Page) -> None:
    draw = await unfold(page, "draw")
    await fill(draw)
    assert await invoke(draw) == FILLED


async def test_items_are_moved_and_removed(page: Page) -> None:
    items = await unfold(page, "list")
    for number in (1, 2, 3):
        await items.get_by_role("button", name="+ item").click()
        await items.get_by_role("textbox").last.fill(str(number))
    await field(items, "/0").get_by_role("textbox").press("Alt+ArrowDown")
    await expect(field(items, "/1").get_by_role("textbox")).to_be_focused()
    await field(items, "/2").get_by_label("Move this item up").click()
    assert await invoke(items) == [2, 3, 1]
    await field(items, "/1").get_by_label("Remove this item").click()
    assert await invoke(items) == [2, 1]


async def test_json_has_what_the_form_had_and_gives_it_back(page: Page) -> None:
    draw = await unfold(page, "draw")
    await mode(draw, "JSON")
    text = draw.get_by_label("Input as JSON")
    await text.fill(json.dumps(FILLED, indent=2))
    await mode(draw, "Form")
    await expect(draw.get_by_label("Kind of shape")).to_have_value("1")
    await expect(field(draw, "/tags/2").get_by_role("textbox")).to_have_value("a")
    assert await invoke(draw) == FILLED
    await mode(draw, "null")
    assert await invoke_refused(draw) == []
    await mode(draw, "JSON")
    await expect(text).to_have_value(json.dumps(FILLED, indent=2))


async def invoke_refused(action: Locator) -> list[JSONValue]:
    """Invoke, and return what arrived all the same."""
    count = len(received)
    await action.get_by_role("button", name="Invoke").click()
    await expect(action.locator(".outcome")).to_contain_text("✗ refused")
    return received[count:]


async def test_what_no_field_can_hold_is_kept_as_json(page: Page) -> None:
    """A number where a text belongs, and a property that nobody declared."""
    draw = await unfold(page, "draw")
    await mode(draw, "JSON")
    await draw.get_by_label("Input as JSON").fill('{"title": 5, "on": "no", "odd": [null]}')
    await mode(draw, "Form")
    await expect(field(draw, "/title").get_by_role("textbox")).to_have_value("5")
    assert await invoke_refused(draw) == []
    await expect(field(draw, "/on").locator(".field-error")).to_contain_text("is not of type")
    await mode(draw, "JSON")
    value = await draw.get_by_label("Input as JSON").input_value()
    assert '"title": 5' in value
    assert '"odd": [' in value


async def test_null_nothing_and_empty_are_three_different_inputs(page: Page) -> None:
    free = await unfold(page, "free")
    assert await invoke(free) == "absent"
    await mode(free, "null")
    assert await invoke(free) is None
    await mode(free, "JSON")
    await free.get_by_label("Input as JSON").fill("{}")
    assert await invoke(free) == {}
    await mode(free, "nothing")
    assert await invoke(free) == "absent"


async def test_what_is_left_out_is_absent_and_what_is_empty_is_sent(page: Page) -> None:
    draw = await unfold(page, "draw")
    await field(draw, "/place/x").get_by_role("textbox").fill("1")
    await field(draw, "/shape/radius").get_by_role("textbox").fill("1")
    base: JSONObject = {"place": {"x": 1}, "shape": {"kind": "circle", "radius": 1}}
    await field(draw, "/title").get_by_role("button", name="send empty").click()
    assert await invoke(draw) == {"title": "", **base}
    note = field(draw, "/note")
    await note.get_by_role("button", name="null").click()
    assert await invoke(draw) == {"title": "", "note": None, **base}
    await note.get_by_role("button", name="leave out").click()
    await field(draw, "/tags").get_by_role("button", name="add").click()
    assert await invoke(draw) == {"title": "", "tags": [], **base}
    await note.get_by_role("textbox").fill("n")
    await field(draw, "/tags").get_by_role("button", name="leave out").click()
    assert await invoke(draw) == {"title": "", "note": "n", **base}


async def test_each_sentence_of_the_runtime_stands_at_its_field(page: Page) -> None:
    draw = await unfold(page, "draw")
    await field(draw, "/place/x").get_by_role("textbox").fill("10")
    assert await invoke_refused(draw) == []
    title = field(draw, "/title").locator(".field-error")
    await expect(title).to_have_text('"title" is a required property')
    x = field(draw, "/place/x").locator(".field-error")
    await expect(x).to_contain_text("10 is greater than the maximum of 9")
    await expect(field(draw, "/title").get_by_role("textbox")).to_be_focused()
    await page.keyboard.type("A")
    await expect(title).to_have_count(0)
    await expect(x).to_have_count(1)
    await field(draw, "/place/x").get_by_role("textbox").fill("9007199254740993")
    await draw.get_by_role("button", name="Invoke").click()
    await expect(x).to_contain_text("cannot send a number as large as this exactly")


async def test_the_last_input_is_there_again(page: Page) -> None:
    free = await unfold(page, "list")
    await free.get_by_role("button", name="+ item").click()
    await free.get_by_role("textbox").fill("5")
    await invoke(free)
    await page.get_by_role("button", name="Close one").click()
    await page.keyboard.press("o")
    await page.locator("#dialog").get_by_role("button", name="Open", exact=True).click()
    again = await unfold(page, "list")
    await expect(field(again, "/0").get_by_role("textbox")).to_have_value("5")
