"""Random documents, changed by two authors: what an undo gives is what was never done."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from canvas_provider.errors import NothingToUndo, RevisionConflict
from canvas_provider.state.inverse import invert
from canvas_provider.state.json import equal
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.patch import apply, diff
from canvas_provider.state.shared import Revision, SharedState
from canvas_provider.state.sqlite import SQLiteStore
from canvas_provider.types import Author

AUTHORS: tuple[Author, ...] = ("agent", "person")

Intent = Callable[[Any], bool]
"""What somebody meant, in names and not in places. Says whether the document had what it needs."""


def rename(name: str, text: str) -> Intent:
    def change(draft: Any) -> bool:
        for lane in draft["lanes"].values():
            for card in lane:
                if card["id"] == name:
                    card["t"] = text
                    return True
        return False

    return change


def tag(name: str, number: int) -> Intent:
    def change(draft: Any) -> bool:
        for lane in draft["lanes"].values():
            for card in lane:
                if card["id"] == name:
                    card["tags"].append(number)
                    return True
        return False

    return change


def take(name: str) -> Intent:
    def change(draft: Any) -> bool:
        for lane in draft["lanes"].values():
            for index, card in enumerate(lane):
                if card["id"] == name:
                    del lane[index]
                    return True
        return False

    return change


def put(name: str, lane: str, before: str | None) -> Intent:
    def change(draft: Any) -> bool:
        cards = draft["lanes"].get(lane)
        names = [card["id"] for card in cards or []]
        if cards is None or (before is not None and before not in names):
            return False
        place = len(cards) if before is None else names.index(before)
        cards.insert(place, {"id": name, "t": "", "tags": []})
        return True

    return change


def move(name: str, lane: str, before: str | None) -> Intent:
    def change(draft: Any) -> bool:
        cards = draft["lanes"].get(lane)
        if cards is None or name == before:
            return False
        if before is not None and before not in [card["id"] for card in cards]:
            return False
        for source in draft["lanes"].values():
            for index, card in enumerate(source):
                if card["id"] == name:
                    del source[index]
                    names = [card["id"] for card in cards]
                    cards.insert(len(cards) if before is None else names.index(before), card)
                    return True
        return False

    return change


def write(key: str, value: int) -> Intent:
    def change(draft: Any) -> bool:
        draft["counts"][key] = value
        return True

    return change


def erase(key: str) -> Intent:
    def change(draft: Any) -> bool:
        return draft["counts"].pop(key, None) is not None

    return change


class Board:
    """Makes random intents, some of them two in one change."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = [f"c{n}" for n in range(6)]
        self.document = {
            "lanes": {
                "1": [{"id": name, "t": "", "tags": [0]} for name in self.names[:4]],
                "2": [{"id": name, "t": "", "tags": []} for name in self.names[4:]],
            },
            "counts": {"0": 0, "1": 1},
        }
        self._count = 0

    def one(self) -> Intent:
        source = self.random
        self._count += 1
        name, lane = source.choice(self.names), source.choice("12")
        before = source.choice([None, source.choice(self.names)])
        kind = source.randrange(8)
        if kind == 0:
            self.names.append(f"n{self._count}")
            return put(self.names[-1], lane, before)
        choices = [
            rename(name, f"t{self._count}"),
            rename(name, f"t{self._count}"),
            tag(name, self._count),
            take(name),
            move(name, lane, before),
            write(source.choice("0123"), self._count),
            erase(source.choice("0123")),
        ]
        return choices[kind - 1]

    def some(self) -> Intent:
        intents = [self.one() for _ in range(self.random.choice([1, 1, 1, 2, 3]))]

        def change(draft: Any) -> bool:
            met = [intent(draft) for intent in intents]
            return all(met)

        return change


async def open_board(board: Board) -> SharedState[Any]:
    return await SharedState.open(MemoryStore(), "board", initial=lambda: board.document)


async def replay(board: Board, intents: Sequence[Intent]) -> tuple[Any, bool]:
    state = await open_board(board)
    met = [await state.update(intent) for intent in intents]
    return state.document, all(met)


@pytest.mark.parametrize("seed", range(60))
async def test_an_undo_that_is_accepted_gives_what_was_never_done(seed: int) -> None:
    board = Board(seed)
    state = await open_board(board)
    done: dict[int, Intent] = {}
    for _ in range(14):
        intent = board.some()
        before = state.revision
        if not (await replay(board, [*done.values(), intent]))[1]:
            continue
        await state.update(intent, author=board.random.choice(AUTHORS))
        if state.revision > before:
            done[state.revision] = intent
        if board.random.random() < 0.4 and done:
            number = board.random.choice(list(done))
            rest = [known for key, known in done.items() if key != number]
            try:
                await state.undo(number)
            except RevisionConflict:
                continue
            document, met = await replay(board, rest)
            assert met, "what was done since has needed it"
            assert equal(state.document, document)
            if board.random.random() < 0.5:
                with_it, _ = await replay(board, list(done.values()))
                await state.redo()
                assert equal(state.document, with_it)
            else:
                del done[number]


@pytest.mark.parametrize("seed", range(30))
async def test_walking_back_and_forth_passes_each_document_again(seed: int) -> None:
    board = Board(1000 + seed)
    state = await open_board(board)
    documents = [state.document]
    for _ in range(12):
        before = state.revision
        await state.update(board.some(), author=board.random.choice(AUTHORS))
        if state.revision > before:
            documents.append(state.document)
    for _ in range(2):
        for document in reversed(documents[:-1]):
            await state.undo()
            assert equal(state.document, document)
        with pytest.raises(NothingToUndo):
            await state.undo()
        for document in documents[1:]:
            await state.redo()
            assert equal(state.document, document)
        with pytest.raises(NothingToUndo):
            await state.redo()


@pytest.mark.parametrize("seed", range(30))
async def test_the_inverse_of_each_revision_leads_back(seed: int) -> None:
    board = Board(2000 + seed)
    state = await open_board(board)
    documents = {0: state.document}
    heard: list[Revision] = []
    state.subscribe(heard.append)
    for _ in range(20):
        await state.update(board.some())
        documents[state.revision] = state.document
        other: Any = Board(board.random.randrange(999)).document
        operations = diff(state.document, other)
        back = invert(state.document, operations)
        assert equal(apply(other, back), state.document)
    for revision in heard:
        previous = apply(documents[revision.number], revision.inverse)
        assert equal(previous, documents[revision.previous])
        assert equal(apply(previous, revision.ops), documents[revision.number])


async def test_what_is_kept_on_disk_is_what_is_kept_in_memory(tmp_path: Path) -> None:
    for seed in range(3):
        stores = (MemoryStore(), SQLiteStore(tmp_path / f"{seed}.sqlite3"))
        told: list[list[tuple[Any, ...]]] = []
        for store in stores:
            board = Board(3000 + seed)
            state = await SharedState.open(store, "board", initial=lambda b=board: b.document)
            for _ in range(15):
                await state.update(board.some(), author=board.random.choice(AUTHORS), action="do")
                if board.random.random() < 0.3 and state.revision:
                    try:
                        await state.undo(of=board.random.choice([None, *AUTHORS]))
                    except (NothingToUndo, RevisionConflict):
                        continue
            await state.aclose()
            if isinstance(store, SQLiteStore):
                await store.aclose()
            again = await SharedState.open(store, "board")
            assert again.history() == state.history()
            told.append([known._replace(time=0) for known in again.history()])
            await store.aclose()
        assert told[0] == told[1]
