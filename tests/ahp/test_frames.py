import json
from pathlib import Path

import pytest

from canvas_provider.ahp.frames import (
    Failure,
    Invalid,
    Notification,
    Request,
    Result,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    parse_frame,
)
from canvas_provider.protocol.ahp import ErrorCode

MESSAGES = json.loads(
    (Path(__file__).parent / "fixtures" / "messages.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "message", [pytest.param(each["message"], id=each["name"]) for each in MESSAGES]
)
def test_each_message_survives_being_read_and_written(message: object) -> None:
    match parse_frame(json.dumps(message)):
        case Request(id, method, params):
            written = encode_request(id, method, params)
        case Notification(method, params):
            written = encode_notification(method, params)
        case Result(id, value):
            written = encode_result(id, value)
        case Failure(id, code, text, data):
            written = encode_error(id, code, text, data)
        case Invalid() as invalid:
            pytest.fail(str(invalid))
    assert json.loads(written) == message


@pytest.mark.parametrize(
    ("text", "id", "code"),
    [
        ("", None, ErrorCode.PARSE_ERROR),
        ("{", None, ErrorCode.PARSE_ERROR),
        ('{"id":1,"method":"ping","params":{"x":NaN}}', None, ErrorCode.PARSE_ERROR),
        ('{"id":1,"method":"ping","params":{"x":1e999}}', None, ErrorCode.PARSE_ERROR),
        ('{"id":1,"method":"ping","params":{"x":"\\ud800"}}', None, ErrorCode.PARSE_ERROR),
        ('{"id":1,"method":"ping","params":{"\\ud800":1}}', None, ErrorCode.PARSE_ERROR),
        ('{"id":' + "9" * 5000 + "}", None, ErrorCode.PARSE_ERROR),
        ("[" * 200 + "]" * 200, None, ErrorCode.PARSE_ERROR),
        ("[" * 100_000, None, ErrorCode.PARSE_ERROR),
        ("[]", None, ErrorCode.INVALID_REQUEST),
        ('[{"id":1,"method":"ping"}]', None, ErrorCode.INVALID_REQUEST),
        ("7", None, ErrorCode.INVALID_REQUEST),
        ("{}", None, ErrorCode.INVALID_REQUEST),
        ('{"id":1}', 1, ErrorCode.INVALID_REQUEST),
        ('{"id":1,"method":7}', 1, ErrorCode.INVALID_REQUEST),
        ('{"id":"1","method":"ping"}', None, ErrorCode.INVALID_REQUEST),
        ('{"id":true,"method":"ping"}', None, ErrorCode.INVALID_REQUEST),
        ('{"id":null,"method":"ping"}', None, ErrorCode.INVALID_REQUEST),
        ('{"id":2,"method":"ping","params":[]}', 2, ErrorCode.INVALID_PARAMS),
        ('{"id":2,"method":"ping","params":null}', 2, ErrorCode.INVALID_PARAMS),
    ],
)
def test_what_is_no_message_says_how_to_answer_it(
    text: str, id: int | None, code: ErrorCode
) -> None:
    found = parse_frame(text)
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (id, code)


def test_params_that_were_left_out_are_empty() -> None:
    assert parse_frame('{"id":1,"method":"ping"}') == Request(1, "ping", {})


def test_half_a_character_is_replaced_where_it_cannot_be_refused() -> None:
    written = encode_notification("action", {"title": "half \ud800", "whole": "\U0001f600"})
    assert json.loads(written)["params"] == {"title": "half ?", "whole": "\U0001f600"}
