"""Much at once for a while, with ends in the middle: nothing grows, nothing is lost.

`make slow` runs it for two minutes, `make soak SECONDS=3600` for an hour.
"""

import asyncio
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.support.provider import Provider, provider

pytestmark = [pytest.mark.slow, pytest.mark.process]

SECONDS: Final = float(os.environ.get("SOAK_SECONDS", "120"))

LIVES: Final = 2
"""So many processes follow each other; each begins with what the one before has left."""

INSTANCES: Final = 100
STREAMS: Final = 500
ACTIONS: Final = 1_000
"""A second, where the machine can."""

IN_FLIGHT: Final = 200
"""So many at once at most: a machine that is slow is asked for less, not for more and more."""

EXTENSION: Final = '''
import asyncio, gc, os, threading
from pathlib import Path
from canvas_provider import CanvasContext, MemoryStore, SQLiteStore, create_canvas, run
from canvas_provider.state import history

history.MAX_REVISIONS = 20  # a history that is full at once grows no more

board = create_canvas(
    id="board", display_name="Board", description="A board.", state=dict, store=MemoryStore()
)
ledger = create_canvas(
    id="ledger", display_name="Ledger", description="A ledger.", state=dict,
    store=SQLiteStore(Path(__file__).parent / "ledger"), state_key=lambda ctx: "ledger",
)

@board.action
async def add(state: dict, key: str = "k", ctx: CanvasContext = None) -> int:
    """Count."""
    state[key] = state.get(key, 0) + 1
    return state[key]

@board.action
async def figures() -> dict:
    """What this process holds on to."""
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return {
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
    }

@ledger.action
async def note(state: dict, number: int) -> None:
    """Write it down."""
    state["last"] = number

@ledger.action
async def last(ctx: CanvasContext) -> int:
    """What was written down."""
    return ctx.state.value.get("last", 0)

run(board, ledger)
'''


