import json
from typing import Any

import pytest

from canvas_provider import Action, CanvasContext, create_canvas
from canvas_provider.errors import InvalidInput
from canvas_provider.session.codec import speed_up
from canvas_provider.wire.connection import Connection, Invalid, Request
from canvas_provider.wire.framing import encode_frame
from tests.support.instances import open_instance


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


async def never(ctx: CanvasContext) -> None:
    pytest.fail("it was called")


@pytest.mark.parametrize(
    ("input", "said"),
    [
        ({"text": "s3cret \ud800"}, "/text: is text with"),
        ({"list": ["a", {"deep": "\udfff s3cret"}]}, "/list/1/deep: is text with"),
        ({"list": [{"s3cret \udfff": "\ud800"}]}, "/list/0: has a key with"),
        ("\ud800 s3cret", "(root): is text with"),
    ],
)
@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, {"$ref": "#/definitions/any", "definitions": {"any": {}}}],
    ids=["an object", "anything"],
)
async def test_half_a_surrogate_pair_in_an_input_is_refused_by_its_place(
    schema: dict[str, Any], input: Any, said: str
) -> None:
    """As on the page: see `web/test_actions`."""
    connection = Connection()
    speed_up(connection)
    call = {"id": 1, "method": "canvas.action.invoke", "params": {"input": input}}
    connection.receive_data(encode_frame(json.dumps({"jsonrpc": "2.0", **call}).encode()))
    [request] = connection.events_received()
    assert isinstance(request, Request)
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        actions=[Action("put", "Put whatever it is.", schema, never)],
    )
    async with open_instance(canvas) as instance:
        with pytest.raises(InvalidInput) as refusal:
            await instance.invoke("put", request.params["input"], author="agent")
    assert f"{said} half of a surrogate pair" in refusal.value.message
    assert "s3cret" not in refusal.value.message
