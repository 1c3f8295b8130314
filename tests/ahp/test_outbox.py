"""What waits for a client, and how much of it."""

import random

from canvas_provider.ahp.hosting.outbox import Outbox


def drain(outbox: Outbox) -> list[str]:
    frames = []
    while (frame := outbox.take()) is not None:
        frames.append(frame)
    return frames


def test_a_client_that_keeps_up_gets_every_frame_in_order() -> None:
    outbox = Outbox(lag=4)
    for number in range(4):
        assert outbox.put(str(number), ("c", "t"))
    assert drain(outbox) == ["0", "1", "2", "3"]
    assert (len(outbox), outbox.size) == (0, 0)


def test_a_client_that_lags_gets_the_newest_of_each_kind() -> None:
    outbox = Outbox(lag=2)
    for number in range(100):
        assert outbox.put(f"a{number}", ("a", "t"))
        assert outbox.put(f"b{number}", ("b", "t"))
    assert drain(outbox) == ["a99", "b99"]


def test_an_answer_is_never_left_out_and_keeps_its_place() -> None:
    outbox = Outbox(lag=1)
    outbox.put("old", ("c", "t"))
    outbox.put("answer")
    outbox.put("new", ("c", "t"))
    assert drain(outbox) == ["answer", "new"]


def test_too_many_frames_or_too_large_ones_are_too_much() -> None:
    outbox = Outbox(max_frames=2)
    assert [outbox.put("x") for _ in range(3)] == [True, True, False]
    outbox = Outbox(max_size=10)
    assert [outbox.put("x" * 5) for _ in range(3)] == [True, True, False]
    outbox.clear()
    assert (len(outbox), outbox.size, outbox.take()) == (0, 0, None)
    assert outbox.put("x")


def test_whoever_lags_ends_with_what_the_others_have() -> None:
    """A model: the newest frame of each key is among what is sent, and nothing is twice."""
    rng = random.Random(6)
    outbox, sent = Outbox(lag=8), list[str]()
    newest: dict[tuple[str, str], str] = {}
    plain: list[str] = []
    for number in range(5000):
        key = (str(rng.randrange(5)), "t") if rng.random() < 0.9 else None
        frame = f"{number}"
        assert outbox.put(frame, key)
        if key is None:
            plain.append(frame)
        else:
            newest[key] = frame
        assert outbox.size == sum(len(each) for each, _ in outbox._frames.values())
        if rng.random() < 0.3 and (taken := outbox.take()) is not None:
            sent.append(taken)
    sent += drain(outbox)
    assert {*newest.values(), *plain} <= {*sent}
    assert sent == sorted(sent, key=int) and len({*sent}) == len(sent)
