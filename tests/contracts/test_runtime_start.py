"""How extensions start, what they declare, and how they fail: on both runtimes, rule by rule.

The numbers are those of docs/reference/protocol-copilot.md.
"""

import asyncio
import time
from typing import Any, Final

import pytest

from canvas_provider.testing import ScriptedModel
from canvas_provider.types import JSONObject, JSONValue
from tests.contracts.conftest import Start
from tests.support.copilot import until
from tests.support.hosts import (
    CopilotHost,
    Host,
    canvas_events,
    refusal_of,
    wait_event,
    wait_listed,
    wait_open,
    wait_status,
)
from tests.support.puppets import canvas

pytestmark = pytest.mark.process

JOIN_DEADLINE: Final = 30.0


async def test_2_2_others_can_be_used_while_one_is_still_starting(start: Start) -> None:
    host = await start(waiting=False, a={"canvases": [canvas("v")]}, slow={"hangs": True})
    await wait_status(host, "a", "running")
    assert (await host.open("v", "i"))["instanceId"] == "i"
    assert await host.status("slow") == "starting"


@pytest.mark.slow
async def test_2_1_an_extension_has_30_seconds_to_join(start: Start) -> None:
    """With 2.2: the first turn of the agent waits as long. There is no agent in ours."""
    started = time.monotonic()
    host = await start(waiting=False, slow={"hangs": True})
    if isinstance(host, CopilotHost):
        async with ScriptedModel("Hello.") as model:
            session = await host.cli.create_session(model, workingDirectory=str(host.folder))
            assert await session.ask("Hello?", timeout=60) == "Hello."
            assert time.monotonic() - started > JOIN_DEADLINE - 2
            await session.disconnect()
    await wait_status(host, "slow", "failed", timeout=45)
    assert time.monotonic() - started > JOIN_DEADLINE - 2
    puppet = host.puppets["slow"]
    await until(lambda: not puppet.is_running, 10, lambda: "it still runs")


async def test_2_3_an_extension_that_stays_after_a_refusal(start: Start) -> None:
    """On purpose different: Copilot lets it be `starting` for ever, which blocks the first turn.

    Who develops has to be told at once, so ours ends it.
    """
    host = await start(waiting=False, a={"canvases": [{"id": "v"}], "stays": True})
    puppet = host.puppets["a"]
    await until(lambda: "refused: " in host.log("a"), 20, lambda: host.log("a"))
    if host.kind == "copilot":
        assert await host.status("a") == "starting"
        assert puppet.is_running
    else:
        await wait_status(host, "a", "failed")
        assert not puppet.is_running


async def test_2_4_who_exits_before_it_has_joined_has_failed(start: Start) -> None:
    host = await start(waiting=False, a={"exit": 3})
    await wait_status(host, "a", "failed")
    assert await host.canvases() == []
    # In the words of each.
    code = "exit code=3" if host.kind == "copilot" else "(exit code 3)"
    await until(lambda: code in host.log("a"), 10, lambda: host.log("a"))
    assert len(host.puppets["a"].notes("start")) == 1


