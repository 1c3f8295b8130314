"""Tools: what is declared, and what the model gets to read of a call."""

import asyncio
import json
import logging
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from canvas_provider import (
    CanvasContext,
    CanvasError,
    CommandContext,
    DeclarationError,
    Tool,
    ToolContext,
    ToolResult,
    create_canvas,
    tool,
)
from canvas_provider.session import handshake
from canvas_provider.types import JSONValue
from canvas_provider.wire.connection import Connection
from tests.support.contributions import contributing, request_of


@tool
async def count_words(text: Annotated[str, "What to count"], least: int = 1) -> int:
    """Count the words of a text."""
    return max(len(text.split()), least)


async def test_a_typed_function_is_declared_with_the_schema_of_its_parameters() -> None:
    async with contributing(tools=[count_words]) as (runtime, _):
        assert runtime.declared["tools"] == [
            {
                "name": "count_words",
                "description": "Count the words of a text.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "What to count"},
                        "least": {"type": "integer", "default": 1},
                    },
                    "required": ["text"],
                    "additionalProperties": False,
                },
            }
        ]
        assert await runtime.call_tool("count_words", {"text": "one two"}) == "2"


def test_every_option_has_its_wire_name() -> None:
    made = tool(
        name="bash",
        description="Run it elsewhere.",
        overrides_built_in_tool=True,
        skip_permission=True,
        defer="never",
        metadata={"vendor.color": "red"},
        namespace={"name": "elsewhere"},
        is_terminal=True,
    )(_nothing)
    assert made.declaration == {
        "name": "bash",
        "description": "Run it elsewhere.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "overridesBuiltInTool": True,
        "skipPermission": True,
        "defer": "never",
        "metadata": {"vendor.color": "red"},
        "namespace": {"name": "elsewhere"},
        "isTerminal": True,
    }


async def _nothing() -> None:
    """Nothing."""


@pytest.mark.parametrize("arguments", [None, {}], ids=["null", "an empty object"])
async def test_null_means_no_arguments(arguments: Any) -> None:
    @tool
    async def greet(name: str = "you") -> str:
        """Greet."""
        return f"Hello, {name}."

    # Models' providers refuse a function whose input may be null.
    assert greet.declaration["parameters"]["type"] == "object"  # type: ignore[index,call-overload]
    async with contributing(tools=[greet]) as (runtime, _):
        assert await runtime.call_tool("greet", arguments) == "Hello, you."


async def test_the_context_says_which_call_it_is() -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(ctx: ToolContext, place: str) -> None:
        """Look."""
        seen.append(ctx)

    async with contributing(tools=[look]) as (runtime, session):
        assert await runtime.call_tool("look", {"place": "here"}) == ""
    (context,) = seen
    assert context == ToolContext(session, "call-1", "look", {"place": "here"}, "/project")
    assert "here" not in repr(context)


async def test_the_long_form_takes_the_context() -> None:
    async def shout(ctx: ToolContext) -> Any:
        assert isinstance(ctx.arguments, dict)
        return {"shouted": str(ctx.arguments["text"]).upper()}

    schema: JSONValue = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    async with contributing(tools=[Tool("shout", "Shout.", schema, shout)]) as (runtime, _):
        assert await runtime.call_tool("shout", {"text": "Grüße"}) == '{"shouted":"GRÜSSE"}'
        refused = await runtime.call_tool("shout", {"text": 7})
        assert refused == _failed('Invalid input for tool "shout": /text: must be a string.')


def _failed(text: str) -> dict[str, str]:
    return {"textResultForLlm": text, "resultType": "failure", "error": text}


async def test_a_model_may_be_the_whole_input() -> None:
    class Query(BaseModel):
        words: list[str]
        limit: int = 10

    @tool
    async def search(query: Query) -> Query:
        """Search."""
        return query

    async with contributing(tools=[search]) as (runtime, _):
        result = await runtime.call_tool("search", {"words": ["a"]})
        assert result == '{"words":["a"],"limit":10}'