class Crowd:
    """Everybody who wants something of one process, and how long they waited."""

    def __init__(self, it: Provider, seed: int) -> None:
        self._it = it
        self._chance = random.Random(seed)
        self._urls: dict[str, str] = {}
        self._streams: dict[asyncio.Task[None], str] = {}
        self._http = httpx.AsyncClient(
            trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self._acting: set[asyncio.Task[None]] = set()
        self.actions: list[float] = []
        self.posts: list[float] = []
        self.received = 0
        """Bytes of all event streams."""
        self.broken = 0

    async def fill(self) -> None:
        for number in range(INSTANCES):
            await self._open(f"i{number}")
        while len(self._streams) < STREAMS:
            self._watch(self._chance.choice(list(self._urls)))

    async def leave(self) -> None:
        """Everybody goes, some without a word."""
        await asyncio.gather(*map(self._it.close, self._urls))
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)
        await self._http.aclose()

    async def press(self, seconds: float) -> None:
        """Ask for so many actions a second; do all the rest at the same time."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with asyncio.TaskGroup() as calls:
            asked = second = 0
            stirring: asyncio.Task[None] | None = None
            while (now := loop.time() - start) < seconds:
                while asked < now * ACTIONS:
                    if len(self._acting) < IN_FLIGHT:
                        act = calls.create_task(self._act())
                        self._acting.add(act)
                        act.add_done_callback(self._acting.discard)
                    asked += 1
                if now > second and (stirring is None or stirring.done()):
                    second += 1
                    stirring = calls.create_task(self._stir())
                await asyncio.sleep(0.005)  # noqa: TID251  # the load is a rate

    async def _act(self) -> None:
        instance = self._chance.choice(list(self._urls))
        key = self._chance.choice("abcdefgh")
        self.actions.append(await timed(self._it.invoke("add", {"key": key}, instance)))

    async def _stir(self) -> None:
        """What happens once a second: posts, pages that come and go, panels that do."""
        for _ in range(50):
            url = self._chance.choice(list(self._urls.values()))
            post = self._http.post(url + "actions/add", json={})
            self.posts.append(await timed(post))
        for stream in self._chance.sample(list(self._streams), 50):
            instance = self._streams.pop(stream)
            stream.cancel()
            self._watch(instance)
        for instance in self._chance.sample(list(self._urls), 3):
            await self._open(instance)

    async def _open(self, instance: str) -> None:
        self._urls[instance] = str((await self._it.open(instance))["url"])

    def _watch(self, instance: str) -> None:
        stream = asyncio.ensure_future(self._read(self._urls[instance]))
        self._streams[stream] = instance

    async def _read(self, url: str) -> None:
        where = httpx.URL(url)
        reader, writer = await asyncio.open_connection("127.0.0.1", where.port)
        try:
            head = f"GET {where.path}events HTTP/1.1\r\nHost: 127.0.0.1:{where.port}\r\n\r\n"
            writer.write(head.encode())
            while chunk := await reader.read(65536):
                self.received += len(chunk)
            self.broken += 1
        finally:
            writer.transport.abort()


async def timed(call: Awaitable[object]) -> float:
    start = time.perf_counter()
    await call
    return 1000 * (time.perf_counter() - start)


def percentiles(times: list[float]) -> str:
    cuts = statistics.quantiles(times, n=100)
    return f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"


async def figures(it: Provider) -> dict[str, Any]:
    await it.open("figures")
    found = await it.invoke("figures", instance_id="figures")
    await it.close("figures")
    assert isinstance(found, dict)
    return found


async def settled(it: Provider, before: dict[str, Any]) -> dict[str, Any]:
    """Ask until nobody is left; sockets close in their own time."""
    async with asyncio.timeout(20):
        while True:
            found = await figures(it)
            if all(found[name] <= before[name] for name in ("tasks", "threads", "descriptors")):
                return found


@asynccontextmanager
async def ledger(it: Provider) -> AsyncIterator[list[int]]:
    """Writes into a file all the time; the list holds what was acknowledged."""
    opened = {"sessionId": "s-1", "extensionId": "x", "canvasId": "ledger", "instanceId": "ledger"}
    await it.peer.request("canvas.open", {**opened})
    acknowledged = [await read_ledger(it)]

    async def write() -> None:
        while True:
            await it.peer.request(
                "canvas.action.invoke",
                {**opened, "actionName": "note", "input": {"number": acknowledged[-1] + 1}},
            )
            acknowledged.append(acknowledged[-1] + 1)

    writing = asyncio.ensure_future(write())
    try:
        yield acknowledged
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def read_ledger(it: Provider) -> int:
    call = {"sessionId": "s-1", "extensionId": "x", "canvasId": "ledger", "instanceId": "ledger"}
    found = await it.peer.request("canvas.action.invoke", {**call, "actionName": "last"})
    assert isinstance(found, int)
    return found


async def test_nothing_grows_and_nothing_is_lost(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    extension = tmp_path / "extension.py"
    extension.write_text(EXTENSION, encoding="utf-8")
    written = 0
    for life in range(LIVES):
        async with provider(extension) as it:
            # A first crowd shows what a process keeps for good: documents, caches, pools.
            for round in range(2):
                crowd = Crowd(it, seed=2 * life + round)
                await crowd.fill()
                async with ledger(it) as acknowledged:
                    assert acknowledged[0] >= written, "what was acknowledged is lost"
                    await crowd.press(SECONDS / LIVES / 2)
                    written = acknowledged[-1]
                assert crowd.broken == 0
                await crowd.leave()
                if round == 0:
                    before = await figures(it)
            after = await settled(it, before)
            assert after["megabytes"] - before["megabytes"] < 10
            report = f"actions {percentiles(crowd.actions)}, posts {percentiles(crowd.posts)}"
            record_property(f"life {life}", f"{len(crowd.actions)} {report}, {before} -> {after}")
            sys.stderr.write(f"life {life}: {len(crowd.actions)} {report}, {before} -> {after}\n")
            if life % 2 == 0:
                async with ledger(it) as acknowledged:
                    it.process.kill()
                    await it.process.wait()
                    written = max(written, acknowledged[-1])
            else:
                it.process.terminate()
                # 1: on a machine that is busy, something may have been cut off.
                assert await it.exit_code(within=5) in (0, 1), it.errors()[-2000:]
                assert "Traceback" not in it.errors()
