"""The scripted model, asked over HTTP as an agent asks it."""

import json
from typing import Any

import httpx
import pytest

from canvas_provider.testing import ModelRequest, ScriptedModel, ScriptError, Step, ToolCall

QUESTION: dict[str, Any] = {
    "model": "any",
    "messages": [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
}


async def ask(model: ScriptedModel, body: dict[str, Any] | None = None) -> httpx.Response:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {model.api_key}"}) as http:
        return await http.post(f"{model.url}/chat/completions", json=body or QUESTION)


async def said(model: ScriptedModel, body: dict[str, Any] | None = None) -> dict[str, Any]:
    answer = (await ask(model, body)).raise_for_status().json()
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


async def test_steps_are_played_in_order_and_calls_of_one_step_together() -> None:
    model = ScriptedModel(
        ["I look twice.", ToolCall("look", {"at": 1}), ToolCall("look", {"at": 2})], "I saw it."
    )
    async with model:
        first = await said(model)
        assert first["content"] == "I look twice."
        calls = [call["function"] for call in first["tool_calls"]]
        assert [json.loads(call["arguments"]) for call in calls] == [{"at": 1}, {"at": 2}]
        assert len({call["id"] for call in first["tool_calls"]}) == 2
        assert await said(model) == {"role": "assistant", "content": "I saw it."}


async def test_a_step_may_be_a_function_of_what_was_asked_sync_or_not() -> None:
    async def later(request: ModelRequest) -> str:
        return request.tool_results[-1]

    model = ScriptedModel(lambda request: ToolCall("look", {"at": request.prompt}), later)
    async with model:
        (call,) = (await said(model))["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"at": "Hello"}
        result = {"role": "tool", "content": "a picture"}
        message = await said(model, {"messages": [*QUESTION["messages"], result]})
        assert message["content"] == "a picture"


async def test_what_it_was_asked_is_remembered() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    shown = {"role": "user", "content": [{"type": "text", "text": "Look"}, image]}
    async with ScriptedModel("Yes.") as model:
        await ask(model, {**QUESTION, "messages": [*QUESTION["messages"], shown]})
    (request,) = model.requests
    assert request.system_prompt == model.system_prompt == "You are helpful."
    assert request.prompt == "Look"
    assert list(model.tools) == ["look"]
    assert request.images == ["data:image/png;base64,AA=="]
    assert model.tool_results == []


async def test_it_streams_when_it_is_asked_to() -> None:
    async with ScriptedModel(["Hm.", ToolCall("look")]) as model:
        answer = await ask(model, {**QUESTION, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, end = [line for line in answer.text.split("\n\n") if line]
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert end == "data: [DONE]"
    delta = chunks[0]["choices"][0]["delta"]
    assert delta["content"] == "Hm."
    assert delta["tool_calls"][0]["index"] == 0
    assert chunks[1]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[2]["usage"]["total_tokens"] == 2


async def test_a_script_that_runs_out_fails_the_turn_and_the_test() -> None:
    with pytest.raises(ScriptError, match="1 steps, and this is request 2.*'user'.*Hello"):
        async with ScriptedModel("Yes.") as model:
            await ask(model)
            answer = await ask(model)
            assert answer.status_code == 400
            assert "this is request 2" in answer.json()["error"]["message"]


async def test_a_failed_script_is_noted_on_the_error_that_ended_the_test() -> None:
    with pytest.raises(KeyError) as caught:
        async with ScriptedModel() as model:
            await ask(model)
            raise KeyError("tools")
    assert "The script has 0 steps" in caught.value.__notes__[0]


async def test_steps_that_nobody_asked_for_are_an_error_unless_they_may_be() -> None:
    with pytest.raises(ScriptError, match=r"1 of 2 steps were not played.*'Twice\.'"):
        async with ScriptedModel("Once.", "Twice.") as model:
            await ask(model)
    async with ScriptedModel("Once.", complete=False):
        pass


async def test_what_a_step_raises_is_what_the_test_fails_with() -> None:
    def look(request: ModelRequest) -> str:
        assert "draw" in request.tools
        return "I draw."

    with pytest.raises(AssertionError, match="draw"):
        async with ScriptedModel(look) as model:
            assert (await ask(model)).status_code == 400


@pytest.mark.parametrize("step", [7, {"name": "look"}, ["text", 7]])
async def test_a_step_that_a_model_cannot_say_is_refused(step: Step) -> None:
    with pytest.raises(ScriptError, match="A step is a text, a ToolCall"):
        async with ScriptedModel(step) as model:
            await ask(model)


async def test_who_has_not_its_key_is_refused_and_takes_no_step() -> None:
    async with ScriptedModel("Yes.") as model:
        async with httpx.AsyncClient() as http:
            answer = await http.post(f"{model.url}/chat/completions", json=QUESTION)
        assert answer.status_code == 401
        assert (await said(model))["content"] == "Yes."


async def test_only_chat_completions_are_served() -> None:
    with pytest.raises(ScriptError, match="/v1/embeddings"):
        async with ScriptedModel() as model:
            key = {"Authorization": f"Bearer {model.api_key}"}
            async with httpx.AsyncClient(headers=key) as http:
                assert (await http.get(f"{model.url}/embeddings")).status_code == 400


async def test_looking_at_what_was_never_asked_says_so() -> None:
    with pytest.raises(ScriptError, match="was not asked anything"):
        _ = ScriptedModel().tools
