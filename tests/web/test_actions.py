"""`POST actions/NAME`: the person's call, and what comes of it."""

import asyncio
from typing import Any

import pytest

from canvas_provider import Action, Canvas, CanvasContext, CanvasError, create_canvas
from tests.support.asgi import ask, make_scope
from tests.support.instances import HOST, TOKEN, open_app, open_client

JSON = {"content-type": "application/json"}


class AuthorsOwn(CanvasError):
    """An author may derive errors of their own."""


@pytest.fixture
def canvas() -> Canvas:
    silent = Action("silent", "Has no handler.", {"type": "object"}, None)
    canvas = create_canvas(
        id="board",
        display_name="Board",
        description="A board.",
        state=dict[str, Any],
        actions=[silent],
    )

    @canvas.action
    async def put(state: dict[str, Any], key: str, number: int = 0) -> dict[str, Any]:
        """Put a number."""
        state[key] = number
        return {"put": key}

    @canvas.action
    async def put_twice(ctx: CanvasContext) -> int:
        """Change the state twice."""
        for number in (1, 2):
            async with ctx.state.change() as draft:
                draft["n"] = number
        return ctx.state.revision

    @canvas.action
    async def nothing() -> None:
        """Do nothing."""

    @canvas.action(audience="agent")
    async def for_the_agent() -> None:
        """Is not for people."""

    @canvas.action
    async def refuse() -> None:
        """Refuse."""
        raise AuthorsOwn("card_not_found", 'There is no card "7".')

    @canvas.action
    async def fail(secret: str) -> None:
        """Fail."""
        raise RuntimeError(f"secret {secret} at /home/me")

    @canvas.action(timeout=0.01)
    async def hang() -> None:
        """Never end."""
        await asyncio.Event().wait()

    return canvas


async def test_an_action_answers_its_result_and_the_revision(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        answer = await http.post("actions/put", json={"key": "a", "number": 3})
        assert answer.json() == {"result": {"put": "a"}, "revision": 1}
        assert (await http.post("actions/nothing", json={})).json() == {
            "result": None,
            "revision": 1,
        }
        assert instance.state is not None
        assert instance.state.document == {"a": 3}


async def test_the_change_is_the_persons(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        await http.post("actions/put", json={"key": "a"})
        assert instance.state is not None
        (revision,) = instance.state.since(0) or []
        assert (revision.author, revision.action) == ("person", "put")


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b" { } "])
async def test_nothing_null_and_an_empty_object_mean_the_same(canvas: Canvas, body: bytes) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post("actions/nothing", content=body, headers=JSON)
        assert (answer.status_code, answer.json()["result"]) == (200, None)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"[]", "(root)"),
        (b'"text"', "(root)"),
        (b'{"key": 5}', "/key"),
        (b'{"key": "a", "number": "3"}', "/number"),
        (b'{"key": "a", "number": true}', "/number"),
        (b'{"key": "a", "number": 3.5}', "/number"),
        (b'{"key": "a", "nmber": 3}', "nmber"),
        (b'{"number": 3}', "/key"),
    ],
)
async def test_an_input_that_does_not_fit_names_its_field(
    canvas: Canvas, body: bytes, names: str
) -> None:
    async with open_client(canvas) as (http, instance):
        answer = await http.post("actions/put", content=body, headers=JSON)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "invalid_input")
        assert names in error["message"]
        assert instance.state is not None
        assert instance.state.revision == 0


