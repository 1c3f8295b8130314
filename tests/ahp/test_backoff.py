"""How long a client waits, and when it gives up."""

from canvas_provider.ahp.backoff import Backoff


def test_each_wait_is_twice_as_long_up_to_a_limit() -> None:
    backoff = Backoff(first=1, longest=10, attempts=6, random=lambda: 1.0)
    assert [backoff.next() for _ in range(8)] == [1, 2, 4, 8, 10, 10, None, None]


def test_no_two_clients_wait_equally_long() -> None:
    waits = [Backoff(first=1, random=lambda: number).next() for number in (0.0, 0.5, 1.0)]  # noqa: B023
    assert waits == [0.5, 0.75, 1.0]


def test_a_connection_that_lasted_lets_the_count_begin_anew() -> None:
    backoff = Backoff(first=1, attempts=2, stable=5, random=lambda: 1.0)
    assert [backoff.next(), backoff.next(4.9), backoff.next(4.9)] == [1, 2, None]
    assert [backoff.next(5.0), backoff.next()] == [1, 2]


def test_it_may_go_on_for_very_long() -> None:
    backoff = Backoff(first=1, longest=3, attempts=10_000, random=lambda: 1.0)
    assert {backoff.next() for _ in range(10_000)} == {1, 2, 3}
