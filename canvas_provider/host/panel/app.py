"""The panel as an ASGI app: a page, what it shows as an event stream, and what its buttons do.

    GET  /TOKEN/               the page and its files
    GET  /TOKEN/events         `snapshot`, then whatever `Bench.subscribe` tells, then `closed`
    GET  /TOKEN/traffic/NUMBER the body of one message
    GET  /TOKEN/state/INSTANCE its document and history; ?after=VERSION waits for another one
    POST /TOKEN/COMMAND        a JSON object: see `Bench.commands`

Behind the same guards as a canvas. A canvas is shown in a frame of another origin, which can read
nothing of this one.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from canvas_provider.host.bench import BadCommand, Bench, Command
from canvas_provider.host.registry import HostRefusal
from canvas_provider.serving.guards import (
    BodyLimit,
    ContentTypeGuard,
    HostGuard,
    Hosts,
    OriginGuard,
    TokenGuard,
)
from canvas_provider.serving.headers import ContentPolicy, SecurityHeaders
from canvas_provider.serving.sse import encode_event
from canvas_provider.serving.streams import EventStream
from canvas_provider.types import JSONObject, JSONValue, Token
from canvas_provider.wire.connection import decode_json

__all__ = ["ASSETS", "PanelApp"]

ASSETS: Final = Path(__file__).with_name("assets")

MAX_BODY: Final = 16 * 1024 * 1024
"""Bytes of an input. Generous: the runtime itself has no limit up to 50 MB (observed)."""

FRAMES: Final = ("http://127.0.0.1:*", "http://localhost:*")
"""What the panel shows in a frame; every other URL is offered as a link."""


class PanelApp:
    """Call `bind` once its `host:port` is known, and `close` in the end."""

    def __init__(self, bench: Bench, *, token: Token) -> None:
        self._bench = bench
        self._hosts = Hosts()
        # The snapshot is the whole state, so it also stands for whatever a page has missed.
        self._stream = EventStream(opening=lambda scope: self._snapshot(), snapshot=self._snapshot)
        bench.subscribe(lambda kind, data: self._stream.publish(_encode(kind, data)))
        policy = ContentPolicy({"frame-src": FRAMES, "frame-ancestors": ("'none'",)})
        app: ASGIApp = ContentTypeGuard(BodyLimit(self._create_site(), MAX_BODY))
        app = TokenGuard(OriginGuard(app, self._hosts), token)
        self._app = SecurityHeaders(HostGuard(app, self._hosts), policy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._app(scope, receive, send)

    def bind(self, host: str) -> None:
        """Answer to `host` (`127.0.0.1:PORT`). Until then every request is refused."""
        self._hosts.bind(host)

    def close(self) -> None:
        """End every event stream. Idempotent."""
        self._stream.close(_encode("closed", {}))

    def _create_site(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/events", self._stream, methods=["GET"]),
                Route("/traffic/{number:int}", self._read_message),
                Route("/state/{instance_id}", self._read_state),
                *(
                    Route(f"/{name}", _endpoint(run), methods=["POST"])
                    for name, run in self._bench.commands.items()
                ),
                Mount("/", StaticFiles(directory=ASSETS, html=True)),
            ],
            exception_handlers={HTTPException: _answer_http_error},
        )

    def _snapshot(self) -> bytes:
        return _encode("snapshot", self._bench.describe())

    async def _read_message(self, request: Request) -> Response:
        entry = self._bench.traffic.find(request.path_params["number"])
        if entry is None:
            return _error(404, "not_found", "This message is no longer remembered.")
        return Response(entry.body, media_type="text/plain; charset=utf-8")

    async def _read_state(self, request: Request) -> Response:
        instance_id, after = request.path_params["instance_id"], request.query_params.get("after")
        return await _answer(self._bench.read_state(instance_id, after))


def _endpoint(run: Command) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint: JSON object in, `{"result": …}` or `{"error": {code, message}}` out."""

    async def endpoint(request: Request) -> Response:
        try:
            body = decode_json(await request.body())
        except (ValueError, RecursionError):
            return _error(400, "invalid_json", "The body is not valid JSON.")
        if not isinstance(body, dict):
            return _error(400, "invalid_json", "The body is not a JSON object.")
        return await _answer(run(body))

    return endpoint


async def _answer(result: Awaitable[JSONValue]) -> Response:
    try:
        return _json({"result": await result})
    except BadCommand as error:
        return _error(400, "http_error", str(error))
    except HostRefusal as refusal:
        return _error(409, _find_code(refusal), refusal.message)
    except RecursionError:
        return _error(409, "refused", "The result is nested too deeply to be shown.")


def _find_code(refusal: HostRefusal) -> str:
    """Return what the extension called it, which an agent is never told; ours is `refused`."""
    code = refusal.data.get("code") if isinstance(refusal.data, dict) else None
    return code if isinstance(code, str) else "refused"


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, "http_error", error.detail)


def _error(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": message}}, status)


def _json(value: JSONValue, status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


def _encode(event: str, data: JSONObject) -> bytes:
    # In ASCII: what an extension says may hold lone surrogates, which no UTF-8 can carry.
    return encode_event(event, json.dumps(data))
