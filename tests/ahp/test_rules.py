"""Each MUST and SHOULD that the documents of the protocol state for hosts, numbered as in
`docs/reference/ahp.md`; what only a client can keep is held in `test_client.py`."""

import logging
from typing import Any

import pytest

from canvas_provider.protocol.copilot import CanvasEvent
from canvas_provider.types import JSONObject, JSONValue
from tests.support.ahp import BOARD, EXTENSION, ROOT, Client, Desk, hosted
from tests.support.origins import open_origin, reply

NOTES: JSONObject = {"id": "notes", "displayName": "Notes", "description": "Of a day."}

MINE = "ahp-canvas:/mine"


async def open_mine(client: Client, desk: Desk, uri: str = MINE, canvas_id: str = "board") -> Any:
    """Ask for a canvas at a URI; return every frame up to the answer, which is the last one."""
    return await client.run(
        "openCanvas", channel=uri, chat=desk.chat, extensionId=EXTENSION, canvasId=canvas_id
    )


def types(frames: list[Any]) -> list[str]:
    return [frame["params"]["action"]["type"] for frame in frames if "params" in frame]


async def test_rule_1_the_url_is_cleared_when_the_provider_becomes_unavailable() -> None:
    """Canvas channel reference; channels-canvas/state.ts at 47503039."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await open_mine(client, desk)
        assert "url" in await client.subscribe(MINE)
        await desk.kill()
        cleared = next(
            frame["params"]["action"]["canvas"]
            for frame in await client.idle()
            if frame["params"]["channel"] == MINE
        )
        assert "url" not in cleared
        assert await client.subscribe(MINE) == cleared


async def test_rule_2_source_uris_and_the_token_are_in_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Canvas channel reference; channels-canvas/state.ts at 47503039."""
    caplog.set_level(logging.DEBUG)
    secret = "s3cr3t"
    async with hosted(desk := Desk()) as it:
        desk.shown = {"url": f"http://127.0.0.1:1/{secret}/"}
        client = await it.client(ROOT, desk.chat)
        await open_mine(client, desk)
        await client.subscribe(MINE)
        await client.fail("resourceRead", channel=ROOT, uri=f"http://127.0.0.1:1/{secret}/x")
        await client.send(f"no JSON, but http://127.0.0.1:1/{secret}/")
        await client.take()
        desk.refusal = f"cannot listen at http://127.0.0.1:1/{secret}/"
        failed = (await open_mine(client, desk, "ahp-canvas:/other"))[-1]["error"]
        assert failed["message"] == "cannot listen at [address]"
        await desk.kill()
        desk.is_cold = True
        desk.tell(CanvasEvent.REGISTRY_CHANGED, {})
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        await client.idle()
        token = it.host.url.partition("=")[2]
        told = [repr(it.host), *(repr(effect) for effect in it.host._core.effects())]
    logged = [record.getMessage() for record in caplog.records]
    assert any("could not be materialized" in line for line in logged)
    for text in [*logged, *told]:
        assert secret not in text and token not in text


async def test_rule_4_what_lies_at_the_origin_of_a_canvas_is_read_for_clients() -> None:
    """Canvas channel reference."""
    pages = {"/t/": reply(b"<p>Hi", "text/html"), "/t/app.css": reply(b"p{}", "text/css")}
    async with open_origin(pages) as origin, hosted(desk := Desk()) as it:
        desk.shown = {"url": f"{origin.url}/t/"}
        client = await it.client(desk.chat)
        await open_mine(client, desk)
        url = (await client.subscribe(MINE))["url"]
        read = await client.ask("resourceRead", channel=ROOT, uri=url)
        assert read == {"data": "<p>Hi", "encoding": "utf-8", "contentType": "text/html"}
        read = await client.ask("resourceRead", channel=ROOT, uri=url + "app.css")
        assert read["data"] == "p{}"
        await client.run("disposeCanvas", channel=MINE)
        assert await client.fail("resourceRead", channel=ROOT, uri=url) == -32009
        assert origin.targets == ["/t/", "/t/app.css"]


