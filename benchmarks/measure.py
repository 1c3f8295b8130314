"""How long calls take: in turns, so that what disturbs the machine disturbs all of them alike."""

import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

__all__ = ["Call", "Spread", "sample", "spread"]

Call = Callable[[], Awaitable[object]]

WARM_UP: Final = 3
"""Rounds that are not counted: shapes are compiled, files created, caches filled."""

IO: Final = Path("/proc/self/io")
"""Where Linux counts what a process writes, all of its threads together."""


@dataclass(frozen=True)
class Spread:
    """What was measured of one call. Times are in seconds."""

    median: float
    low: float
    """The lower quartile."""
    high: float
    """The upper quartile."""
    written: int | None
    """Median of the bytes given to `write`, to files and sockets; `None` where nobody counts."""


async def sample(calls: Mapping[str, Call], rounds: int) -> dict[str, Spread]:
    """Make every call in `rounds` turns, one after the other.

    In its turn a call is made twice and the second one counts, so that none pays for the caches
    that the others have emptied. The garbage collector stays on, as it is in a provider. It has
    just run when a round begins.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    sizes: dict[str, list[int]] = {name: [] for name in calls}
    names = list(calls)
    for number in range(WARM_UP + rounds):
        gc.collect()
        # Each name comes first once in a while, right after the collection.
        first = number % len(names)
        for name in names[first:] + names[:first]:
            call = calls[name]
            await call()
            before = _written()
            begin = time.perf_counter()
            await call()
            took = time.perf_counter() - begin
            if number >= WARM_UP:
                times[name].append(took)
                if before is not None and (after := _written()) is not None:
                    sizes[name].append(after - before)
    return {name: spread(times[name], sizes[name]) for name in names}


def spread(times: list[float], sizes: list[int]) -> Spread:
    """Sum up one call's times, in seconds, and written bytes."""
    low, middle, high = quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return Spread(middle, low, high, int(median(sizes)) if sizes else None)


def _written() -> int | None:
    try:
        text = IO.read_text("ascii")
    except OSError:
        return None
    counts = dict(line.split(": ") for line in text.splitlines())
    return int(counts["wchar"])
