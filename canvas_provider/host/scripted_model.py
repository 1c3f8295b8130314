"""`ScriptedModel`: a language model on the loopback interface that says what a test wrote down.

It speaks OpenAI's chat completions, streamed or whole, which is all that Copilot needs of a model.
It plays its script, remembers what it was asked, and leaves no doubt when the two do not fit.
"""

import json
import secrets
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from canvas_provider.host.script import ModelRequest, Reply, ScriptError, Step, create_reply

if TYPE_CHECKING:
    from canvas_provider.serving.server import LoopbackServers

__all__ = ["ScriptedModel"]

MODEL: Final = "scripted"

MAX_SHOWN: Final = 500
"""Characters of a request that an error's text repeats."""


class ScriptedModel:
    """Serves a script, one step for each request of the agent. Use it as a context manager.

        model = ScriptedModel(ToolCall.open("kanban", "board"), "The board is open.")
        async with model, CopilotCLI() as copilot:
            session = await copilot.create_session(model)
            assert await session.ask("Open the board.") == "The board is open."

    A text ends the turn. Sessions that share a model take their steps in the order in which they
    ask, so give each its own when several are at work.

    Args:
        script: Texts, tool calls, lists of them, and functions of the request that return them.
        complete: Steps that nobody asked for are an error at the end of the block.

    Raises:
        ScriptError: from `check` and the end of the block: more was asked than the script has, or
            less. What a step's own function raised comes out there, too.
    """

    def __init__(self, *script: Step, complete: bool = True) -> None:
        self._steps = deque(script)
        self._length = len(script)
        self._complete = complete
        self._failure: Exception | None = None
        self._servers: LoopbackServers | None = None
        self.api_key: Final = secrets.token_urlsafe(32)
        """What a request has to carry as a bearer token."""
        self.url = ""
        """The base URL of the API while the model is served."""
        self.requests: Final[list[ModelRequest]] = []
        """Everything it was asked, oldest first."""

    async def __aenter__(self) -> Self:
        # The only part of `testing` that needs a web server with sockets.
        from canvas_provider.serving.server import LoopbackServers

        self._servers = LoopbackServers()
        app = Starlette(routes=[Route("/v1/{path:path}", self._answer, methods=["GET", "POST"])])
        origin = await self._servers.serve(app)
        self.url = f"{origin.base}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        servers, self._servers = self._servers, None
        if servers is not None:
            await servers.aclose()
        if error is None:
            self.check(complete=self._complete)
        elif self._failure is not None and error is not self._failure:
            error.add_note(f"The scripted model: {self._failure}")

    # What it was told, in its last request

    @property
    def system_prompt(self) -> str:
        return self._last.system_prompt

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """See `ModelRequest.tools`."""
        return self._last.tools

    @property
    def tool_results(self) -> list[str]:
        """What each tool call has answered, as the model reads it."""
        return self._last.tool_results

    def check(self, *, complete: bool = False) -> None:
        """Raise what went wrong so far.

        Args:
            complete: Steps that were not played are wrong, too.
        """
        if self._failure is not None:
            raise self._failure
        if complete and self._steps:
            raise ScriptError(
                f"{len(self._steps)} of {self._length} steps were not played. The next one is "
                f"{self._steps[0]!r}. If that is meant: ScriptedModel(…, complete=False)."
            )

    @property
    def _last(self) -> ModelRequest:
        if not self.requests:
            raise ScriptError("The model was not asked anything.")
        return self.requests[-1]

    # The server

    async def _answer(self, request: Request) -> Response:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(bearer.encode(), self.api_key.encode()):
            return _refuse(401, "This model is another test's: the API key is wrong.")
        if request.path_params["path"] != "chat/completions":
            return self._fail(ScriptError(f"Only chat completions are served, not {request.url}."))
        asked = ModelRequest(await request.json())
        self.requests.append(asked)
        number = len(self.requests)
        if not self._steps:
            return self._fail(_run_out(self._length, number, asked))
        try:
            reply = await create_reply(self._steps.popleft(), asked)
        except Exception as error:
            return self._fail(error)
        return _stream(reply, number) if asked.body.get("stream") else _whole(reply, number)

    def _fail(self, error: Exception) -> Response:
        """Let the agent's turn fail at once: 400 is an answer that nobody tries again."""
        self._failure = self._failure or error
        return _refuse(400, f"The script of this model has failed: {error}")


def _run_out(length: int, number: int, asked: ModelRequest) -> ScriptError:
    last = asked.messages[-1] if asked.messages else {}
    text = json.dumps(last.get("content"), ensure_ascii=False)[:MAX_SHOWN]
    return ScriptError(
        f"The script has {length} steps, and this is request {number}. The last message of it is "
        f"from {last.get('role', 'nobody')!r}: {text}. A turn ends with a step that is a text."
    )


def _refuse(status: int, message: str) -> Response:
    error = {"message": message, "type": "invalid_request_error", "code": "script_error"}
    return JSONResponse({"error": error}, status)


USAGE: Final = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _whole(reply: Reply, number: int) -> Response:
    choice = {
        "index": 0,
        "message": reply.to_message(number),
        "finish_reason": reply.finish_reason,
    }
    return JSONResponse(_envelope(number, "chat.completion", [choice]) | {"usage": USAGE})


def _stream(reply: Reply, number: int) -> Response:
    """The same as events: the message as one piece, why it ends, what it took."""
    delta = reply.to_message(number)
    for index, call in enumerate(delta.get("tool_calls", ())):
        call["index"] = index
    pieces: list[tuple[dict[str, Any], str | None]] = [(delta, None), ({}, reply.finish_reason)]
    chunks = [
        _envelope(
            number,
            "chat.completion.chunk",
            [{"index": 0, "delta": piece, "finish_reason": reason}],
        )
        for piece, reason in pieces
    ]
    chunks.append(_envelope(number, "chat.completion.chunk", []) | {"usage": USAGE})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Response("".join([*lines, "data: [DONE]\n\n"]), media_type="text/event-stream")


def _envelope(number: int, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": 0,
        "model": MODEL,
        "choices": choices,
    }
