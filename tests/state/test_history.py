"""The revisions that a page may have missed."""

from canvas_provider.state.history import MAX_REVISIONS, MAX_SIZE, History, Revision
from canvas_provider.types import JSONValue


def revision(number: int, *, value: object = 1, previous: int | None = None) -> Revision:
    return Revision(
        number,
        [{"op": "replace", "path": "/n", "value": value}],  # type: ignore[typeddict-item]
        "agent",
        "count",
        0.0,
        number - 1 if previous is None else previous,
        [{"op": "replace", "path": "/n", "value": 0}],
    )


def test_a_revision_leads_back_to_what_was_before_it() -> None:
    lasting: JSONValue = {"same": True}
    after: dict[str, JSONValue] = {"n": 5, "lasting": lasting}
    before = revision(1, value=5).before(after)
    assert before == {"n": 0, "lasting": {"same": True}}
    assert isinstance(before, dict)
    assert before["lasting"] is lasting
    assert after["n"] == 5


def test_what_was_missed_comes_in_order() -> None:
    history = History()
    for number in range(1, 5):
        history.add(revision(number))
    missed = history.since(2, 4)
    assert missed is not None
    assert [entry.number for entry in missed] == [3, 4]
    assert history.since(4, 4) == []


def test_a_revision_that_never_was_is_unknown() -> None:
    history = History()
    history.add(revision(1))
    history.add(revision(7, previous=1))
    assert history.since(3, 7) is None
    assert history.since(9, 7) is None
    missed = history.since(1, 7)
    assert missed is not None
    assert [entry.number for entry in missed] == [7]


def test_it_is_bounded_by_count() -> None:
    history = History()
    for number in range(1, MAX_REVISIONS + 2):
        history.add(revision(number))
    assert history.since(0, MAX_REVISIONS + 1) is None
    assert history.since(1, MAX_REVISIONS + 1) is not None


def test_it_is_bounded_by_size() -> None:
    history = History()
    large = ["x" * (MAX_SIZE // 3)]
    for number in range(1, 5):
        history.add(revision(number, value=large))
    assert history.since(1, 4) is None
    assert history.since(2, 4) is not None


def test_one_revision_beyond_the_bound_is_not_kept() -> None:
    history = History()
    history.add(revision(1, value={"a": ["x" * MAX_SIZE, "y"]}))
    assert history.since(0, 1) is None


def test_a_revision_shows_nothing_of_the_state() -> None:
    assert "secret" not in repr(revision(1, value="secret"))
