"""A scripted language model: an OpenAI chat-completions provider on the loopback interface.

It answers each request with the next step of its script, whatever it is asked, and keeps what it
was told. Enough for the Copilot CLI to run a whole turn offline.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from canvas_provider.serving.server import LoopbackServers


class ScriptedModel:
    """Calls the tools of its script one after the other, then says that it is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self._calls = list(calls)
        self.tool_results: list[str] = []
        """What each tool call has answered, as the model reads it."""
        self.system_prompt = ""
        self.url = ""

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        messages = body["messages"]
        self.system_prompt = str(messages[0]["content"])
        self.tool_results = [
            message["content"] for message in messages if message["role"] == "tool"
        ]
        # Other requests than those of the turn (a title for the session) carry no tools.
        done = len(self.tool_results)
        calls = self._calls[done : done + 1] if body.get("tools") else []
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else "Done."}
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{done}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for name, arguments in calls
            ]
        finish_reason = "tool_calls" if calls else "stop"
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": "gpt-5",
                "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )


@asynccontextmanager
async def scripted_model(*calls: tuple[str, dict[str, Any]]) -> AsyncIterator[ScriptedModel]:
    """Serve a model that makes these tool calls: each a name and arguments."""
    model = ScriptedModel(*calls)
    servers = LoopbackServers()
    app = Starlette(routes=[Route("/v1/chat/completions", model.answer, methods=["POST"])])
    origin = await servers.serve(app)
    model.url = f"{origin.base}/v1"
    try:
        yield model
    finally:
        await servers.aclose()