async def test_rule_5_a_uri_cannot_be_used_again_for_anything_else() -> None:
    """openCanvas: another chat, extension or type is a Conflict."""
    async with hosted(desk := Desk("s1"), other := Desk("s2")) as it:
        await desk.declare(BOARD, NOTES)
        client = await it.client()
        assert (await open_mine(client, desk))[-1]["result"] is None
        calls = len(desk.calls)
        same = {"chat": desk.chat, "extensionId": EXTENSION, "canvasId": "board"}
        for change in (
            {"chat": other.chat},
            {"extensionId": "user:demo"},
            {"canvasId": "notes"},
            {"canvasId": "unknown"},
        ):
            params = {"channel": MINE, **same, **change}
            assert await client.fail("openCanvas", **params) == -32011
        assert (len(desk.calls), other.calls) == (calls, [])


async def test_rule_6_the_same_uri_for_the_same_canvas_focuses_it() -> None:
    """openCanvas: the same chat and declaration is the same logical instance."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await open_mine(client, desk)
        before = await client.subscribe(MINE)
        desk.shown = {"url": "http://127.0.0.1:2/u/", "title": "Refreshed"}
        frames = await open_mine(client, desk)
        assert types(frames) == ["canvas/stateChanged"]
        after = await client.subscribe(MINE)
        assert after == {**before, "url": "http://127.0.0.1:2/u/", "title": "Refreshed"}
        assert [params["instanceId"] for _, params in desk.calls] == [before["instanceId"]] * 2


async def test_rule_7_the_registry_is_in_step_and_told_of_only_when_it_changes() -> None:
    """chat/canvasRegistryChanged."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await desk.declare(*desk.canvas_list)
        await desk.declare({**BOARD, "actions": []}, desk.canvas_list[1])
        assert await client.idle() == []
        await desk.declare(BOARD, NOTES)
        (frame,) = await client.idle()
        (extension,) = frame["params"]["action"]["canvasRegistry"]["extensions"]
        assert [each["canvasId"] for each in extension["canvases"]] == ["board", "notes"]
        await desk.kill()
        (frame,) = await client.idle()
        assert frame["params"]["action"]["canvasRegistry"] == {"extensions": []}
        state = await client.subscribe(desk.chat)
        assert state["canvasRegistry"] == {"extensions": []}