async def test_results_are_text_json_or_a_tool_result() -> None:
    @dataclass
    class Point:
        x: int

    results: list[Any] = [
        "text",
        Point(1),
        ToolResult("seen", images=[b"png"], session_log="long"),
        ToolResult("It is locked.", failed=True, error="locked"),
    ]

    @tool
    async def take() -> Any:
        """Take the next."""
        return results.pop(0)

    async with contributing(tools=[take]) as (runtime, _):
        assert await runtime.call_tool("take") == "text"
        assert await runtime.call_tool("take") == '{"x":1}'
        assert await runtime.call_tool("take") == {
            "textResultForLlm": "seen",
            "resultType": "success",
            "sessionLog": "long",
            "binaryResultsForLlm": [
                {"data": "cG5n", "mimeType": "image/png", "type": "image", "description": ""}
            ],
        }
        assert await runtime.call_tool("take") == {
            "textResultForLlm": "It is locked.",
            "resultType": "failure",
            "error": "locked",
        }


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Somebody waits for a Ctrl-C, as in each program that asyncio or Copilot has started."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
async def test_errors_on_purpose_are_told_and_others_leak_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[BaseException] = [
        CanvasError("locked", "It is locked."),
        ValueError("it is hunter"),
        SystemExit(3),
        KeyboardInterrupt("it is hunter"),
    ]

    @tool
    async def fail() -> None:
        """Fail."""
        raise errors.pop(0)

    @tool
    def answer_nan() -> float:
        """Answer what is not JSON."""
        return float("nan")

    async with contributing(tools=[fail, answer_nan]) as (runtime, _):
        assert await runtime.call_tool("fail") == _failed("It is locked.")
        while errors:
            result: Any = await runtime.call_tool("fail")
            assert result["resultType"] == "failure"
            assert "hunter" not in str(result)
            reference = result["textResultForLlm"].split()[-1].strip(".")
            assert reference in caplog.text
        assert "JSON cannot carry" in str(await runtime.call_tool("answer_nan"))


async def test_a_result_that_is_too_large_to_be_sent_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def give(size: int) -> str:
        """Give that much."""
        return "x" * size

    def connect(**limits: int) -> Connection:
        return Connection(max_sent_size=50_000)

    monkeypatch.setattr(handshake, "Connection", connect)
    async with contributing(tools=[give]) as (runtime, _):
        result: Any = await runtime.call_tool("give", {"size": 50_000})
        assert result["resultType"] == "failure"
        assert "too large to be told" in result["textResultForLlm"]
        assert await runtime.call_tool("give", {"size": 3}) == "xxx"
    assert "the result of tool 'give' is too large" in caplog.text


async def test_text_that_is_not_unicode_is_refused_and_told() -> None:
    """A JavaScript runtime can well send half of a surrogate pair; nothing can store or send it."""
    called: list[object] = []

    @tool
    async def note(texts: list[str]) -> None:
        """Note."""
        called.append(texts)
        raise CanvasError("no_file", f"There is no file {texts[0]}\udcff.")

    async def take(ctx: ToolContext) -> None:
        called.append(ctx.arguments)

    async with contributing(tools=[note, Tool("take", handler=take)]) as (runtime, _):
        runtime.peer._connection.dumps = lambda message: json.dumps(message).encode()
        arguments: Any = {"texts": ["a", "b\ud800"]}
        for name in ("note", "take"):
            result = await runtime.call_tool(name, arguments)
            assert result == _failed(
                f'Invalid input for tool "{name}": /texts/1: is text with half of a surrogate '
                "pair, which is not Unicode."
            )
        assert called == []
        told = await runtime.call_tool("note", {"texts": ["a"]})
        assert told == _failed("There is no file a?.")


async def test_a_plain_function_runs_in_a_thread() -> None:
    here = asyncio.get_running_loop()

    @tool
    def where(ctx: ToolContext) -> bool:
        """Tell whether it is in the loop."""
        try:
            return asyncio.get_running_loop() is here
        except RuntimeError:
            return False

    async with contributing(tools=[where]) as (runtime, _):
        assert await runtime.call_tool("where") == "false"


