"""The envelope. Sources: https://www.jsonrpc.org/specification, and ours where it says nothing."""

import json
from typing import Any, Literal

import pytest

from canvas_provider.errors import ConnectionClosed, FrameError
from canvas_provider.wire.connection import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Connection,
    End,
    Event,
    Failure,
    Invalid,
    Notification,
    Request,
    Result,
    decode_json,
    encode_json,
)
from canvas_provider.wire.framing import FrameDecoder, encode_frame


def sent(connection: Connection) -> list[Any]:
    decoder = FrameDecoder()
    decoder.feed(connection.data_to_send())
    assert decoder.error is None
    return [json.loads(body) for body in decoder.frames()]


def receive(connection: Connection, *messages: object) -> list[Event]:
    for message in messages:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection.receive_data(encode_frame(body))
    return connection.events_received()


def error(request_id: int | str | None, code: int) -> tuple[int | str | None, int]:
    return request_id, code


def errors_sent(connection: Connection) -> list[tuple[int | str | None, int]]:
    return [error(message["id"], message["error"]["code"]) for message in sent(connection)]


def test_two_connections_understand_each_other() -> None:
    one, other = Connection(), Connection()
    assert one.send_request("add", {"a": 1}) == 0
    assert one.send_request("sub") == 1
    one.send_notification("hello", ["you"])
    one.send_notification("bye")

    other.receive_data(one.data_to_send())
    assert other.events_received() == [
        Request(0, "add", {"a": 1}),
        Request(1, "sub", {}),
        Notification("hello", ["you"]),
        Notification("bye", None),
    ]

    other.send_error(1, 7, "no", {"code": "nope"})
    other.send_result(0, None)
    one.receive_data(other.data_to_send())
    assert one.events_received() == [Failure(1, 7, "no", {"code": "nope"}), Result(0, None)]


def test_messages_look_as_the_specification_says() -> None:
    connection = Connection()
    connection.send_request("m", {"a": "ä"})
    connection.send_request("m")
    connection.send_notification("n", [])
    connection.send_notification("n")
    connection.send_result("x", None)
    connection.send_error(None, 1, "e")
    connection.send_error(2, 1, "e", 0)
    assert sent(connection) == [
        {"jsonrpc": "2.0", "id": 0, "method": "m", "params": {"a": "ä"}},
        {"jsonrpc": "2.0", "id": 1, "method": "m"},
        {"jsonrpc": "2.0", "method": "n", "params": []},
        {"jsonrpc": "2.0", "method": "n"},
        {"jsonrpc": "2.0", "id": "x", "result": None},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "e"}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "e", "data": 0}},
    ]


def test_what_is_handed_over_is_forgotten() -> None:
    connection = Connection()
    connection.send_notification("n")
    assert connection.data_to_send()
    assert connection.data_to_send() == b""
    assert receive(connection, {"method": "n"}) == [Notification("n", None)]
    assert connection.events_received() == []


def test_a_request_may_lack_jsonrpc_and_have_null_params() -> None:
    connection = Connection()
    events = receive(connection, {"id": "a", "method": "m", "params": None})
    assert events == [Request("a", "m", {})]


@pytest.mark.parametrize("params", [[], [1], "x", 0, False])
def test_params_that_are_no_object_are_refused(params: object) -> None:
    connection = Connection()
    [event] = receive(connection, {"id": 4, "method": "m", "params": params})
    assert isinstance(event, Invalid)
    assert errors_sent(connection) == [error(4, INVALID_PARAMS)]