async def test_rule_8_opening_and_closing_does_not_concern_the_registry() -> None:
    """ChatState.canvases is no invalidation of ChatState.canvasRegistry."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        before = (await client.subscribe(desk.chat))["canvasRegistry"]
        await open_mine(client, desk)
        await client.run("disposeCanvas", channel=MINE)
        await desk.runtime.open("board", "b1")
        await client.idle()
        assert (await client.subscribe(desk.chat))["canvasRegistry"] == before


async def test_rule_9_asking_for_a_registry_changes_nothing_until_all_of_it_is_there() -> None:
    """chat/canvasRegistryRequested."""
    async with hosted(desk := Desk(is_cold=True)) as it:
        client = await it.client(desk.chat)
        cold = await client.subscribe(desk.chat)
        assert "canvasRegistry" not in cold
        desk.start_gate.clear()
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested", seq=7)
        echo = await client.action()
        assert echo["origin"] == {"clientId": "c1", "clientSeq": 7}
        assert echo["action"] == {"type": "chat/canvasRegistryRequested"}
        assert "rejectionReason" not in echo
        assert await client.subscribe(desk.chat) == cold
        desk.start_gate.set()
        changed = await client.action()
        assert "origin" not in changed
        (extension,) = changed["action"]["canvasRegistry"]["extensions"]
        assert extension == {
            "extensionId": EXTENSION,
            "extensionName": "demo",
            "canvases": [
                {
                    "canvasId": "board",
                    "title": "Board",
                    "description": "Tasks.",
                    "requiresInput": False,
                },
                {
                    "canvasId": "report",
                    "title": "Report",
                    "description": "Of a month.",
                    "requiresInput": True,
                },
            ],
        }
        assert await client.idle() == []


async def test_rule_10_asking_begins_no_chat_sends_no_message_and_calls_no_model() -> None:
    """Materialization."""
    new = Desk("new", is_cold=True, has_backing=False)
    async with hosted(new, desk := Desk(is_cold=True)) as it:
        client = await it.client(new.chat)
        await client.dispatch(new.chat, "chat/canvasRegistryRequested")
        assert "nothing to resume" in (await client.action())["rejectionReason"]
        assert (new.starts, await client.idle()) == (0, [])
        said: list[str] = []
        desk.runtime.subscribe(lambda event: said.append(event["type"]))
        await client.subscribe(desk.chat)
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        await client.action()
        await client.action()
        assert (desk.starts, desk.calls) == (1, [])
        assert said == ["session.canvas.registry_changed"]


async def test_rule_11_without_the_capability_there_is_nothing_to_probe() -> None:
    """AgentCapabilities.canvases."""
    async with hosted(desk := Desk(), has_registry=False) as it:
        client = await it.connect()
        root = (await client.initialize(ROOT))["snapshots"][0]["state"]
        assert "capabilities" not in root["agents"][0]
        assert "canvasRegistry" not in await client.subscribe(desk.chat)
        assert (await open_mine(client, desk))[-1]["error"]["code"] == -32601
        assert await client.fail("disposeCanvas", channel=MINE) == -32601
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        assert "rejectionReason" in await client.action()
        await desk.runtime.open("board", "b1")
        assert (await client.action())["action"]["type"] == "chat/canvasesChanged"
        assert [method for method, _ in desk.calls] == ["canvas.open"]


async def test_rule_12_an_extension_id_is_opaque() -> None:
    """Extension ids are opaque: nothing depends on how they look."""
    async with hosted(desk := Desk(extension_id="::no source/:: ñ")) as it:
        client = await it.client(desk.chat)
        (extension,) = (await client.subscribe(desk.chat))["canvasRegistry"]["extensions"]
        assert extension["extensionId"] == "::no source/:: ñ"
        await client.begin(
            "openCanvas",
            channel=MINE,
            chat=desk.chat,
            extensionId="::no source/:: ñ",
            canvasId="board",
        )
        await client.action()
        assert (await client.take())["result"] is None
        assert (await client.subscribe(MINE))["extensionId"] == "::no source/:: ñ"


async def test_rule_13_the_uri_is_the_identity_and_the_instance_id_the_providers() -> None:
    """CanvasState.instanceId is provider-facing correlation metadata."""
    async with hosted(desk := Desk(), other := Desk("s2")) as it:
        client = await it.client()
        uris = [MINE, MINE + "2", "ahp-canvas:///with/a/path?and=more#too"]
        for uri in uris:
            await open_mine(client, desk, uri)
        ids = [(await client.subscribe(uri))["instanceId"] for uri in uris]
        assert len({*ids}) == 3 and not {*ids} & {*uris}
        # Two sessions may call theirs the same.
        await desk.runtime.open("board", "b1")
        await other.runtime.open("board", "b1")
        listed = [
            (await client.subscribe(each.chat))["canvases"][-1]["resource"]
            for each in (desk, other)
        ]
        assert listed[0] != listed[1]


@pytest.mark.parametrize("uri", ["ahp-terminal:/t1", "http://127.0.0.1:1/t/", "x", "ahp-canvas:/x"])
async def test_rule_14_a_scheme_that_is_not_understood_cannot_be_subscribed_to(uri: str) -> None:
    """subscriptions.md at 34627952, which asks it of clients."""
    async with hosted(Desk()) as it:
        client = await it.client()
        assert await client.fail("subscribe", channel=uri) == -32008


async def test_rule_15_each_message_carries_its_channel_and_no_action_repeats_it() -> None:
    """subscriptions.md at 34627952."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(ROOT, desk.chat)
        frames = await open_mine(client, desk)
        await client.subscribe(MINE)
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        await client.dispatch(desk.chat, "chat/canvasesChanged")
        frames += await client.run("disposeCanvas", channel=MINE)
        it.host.remove(desk.session_id)
        frames += await client.idle()
        sent = [frame["params"] for frame in frames if "method" in frame]
        assert len(sent) == 6
        for params in sent:
            assert isinstance(params["channel"], str)
            assert "channel" not in params.get("action", {})
        for method in (
            *("initialize", "reconnect", "listSessions", "resourceRead"),
            *("subscribe", "openCanvas", "disposeCanvas"),
        ):
            assert await client.fail(method) == -32602


