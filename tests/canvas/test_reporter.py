"""Carrying progress: what threads tell, and a timeline that does not answer or is gone."""

import asyncio
import threading
from typing import Any

from canvas_provider.canvas.progress import Progress
from canvas_provider.canvas.reporter import Reporter


class Call:
    ended = False


class Session:
    """A host that takes lines as a test lets it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.answers = asyncio.Event()
        self.error: Exception | None = None

    async def log(self, message: str, **options: Any) -> str:
        self.lines.append(message)
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        return ""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def make_reporter() -> tuple[Reporter, Session]:
    session = Session()
    return Reporter(asyncio.get_running_loop(), session), session


def start(reporter: Reporter, title: str = "Work", call: Call | None = None) -> Progress:
    owner = Call() if call is None else call
    return reporter.create(title, None, author="agent", action=None, owner=owner)


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)  # noqa: TID251  # steps of the loop, not time


async def test_a_work_of_a_thread_ends_with_its_call_before_the_loop_has_heard_of_it() -> None:
    reporter, _ = make_reporter()
    call = Call()
    work = start(reporter, call=call)
    thread = threading.Thread(target=work.__enter__)
    thread.start()
    thread.join()
    call.ended = True
    reporter.cancel(call)
    assert [frame["status"] for frame in reporter.running()] == [], "nobody knew of it"
    await steps()
    assert work.status == "cancelled"
    assert reporter.running() == []
    await reporter.aclose()


async def test_a_host_that_does_not_answer_holds_up_nobody_and_gets_the_newest_lines() -> None:
    reporter, session = make_reporter()
    for number in range(100):
        with start(reporter, f"Work {number}") as work:
            work.end("failed")
    await steps()
    assert session.lines == ["Work 84: failed"]
    session.answers.set()
    await steps()
    assert session.lines == [f"Work {number}: failed" for number in range(84, 100)]
    await reporter.aclose()


async def test_a_host_that_refuses_a_line_gets_the_next_one_all_the_same() -> None:
    reporter, session = make_reporter()
    session.error = RuntimeError("gone")
    session.answers.set()
    for number in range(2):
        with start(reporter, f"Work {number}") as work:
            work.end("failed")
        await steps()
    assert session.lines == ["Work 0: failed", "Work 1: failed"]
    await reporter.aclose()


async def test_a_close_waits_for_the_last_line_only_so_long() -> None:
    reporter, session = make_reporter()
    work = start(reporter).__enter__()
    work.end("failed")
    async with asyncio.timeout(5):
        await reporter.aclose()
    assert session.lines == ["Work: failed"]
    late = start(reporter).__enter__()
    assert late.status == "cancelled"
