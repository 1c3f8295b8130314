"""What is refused of tools, in the words of Copilot CLI 1.0.102, and answers nobody waits for."""

import pytest

from canvas_provider.host.contributions import Contributions
from canvas_provider.host.registry import HostRefusal
from canvas_provider.host.runtime import Runtime
from canvas_provider.types import JSONObject
from canvas_provider.wire.peer import Peer
from canvas_provider.wire.transports import memory_pair


def contributions() -> Contributions:
    def publish(type: str, data: JSONObject, *, ephemeral: bool) -> str:
        return "e-1"

    return Contributions(publish, session_id="s-1", working_directory="/work")


def test_a_tool_needs_a_plain_name() -> None:
    """Specification: facts 2.7."""
    with pytest.raises(HostRefusal, match=r"matching /\^\[a-zA-Z0-9_-\]\+\$/"):
        contributions().declare("project:one", {"tools": [{"name": "bad name!"}]})


def test_a_tool_belongs_to_one_extension() -> None:
    """Specification: facts 2.7."""
    both = contributions()
    tools: JSONObject = {"tools": [{"name": "dup_tool"}]}
    both.declare("project:one", tools)
    both.declare("project:one", tools)
    with pytest.raises(HostRefusal, match="External tool name clash: dup_tool already registered"):
        both.declare("project:two", tools)
    both.forget("project:one")
    both.declare("project:two", tools)


async def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    async def refuse(method: str, params: JSONObject) -> None:
        raise AssertionError(method)

    ours, theirs = memory_pair()
    async with Runtime(working_directory="/work", workspace_path="/nowhere") as runtime:
        await runtime.attach(theirs, extension_id="project:one", extension_name="one")
        peer = Peer(ours, on_request=refuse)
        peer.start()
        late: JSONObject = {"sessionId": runtime.session_id, "requestId": "gone", "result": "late"}
        answer = await peer.request("session.tools.handlePendingToolCall", late)
        assert answer == {"success": False}
        await peer.aclose()