async def test_rule_16_actions_of_clients_are_validated() -> None:
    """chat-channel.md at 16cad42a; the text of the first refusal is that of Copilot CLI 1.0.102."""
    async with hosted(desk := Desk()) as it:
        client, other = await it.client(desk.chat), await it.client(desk.chat, id="c2")
        before = await client.subscribe(desk.chat)
        await client.dispatch(desk.chat, "chat/canvasesChanged", seq=1, canvases=[])
        envelope = await client.action()
        assert envelope["rejectionReason"] == (
            "chat/canvasesChanged is server-only and cannot be dispatched by a client"
        )
        assert envelope["origin"] == {"clientId": "c1", "clientSeq": 1}
        for type in ("chat/canvasRegistryChanged", "chat/somethingNewer", "session/titleChanged"):
            await client.dispatch(desk.chat, type, seq=2)
            rejected = await client.action()
            assert rejected["rejectionReason"]
            assert rejected["serverSeq"] > envelope["serverSeq"]
            envelope = rejected
        await client.notify("dispatchAction", channel=desk.chat, clientSeq=3, action={})
        assert (await client.action())["rejectionReason"]
        # A channel that does not exist, and what is no dispatch at all.
        await client.dispatch("ahp-chat:/nowhere", "chat/canvasRegistryRequested")
        await client.notify("dispatchAction", channel=desk.chat, clientSeq="1", action={})
        await client.notify("dispatchAction", channel=desk.chat, clientSeq=True, action={})
        await client.notify("dispatchAction", channel=desk.chat, clientSeq=1, action=[])
        await client.notify("dispatchAction")
        assert await client.idle() == []
        assert await client.subscribe(desk.chat) == before
        assert all("rejectionReason" in frame["params"] for frame in await other.idle())


async def test_rule_17_initialize_comes_first() -> None:
    """commands.ts at 34627952."""
    async with hosted(desk := Desk()) as it:
        client = await it.connect()
        for method, params in {
            "subscribe": {"channel": ROOT},
            "listSessions": {"channel": ROOT},
            "resourceRead": {"channel": ROOT, "uri": "http://127.0.0.1:1/t/"},
            "disposeCanvas": {"channel": MINE},
            "whatever": {},
        }.items():
            assert await client.fail(method, **params) == -32600
        await client.dispatch(desk.chat, "chat/canvasRegistryRequested")
        await client.notify("unsubscribe", channel=ROOT)
        assert await client.idle() == []
        await client.initialize(ROOT)
        assert await client.fail("whatever") == -32601


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["1.1.0", "1.0.0"], "1.1.0"),
        (["1.0.0", "1.1.0"], "1.1.0"),
        (["0.9.0", "1.3.7", "1.0.0"], "1.3.7"),
        (["2.0.0", "1.0.0"], "1.0.0"),
        (["1.0.10", "1.0.9"], "1.0.10"),
    ],
)
async def test_rule_17_the_highest_compatible_version_is_chosen(
    offered: list[str], chosen: str
) -> None:
    """versioning.md and registry.ts at 0383429738; observed with Copilot CLI 1.0.102."""
    async with hosted() as it:
        client = await it.connect()
        assert (await client.initialize(versions=(*offered,)))["protocolVersion"] == chosen


@pytest.mark.parametrize("offered", [["0.9.0"], ["0.10.0"], ["2.0.0", "0.9.0"], []])
async def test_rule_17_without_a_common_version_the_host_says_so_and_closes(
    offered: list[str],
) -> None:
    """versioning.md at 0383429738."""
    async with hosted() as it:
        client = await it.connect()
        params: JSONObject = {"channel": ROOT, "protocolVersions": [*offered], "clientId": "c1"}
        error = await client.failure("initialize", **params)
        assert (error["code"], error["data"]) == (-32005, {"supportedVersions": ["1.1.0", "1.0.0"]})
        assert await client.wait_closed() == 1000


@pytest.mark.parametrize(
    "malformed", ["1.x", "1.0", "v1.0.0", "1.0.0-beta", "01.0.0", "", "1.0.0\n"]
)
async def test_rule_17_what_is_no_version_is_an_error(malformed: str) -> None:
    """Observed with Copilot CLI 1.0.102."""
    async with hosted() as it:
        client = await it.connect()
        offered: JSONValue = ["1.1.0", malformed]
        params: JSONObject = {"channel": ROOT, "protocolVersions": offered, "clientId": "c1"}
        assert await client.fail("initialize", **params) == -32602
        await client.initialize()


