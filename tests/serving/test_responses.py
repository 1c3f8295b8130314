import json

from canvas_provider.serving.responses import encode_json, send_error, send_json
from tests.support.asgi import Answer, ask


async def test_an_error_is_a_code_and_a_message_as_json() -> None:
    async def app(scope: object, receive: object, send) -> None:  # type: ignore[no-untyped-def]
        await send_error(send, 418, "teapot", 'I am "one"', headers=[(b"x-kind", b"short")])

    answer = await ask(app)
    assert answer == Answer(
        status=418,
        headers=[
            (b"content-type", b"application/json"),
            (b"content-length", str(len(answer.body)).encode()),
            (b"x-kind", b"short"),
        ],
        body=answer.body,
        complete=True,
    )
    assert json.loads(answer.body) == {"error": {"code": "teapot", "message": 'I am "one"'}}


async def test_a_value_is_answered_with_its_length() -> None:
    async def app(scope: object, receive: object, send) -> None:  # type: ignore[no-untyped-def]
        await send_json(send, {"ä": [1, 2.5, None, True]})

    answer = await ask(app)
    assert answer.status == 200
    assert answer["content-length"] == str(len(answer.body))
    assert json.loads(answer.body) == {"ä": [1, 2.5, None, True]}


def test_json_is_compact_and_keeps_its_text() -> None:
    assert encode_json({"a": ["é", "\n", 1.0, 2**53]}) == (
        '{"a":["é","\\n",1.0,9007199254740992]}'.encode()
    )


async def test_an_error_text_that_nothing_can_encode_is_answered_all_the_same() -> None:
    async def app(scope: object, receive: object, send) -> None:  # type: ignore[no-untyped-def]
        await send_error(send, 409, "half\ud800", "\udc00 a pair")

    answer = await ask(app)
    assert json.loads(answer.body) == {"error": {"code": "half?", "message": "? a pair"}}
