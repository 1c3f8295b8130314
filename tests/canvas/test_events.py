import asyncio
import threading

import pytest

from canvas_provider.canvas.events import Events
from canvas_provider.errors import NotJSON
from canvas_provider.types import JSONValue


async def test_listeners_get_name_and_data_until_they_unsubscribe() -> None:
    events = Events(asyncio.get_running_loop())
    heard: list[tuple[str, JSONValue]] = []
    unsubscribe = events.subscribe(lambda name, data: heard.append((name, data)))
    events.emit("card-moved_2", (1, 2))  # type: ignore[arg-type]
    unsubscribe()
    unsubscribe()
    events.emit("later", None)
    assert heard == [("card-moved_2", [1, 2])]


@pytest.mark.parametrize(
    "name",
    ["", "A", "1a", "a b", "a\n", "-a", "snapshot", "patch", "progress", "closed", "error"],
)
async def test_names_that_are_not_free_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name for an event"):
        Events(asyncio.get_running_loop()).emit(name, None)


async def test_data_that_is_not_json_is_refused_where_it_is_sent() -> None:
    with pytest.raises(NotJSON, match="/a"):
        Events(asyncio.get_running_loop()).emit("x", {"a": float("nan")})


async def test_events_of_a_thread_arrive_in_the_loop_in_their_order() -> None:
    events = Events(asyncio.get_running_loop())
    heard: list[JSONValue] = []
    done = asyncio.Event()

    def listen(name: str, data: JSONValue) -> None:
        assert threading.current_thread() is threading.main_thread()
        heard.append(data)
        if data == 9:
            done.set()

    def emit_ten() -> None:
        for number in range(10):
            events.emit("n", number)

    events.subscribe(listen)
    async with asyncio.timeout(5):
        await asyncio.to_thread(emit_ten)
        await done.wait()
    assert heard == list(range(10))
