"""What nobody lists and what nobody fetches is said once, without a clock that ticks."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from canvas_provider import create_canvas
from canvas_provider.errors import RemoteError
from canvas_provider.session.session import Session
from canvas_provider.session.watch import FETCHED_AFTER, LISTED_AFTER
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair
from tests.support.sessions import EXTENSION, NoWeb, make_session


class Timer:
    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """Time passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        timer = Timer(self.now + delay, callback)
        self.timers.append(timer)
        return timer

    def pass_until(self, time: float) -> None:
        self.now = time
        due = [timer for timer in self.timers if timer.due <= time and not timer.cancelled]
        self.timers = [each for each in self.timers if each not in due and not each.cancelled]
        for timer in due:
            timer.callback()


class Host:
    """A runtime that lists what it likes."""

    def __init__(self, listed: list[str], *, canvases: bool = True) -> None:
        self.listed: JSONValue = [{"extensionId": EXTENSION, "canvasId": each} for each in listed]
        self.declared: list[JSONValue] = []
        self.canvases = canvases
        self.asked: list[str] = []
        self.news = asyncio.Event()
        self.clock = Clock()
        self.web = NoWeb()
        self.refuses = False
        self.peer: Peer
        self.session: Session

    async def answer(self, method: str, params: JSONObject) -> JSONValue:
        self.asked.append(method)
        self.news.set()
        if method == "session.canvas.list":
            return {"canvases": self.listed}
        if method == "session.resume":
            self.declared.append(params)
            if self.refuses:
                raise RemoteError(-32603, "not now")
        return {"capabilities": {"ui": {"canvases": self.canvases}}}

    async def __aenter__(self) -> "Host":
        ours, theirs = memory_pair()
        self.peer = Peer(theirs, on_request=self.answer)
        self.peer.start()
        made = [create_canvas(id=id, display_name="C", description="A canvas.", state=dict)
                for id in ("a", "b")]  # fmt: skip
        self.session = make_session(made, ours, web=self.web, clock=self.clock)
        await self.session.join()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.session.aclose()
        await self.peer.aclose()
        assert [timer for timer in self.clock.timers if not timer.cancelled] == []

    async def open(self, instance_id: str) -> None:
        call: JSONObject = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "a"}
        await self.peer.request("canvas.open", {**call, "instanceId": instance_id})

    async def pass_and_settle(self, time: float) -> None:
        """Let time pass, and what begins then come to its end."""
        self.clock.pass_until(time)
        task: Any = getattr(self.session._listing, "_task", None)
        if task is not None:
            async with asyncio.timeout(5):
                await asyncio.wait([task])


async def test_canvases_that_are_listed_are_looked_at_once_and_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Host(["b", "a", "other"]) as host:
        await host.pass_and_settle(LISTED_AFTER)
        assert host.asked[2:] == ["session.canvas.list"]
        assert host.clock.timers == []
    assert caplog.records == []


async def test_canvases_that_are_not_listed_are_declared_again_once_and_one_line_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Host(["a"]) as host:
        host.clock.pass_until(LISTED_AFTER - 0.1)
        assert host.session._listing is not None
        await host.pass_and_settle(LISTED_AFTER)
        first, second = host.declared
        assert first == second
        await host.pass_and_settle(1000)
        assert len(host.declared) == 2
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "does not list 'b' 5 s after this extension joined" in record.getMessage()


@pytest.mark.parametrize("listed", [None, 7, ["a"], [{}], [{"canvasId": 7}]])
async def test_a_list_that_makes_no_sense_is_logged_and_no_more(
    listed: JSONValue, caplog: pytest.LogCaptureFixture
) -> None:
    async with Host([]) as host:
        host.listed = listed
        await host.pass_and_settle(LISTED_AFTER)
        assert await host.session.log("still here") == ""
    (record,) = caplog.records
    assert "could not be declared again: session.canvas.list answered" in record.getMessage()


async def test_a_declaration_that_is_refused_then_is_logged_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Host([]) as host:
        host.refuses = True
        await host.pass_and_settle(LISTED_AFTER)
        assert await host.session.log("still here") == ""
    assert "could not be declared again: not now" in caplog.text


async def test_a_page_that_nobody_fetches_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    async with Host(["a", "b"]) as host:
        await host.open("fetched")
        await host.open("closed")
        host.clock.now = 4
        await host.open("blank")
        await host.open("blank")
        host.web.served["fetched"].visited = True
        call: JSONObject = {"sessionId": "s-1", "extensionId": EXTENSION, "canvasId": "a"}
        await host.peer.request("canvas.close", {**call, "instanceId": "closed"})
        await host.pass_and_settle(FETCHED_AFTER)
        assert caplog.records == []
        await host.pass_and_settle(FETCHED_AFTER + 4)
        (record,) = caplog.records
        assert "page of canvas 'a', instance 'blank', 10 s" in record.getMessage()
        assert "127.0.0.1:1/" not in record.getMessage()
        await host.open("blank")
        assert host.clock.timers == []


async def test_without_a_host_that_renders_canvases_no_page_is_missed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Host(["a", "b"], canvases=False) as host:
        await host.open("blank")
        await host.pass_and_settle(FETCHED_AFTER)
    assert caplog.records == []


async def test_any_number_of_open_pages_has_one_timer() -> None:
    async with Host(["a", "b"]) as host:
        await host.pass_and_settle(LISTED_AFTER)
        for number in range(20):
            await host.open(f"p{number}")
        assert len(host.clock.timers) == 1
