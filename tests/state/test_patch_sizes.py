"""In a list of a thousand cards, a patch says what was done and nothing else; found or recorded."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from canvas_provider.state.document import Document
from canvas_provider.state.json import equal
from canvas_provider.state.patch import apply, diff
from tests.support.changes import commit


def cards() -> dict[str, Any]:
    items = [{"id": str(n), "title": f"Card {n}", "rank": n * 7919 % 1000} for n in range(1000)]
    return {"todo": items, "done": [{"id": "d"}], "names": {"old": {"a": 1}}}


def swap(draft: Any) -> None:
    todo = draft["todo"]
    todo[10], todo[700] = todo[700], todo[10]


def rename(draft: Any) -> None:
    draft["names"]["new"] = draft["names"].pop("old")


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (lambda d: d["todo"].insert(3, d["todo"].pop(900)), ["move"]),
        (lambda d: d["todo"].append(d["todo"].pop(0)), ["move"]),
        # Written by index: each place has another value.
        (swap, ["replace", "replace"]),
        (lambda d: d["todo"].insert(0, {"id": "new"}), ["add"]),
        (lambda d: d["todo"].append({"id": "new"}), ["add"]),
        (lambda d: d["todo"].pop(500), ["remove"]),
        (lambda d: d["done"].append(d["todo"].pop(500)), ["move"]),
        (lambda d: d["done"].insert(0, d["todo"].pop(500)), ["move"]),
        (rename, ["move"]),
        (lambda d: d["todo"][500].update(title="New"), ["replace"]),
        (lambda d: d["todo"].sort(key=lambda card: card["rank"]), ["replace"]),
        (lambda d: d["todo"].reverse(), ["replace"]),
    ],
    ids=[
        *("move", "move to the end", "swap", "insert at the front", "append", "remove"),
        *("to the end of another list", "to the front of another list", "rename a key"),
        *("write a field", "sort", "reverse"),
    ],
)
def test_an_edit_of_a_long_list_is_few_operations(
    edit: Callable[[Any], object], kinds: list[str]
) -> None:
    document = Document(cards())
    old, new = document.value, copy.deepcopy(cards())
    edit(new)
    change = document.begin()
    edit(change.draft)
    recorded = commit(change)
    assert recorded is not None
    assert [operation["op"] for operation in recorded.operations] == kinds
    assert equal(apply(old, recorded.operations), new)
    found = diff(old, new)
    assert equal(apply(old, found), new)
    # Without a recording, what is in another container, or under another key, is another thing.
    assert len(found) <= 2
