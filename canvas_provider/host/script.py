"""What a scripted model says, and what it was asked: shapes, without a server.

A script is a list of steps. Each request of the agent gets the next one, whatever it asks.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from canvas_provider.types import JSONValue

__all__ = ["ModelRequest", "Reply", "ScriptError", "Step", "ToolCall", "create_reply"]


class ScriptError(AssertionError):
    """A scripted model was asked for more, or for less, than its script has."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model calls a tool: `ToolCall("bash", {"command": "ls"})`.

    The three tools of canvases have short forms. `input` is null unless given, which is what models
    send for "nothing" (the description of the tool tells them to).
    """

    name: str
    arguments: Mapping[str, JSONValue] = field(default_factory=dict)

    @classmethod
    def capabilities(cls, canvas_id: str) -> "ToolCall":
        """Ask what a canvas can do: `list_canvas_capabilities`."""
        return cls("list_canvas_capabilities", {"canvasId": canvas_id})

    @classmethod
    def open(
        cls, canvas_id: str, instance_id: str, input: Mapping[str, JSONValue] | None = None
    ) -> "ToolCall":
        """Open a canvas, or focus it: `open_canvas`."""
        fields = {"canvasId": canvas_id, "instanceId": instance_id}
        return cls("open_canvas", {**fields, "input": _as_json(input)})

    @classmethod
    def invoke(
        cls, instance_id: str, action_name: str, input: Mapping[str, JSONValue] | None = None
    ) -> "ToolCall":
        """Call an action of an open canvas: `invoke_canvas_action`."""
        fields = {"instanceId": instance_id, "actionName": action_name}
        return cls("invoke_canvas_action", {**fields, "input": _as_json(input)})


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What the agent sent to the model: the conversation so far, and the tools on offer."""

    body: Mapping[str, Any]
    """The request as it came: OpenAI's chat completions."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, oldest first."""
        return [message for message in self.body["messages"] if isinstance(message, dict)]

    @property
    def system_prompt(self) -> str:
        return "\n".join(self._texts("system"))

    @property
    def prompt(self) -> str:
        """The last thing that was said to the agent, with what Copilot wraps around it."""
        return next(reversed(self._texts("user")), "")

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The tools on offer by name: each with `description` and `parameters`, a JSON Schema."""
        return {tool["function"]["name"]: tool["function"] for tool in self.body.get("tools", ())}

    @property
    def tool_results(self) -> list[str]:
        """What each tool call of the conversation has answered, as the model reads it."""
        return self._texts("tool")

    @property
    def images(self) -> list[str]:
        """The pictures that the model was shown, as `data:` URLs."""
        parts = (part for message in self.messages for part in _parts(message))
        return [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]

    def _texts(self, role: str) -> list[str]:
        return [_text(message) for message in self.messages if message.get("role") == role]


Said: TypeAlias = str | ToolCall | Sequence[str | ToolCall]
"""A text ends the turn. Tool calls go on with it; several in one step run at once."""

Step: TypeAlias = Said | Callable[[ModelRequest], Said | Awaitable[Said]]
"""What the model says next, or a function that decides it by what the agent has sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model."""

    text: str | None
    calls: tuple[ToolCall, ...]

    def to_message(self, number: int) -> dict[str, Any]:
        """Return it as an assistant's message; `number` makes the ids of its calls unique."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for index, call in enumerate(self.calls)
            ]
        return message

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"


async def create_reply(step: Step, request: ModelRequest) -> Reply:
    """Play a step.

    Raises:
        ScriptError: it is nothing that a model could say.
    """
    said: Any = step(request) if callable(step) else step
    if inspect.isawaitable(said):
        said = await said
    parts = [said] if isinstance(said, str | ToolCall) else said
    if not isinstance(parts, Sequence) or not all(
        isinstance(part, str | ToolCall) for part in parts
    ):
        raise ScriptError(
            "A step is a text, a ToolCall, a list of them, or a function that returns one of "
            f"these; this is a {type(said).__name__}."
        )
    texts = [part for part in parts if isinstance(part, str)]
    calls = tuple(part for part in parts if isinstance(part, ToolCall))
    return Reply("\n".join(texts) if texts else None, calls)


def _as_json(input: Mapping[str, JSONValue] | None) -> JSONValue:
    return None if input is None else dict(input)


def _parts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, list):
        yield from (part for part in content if isinstance(part, dict))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in _parts(message) if part.get("type") == "text")
