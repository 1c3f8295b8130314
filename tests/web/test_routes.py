"""The author's own routes."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from canvas_provider import Canvas, CanvasContext, CanvasError, create_canvas
from tests.support.instances import open_client


@pytest.fixture
def canvas() -> Canvas:
    return create_canvas(
        id="board", display_name="Board", description="A board.", state=dict[str, Any]
    )


async def test_an_endpoint_gets_the_request(canvas: Canvas) -> None:
    @canvas.route("/cards/{id:int}", methods=["GET", "PUT"])
    async def card(request: Request) -> Response:
        body = await request.json() if request.method == "PUT" else None
        return JSONResponse([request.path_params, request.query_params["q"], body])

    async with open_client(canvas) as (http, _):
        assert (await http.get("cards/7?q=x")).json() == [{"id": 7}, "x", None]
        assert (await http.put("cards/8?q=", json={"a": 1})).json() == [{"id": 8}, "", {"a": 1}]
        assert (await http.head("cards/7?q=x")).status_code == 200


async def test_an_endpoint_may_take_the_context(canvas: Canvas) -> None:
    @canvas.route("/import", methods=["POST"], content_types=["text/csv"])
    async def import_csv(request: Request, ctx: CanvasContext) -> Response:
        text = (await request.body()).decode()
        async with ctx.state.change() as draft:
            draft["lines"] = text.split()
        return JSONResponse([ctx.instance_id, ctx.canvas_id, ctx.author])

    async with open_client(canvas) as (http, instance):
        headers = {"content-type": "text/csv"}
        answer = await http.post("import", content=b"a\nb", headers=headers)
        assert answer.json() == ["panel", "board", "person"]
        assert instance.state is not None
        assert instance.state.document == {"lines": ["a", "b"]}
        (revision,) = instance.state.since(0) or []
        assert revision.author == "person"


async def test_a_plain_function_runs_in_a_thread_of_ours(canvas: Canvas) -> None:
    threads: list[threading.Thread] = []

    @canvas.route("/slow")
    def slow(request: Request, ctx: CanvasContext) -> Response:
        threads.append(threading.current_thread())
        with ctx.state.change() as draft:
            draft["done"] = True
        return Response("slow")

    async with open_client(canvas) as (http, instance):
        assert (await http.get("slow")).text == "slow"
        assert instance.state is not None
        assert instance.state.document == {"done": True}
    assert threads[0] is not threading.main_thread()
    assert threads[0].daemon, "it must not hold up the exit"


async def test_what_an_endpoint_raises_is_answered_as_json(
    canvas: Canvas, caplog: pytest.LogCaptureFixture
) -> None:
    raised: list[Exception] = []

    @canvas.route("/fail")
    async def fail(request: Request) -> Response:
        raise raised[0]

    cases: list[tuple[Exception, int, dict[str, str] | None]] = [
        (CanvasError("no_card", "No card."), 409, {"code": "no_card", "message": "No card."}),
        (
            HTTPException(404),
            404,
            {"code": "not_found", "message": "There is nothing here."},
        ),
        (HTTPException(404, "No card 7."), 404, {"code": "not_found", "message": "No card 7."}),
        (
            HTTPException(429, "Slow down.", {"Retry-After": "3"}),
            429,
            {"code": "too_many_requests", "message": "Slow down."},
        ),
        (HTTPException(599, "Odd."), 599, {"code": "error", "message": "Odd."}),
        (RuntimeError("s3cret"), 500, None),
    ]
    async with open_client(canvas) as (http, _):
        for error, status, body in cases:
            raised[:] = [error]
            answer = await http.get("fail")
            assert answer.status_code == status
            if body is not None:
                assert answer.json() == {"error": body}
            if status == 429:
                assert answer.headers["retry-after"] == "3"
        assert answer.json()["error"]["code"] == "canvas_handler_error"
        assert "s3cret" not in answer.text
        assert "RuntimeError: s3cret" in caplog.text, "the author finds it in the log"


async def test_what_is_no_response_is_said_in_the_log(
    canvas: Canvas, caplog: pytest.LogCaptureFixture
) -> None:
    @canvas.route("/wrong")
    async def wrong(request: Request) -> Any:
        return {"a": 1}

    async with open_client(canvas) as (http, _):
        assert (await http.get("wrong")).status_code == 500
    assert "wrong returned dict: return a starlette Response" in caplog.text


async def test_a_policy_of_the_authors_own_narrows_ours_and_does_not_replace_it(
    canvas: Canvas,
) -> None:
    @canvas.route("/own")
    async def own(request: Request) -> Response:
        return HTMLResponse("x", headers={"content-security-policy": "script-src 'none'"})

    @canvas.route("/plain")
    async def plain(request: Request) -> Response:
        return HTMLResponse("x")

    async with open_client(canvas) as (http, _):
        policies = (await http.get("own")).headers.get_list("content-security-policy")
        ours = (await http.get("plain")).headers.get_list("content-security-policy")
        assert len(ours) == 1
        assert policies == ["script-src 'none'", *ours]


async def test_a_streaming_endpoint_streams(canvas: Canvas) -> None:
    go = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        await go.wait()
        yield b"two"

    @canvas.route("/stream")
    async def stream(request: Request) -> Response:
        return StreamingResponse(pieces())

    async with (
        open_client(canvas) as (http, _),
        http.stream("GET", "stream", timeout=5) as answer,
    ):
        chunks = answer.aiter_bytes()
        assert await anext(chunks) == b"one"
        go.set()
        assert await anext(chunks) == b"two"


async def test_a_response_that_breaks_off_is_not_mended(canvas: Canvas) -> None:
    """Its status is out already: the line is cut, so that nobody takes it for the whole."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise RuntimeError("broke")

    @canvas.route("/stream")
    async def stream(request: Request) -> Response:
        return StreamingResponse(pieces())

    async with open_client(canvas) as (http, _):
        with pytest.raises(RuntimeError, match="broke"):
            await http.get("stream")


async def test_two_routes_share_a_path_by_method(canvas: Canvas) -> None:
    @canvas.route("/items", methods=["GET"])
    async def read(request: Request) -> Response:
        return Response("read")

    @canvas.route("/items", methods=["POST"])
    async def write(request: Request) -> Response:
        return Response("write")

    async with open_client(canvas) as (http, _):
        assert (await http.get("items")).text == "read"
        assert (await http.post("items", json={})).text == "write"
        refused = await http.put("items", json={})
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, POST")
