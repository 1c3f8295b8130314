"""How one list became another."""

import random

import pytest

from canvas_provider.state import sequence
from canvas_provider.state.sequence import Step


def follow(old: list[int], new: list[str], edits: list[Step]) -> list[object]:
    items: list[object] = list(old)
    for kind, place, source in edits:
        if kind == "remove":
            del items[place]
        elif kind == "add":
            items.insert(place, new[source])
        else:
            items.insert(place, items.pop(source))
    return items


@pytest.mark.parametrize("seed", range(200))
def test_the_edits_lead_from_the_old_list_to_the_new_one(seed: int) -> None:
    source = random.Random(seed)
    length = source.randrange(12)
    kept = [index for index in range(length) if source.random() < 0.7]
    if source.random() < 0.7:
        source.shuffle(kept)
    for _ in range(source.randrange(4)):
        kept.insert(source.randrange(len(kept) + 1), -1)
    new = [f"new {j}" for j in range(len(kept))]
    anchors = sequence.stay_put(kept)
    edits = sequence.steps(length, kept, anchors)
    expected: list[object] = [i if i >= 0 else new[j] for j, i in enumerate(kept)]
    assert follow(list(range(length)), new, edits) == expected
    moved = sum(i >= 0 and i not in anchors for i in kept)
    assert sum(edit.kind == "move" for edit in edits) <= moved


def test_the_longest_increasing_subsequence_leaves_one_mover_alone() -> None:
    assert sequence.longest_increasing([4, 0, 1, 2, 3]) == {0, 1, 2, 3}
    assert sequence.longest_increasing([]) == set()
    assert sequence.stay_put([0, -1, 1]) == {0, 1}
    assert sequence.stay_put([-1, -1]) == set()


def test_equal_tokens_are_matched_in_order_and_once() -> None:
    kept, used = [-1, -1, -1], set[int]()
    sequence.match(["a", "a", None], ["a", None, "a"], kept, used)
    assert kept == [0, -1, 1]
    assert used == {0, 1}


def test_what_has_no_token_is_nobodys_partner() -> None:
    kept, used = [-1, -1], set[int]()
    sequence.match([None, "a"], [None, "a"], kept, used)
    assert (kept, used) == ([-1, 1], {1})


def test_anchors_come_in_any_order() -> None:
    # As a set, they come in the order of their hashes: 1000 before 3.
    kept = [3, -1, 1000]
    assert sequence.pair_gaps(kept, {1000, 3}, [500], [1]) == [(1, 500)]


def test_what_is_in_its_place_takes_no_step() -> None:
    assert sequence.steps(2, [0, 1], {1}) == []


def test_items_without_a_partner_pair_up_between_the_same_anchors() -> None:
    # Old: x A y z B; new: A p B q. Only p lies where something else was.
    assert sequence.pair_gaps([1, -1, 4, -1], {1, 4}, [0, 2, 3], [1, 3]) == [(1, 2)]