async def test_a_call_the_runtime_gave_up_is_cancelled_and_not_answered() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with contributing(tools=[wait, count_words]) as (runtime, _), asyncio.timeout(5):
        runtime.tell("external_tool.requested", request_of("wait", {}, "r-7"))
        await started.wait()
        runtime.tell("external_tool.completed", {"requestId": "r-7"})
        await ended.wait()
        await runtime.call_tool("count_words", {"text": "a"}, id="r-8")
    assert [params["requestId"] for _, params in runtime.requests] == ["r-8"]


async def test_the_end_of_the_session_ends_running_calls() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(5):
        async with contributing(tools=[wait]) as (runtime, _):
            runtime.tell("external_tool.requested", request_of("wait"))
            await started.wait()
        assert ended.is_set()


async def test_what_is_not_ours_is_left_to_others() -> None:
    declared_only = Tool("pending", "Answered elsewhere.")
    async with contributing(tools=[count_words, declared_only]) as (runtime, _):
        runtime.tell("external_tool.requested", request_of("of_another_extension"))
        runtime.tell("external_tool.requested", request_of("pending"))
        await runtime.call_tool("count_words", {"text": "a"}, id="r-2")
        assert len(runtime.requests) == 1


@pytest.mark.parametrize("name", ["", "bad name!", "a.b", "x" * 65, "größe", "a\n", 7])
def test_names_that_copilot_refuses_are_refused_here(name: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Tool(name, "A tool.")
    assert raised.value.field == "name"
    assert raised.value.tool == str(name)


def test_what_cannot_work_is_refused_with_the_tool_and_the_field() -> None:
    async def unknown(thing) -> None:  # type: ignore[no-untyped-def]
        """Unknown."""

    async def silent(thing: str) -> None: ...

    async def misled(context: CanvasContext[Any]) -> None:
        """Misled."""

    async def misled_too(context: CommandContext) -> None:
        """Misled."""

    with pytest.raises(DeclarationError, match=r"tool 'unknown', field 'thing'.*ToolContext"):
        tool(unknown)
    for function in (misled, misled_too):
        with pytest.raises(DeclarationError, match="write `context: ToolContext`"):
            tool(function)
        with pytest.raises(DeclarationError, match="field 'context'.*write `context: ToolContext`"):
            Tool("x", handler=function)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="tool 'silent', field 'description'"):
        tool(silent)
    with pytest.raises(DeclarationError, match="tool 'x', field 'parameters'.*draft-07"):
        Tool("x", "X.", {"type": "object", "properties": {"a": {"type": "text"}}})
    with pytest.raises(DeclarationError, match="field 'handler'.*@tool"):
        Tool("x", "X.", None, _nothing)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="@tool\\(name='x'\\)"):
        tool("x")  # type: ignore[call-overload]
    with pytest.raises(DeclarationError, match="field 'defer'"):
        Tool("x", defer="later")  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="field 'metadata'"):
        Tool("x", metadata={"a": object()})
    for namespace in ({}, {"name": ""}, {"description": "X."}, {"name": "x", "title": "X"}):
        with pytest.raises(DeclarationError, match="field 'namespace'"):
            Tool("x", namespace=namespace)


def test_tools_that_cannot_be_contributed_are_refused() -> None:
    from canvas_provider.session.contributions import Contributions

    with pytest.raises(DeclarationError, match=r"'tools'.*@tool.*function"):
        Contributions(tools=[_nothing])  # type: ignore[list-item]
    with pytest.raises(DeclarationError, match="'tools'.*count_words"):
        Contributions(tools=[count_words, count_words])
    with pytest.raises(DeclarationError, match="'tools'.*list"):
        Contributions(tools=count_words)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'tool'.*there are: canvases, tools"):
        Contributions(tool=[count_words])  # type: ignore[call-arg]


async def test_canvases_and_tools_go_together() -> None:
    board = create_canvas(id="board", display_name="Board", description="A board.")
    async with contributing(canvases=[board], tools=[count_words]) as (runtime, session):
        declared: Any = runtime.declared
        assert [each["id"] for each in declared["canvases"]] == ["board"]
        assert [each["name"] for each in declared["tools"]] == ["count_words"]
        assert session.joined


async def test_arguments_and_results_reach_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with contributing(tools=[count_words]) as (runtime, _):
        await runtime.call_tool("count_words", {"text": "hush", "secret": "hush"})
    assert "hush" not in caplog.text