async def test_rule_18_a_client_of_an_older_version_gets_nothing_newer() -> None:
    """versioning.md at 0383429738: the registry came with 1.1.0."""
    async with hosted(desk := Desk(is_cold=True)) as it:
        old, new = await it.connect(), await it.client(desk.chat, id="c2")
        welcome = await old.initialize(ROOT, desk.chat, versions=("1.0.0",))
        assert "capabilities" not in welcome["snapshots"][0]["state"]["agents"][0]
        await new.dispatch(desk.chat, "chat/canvasRegistryRequested")
        await new.action()
        await new.action()
        await open_mine(new, desk)
        assert types(await old.idle()) == ["chat/canvasesChanged"]
        state = await old.subscribe(desk.chat)
        assert "canvasRegistry" not in state and state["canvases"] == [{"resource": MINE}]
        assert "url" in await old.subscribe(MINE)
        assert (await open_mine(old, desk))[-1]["error"]["code"] == -32601
        assert await old.fail("disposeCanvas", channel=MINE) == -32601
        # What it says itself it knows: the answer is owed.
        await old.dispatch(desk.chat, "chat/canvasRegistryRequested")
        assert "rejectionReason" in await old.action()


async def test_rule_19_a_reconnect_holds_everything_that_was_missed() -> None:
    """lifecycle.md at 0383429738."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await open_mine(client, desk)
        seen = (await client.ask("subscribe", channel=MINE))["snapshot"]["fromSeq"] + 1
        await client.aclose()
        for number in range(3):
            desk.shown = {"url": f"http://127.0.0.1:{number + 2}/", "title": str(number)}
            await desk.runtime.open("board", str(desk.calls[0][1]["instanceId"]))
        await desk.runtime.open("board", "b1")
        client = await it.connect()
        wanted = [desk.chat, MINE, "ahp-canvas:/never"]
        result = await client.reconnect(seen, *wanted)
        assert result["type"] == "replay"
        assert result["missing"] == ["ahp-canvas:/never"]
        titles = [each["action"].get("canvas", {}).get("title") for each in result["actions"]]
        assert titles == ["0", "1", "2", None]
        seqs = [each["serverSeq"] for each in result["actions"]]
        assert seqs == sorted(seqs) and min(seqs) > seen
        await desk.runtime.close("b1")
        assert (await client.action())["serverSeq"] > max(seqs)


async def test_rule_20_a_ping_is_always_answered() -> None:
    """commands.ts at 34627952; transport.md at 177f4c51."""
    async with hosted() as it:
        client = await it.connect()
        assert await client.ask("ping", channel=ROOT) is None
        assert await client.ask("ping") is None
        await client.initialize()
        assert await client.ask("ping", channel=ROOT) is None


async def test_rule_21_nothing_depends_on_who_a_client_says_it_is() -> None:
    """commands.ts at 34627952."""
    async with hosted(Desk()) as it:
        welcomes = []
        for info in (None, {"name": "vscode", "version": "9"}, {"name": "x"}, "no object"):
            client = await it.connect()
            params: dict[str, Any] = {} if info is None else {"clientInfo": info}
            params |= {"channel": ROOT, "protocolVersions": ["1.1.0"], "clientId": "c1"}
            params["initialSubscriptions"] = [ROOT]
            welcomes.append(await client.ask("initialize", **params))
        assert welcomes == [welcomes[0]] * 4


async def test_rule_22_unknown_meta_keys_and_capabilities_are_ignored() -> None:
    """commands.ts at 34627952."""
    async with hosted(Desk()) as it:
        client = await it.connect()
        await client.ask(
            "initialize",
            channel=ROOT,
            protocolVersions=["1.1.0"],
            clientId="c1",
            locale="de",
            capabilities={"canvas": {}, "newer": {}},
            _meta={"vendor.unknown": [1]},
            newer=True,
        )
        params: dict[str, Any] = {"delivery": {"maxLatencyMs": 5}, "flowControl": {"window": 1}}
        result = await client.ask("subscribe", channel=ROOT, **params)
        assert result.keys() == {"snapshot"}


async def test_rule_23_a_chat_holds_references_and_nothing_else_of_its_canvases() -> None:
    """versioning.md: the canvas channel is experimental, the chat channel is stable."""
    async with hosted(desk := Desk()) as it:
        client = await it.client(desk.chat)
        await open_mine(client, desk)
        await desk.runtime.open("board", "b1")
        listed = (await client.action())["action"]["canvases"]
        assert [each.keys() for each in listed] == [{"resource"}] * 2
        assert (await client.subscribe(desk.chat))["canvases"] == listed
