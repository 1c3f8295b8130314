"""`canvas.css` in a real browser: right on the first paint, whoever sets what."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Page

from canvas_provider import create_canvas
from canvas_provider.web.assets import read_asset
from tests.support.browser import Visit
from tests.support.instances import open_served

pytestmark = pytest.mark.browser

DOCUMENTED = [
    "--background-color-default",
    "--border-color-default",
    "--text-color-default",
    "--text-color-muted",
    "--color-focus-outline",
    "--color-white",
    "--true-color-red",
    "--true-color-red-muted",
    "--true-color-blue",
    "--true-color-blue-muted",
    "--true-color-green",
    "--true-color-green-muted",
    "--true-color-yellow",
    "--true-color-yellow-muted",
    "--font-sans",
    "--font-mono",
    "--font-sans-display",
    "--font-weight-semibold",
    "--text-body-medium",
    "--leading-body-medium",
    "--text-title-large",
    "--leading-title-large",
    "--text-code-inline",
]
"""What the create-canvas skill of the Copilot app documents."""

LIGHT, DARK = "rgb(255, 255, 255)", "rgb(13, 17, 23)"

PAGE = """<!doctype html>
<html {root}>
<head>{before}<link rel="stylesheet" href="./canvas.css">{after}</head>
<body {body}>
<h1>Title</h1><p id="text">Text <small>small</small> <a href="#x">link</a></p>
<button>Plain</button> <button class="primary">Primary</button>
<input placeholder="Placeholder"> <select><option>One</select> <textarea></textarea>
<table><tr><th>A<td>B</table><pre>code</pre>
</body></html>"""


async def open_page(visit: Visit, folder: Path, *, system: str = "light", **parts: str) -> Page:
    """Serve a page made of these parts, and leave when its server is no longer needed."""
    file = folder / "page.html"
    file.write_text(PAGE.format(**{"root": "", "body": "", "before": "", "after": "", **parts}))
    canvas = create_canvas(id="look", display_name="Look", description="A look.", page=file)
    async with open_served(canvas) as (served, _):
        return await visit(served.url, color_scheme=system)


async def computed(page: Page, selector: str, name: str) -> str:
    value: str = await page.locator(selector).first.evaluate(
        "(element, name) => getComputedStyle(element).getPropertyValue(name)", name
    )
    return value


@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize(
    ("root", "body", "shown"),
    [
        ("", "", None),
        ('data-color-mode="light"', "", LIGHT),
        ('data-color-mode="dark"', "", DARK),
        ('data-color-mode="auto"', "", None),
        ("", 'data-color-mode="light"', LIGHT),
        ("", 'data-color-mode="dark"', DARK),
    ],
)
async def test_colours_follow_the_host_and_without_one_the_system(
    system: str, root: str, body: str, shown: str | None, tmp_path: Path, visit: Visit
) -> None:
    page = await open_page(visit, tmp_path, system=system, root=root, body=body)
    expected = shown or (DARK if system == "dark" else LIGHT)
    assert await computed(page, "body", "background-color") == expected
    assert await computed(page, "html", "background-color") == expected
    assert await computed(page, "html", "color-scheme") == ("dark" if expected == DARK else "light")


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def to_rgb(colour: str) -> str:
    digits = colour.strip().removeprefix("#")
    return ", ".join(str(int(digits[i : i + 2], 16)) for i in (0, 2, 4))


@pytest.mark.parametrize("system", ["light", "dark"])
async def test_everything_can_be_read(system: str, tmp_path: Path, visit: Visit) -> None:
    """WCAG 2.2 success criteria 1.4.3 (text, 4.5) and 1.4.11 (focus, 3)."""
    page = await open_page(visit, tmp_path, system=system)
    background = await computed(page, "body", "background-color")
    for selector in ("#text", "small", "a", "h1", "th", "pre", "button", "input", "select"):
        colour = await computed(page, selector, "color")
        assert contrast(colour, background) >= 4.5, selector
    primary = await computed(page, ".primary", "background-color")
    assert contrast(await computed(page, ".primary", "color"), primary) >= 4.5
    for token in DOCUMENTED:
        value = to_rgb(await computed(page, "html", token)) if "color" in token else ""
        if re.fullmatch("--true-color-[a-z]+|--text-color-.*", token):
            assert contrast(value, background) >= 4.5, token
            for name in ("red", "blue", "green", "yellow"):
                muted = to_rgb(await computed(page, "html", f"--true-color-{name}-muted"))
                text = to_rgb(await computed(page, "html", "--text-color-default"))
                assert contrast(text, muted) >= 4.5, name
        elif token == "--color-focus-outline":
            assert contrast(value, background) >= 3


@pytest.mark.parametrize("root", ["", 'data-color-mode="light"', 'data-color-mode="dark"'])
async def test_every_documented_token_has_a_value(root: str, tmp_path: Path, visit: Visit) -> None:
    """Also where a host sets the attribute and no token (Windows app 1.0.78-2)."""
    page = await open_page(visit, tmp_path, root=root)
    for token in DOCUMENTED:
        assert await computed(page, "body", token), token


HOST = "--background-color-default: rgb(1, 2, 3); --text-color-default: rgb(250, 251, 252)"


@pytest.mark.parametrize(
    "parts",
    [
        {"before": f"<style>:root {{ {HOST} }}</style>"},
        {"before": f"<style>:where(html) {{ {HOST} }}</style>"},
        {"after": f"<style>:root {{ {HOST} }}</style>"},
        {"root": f'style="{HOST}" data-color-mode="dark"'},
        {"body": f'style="{HOST}" data-color-mode="dark"'},
        {"root": 'data-color-mode="dark"', "before": f"<style>html {{ {HOST} }}</style>"},
    ],
)
async def test_whatever_the_host_sets_wins(
    parts: dict[str, str], tmp_path: Path, visit: Visit
) -> None:
    page = await open_page(visit, tmp_path, system="dark", **parts)
    assert await computed(page, "body", "background-color") == "rgb(1, 2, 3)"
    assert await computed(page, "body", "color") == "rgb(250, 251, 252)"


async def test_the_theme_follows_a_host_that_changes_it_later(tmp_path: Path, visit: Visit) -> None:
    """The app sets everything only after the first paint."""
    page = await open_page(visit, tmp_path, system="light")
    for mode, shown in (("dark", DARK), ("light", LIGHT), ("dark", DARK)):
        await page.evaluate("mode => document.documentElement.dataset.colorMode = mode", mode)
        assert await computed(page, "body", "background-color") == shown


async def test_whatever_the_page_itself_says_wins(tmp_path: Path, visit: Visit) -> None:
    style = "<style>button { padding: 1px } body { margin: 3px } * { outline: 0 }</style>"
    page = await open_page(visit, tmp_path, before=style)
    assert await computed(page, "button", "padding") == "1px"
    assert await computed(page, "body", "margin") == "3px"


async def test_the_focus_can_be_seen(tmp_path: Path, visit: Visit) -> None:
    page = await open_page(visit, tmp_path)
    for selector in ("a", "button", "input", "select", "textarea"):
        await page.locator(selector).first.focus()
        await page.keyboard.press("Shift")
        assert await computed(page, selector, "outline-style") == "solid", selector
        assert await computed(page, selector, "outline-color") == "rgb(9, 105, 218)", selector


async def test_motion_stops_for_those_who_ask_for_it(tmp_path: Path, visit: Visit) -> None:
    style = "<style>p { transition: color 3s; animation: x 3s infinite }</style>"
    page = await open_page(visit, tmp_path, after=style)
    assert await computed(page, "p", "transition-duration") == "3s"
    await page.emulate_media(reduced_motion="reduce")
    for name in ("transition-duration", "animation-duration"):
        assert float((await computed(page, "p", name)).removesuffix("s")) < 0.001
    assert await computed(page, "p", "animation-iteration-count") == "1"


async def test_a_narrow_panel_needs_no_sideways_scrolling(tmp_path: Path, visit: Visit) -> None:
    page = await open_page(visit, tmp_path)
    for width in (280, 320, 640, 1600):
        await page.set_viewport_size({"width": width, "height": 600})
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert await page.evaluate(fits), width


async def test_what_is_hidden_stays_hidden(tmp_path: Path, visit: Visit) -> None:
    style = "<style>button { display: flex }</style>"
    page = await open_page(visit, tmp_path, before=style)
    await page.locator("button").first.evaluate("button => button.hidden = true")
    assert await computed(page, "button", "display") == "none"


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name in ("canvas.css", "canvas.js", "default.html"):
        text = read_asset(name).decode()
        assert not re.search(r"https?://(?!…)|@import|url\(", text), name
