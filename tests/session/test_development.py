"""What only the development host may ask, and that nobody else gets an answer."""

import asyncio
from typing import Any

import pytest

from canvas_provider import create_canvas
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.config import Settings
from canvas_provider.errors import RemoteError
from canvas_provider.protocol.development import DevelopmentMethod
from canvas_provider.types import JSONObject
from tests.support.sessions import Joined, joined

DEVELOPMENT = Settings(development=True)

MAIN: JSONObject = {"instanceId": "main"}


def make_board() -> Canvas:
    board = create_canvas(id="board", display_name="Board", description="A board.", state=dict)

    @board.action
    async def add(state: dict, name: str) -> None:  # type: ignore[type-arg]
        """Add a name."""
        state[name] = 1

    return board


async def ask(it: Joined, method: DevelopmentMethod, **params: Any) -> Any:
    async with asyncio.timeout(5):
        return await it.link.peer.request(method, {**MAIN, **params})


@pytest.mark.parametrize("method", DevelopmentMethod)
async def test_in_copilot_there_is_no_such_door(method: DevelopmentMethod) -> None:
    async with joined(make_board()) as it:
        await it.runtime.open("board", "main")
        with pytest.raises(RemoteError) as raised:
            await ask(it, method)
        assert raised.value.code == -32601


async def test_the_history_says_who_did_what_and_waits_for_more() -> None:
    async with joined(make_board(), settings=DEVELOPMENT) as it:
        await it.runtime.open("board", "main")
        first = await ask(it, DevelopmentMethod.HISTORY)
        assert (first["revision"], first["state"], first["revisions"]) == (0, {}, [])
        waiting = asyncio.ensure_future(ask(it, DevelopmentMethod.HISTORY, after=first["version"]))
        await it.runtime.invoke("main", "add", {"name": "a"})
        second = await waiting
        assert second["state"] == {"a": 1}
        [revision] = second["revisions"]
        assert revision.pop("time") > 0
        assert revision == {
            "number": 1,
            "previous": 0,
            "author": "agent",
            "action": "add",
            "ops": [{"op": "add", "path": "/a", "value": 1}],
            "inverse": [{"op": "remove", "path": "/a"}],
            "reverts": None,
        }


async def test_a_revision_is_taken_back_and_brought_again_as_by_a_person() -> None:
    async with joined(make_board(), settings=DEVELOPMENT) as it:
        await it.runtime.open("board", "main")
        for name in ("a", "b"):
            await it.runtime.invoke("main", "add", {"name": name})
        undone = await ask(it, DevelopmentMethod.UNDO, revision=1)
        assert (undone["author"], undone["reverts"]) == ("person", 1)
        assert (await ask(it, DevelopmentMethod.HISTORY))["state"] == {"b": 1}
        await ask(it, DevelopmentMethod.REDO)
        assert (await ask(it, DevelopmentMethod.HISTORY))["state"] == {"a": 1, "b": 1}
        await ask(it, DevelopmentMethod.UNDO)
        assert (await ask(it, DevelopmentMethod.HISTORY))["state"] == {"a": 1}
        with pytest.raises(RemoteError) as raised:
            await ask(it, DevelopmentMethod.UNDO, revision=99)
        assert raised.value.data == {"code": "nothing_to_undo"}


async def test_what_is_not_open_or_has_no_state_is_said() -> None:
    plain = create_canvas(id="plain", display_name="Plain", description="No state.")

    @plain.action
    async def nothing() -> None:
        """Do nothing."""

    async with joined(plain, settings=DEVELOPMENT) as it:
        with pytest.raises(RemoteError, match="is not open"):
            await ask(it, DevelopmentMethod.HISTORY)
        await it.runtime.open("plain", "main")
        assert await ask(it, DevelopmentMethod.HISTORY) == {"version": None}
        with pytest.raises(RemoteError, match="has no state"):
            await ask(it, DevelopmentMethod.UNDO)