@pytest.mark.parametrize("request_id", [True, False, None, 1.5, 1.0, [], {}])
def test_an_id_that_is_neither_integer_nor_string_is_refused(request_id: object) -> None:
    connection = Connection()
    [event] = receive(connection, {"id": request_id, "method": "m"})
    assert isinstance(event, Invalid)
    assert errors_sent(connection) == [error(None, INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ([], error(None, INVALID_REQUEST)),
        ([{"id": 1, "method": "m"}], error(None, INVALID_REQUEST)),
        ("text", error(None, INVALID_REQUEST)),
        (None, error(None, INVALID_REQUEST)),
        ({}, error(None, INVALID_REQUEST)),
        ({"id": 3}, error(3, INVALID_REQUEST)),
        ({"id": True}, error(None, INVALID_REQUEST)),
        ({"id": "\ud800"}, error(None, INVALID_REQUEST)),
        ({"id": "\ud800", "method": "m", "params": []}, error(None, INVALID_REQUEST)),
        ({"id": "ä", "method": "m", "params": []}, error("ä", INVALID_PARAMS)),
        ({"id": 3, "method": 5}, error(3, INVALID_REQUEST)),
        ({"method": None}, error(None, INVALID_REQUEST)),
        (b"", error(None, PARSE_ERROR)),
        (b"{", error(None, PARSE_ERROR)),
        (b"\xff", error(None, PARSE_ERROR)),
        (b'{"method":"m","params":{"a":NaN}}', error(None, PARSE_ERROR)),
        (b"[" * 200_000, error(None, PARSE_ERROR)),
    ],
    ids=str,
)
def test_what_is_no_request_is_answered_and_the_connection_stays_up(
    message: object, answer: object
) -> None:
    connection = Connection()
    first, second = receive(connection, message, {"id": 9, "method": "m"})
    assert isinstance(first, Invalid)
    assert second == Request(9, "m", {})
    assert errors_sent(connection) == [answer]
    assert not connection.ended


@pytest.mark.parametrize(
    "junk", [b"hello\n", b"Content-Length: abc\r\n\r\n", b"Content-Length: 11\r\n\r\n"]
)
def test_bad_framing_is_answered_and_ends_the_connection(junk: bytes) -> None:
    connection = Connection(max_frame_size=10)
    connection.receive_data(encode_frame(b'{"id":1}') + junk)
    connection.receive_data(encode_frame(b"{}"))
    connection.receive_eof()
    invalid, end = connection.events_received()
    assert isinstance(invalid, Invalid)
    assert isinstance(end, End)
    assert isinstance(end.exception, FrameError)
    assert errors_sent(connection) == [error(1, INVALID_REQUEST), error(None, PARSE_ERROR)]


@pytest.mark.parametrize(
    "value", [b"NaN", b'"\xff"', b"[" * 100_000, b"1" * 5000, b"\xef\xbb\xbf1"]
)
@pytest.mark.parametrize("request_id", [7, "a-7"])
def test_a_request_that_cannot_be_read_is_refused_by_its_id(
    value: bytes, request_id: int | str
) -> None:
    """Without it, whoever asks would wait for ever."""
    connection = Connection()
    head = {"jsonrpc": "2.0", "id": request_id, "method": "m", "params": 0}
    connection.receive_data(encode_frame(json.dumps(head).encode().replace(b"0}", value + b"}")))
    assert errors_sent(connection) == [error(request_id, PARSE_ERROR)]


@pytest.mark.parametrize(
    "body",
    [
        b'{"params": {"jsonrpc": "2.0", "id": 7, "method": "m"}, "x": NaN}',
        b'{"jsonrpc": "2.0", "id": 7, "result": NaN}',
        b'{"jsonrpc": "2.0", "id": 7.5, "method": "m", "params": NaN}',
        b'{"jsonrpc": "2.0", "id": ' + b"7" * 5000 + b', "method": "m"}',
        b'{"jsonrpc": "2.0", "method": "m", "params": {"id": 7, "x": NaN}}',
    ],
)
def test_no_id_is_made_up_for_what_cannot_be_read(body: bytes) -> None:
    connection = Connection()
    connection.receive_data(encode_frame(body))
    assert errors_sent(connection) == [error(None, PARSE_ERROR)]


def test_an_answer_to_nothing_is_never_answered() -> None:
    """Two ends that did would answer each other for ever."""
    connection = Connection()
    events = receive(
        connection,
        {"id": 0, "result": 1},
        {"id": "0", "result": 1},
        {"id": None, "error": {"code": PARSE_ERROR, "message": "secret"}},
        {"result": 1},
    )
    assert [type(event) for event in events] == [Invalid] * 4
    assert events[2] == Invalid("The other side could not read a message of ours (error -32700).")
    assert connection.data_to_send() == b""


