"""Progress: what is told of long work, when, and to whom. The clock is the test's own."""

import math
import threading
from decimal import Decimal
from typing import Any

import pytest

from canvas_provider.canvas.board import Board, Line
from canvas_provider.canvas.progress import Progress
from canvas_provider.errors import CanvasError, CanvasProviderError


class Desk:
    """A board with a clock that goes when it is told to."""

    ended = False

    def __init__(self) -> None:
        self.now = 100.0
        self.board = Board()
        self.frames: list[Any] = []
        self.lines: list[tuple[float, Line]] = []
        self.told = 0
        self._number = 0

    def start(self, title: str = "Work", total: float | None = None) -> Progress:
        self._number += 1
        work = Progress(
            str(self._number),
            title,
            total,
            author="agent",
            action="act",
            owner=self,
            tell=self.on_news,
        )
        return work.__enter__()

    def on_news(self, work: Progress) -> None:
        self.told += 1
        self.board.look(work, self.now)
        self.take()

    def take(self) -> None:
        report = self.board.take(self.now)
        self.frames += report.frames
        self.lines += [(self.now, line) for line in report.lines]

    def run(self, seconds: float) -> None:
        """Let time pass, and take whenever the board says that it is due."""
        end = self.now + seconds
        while (due := self.board.due(self.now)) is not None and due <= end:
            self.now = max(self.now, due)
            self.take()
        self.now = end

    @property
    def counts(self) -> list[float]:
        return [frame["done"] for frame in self.frames]

    @property
    def statuses(self) -> list[tuple[str, str]]:
        return [(frame["id"], frame["status"]) for frame in self.frames]

    @property
    def texts(self) -> list[str]:
        return [line.text for _, line in self.lines]


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- Counting


def test_a_hundred_thousand_steps_tell_of_themselves_once_a_frame(desk: Desk) -> None:
    work = desk.start(total=100_000)
    for _ in range(100_000):
        work.advance()
    assert desk.told == 2, "the beginning, and that there is news"
    assert desk.counts == [0]
    desk.run(0.1)
    assert desk.counts == [0, 100_000]


def test_steps_of_many_threads_are_all_counted(desk: Desk) -> None:
    work = desk.start()

    def count() -> None:
        for _ in range(2000):
            work.advance(2)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert work.done == 16_000


def test_what_is_known_later_can_be_set_later(desk: Desk) -> None:
    work = desk.start()
    work.update(total=40, message="a.csv")
    work.update(done=10)
    work.update(message="b.csv")
    desk.run(1)
    assert (work.done, work.total, work.message, work.status) == (10, 40, "b.csv", "running")
    assert desk.frames[-1] == {
        "id": "1",
        "title": "Work",
        "message": "b.csv",
        "done": 10,
        "total": 40,
        "status": "running",
        "author": "agent",
        "action": "act",
    }


def test_what_counts_as_a_number_is_told_as_one_that_json_has(desk: Desk) -> None:
    work = desk.start(total=Decimal("2.5"))  # type: ignore[arg-type]
    work.update(done=2.0)
    frame = work.frame()
    assert (frame["done"], frame["total"]) == (2, 2.5)
    assert {type(frame["done"]), type(frame["total"])} == {int, float}


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 2**60])
def test_what_is_no_count_is_refused_and_changes_nothing(desk: Desk, wrong: float) -> None:
    work = desk.start(total=3)
    with pytest.raises(ValueError):
        work.advance(wrong)
    with pytest.raises(ValueError):
        work.update(done=wrong)
    with pytest.raises(ValueError):
        work.update(total=wrong)
    with pytest.raises(ValueError, match="how much there is to do, not -1: leave it out"):
        desk.start(total=-1)
    with pytest.raises(TypeError):
        desk.start(title=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="say what is being done"):
        desk.start(title=" ")
    with pytest.raises(TypeError, match=r"as in advance\(2\), not str"):
        work.advance("2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the done of a progress is a number, not str"):
        work.update(done="2")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        work.update(message=b"x")  # type: ignore[arg-type]
    assert (work.done, work.total) == (0, 3)


def test_a_title_is_one_short_line_that_can_be_encoded(desk: Desk) -> None:
    work = desk.start("a\n\tb \ud800 " + "x" * 5000)
    title = work.frame()["title"]
    assert title.startswith("a b ? xxx")
    assert title.endswith("x…")
    assert len(title) == 200


def test_what_has_not_begun_cannot_go_on_and_what_has_ended_cannot_begin(desk: Desk) -> None:
    work = Progress("1", "Work", 1, author="agent", action=None, owner=desk, tell=desk.on_news)
    with pytest.raises(CanvasProviderError, match="async with ctx.progress"):
        work.advance()
    with pytest.raises(CanvasProviderError, match="async with ctx.progress"):
        work.update(done=1)
    with work:
        pass
    work.advance()
    work.update(message="late")
    assert desk.statuses == [("1", "running"), ("1", "done")]
    with pytest.raises(CanvasProviderError, match="one block"):
        work.__enter__()


# --- How it ends


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (None, "done", "at it"),
        (ValueError("secret"), "failed", "at it"),
        (SystemExit(1), "failed", "at it"),
        (ExceptionGroup("secret", [ValueError()]), "failed", "at it"),
        (CanvasError("full", "The shelf is full."), "failed", "The shelf is full."),
        (KeyboardInterrupt(), "cancelled", "at it"),
        (GeneratorExit(), "cancelled", "at it"),
    ],
)
def test_the_end_says_how_it_went_but_no_text_that_was_not_made_to_be_read(
    desk: Desk, error: BaseException | None, status: str, message: str
) -> None:
    work = desk.start()
    work.update(message="at it")
    work.__exit__(None if error is None else type(error), error, None)
    assert work.status == status
    assert (desk.frames[-1]["status"], desk.frames[-1]["message"]) == (status, message)
    work.end("cancelled")
    desk.run(60)
    assert desk.statuses == [("1", "running"), ("1", status)]


