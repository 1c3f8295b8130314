"""What in the files of a page will not work where canvases are shown.

It looks at the text, line by line, and runs nothing. Most of what it finds is what the page's
Content-Security-Policy blocks; an author who has allowed a source with `csp=` knows better.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, NamedTuple

from canvas_provider.cli.finding import Finding

__all__ = ["lint_page"]

MAX_LISTED: Final = 5
"""Places that are named for one kind of trouble."""

MAX_LENGTH: Final = 10_000
"""Characters of a line that are looked at: longer ones are minified code."""

EXTERNAL: Final = r"(?:https?:)?//[\w.-]"


class _Rule(NamedTuple):
    check: str
    pattern: re.Pattern[str]
    text: str
    fix: str


SCRIPT_RULES: Final = (
    _Rule(
        "inline handlers",
        re.compile(
            r"""<[a-z][^<>]*\son[a-z]+\s*=|\.setAttribute\(\s*["'`]on[a-z]+["'`]""", re.IGNORECASE
        ),
        "A script writes an event handler into HTML, which is blocked",
        "Create the element, then set element.onclick or use addEventListener.",
    ),
    _Rule(
        "code from text",
        re.compile(r"""(?<![\w.$])(?:eval|new\s+Function)\s*\(|setTimeout\(\s*["'`]"""),
        "A script makes code from text, which is blocked",
        "Write a function instead.",
    ),
    _Rule(
        "external URLs",
        re.compile(
            r"""(?:\bfrom|\bimport\(?|\bfetch\(|EventSource\(|WebSocket\(|importScripts\()"""
            rf"""\s*["'`](?:wss?://|{EXTERNAL})"""
        ),
        "A script loads from another server, which is blocked, and fails without a network",
        "Put a copy beside the page, or allow the source: create_canvas(csp=...).",
    ),
    _Rule(
        "absolute paths",
        re.compile(
            r"""(?:\bfrom|\bimport\(?|\bfetch\(|EventSource\(|\.(?:src|href)\s*=)\s*["'`]/(?!/)"""
        ),
        "A script uses a path that begins with /, which leads out of the canvas",
        "Make it relative, as in ./data.json: the address begins with a secret.",
    ),
    _Rule(
        "browser storage",
        re.compile(r"(?<![\w$])(?:localStorage|sessionStorage|indexedDB)(?!\w)"),
        "A script uses the browser's storage, which throws in some frames and is not kept",
        "Keep it in the canvas's state.",
    ),
)

STYLE_RULES: Final = (
    _Rule(
        "external URLs",
        re.compile(rf"""(?:@import\s+|url\(\s*)["']?{EXTERNAL}"""),
        "A style sheet loads from another server, which is blocked",
        "Put a copy beside the page, or allow the source: create_canvas(csp=...).",
    ),
)

EXTERNAL_RULE: Final = _Rule(
    "external URLs",
    re.compile(EXTERNAL),
    "The page loads from another server, which is blocked, and fails without a network",
    "Put a copy beside the page, or allow the source: create_canvas(csp=...).",
)

ABSOLUTE_RULE: Final = _Rule(
    "absolute paths",
    re.compile("/(?!/)"),
    "The page uses a path that begins with /, which leads out of the canvas",
    "Make it relative, as in ./style.css: the address begins with a secret.",
)

LOADING: Final = frozenset(
    {
        ("audio", "src"),
        ("embed", "src"),
        ("form", "action"),
        ("iframe", "src"),
        ("img", "src"),
        ("link", "href"),
        ("object", "data"),
        ("script", "src"),
        ("source", "src"),
        ("track", "src"),
        ("video", "src"),
    }
)
"""Where an attribute loads something; a link that a person follows is no trouble."""


def lint_page(folder: Path, files: Iterator[tuple[str, Path]]) -> list[Finding]:
    """Look at the pages, scripts and style sheets among `files`.

    Args:
        folder: the extension's, for relative names only.
        files: each file's POSIX path within the folder, and its path.
    """
    found: dict[_Rule, list[str]] = {}
    looked = 0
    for name, path in files:
        suffix = path.suffix.lower()
        if suffix not in (".html", ".htm", ".js", ".mjs", ".css"):
            continue
        looked += 1
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        for rule, line in _troubles(suffix, text):
            places = found.setdefault(rule, [])
            if (place := f"{name}:{line}") not in places:
                places.append(place)
    if not found:
        what = f"{looked} files" if looked != 1 else "1 file"
        return [Finding("page", "ok", f"Nothing in {what} that a canvas cannot do.")]
    return [
        Finding(rule.check, "warning", f"{rule.text}: {_several(places)}.", rule.fix)
        for rule, places in found.items()
    ]


def _troubles(suffix: str, text: str) -> Iterator[tuple[_Rule, int]]:
    if suffix == ".css":
        yield from _lines(STYLE_RULES, text, 1)
    elif suffix in (".js", ".mjs"):
        yield from _lines(SCRIPT_RULES, text, 1)
    else:
        page = _Page()
        page.feed(text)
        page.close()
        yield from page.troubles


def _lines(rules: tuple[_Rule, ...], text: str, first: int) -> Iterator[tuple[_Rule, int]]:
    for number, line in enumerate(text.split("\n"), first):
        if line.lstrip().startswith(("//", "*", "/*")):
            continue
        for rule in rules:
            if rule.pattern.search(line[:MAX_LENGTH]):
                yield rule, number


class _Page(HTMLParser):
    """Walks an HTML file: its attributes, and what is in its scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.troubles: list[tuple[_Rule, int]] = []
        self._rules: tuple[_Rule, ...] = ()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        for name, value in attrs:
            if (tag, name) not in LOADING or value is None:
                continue
            for rule in (EXTERNAL_RULE, ABSOLUTE_RULE):
                if rule.pattern.match(value.strip()):
                    self.troubles.append((rule, line))
        self._rules = {"script": SCRIPT_RULES, "style": STYLE_RULES}.get(tag, ())

    def handle_endtag(self, tag: str) -> None:
        self._rules = ()

    def handle_data(self, data: str) -> None:
        if self._rules:
            self.troubles.extend(_lines(self._rules, data, self.getpos()[0]))


def _several(places: list[str]) -> str:
    shown = ", ".join(places[:MAX_LISTED])
    more = len(places) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