def test_a_request_is_answered_once() -> None:
    connection = Connection()
    request_id = connection.send_request("m")
    assert connection.is_unanswered(request_id)
    answer = {"id": request_id, "result": 1}
    assert receive(connection, answer, answer) == [Result(request_id, 1)]
    assert not connection.is_unanswered(request_id)


def test_a_true_is_not_the_answer_to_request_1() -> None:
    connection = Connection()
    connection.send_request("m")
    connection.send_request("m")
    [event] = receive(connection, {"id": True, "result": 1})
    assert isinstance(event, Invalid)


def test_the_late_answer_to_a_forgotten_request_is_ignored() -> None:
    connection = Connection()
    request_id = connection.send_request("m")
    connection.forget_request(request_id)
    assert receive(connection, {"id": request_id, "result": 1}) == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({}, INVALID_REQUEST),
        ({"error": "text"}, INTERNAL_ERROR),
        ({"error": {}}, INTERNAL_ERROR),
        ({"error": {"code": "E", "message": 5}}, INTERNAL_ERROR),
        ({"error": {"code": 5}, "result": 1}, 5),
    ],
)
def test_a_malformed_answer_fails_its_request(answer: dict[str, object], code: int) -> None:
    connection = Connection()
    request_id = connection.send_request("m")
    connection.data_to_send()
    [event] = receive(connection, {"id": request_id, **answer})
    assert isinstance(event, Failure)
    assert (event.id, event.code) == (request_id, code)
    assert connection.data_to_send() == b""


def test_a_null_error_beside_a_result_is_none() -> None:
    connection = Connection()
    request_id = connection.send_request("m")
    assert receive(connection, {"id": request_id, "error": None, "result": 2}) == [
        Result(request_id, 2)
    ]


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), float("inf"), "\ud800", object()])
def test_what_json_cannot_carry_is_refused_and_nothing_is_queued(value: Any) -> None:
    connection = Connection()
    for send in (
        lambda: connection.send_request("m", {"a": value}),
        lambda: connection.send_notification("m", value),
        lambda: connection.send_result(1, value),
        lambda: connection.send_error(1, 2, "m", value),
    ):
        with pytest.raises((TypeError, ValueError)):
            send()
    assert connection.data_to_send() == b""
    assert connection.send_request("m") == 0


def test_eof_between_frames_is_orderly() -> None:
    connection = Connection()
    request_id = connection.send_request("m")
    connection.receive_eof()
    connection.receive_eof(OSError())
    assert connection.events_received() == [End(None)]
    assert connection.ended
    assert not connection.is_unanswered(request_id)


def test_eof_within_a_frame_is_an_error() -> None:
    connection = Connection()
    connection.receive_data(b"Content-Length: 5\r\n\r\n{")
    connection.receive_eof()
    [end] = connection.events_received()
    assert isinstance(end, End)
    assert isinstance(end.exception, FrameError)


def test_what_broke_is_handed_on() -> None:
    connection = Connection()
    broken = BrokenPipeError()
    connection.receive_eof(broken)
    assert connection.events_received() == [End(broken)]


def test_after_the_end_only_a_request_cannot_be_sent() -> None:
    connection = Connection()
    connection.receive_eof()
    with pytest.raises(ConnectionClosed):
        connection.send_request("m")
    connection.send_result(1, "late")
    connection.send_notification("n")
    assert len(sent(connection)) == 2


def test_the_codec_can_be_replaced_while_in_use() -> None:
    connection = Connection()
    connection.send_notification("a")
    connection.dumps = lambda value: encode_json(value).upper()
    connection.loads = lambda body: decode_json(body.lower())
    connection.send_notification("b")
    assert sent(connection)[1] == {"JSONRPC": "2.0", "METHOD": "B"}
    assert receive(connection, {"METHOD": "M"}) == [Notification("m", None)]


def test_a_tap_sees_each_body_as_it_is_on_the_wire() -> None:
    seen: list[tuple[Literal["in", "out"], bytes]] = []
    connection = Connection(on_message=lambda direction, body: seen.append((direction, body)))
    connection.send_notification("n")
    receive(connection, b"{", b'{"method":"m"}')
    assert [direction for direction, _ in seen] == ["out", "in", "out", "in"]
    assert seen[0][1] == b'{"jsonrpc":"2.0","method":"n"}'
    assert seen[3][1] == b'{"method":"m"}'