# --- Frames


def test_a_page_gets_ten_frames_a_second_and_the_last_one_always(desk: Desk) -> None:
    work = desk.start(total=1000)
    for _ in range(1000):
        work.advance()
        desk.run(0.001)
    work.end("done")
    assert 10 <= len(desk.frames) <= 12
    assert desk.frames[-1]["done"] == 1000
    assert desk.counts == sorted(desk.counts)
    assert desk.board.due(desk.now) is None, "and then nothing is left to be told"


def test_many_works_share_the_ten_frames_and_take_turns(desk: Desk) -> None:
    works = [desk.start(f"Work {number}") for number in range(20)]
    desk.run(2)
    desk.frames.clear()
    for _ in range(300):
        for work in works:
            work.advance()
        desk.run(0.01)
    assert len(desk.frames) <= 30 + 5
    told = {frame["id"] for frame in desk.frames}
    assert len(told) == 20, "each had its turn"
    for work in works:
        work.end("done")
    ends = [frame for frame in desk.frames if frame["status"] == "done"]
    assert [frame["done"] for frame in ends] == [300] * 20, "no end is left out"


def test_of_a_flood_of_short_works_only_the_first_are_told_and_those_that_fail(desk: Desk) -> None:
    for number in range(1000):
        work = desk.start()
        work.end("failed" if number == 700 else "done")
    assert desk.frames[0]["id"] == "1"
    assert ("701", "failed") in desk.statuses
    assert len(desk.frames) < 10
    begun = {id for id, status in desk.statuses if status == "running"}
    ended = {id for id, status in desk.statuses if status != "running"}
    assert begun <= ended


def test_a_work_that_begins_and_ends_before_anybody_looks_is_told_once(desk: Desk) -> None:
    """As it is with a thread that is faster than the loop."""
    news: list[Progress] = []
    work = Progress("1", "Work", 1, author="agent", action=None, owner=desk, tell=news.append)
    with work:
        work.advance()
    for each in news:
        desk.on_news(each)
    assert desk.statuses == [("1", "done")]


def test_what_does_not_change_is_told_again_now_and_then(desk: Desk) -> None:
    """A page may have missed its beginning, and forgets what it no longer hears of."""
    desk.start()
    desk.run(60)
    assert len(desk.frames) == 7


def test_a_page_that_comes_late_gets_what_runs_as_it_is_now(desk: Desk) -> None:
    first, second = desk.start("First", total=10), desk.start("Second")
    first.advance(3)
    second.end("done")
    assert [(frame["title"], frame["done"]) for frame in desk.board.running()] == [("First", 3)]
    first.end("done")
    assert desk.board.running() == []


def test_a_page_that_came_late_is_told_the_end_of_what_it_saw(desk: Desk) -> None:
    for _ in range(10):
        desk.start()
    work = desk.start("Not told yet")
    assert "11" not in {id for id, _ in desk.statuses}
    assert len(desk.board.running()) == 11
    work.end("done")
    assert desk.statuses[-1] == ("11", "done")


# --- Lines


def test_the_timeline_hears_nothing_of_short_work(desk: Desk) -> None:
    work = desk.start(total=2)
    work.advance()
    desk.run(0.99)
    work.end("done")
    desk.run(60)
    assert desk.lines == []


def test_the_timeline_hears_of_long_work_every_few_seconds_and_of_its_end(desk: Desk) -> None:
    work = desk.start("Importing", total=1000)
    for number in range(40):
        work.advance(25)
        if number == 20:
            work.update(message="b.csv")
        desk.run(0.25)
    work.end("done")
    assert desk.texts == [
        "Importing: 10%",
        "Importing: 40%",
        "Importing: 70% · b.csv",
        "Importing: 100% · b.csv",
        "Importing: done",
    ]
    times = [time for time, _ in desk.lines]
    assert times[0] >= 101
    assert min(b - a for a, b in zip(times, times[1:-1], strict=False)) >= 3


def test_without_a_total_the_timeline_gets_the_count(desk: Desk) -> None:
    work = desk.start("Reading")
    desk.run(2)
    work.advance(1234)
    desk.run(3)
    work.end("cancelled")
    assert desk.texts == ["Reading…", "Reading: 1,234", "Reading: cancelled"]


def test_what_stands_still_is_not_said_twice(desk: Desk) -> None:
    desk.start("Waiting", total=4)
    desk.run(60)
    assert desk.texts == ["Waiting: 0%"]


def test_two_works_take_turns_in_the_timeline(desk: Desk) -> None:
    one, two = desk.start("One", total=100), desk.start("Two", total=100)
    for _ in range(40):
        one.advance()
        two.advance()
        desk.run(0.25)
    assert [text.partition(":")[0] for text in desk.texts] == ["One", "Two", "One", "Two"]


def test_a_failure_is_said_even_of_short_work_and_without_its_text(desk: Desk) -> None:
    work = desk.start("Importing")
    work.__exit__(CanvasError, CanvasError("no", "row 7 holds a password"), None)
    assert [line for _, line in desk.lines] == [Line("Importing: failed", "warning")]


@pytest.mark.parametrize(("done", "percent"), [(-5, 0), (0, 0), (199, 99), (200, 100), (900, 100)])
def test_a_percentage_stays_within_its_bounds(desk: Desk, done: float, percent: int) -> None:
    work = desk.start(total=200)
    work.update(done=done)
    desk.run(1.5)
    assert desk.texts == [f"Work: {percent}%"]