async def test_a_whole_number_with_a_point_is_an_integer(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        body = b'{"key": "a", "number": 3.0}'
        answer = await http.post("actions/put", content=body, headers=JSON)
        assert answer.status_code == 200
        assert instance.state is not None
        assert instance.state.document == {"a": 3}


@pytest.mark.parametrize(
    "body",
    [
        b"s3cret",
        b'{"key": s3cret}',
        b'{"key": "s3cret"',
        b'{"key": "s3cret"} {}',
        b'{"key": NaN}',
        b'{"key": "\xff s3cret"}',
        b"[" * 100_000,
    ],
)
async def test_a_body_that_is_no_json_is_refused_and_not_repeated(
    canvas: Canvas, body: bytes
) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post("actions/put", content=body, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
        assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"key": s3cret}', "line 1, column 9"),
        (b'{"key":\n "s3cret"', "line 2"),
        (b'\xef\xbb\xbf{"key": "s3cret"}', "line 1, column 1"),
        (b"\x1f\x8b\x08", "not UTF-8"),
        (b'{"key": NaN}', "NaN is no number"),
        (b'{"key": -Infinity}', "-Infinity is no number"),
        (b"[" * 300 + b"]" * 300, "deep"),
        (b"[" * 100_000, "deep"),
        (b'{"key": 1e999}', "/key: NaN and infinity"),
        (b'{"key": -1E+400}', "/key: NaN and infinity"),
        (b'{"key": [9007199254740993]}', "/key/0: an integer beyond 2**53"),
        (b'{"key": -123456789012345678901234567890}', "/key: an integer beyond 2**53"),
        (b'{"key": ' + b"9" * 5_000 + b"}", "/key: NaN and infinity"),
    ],
)
async def test_a_body_that_cannot_be_used_is_told_why(
    canvas: Canvas, body: bytes, said: str
) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post("actions/put", content=body, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
        assert said in answer.json()["error"]["message"]
        assert "s3cret" not in answer.text
        assert len(answer.content) < 300


async def test_numbers_that_a_page_can_hold_are_taken(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        for number in (2**53, -(2**53), 10**15):
            answer = await http.post("actions/put", json={"key": "a", "number": number})
            assert answer.status_code == 200
            assert instance.state is not None
            assert instance.state.document == {"a": number}
        text = await http.post("actions/put", json={"key": "card 1234567890123456789e99"})
        assert text.status_code == 200


async def test_a_body_that_is_packed_is_refused(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, _):
        packed = await http.post(
            "actions/put", content=b"\x1f\x8b", headers={**JSON, "content-encoding": "gzip"}
        )
        assert (packed.status_code, packed.headers["accept-encoding"]) == (415, "identity")
        plain = await http.post(
            "actions/put", json={"key": "a"}, headers={"content-encoding": "identity"}
        )
        assert plain.status_code == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (rb'{"key": "\ud800 s3cret"}', "/key: is text with"),
        (rb'{"number": "s3cret", "key": ["\ud83d\ude00", "\udc00"]}', "/key/1: is text with"),
        (rb'{"key": {"s3cret \ud800": {"\udfff": 1}}}', "/key: has a key with"),
        (rb'{"\ud800 s3cret": 1}', "(root): has a key with"),
        (rb'"\ud800 s3cret"', "(root): is text with"),
    ],
)
async def test_half_a_surrogate_pair_is_refused_by_its_place(
    canvas: Canvas, body: bytes, said: str
) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post("actions/put", content=body, headers=JSON)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "invalid_input"
        assert f"{said} half of a surrogate pair" in error["message"]
        assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("action", "body", "status", "code"),
    [
        ("for_the_agent", {}, 403, "not_for_person"),
        ("unheard_of", {}, 404, "unknown_action"),
        ("refuse", {}, 409, "card_not_found"),
        ("fail", {"secret": "s3cret"}, 500, "canvas_handler_error"),
        ("silent", {}, 501, "canvas_action_no_handler"),
        ("hang", {}, 504, "timeout"),
    ],
)
async def test_every_error_has_its_status(
    canvas: Canvas, action: str, body: dict[str, str], status: int, code: str
) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post(f"actions/{action}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert answer.json().keys() == {"error"}
        assert "s3cret" not in answer.text
        assert "/home/me" not in answer.text


async def test_an_action_of_a_closing_instance_is_gone(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        await instance.close(explicit=True)
        answer = await http.post("actions/nothing", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "closing")


async def test_if_match_refuses_whoever_saw_an_older_state(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        headers = {"if-match": '"0"'}
        first = await http.post("actions/put", json={"key": "a"}, headers=headers)
        assert first.status_code == 200
        stale = await http.post("actions/put", json={"key": "b"}, headers=headers)
        assert (stale.status_code, stale.json()["error"]["code"]) == (412, "revision_conflict")
        assert stale.json()["error"]["revision"] == 1, "so that a page can try again"
        assert instance.state is not None
        assert instance.state.document == {"a": 0}
        any_state = await http.post("actions/put", json={"key": "c"}, headers={"if-match": "*"})
        assert any_state.status_code == 200


async def test_if_match_binds_the_first_change_only(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, _):
        answer = await http.post("actions/put_twice", json={}, headers={"if-match": '"0"'})
        assert answer.json() == {"result": 2, "revision": 2}


@pytest.mark.parametrize(
    "value", ["7", '"7', '""', '"x"', 'W/"7"', '"7", "8"', '"-1"', '"7.0"', '"' + "9" * 30 + '"']
)
async def test_an_if_match_that_is_no_revision_is_refused(canvas: Canvas, value: str) -> None:
    async with open_client(canvas) as (http, instance):
        answer = await http.post("actions/put", json={"key": "a"}, headers={"if-match": value})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
        assert instance.state is not None
        assert instance.state.revision == 0


async def test_two_if_match_headers_are_refused(canvas: Canvas) -> None:
    headers = [("host", HOST), *JSON.items(), ("if-match", '"0"'), ("if-match", "*")]
    async with open_app(canvas) as (app, _):
        answer = await ask(app, "POST", f"/{TOKEN}/actions/nothing", headers=headers)
        assert answer.status == 400


async def test_a_client_that_leaves_in_mid_body_calls_nothing(canvas: Canvas) -> None:
    messages = [{"type": "http.request", "body": b'{"key"', "more_body": True}]
    sent = []

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async with open_app(canvas) as (app, instance):
        headers = [("host", HOST), *JSON.items()]
        scope = make_scope("POST", f"/{TOKEN}/actions/put", headers=headers)
        await app(scope, receive, send)
        assert instance.state is not None
        assert instance.state.revision == 0
    assert sent == []


async def test_many_persons_calls_at_once_are_all_answered(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        answers = await asyncio.gather(
            *(http.post("actions/put", json={"key": str(n), "number": n}) for n in range(50))
        )
        assert sorted(answer.json()["revision"] for answer in answers) == list(range(1, 51))
        assert instance.state is not None
        assert instance.state.document == {str(n): n for n in range(50)}
