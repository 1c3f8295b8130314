"""Frames, byte by byte. Sources: the Language Server Protocol's base protocol, and ours."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvas_provider.wire.framing import MAX_HEADER_SIZE, FrameDecoder, encode_frame

BODIES = [b"{}", b"", b'{"a":"\r\n\r\n"}', b"Content-Length: 3\r\n\r\nabc", "ä€😀".encode()]
STREAM = b"".join(encode_frame(body) for body in BODIES)


def decode(*pieces: bytes, max_frame_size: int = 1 << 20) -> FrameDecoder:
    decoder = FrameDecoder(max_frame_size)
    for piece in pieces:
        decoder.feed(piece)
    return decoder


def test_a_frame_is_the_length_in_bytes_an_empty_line_and_the_body() -> None:
    assert encode_frame("ä".encode()) == b"Content-Length: 2\r\n\r\n\xc3\xa4"


def test_a_stream_split_at_any_byte_gives_the_same_frames() -> None:
    for position in range(len(STREAM) + 1):
        decoder = decode(STREAM[:position], STREAM[position:])
        assert decoder.frames() == BODIES, position


def test_a_stream_split_at_any_two_bytes_gives_the_same_frames() -> None:
    stream = encode_frame(b"abc") + b"content-type: x\r\nCONTENT-LENGTH:  2 \r\n\r\nde"
    for one in range(len(stream) + 1):
        for other in range(one, len(stream) + 1):
            decoder = decode(stream[:one], stream[one:other], stream[other:])
            assert decoder.frames() == [b"abc", b"de"], (one, other)


@given(st.lists(st.binary(max_size=200), max_size=12), st.randoms(use_true_random=False))
def test_any_bodies_in_any_pieces_come_out_as_they_went_in(
    bodies: list[bytes], chance: random.Random
) -> None:
    stream = b"".join(encode_frame(body) for body in bodies)
    decoder = FrameDecoder()
    frames: list[bytes] = []
    while stream:
        size = chance.randint(1, 40)
        decoder.feed(stream[:size])
        stream = stream[size:]
        frames += decoder.frames()
    assert frames == bodies
    assert not decoder.is_within_frame


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_make_it_raise(pieces: list[bytes]) -> None:
    decode(b"Content-Length: 3\r\n", *pieces)
    decode(*pieces)


def test_a_large_frame_byte_by_byte_costs_no_more_than_its_bytes() -> None:
    """A decoder that copies what it has on each byte would take minutes here."""
    body = bytes(1 << 20)
    decoder = FrameDecoder()
    for byte in encode_frame(body):
        decoder.feed(byte.to_bytes())
    assert decoder.frames() == [body]


def test_a_frame_of_64_mib_passes() -> None:
    body = bytes(64 << 20)
    stream = memoryview(encode_frame(body))
    decoder = FrameDecoder()
    for start in range(0, len(stream), 1 << 16):
        decoder.feed(bytes(stream[start : start + (1 << 16)]))
    assert decoder.frames() == [body]


def test_the_limit_is_inclusive() -> None:
    assert decode(encode_frame(b"12345"), max_frame_size=5).frames() == [b"12345"]
    assert decode(encode_frame(b"123456"), max_frame_size=5).error is not None


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 2",
        b"CONTENT-LENGTH:2",
        b"Content-Length:\t 2 \t",
        b"Content-Length: 002",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2",
        b"Content-Length: 2\r\nX-Empty:",
        b"X-Colons: a:b:c\r\nContent-Length: 2",
    ],
)
def test_header_names_have_any_case_and_other_headers_are_ignored(header: bytes) -> None:
    """Observed with Copilot CLI 1.0.102."""
    decoder = decode(header + b"\r\n\r\nok")
    assert decoder.error is None
    assert decoder.frames() == [b"ok"]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: -1",
        b"Content-Length: +1",
        b"Content-Length: abc",
        b"Content-Length: 1_0",
        b"Content-Length: 1.0",
        b"Content-Length: 0x10",
        b"Content-Length: 1 0",
        b"Content-Length:",
        b"Content-Length: \xc2\xb2",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: 99999999999",
        b"Content-Length: 1\r\nContent-Length: 1",
        b"Content-Length: 1\r\ncontent-length: 2",
        b"Content-Type: text/plain",
        b"",
        b"hello",
        b"hello\nContent-Length: 2",
        b"X: y\nContent-Length: 2",
        b"\x00\x01\x02",
        b"X: " + b"y" * MAX_HEADER_SIZE + b"\r\nContent-Length: 2",
    ],
)
def test_a_header_that_is_none_ends_the_stream(header: bytes) -> None:
    decoder = decode(encode_frame(b"before"), header + b"\r\n\r\nok", encode_frame(b"after"))
    assert decoder.error is not None
    assert decoder.frames() == [b"before"]
    byte_by_byte = decode(*(byte.to_bytes() for byte in header + b"\r\n\r\nok"))
    assert byte_by_byte.error is not None
    assert byte_by_byte.frames() == []


@pytest.mark.parametrize(
    "junk",
    [b"hello\n", b"Content-Length: 2\n\nok", b"\n", b"x" * (MAX_HEADER_SIZE + 1)],
    ids=["a stray print", "LF only", "an empty line", "no line at all"],
)
def test_what_cannot_become_a_header_is_refused_without_waiting_for_its_end(junk: bytes) -> None:
    assert decode(junk).error is not None


def test_an_error_names_no_content() -> None:
    decoder = decode(b"secret\n")
    assert "secret" not in str(decoder.error)


def test_an_announced_length_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        decoder = decode(b"Content-Length: 67108864\r\n\r\n", b"x", max_frame_size=1 << 40)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert decoder.is_within_frame
    assert peak < 100_000


def test_it_knows_whether_it_is_within_a_frame() -> None:
    decoder = FrameDecoder()
    inside = []
    for byte in encode_frame(b"ab"):
        decoder.feed(byte.to_bytes())
        inside.append(decoder.is_within_frame)
    assert inside == [True] * (len(inside) - 1) + [False]
