import json

import pytest

from canvas_provider.session.codec import speed_up
from canvas_provider.wire.connection import Connection, Invalid, Request
from canvas_provider.wire.framing import encode_frame


@pytest.mark.parametrize(
    "value", [1, 1.5, "é", None, "\ud800", {"\udc00": 1}, json.loads("[" * 500 + "]" * 500)]
)
def test_what_a_runtime_can_write_can_be_read(value: object) -> None:
    connection = Connection()
    speed_up(connection)
    message = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"v": value}}
    connection.receive_data(encode_frame(json.dumps(message).encode()))
    assert connection.events_received() == [Request(1, "m", {"v": value})]  # type: ignore[dict-item]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "01", "'a'"])
def test_what_is_no_json_is_refused(value: str) -> None:
    connection = Connection()
    speed_up(connection)
    connection.receive_data(encode_frame(f'{{"id": 1, "method": "m", "params": {value}}}'.encode()))
    assert [type(event) for event in connection.events_received()] == [Invalid]