async def test_2_4_who_exits_later_has_failed_and_is_not_started_again(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    await refusal_of(host.invoke("i", "die", {"code": 5}))
    await wait_status(host, "a", "failed")
    code = "exit code=5" if host.kind == "copilot" else "(exit code 5)"
    await until(lambda: code in host.log("a"), 10, lambda: host.log("a"))
    assert await host.canvases() == []
    assert len(host.puppets["a"].notes("start")) == 1


@pytest.mark.parametrize(
    "junk", ["hello\n", "Content-Length: abc\r\n\r\n", "\x00\x01\x02\r\n\r\n"], ids=repr
)
async def test_2_5_what_is_no_message_on_stdout_ends_the_connection(
    start: Start, junk: str
) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    waiting = asyncio.ensure_future(refusal_of(host.invoke("i", "wait", {"for": "ever"})))
    await host.puppets["a"].wait_noted("canvas.action.invoke")
    # It is noticed with the header that follows.
    writing = asyncio.ensure_future(refusal_of(host.invoke("i", "write", {"text": junk})))
    assert (await waiting).endswith("failed with message: connection closed")
    assert (await writing).endswith("failed with message: connection closed")
    await wait_event(host, "unavailable", "i")
    assert await host.open_instances() == []


async def test_2_5_a_message_that_is_no_json_is_survived(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    await host.invoke("i", "write", {"text": "Content-Length: 5\r\n\r\n{bad}"})
    assert await host.invoke("i", "echo", 1) == 1


async def test_2_6_what_is_written_to_stderr_is_kept(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v")]})
    await host.open("v", "i")
    await host.invoke("i", "say", {"text": "a line of its own é"})
    await until(lambda: "a line of its own é" in host.log("a"), 10, lambda: host.log("a"))


# 2.7 Declarations.


BARE: Final[JSONObject] = {"id": "x", "displayName": "X", "description": "x"}


def bare(**fields: JSONValue) -> JSONValue:
    return [{**BARE, **fields}]


def without(name: str) -> JSONValue:
    return [{key: value for key, value in BARE.items() if key != name}]


PARSER: Final = "invalid canvas contributions: "
COMPILER: Final = 'Failed to compile JSON schema for canvas "x".'

REFUSED: Final[dict[str, tuple[JSONValue, str]]] = {
    "no id": (without("id"), f"{PARSER}missing field `id`"),
    "no name": (without("displayName"), f"{PARSER}missing field `displayName`"),
    "no description": (without("description"), f"{PARSER}missing field `description`"),
    "an action without a name": (bare(actions=[{}]), f"{PARSER}missing field `name`"),
    "a number for an id": (
        bare(id=5),
        f"{PARSER}invalid type: integer `5`, expected a string",
    ),
    "null for an id": (bare(id=None), f"{PARSER}invalid type: null, expected a string"),
    "a list for a name": (
        bare(displayName=[]),
        f"{PARSER}invalid type: sequence, expected a string",
    ),
    "a float for a description": (
        bare(description=1.5),
        f"{PARSER}invalid type: floating point `1.5`, expected a string",
    ),
    "true for an action's name": (
        bare(actions=[{"name": True}]),
        f"{PARSER}invalid type: boolean `true`, expected a string",
    ),
    "a number for an action's description": (
        bare(actions=[{"name": "a", "description": 5}]),
        f"{PARSER}invalid type: integer `5`, expected a string",
    ),
    "an object for actions": (
        bare(actions={}),
        f"{PARSER}invalid type: map, expected a sequence",
    ),
    "a text for an action": (
        bare(actions=["a"]),
        f'{PARSER}invalid type: string "a", expected struct CanvasActionWire',
    ),
    "a text for a canvas": (
        ["a"],
        f'{PARSER}invalid type: string "a", expected struct CanvasContributionWire',
    ),
    "an empty id": (bare(id=""), "Canvas contributions must include an id."),
    "an id twice": ([BARE, BARE], 'Canvas "project:a/x" was declared more than once.'),
    "a reserved action": (
        bare(actions=[{"name": "canvas.x"}]),
        'Canvas action names beginning with "canvas." are reserved: canvas.x',
    ),
    "a text for a schema": (bare(inputSchema="x"), COMPILER),
    "a list for a schema": (bare(inputSchema=[]), COMPILER),
    "a number for a schema": (bare(inputSchema=5), COMPILER),
    "a bad type": (bare(inputSchema={"type": "text"}), COMPILER),
    "a bad required": (bare(inputSchema={"required": "a"}), COMPILER),
    "a reference to nothing": (bare(inputSchema={"$ref": "#/$defs/n"}), COMPILER),
    "a reference to elsewhere": (bare(inputSchema={"$ref": "https://x.invalid/s.json"}), COMPILER),
    "a bad pattern": (bare(inputSchema={"pattern": "("}), COMPILER),
    "a flag of draft 4": (
        bare(inputSchema={"minimum": 1, "exclusiveMinimum": True}),
        COMPILER,
    ),
    "a bad schema of an action": (
        bare(actions=[{"name": "a", "inputSchema": {"type": "text"}}]),
        COMPILER,
    ),
    "an absolute icon": (bare(icon="/i.png"), "canvas x icon must be a relative path"),
    "an empty icon": (bare(icon=""), "canvas x icon must be a relative path"),
    "another icon": (bare(icon="i.svg"), "canvas x icon must be a .png"),
    "an icon outside": (bare(icon="../i.png"), "canvas x icon escapes the extension directory"),
}

TAKEN: Final[dict[str, JSONValue]] = {
    "empty texts": bare(displayName="", description=" "),
    "one action twice": bare(actions=[{"name": "a"}, {"name": "a"}]),
    "an empty action": bare(actions=[{"name": ""}]),
    "any characters": bare(id="ä/ \n", actions=[{"name": "b ö/"}]),
    "unknown fields": bare(more=1, actions=[{"name": "a", "more": 1}]),
    "true for a schema": bare(inputSchema=True),
    "null for a schema": bare(inputSchema=None),
    "null for actions": bare(actions=None),
    "null for an action's description": bare(actions=[{"name": "a", "description": None}]),
    "a schema of a list": bare(inputSchema={"type": "array"}),
    "a long id": bare(id="x" * 5000),
    "a long description": bare(description="x" * 100_000),
    "many canvases": [{**BARE, "id": f"x{number}"} for number in range(200)],
    "many actions": bare(actions=[{"name": f"a{number}"} for number in range(200)]),
    "an icon": bare(icon="assets/i.PNG"),
}


@pytest.fixture
async def board(host: Host) -> str:
    """An instance whose puppet declares for us."""
    await host.open("board", "board")
    return "board"


async def declare(host: Host, instance_id: str, canvases: JSONValue) -> str:
    """Declare anew as `a`; return the refusal, empty if there is none."""
    puppet = host.puppets["a"]
    count = len(puppet.notes("declared"))
    await host.invoke(instance_id, "declare", {"canvases": canvases})
    return str(await puppet.wait_noted("declared", count + 1))


@pytest.mark.parametrize("what", REFUSED)
async def test_2_7_a_declaration_that_is_refused(host: Host, board: str, what: str) -> None:
    declaration, reason = REFUSED[what]
    before = await host.canvases()
    said = await declare(host, board, declaration)
    assert said.removeprefix("Request session.resume failed with message: ") == reason
    assert await host.canvases() == before


async def test_2_7_declarations_that_are_taken(start: Start) -> None:
    host = await start(a={"canvases": [canvas("board")]})
    await host.open("board", "board")
    for what, declaration in TAKEN.items():
        assert isinstance(declaration, list)
        said = await declare(host, "board", [canvas("board"), *declaration])
        assert said == "", what
        declared = {each["id"] for each in declaration if isinstance(each, dict)}
        listed = {each["canvasId"] for each in await host.canvases()}
        assert listed == declared | {"board"}, what


async def test_2_7_what_is_declared_is_listed_as_it_is(start: Start) -> None:
    full: JSONObject = {
        "id": "v",
        "displayName": "V",
        "description": "Is v.",
        "inputSchema": {"type": "object", "x-more": 1},
        "actions": [{"name": "a", "description": "Does a.", "inputSchema": {"type": "object"}}],
        "icon": "assets/i.png",
    }
    host = await start(a={"canvases": [full, {**BARE, "actions": None}]})
    listed: dict[str, Any] = {each["canvasId"]: dict(each) for each in await host.canvases()}
    icon = host.puppets["a"].folder / "assets" / "i.png"
    assert listed["v"] == {
        "extensionId": "project:a",
        "extensionName": "a",
        "canvasId": "v",
        **{key: full[key] for key in ("displayName", "description", "inputSchema", "actions")},
        "icon": str(icon),
    }
    assert "icon" not in listed["x"]
    assert "inputSchema" not in listed["x"]
    assert listed["x"].get("actions") is None


async def test_2_7_of_two_actions_with_one_name_one_counts(start: Start) -> None:
    number: JSONObject = {"type": "integer"}
    text: JSONObject = {"type": "string"}
    actions: JSONValue = [
        {"name": "echo", "inputSchema": number},
        {"name": "echo", "inputSchema": text},
    ]
    host = await start(a={"canvases": [canvas("v", actions=actions)]})
    await host.open("v", "i")
    assert await host.invoke("i", "echo", "text") == "text"
    assert "Invalid input" in await refusal_of(host.invoke("i", "echo", 5))


# 2.8 Declaring again.


async def test_2_8_a_declaration_replaces_the_one_before(start: Start) -> None:
    host = await start(a={"canvases": [canvas("v"), canvas("gone")]})
    first: JSONObject = {"n": 1}
    await host.open("v", "i", first)
    await host.open("gone", "j")
    events = len(canvas_events(host))
    assert await declare(host, "i", [canvas("v", description="New."), canvas("w")]) == ""
    await wait_event(host, "opened", "i", 2)
    told = canvas_events(host)[events:]
    assert [(kind, data.get("instanceId")) for kind, data in told] == [
        ("unavailable", "j"),
        ("registry_changed", None),
        ("opened", "i"),
    ]
    listed = {each["canvasId"]: each["description"] for each in await host.canvases()}
    assert listed == {"v": "New.", "w": "Does as it is told."}
    assert host.puppets["a"].inputs("i") == [first, first]
    await wait_open(host, "i")


@pytest.mark.parametrize("nothing", [[], None, {}, "text"], ids=repr)
async def test_2_8_a_declaration_of_nothing_changes_nothing(
    host: Host, board: str, nothing: JSONValue
) -> None:
    before = await host.canvases()
    assert await declare(host, board, nothing) == ""
    assert await host.canvases() == before
    assert await host.invoke(board, "echo", 1) == 1


async def test_2_8_declaring_waits_for_the_calls_under_way_and_later_ones_wait_for_it(
    start: Start,
) -> None:
    """So that a handler that waits for it waits for ever, and the session with it."""
    host = await start(a={"canvases": [canvas("v")]}, b={"canvases": [canvas("w")]})
    await host.open("v", "i")
    await host.open("w", "j")
    wish: JSONObject = {"canvases": [canvas("v"), canvas("x")]}
    declaring = asyncio.ensure_future(host.invoke("i", "declare_within", wish))
    await host.puppets["a"].wait_noted("declaring")
    later = asyncio.ensure_future(host.invoke("j", "echo", 1))
    assert await declaring == "waiting"
    assert await host.puppets["a"].wait_noted("declared") == ""
    assert await later == 1
    [waited] = host.puppets["a"].times("waited")
    [asked] = host.puppets["b"].times("canvas.action.invoke")
    assert waited < asked
    await wait_listed(host, "v", "w", "x")
