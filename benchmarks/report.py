"""Figures as a Markdown table, and into a page."""

from pathlib import Path
from typing import Any, Final

__all__ = ["table", "write_table"]

BEGIN: Final = "<!-- figures: written by `make bench BENCH_ARGS=--page=...` -->\n"
END: Final = "<!-- end of figures -->\n"


def table(found: dict[str, Any]) -> str:
    """Return what `benchmarks.state` found: a row for each call, a column for each size."""
    figures = found["figures"]
    sizes = list(dict.fromkeys(figure["items"] for figure in figures))
    names = list(dict.fromkeys(figure["name"] for figure in figures))
    by_place = {(figure["name"], figure["items"]): figure for figure in figures}
    head = ["", *(f"{size:,} items" for size in sizes)]
    rows = [[name, *(_cell(by_place[name, size]) for size in sizes)] for name in names]
    lines = [head, ["---", *["--:" for _ in sizes]], *rows]
    text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return (
        f"canvas_provider {found['version']}, Python {found['python']}, {found['machine']};"
        f" garbage collector {found['garbage_collector']}.\n\n{text}"
    )


def write_table(page: Path, text: str) -> None:
    """Replace the figures of a page."""
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no place for figures between {BEGIN!r} and {END!r}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")


def _cell(figure: dict[str, Any]) -> str:
    spread = figure["spread"]
    parts = [f"{_ms(spread['median'])} ms ({_ms(spread['low'])}–{_ms(spread['high'])})"]
    if spread["written"]:
        parts.append(f"{_size(spread['written'])} written")
    if figure["frame"] is not None:
        parts.append(f"{_size(figure['frame'])} to each page")
    return "; ".join(parts)


def _ms(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _size(size: int) -> str:
    return f"{size} B" if size < 10_000 else f"{size / 1000:,.0f} kB"
