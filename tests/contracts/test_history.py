"""What a document knows of its history, over every store; and what other processes know of it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from canvas_provider import CanvasContext, CanvasError, create_canvas
from canvas_provider.errors import RevisionConflict
from canvas_provider.state.shared import Revision, SharedState
from canvas_provider.state.store import Store
from canvas_provider.testing import open_canvas
from tests.support.stores import DURABLE, KINDS, StoreKind


@pytest.fixture(params=KINDS.values(), ids=str)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture(params=DURABLE, ids=str)
def durable(request: pytest.FixtureRequest) -> StoreKind:
    made: StoreKind = request.param
    return made


@pytest.fixture
async def store(kind: StoreKind, tmp_path: Path) -> AsyncIterator[Store]:
    made = kind.make(tmp_path / "new")
    yield made
    await made.aclose()


def put(key: str, value: int, draft: Any) -> None:
    draft[key] = value


async def test_history_and_undo_outlive_the_process(kind: StoreKind, tmp_path: Path) -> None:
    store = kind.make(tmp_path)
    state = await SharedState.open(store, "board", initial=lambda: {"a": 0, "b": [1, 2]})
    async with state.change(author="agent", action="set_a") as draft:
        draft["a"] = 1
    async with state.change(author="person", action="remove") as draft:
        del draft["b"][0]
    await state.undo(1, author="person", action="undo")
    before = state.history()
    await state.aclose()
    if kind.keeps_history:
        await store.aclose()
        store = kind.make(tmp_path)
    again = await SharedState.open(store, "board")
    assert again.history() == before
    assert [(known.author, known.action, known.reverts) for known in before] == [
        ("agent", "set_a", None),
        ("person", "remove", None),
        ("person", "undo", 1),
    ]
    await again.undo()
    await again.redo(of="person")
    assert again.document == {"a": 1, "b": [1, 2]}
    await store.aclose()


async def test_who_did_what_in_another_process_is_told_one_by_one(
    kind: StoreKind, tmp_path: Path
) -> None:
    store = kind.make(tmp_path)
    other = kind.make(tmp_path) if kind.is_durable else store
    ours = await SharedState.open(store, "board", initial=lambda: {"n": 0, "ours": 0})
    await ours.update(lambda draft: draft.update(ours=1), author="person")
    theirs = await SharedState.open(other, "board")
    heard: list[Revision] = []
    ours.subscribe(heard.append)
    for n in range(3):
        await theirs.update(partial(put, "n", n + 1), author="agent", action="add")
    undone = await ours.undo(of="person", author="person")
    if kind.keeps_history or other is store:
        assert heard == [*theirs.history()[-3:], undone]
        assert [known.author for known in heard] == ["agent", "agent", "agent", "person"]
    else:
        assert [(known.author, known.previous) for known in heard] == [("system", 1), ("person", 4)]
    assert ours.document == {"n": 3, "ours": 0}
    await store.aclose()
    await other.aclose()


async def test_an_undo_is_tried_again_when_another_process_was_first(
    durable: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = durable.make(tmp_path), durable.make(tmp_path)
    ours = await SharedState.open(store, "board", initial=lambda: {"n": 0, "a": 0})
    await ours.update(lambda draft: draft.update(a=1), author="person")
    theirs = await SharedState.open(other, "board")
    await theirs.update(lambda draft: draft.update(n=1), author="agent")
    monkeypatch.setattr(store, "is_current", lambda key, revision: True)
    undone = await ours.undo(of="person")
    assert (undone.previous, undone.reverts, ours.document) == (2, 1, {"n": 1, "a": 0})
    await theirs.update(lambda draft: draft.update(a=5), author="agent")
    with pytest.raises(RevisionConflict, match="by the (agent|system)"):
        await ours.redo()
    await theirs.update(lambda draft: draft.update(n=2), author="agent")
    with pytest.raises(RevisionConflict):
        await ours.undo(1, expected_revision=3)
    await store.aclose()
    await other.aclose()


async def test_a_handler_that_fails_leaves_all_as_it_was(store: Store) -> None:
    @dataclass
    class Board:
        items: list[str] = field(default_factory=list)

    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        state=Board,
        store=store,
        state_key=lambda ctx: "board",
    )

    @canvas.action
    async def add(board: Board, text: str) -> None:
        """Add an item."""
        board.items.append(text)
        if text == "bad":
            raise CanvasError("bad", "A bad item.")

    @canvas.action
    async def revert(ctx: CanvasContext) -> None:
        """Undo, then fail before leaving the next change."""
        async with ctx.state.change() as board:
            board.items.append("half")
            await ctx.state.undo()

    async with open_canvas(canvas, store=store) as panel:
        await panel.person("add", {"text": "good"})
        state = panel._instance.state
        assert state is not None
        key = state._live._key
        before = (state.document, state.history(), await store.load(key))
        assert before[2] is not None
        calls: list[tuple[str, Any]] = [("add", {"text": "bad"}), ("revert", {})]
        for caller in (panel.agent, panel.person):
            for name, given in calls:
                with pytest.raises(CanvasError):
                    await caller(name, given)
        assert (state.document, state.history(), await store.load(key)) == before
        await panel.agent("add", {"text": "last"})
        shown = await panel.events.wait_for("patch", lambda event: event.data["revision"] > 1)
        assert (shown.data["revision"], shown.data["author"]) == (2, "agent")
        assert [event.name for event in panel.events] == ["snapshot", "patch", "patch"]
