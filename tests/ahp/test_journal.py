"""The sequence, and how much of it is kept."""

from canvas_provider.ahp.hosting.journal import Journal


def test_numbers_go_up_by_one_also_for_what_nobody_is_told() -> None:
    journal = Journal()
    assert [journal.append("a", {"type": "t"}).seq, journal.skip()] == [1, 2]
    assert journal.append("a", {"type": "t"}).envelope["serverSeq"] == 3


def test_what_came_after_a_number_is_there_or_it_is_said_to_be_lost() -> None:
    journal = Journal(max_entries=3)
    for number in range(5):
        journal.append("a", {"type": str(number)})
    kept = [entry.seq for entry in journal.since(2) or []]
    assert kept == [3, 4, 5]
    assert journal.since(1) is None
    assert journal.since(5) == []
    assert journal.since(6) is None, "a number of another host"


def test_the_size_is_bounded_too() -> None:
    journal = Journal(max_size=1000)
    for number in range(50):
        journal.append("a", {"type": "t", "text": "x" * 100, "number": number})
    assert sum(len(entry.frame) for entry in journal._entries) <= 1000
    journal.append("a", {"type": "t", "text": "x" * 2000})
    assert not journal._entries and journal.since(journal.seq) == []
    assert journal.since(journal.seq - 1) is None


def test_what_is_skipped_is_nothing_that_could_be_missed() -> None:
    journal = Journal(max_entries=1)
    journal.append("a", {"type": "t"})
    journal.skip()
    assert journal.since(1) == []


def test_no_repr_tells_what_an_entry_holds() -> None:
    entry = Journal().append("a", {"type": "t", "url": "s3cr3t"})
    assert "s3cr3t" not in repr(entry)
