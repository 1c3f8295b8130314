"""The benchmark of the shared state runs, and its page shows what it measures."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import state
from benchmarks.measure import sample, spread
from benchmarks.report import write_table
from tests.support.require import ROOT

PAGE = ROOT / "docs" / "explanation" / "state-costs.md"


@pytest.fixture(scope="module")
def found() -> Any:
    """What one run prints: it takes seconds, and every test may read it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        state.main(["--items=3", "--items=4", "--rounds=2", "--json"])
    return json.loads(printed.getvalue())


def test_the_page_has_a_row_for_everything_that_is_measured(found: Any) -> None:
    names = {figure["name"] for figure in found["figures"]}
    assert len(found["figures"]) == 2 * len(names)
    rows = {
        line.split("|")[1].strip() for line in PAGE.read_text("utf-8").splitlines() if "|" in line
    }
    assert rows - {"", "---"} == names


def test_every_figure_has_a_median_within_its_spread_and_a_ratio(found: Any) -> None:
    for figure in found["figures"]:
        times = figure["spread"]
        assert 0 < times["low"] <= times["median"] <= times["high"], figure["name"]
        assert figure["ratio"] > 0


def test_a_page_gets_a_small_frame_of_a_small_change(found: Any) -> None:
    frames = [figure["frame"] for figure in found["figures"] if figure["frame"]]
    assert len(frames) == 2
    assert max(frames) < 1000


async def test_calls_take_turns_and_the_first_rounds_do_not_count() -> None:
    made: list[str] = []

    async def one() -> None:
        made.append("one")

    async def two() -> None:
        made.append("two")

    await sample({"one": one, "two": two}, 1)
    assert made == ["one", "one", "two", "two", "two", "two", "one", "one"] * 2


def test_a_spread_is_made_of_quartiles() -> None:
    found = spread([4.0, 1.0, 2.0, 3.0, 5.0], [10, 30, 20])
    assert (found.low, found.median, found.high, found.written) == (2.0, 3.0, 4.0, 20)
    assert spread([1.0], []).written is None


def test_a_page_without_a_place_for_figures_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n", "utf-8")
    with pytest.raises(ValueError, match="no place for figures"):
        write_table(page, "| a |\n")
    assert page.read_text("utf-8") == "nothing\n"
