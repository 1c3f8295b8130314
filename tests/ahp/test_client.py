"""The client against a host that a test writes frame by frame, in the words of the protocol."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from canvas_provider.ahp.backoff import Backoff
from canvas_provider.ahp.client import AHPClient
from canvas_provider.errors import (
    AuthRequired,
    Conflict,
    ConnectionClosed,
    InvalidAnswer,
    NotFound,
    PermissionDenied,
    RemoteError,
    Unavailable,
    Unsupported,
    UnsupportedVersion,
)
from canvas_provider.protocol.ahp import ROOT
from tests.support.ahp_host import (
    CANVAS,
    CHAT,
    SESSION,
    TKN,
    ScriptedHost,
    ScriptedPeer,
    begin,
    canvas_state,
    canvases_changed,
    chat_state,
    follow,
    open_scripted_host,
    read_all,
    root_state,
    snapshot,
    state_changed,
    until,
    until_gone,
    within,
)

REGISTRY = {
    "extensions": [
        {
            "extensionId": "project:kanban",
            "extensionName": "kanban",
            "canvases": [{"canvasId": "board", "title": "Board", "requiresInput": False}],
        }
    ]
}

OTHER = "ahp-canvas:/other"


@pytest.fixture
async def host() -> AsyncIterator[ScriptedHost]:
    async with open_scripted_host() as host:
        yield host


# The handshake.


async def test_a_client_introduces_itself_and_offers_its_versions(host: ScriptedHost) -> None:
    client = AHPClient(host.url, client_id="c-7f")
    connecting = begin(client.connect())
    peer = await host.accept()
    params = await peer.greet()
    assert params == {
        "channel": ROOT,
        "protocolVersions": ["1.1.0", "1.0.0"],
        "clientId": "c-7f",
        "clientInfo": {"name": "canvas_provider"},
        "initialSubscriptions": [ROOT],
    }
    await within(connecting)
    assert (client.is_connected, client.version, client.supports_canvases) == (True, "1.1.0", True)
    assert client.state(ROOT) == root_state()
    assert host.requests[0].query == {"tkn": TKN}
    await client.aclose()
    await peer.ended()


async def test_a_host_that_gives_no_state_of_its_root_is_asked_for_it(host: ScriptedHost) -> None:
    client = AHPClient(host.url)
    connecting = begin(client.connect())
    peer = await host.accept()
    request = await peer.expect("initialize")
    hello = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []}
    await peer.answer(request, hello)
    await within(connecting)
    changes = client.changes()
    await peer.give(ROOT, root_state(), 0)
    await until(changes, ROOT)
    assert client.supports_canvases
    await client.aclose()


async def test_a_root_that_was_never_told_is_asked_for_on_the_next_connection(
    host: ScriptedHost,
) -> None:
    client = AHPClient(host.url, backoff=Backoff(first=0))
    connecting = begin(client.connect())
    peer = await host.accept()
    hello = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []}
    await peer.answer(await peer.expect("initialize"), hello)
    await within(connecting)
    changes = client.changes()
    await peer.expect("subscribe")
    peer, request = await return_of(host, peer)
    await peer.answer(request, {"type": "replay", "actions": [], "missing": []})
    await peer.give(ROOT, root_state(), 0)
    await until(changes, ROOT)
    await client.aclose()


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-32005, UnsupportedVersion), (-32007, AuthRequired), (-32603, RemoteError)],
)
async def test_a_host_that_will_not_have_us_says_why(
    host: ScriptedHost, code: int, kind: type[RemoteError]
) -> None:
    connecting = begin(AHPClient(host.url).connect())
    peer = await host.accept()
    await peer.fail(await peer.expect("initialize"), code, "no", supportedVersions=["2.0.0"])
    with pytest.raises(kind) as caught:
        await within(connecting)
    assert (caught.value.code, caught.value.data) == (code, {"supportedVersions": ["2.0.0"]})
    await peer.ended()


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"protocolVersion": "2.0.0", "serverSeq": 1, "snapshots": []}, UnsupportedVersion),
        ({"protocolVersion": 1, "serverSeq": 1, "snapshots": []}, InvalidAnswer),
        ({"protocolVersion": "1.1.0", "serverSeq": True, "snapshots": []}, InvalidAnswer),
        (None, InvalidAnswer),
        ([], InvalidAnswer),
    ],
)
async def test_a_host_that_makes_no_sense_is_left(
    host: ScriptedHost, result: Any, kind: type[Exception]
) -> None:
    connecting = begin(AHPClient(host.url).connect())
    peer = await host.accept()
    await peer.answer(await peer.expect("initialize"), result)
    with pytest.raises(kind):
        await within(connecting)


@pytest.mark.parametrize("status", [401, 404, 503])
async def test_a_wrong_token_is_told_without_naming_it(host: ScriptedHost, status: int) -> None:
    host.refuse = status
    with pytest.raises(ConnectionClosed, match=str(status)) as caught:
        await within(AHPClient(host.url).connect())
    assert TKN not in str(caught.value) and str(host.port) not in str(caught.value)
    assert len(host.requests) == 1, "the first connection is tried once"


async def test_a_host_that_is_not_there_cannot_be_reached() -> None:
    async with open_scripted_host() as host:
        url = host.url
    with pytest.raises(ConnectionClosed, match="cannot be reached") as caught:
        await within(AHPClient(url).connect())
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


async def test_a_host_that_says_nothing_is_not_waited_for_for_ever(host: ScriptedHost) -> None:
    with pytest.raises(TimeoutError):
        await within(AHPClient(host.url, timeout=0.05).connect())


@pytest.mark.parametrize("url", ["", "http://127.0.0.1/?tkn=x", "ws://", "ws://[", "ws:x", "\x00"])
def test_an_address_of_no_host_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="like ws://127") as caught:
        AHPClient(url)
    assert "tkn=x" not in str(caught.value)


async def test_the_token_is_in_no_text_of_the_client(
    host: ScriptedHost, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "canvas_provider")
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        await peer.act(CANVAS, state_changed("x", f"http://127.0.0.1:1/{TKN}/"), 9)
        change = await until(changes, CANVAS, title="x")
        assert TKN not in f"{client!r} {change!r} {changes!r} {client.__dict__['_dialogue']!r}"
    assert TKN not in caplog.text


# Channels.


async def test_a_chat_is_found_and_followed_with_its_canvases(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        finding = begin(client.find_chat())
        request = await peer.expect("listSessions")
        assert request["params"] == {"channel": ROOT}
        await peer.answer(request, {"items": [{"resource": SESSION}, {"resource": "x"}, 7]})
        session = {"chats": [{"resource": "ahp-chat:/c0"}], "defaultChat": CHAT}
        await peer.give(SESSION, session, 4)
        assert await within(finding) == CHAT
        await follow(client, peer, CANVAS)
        assert client.canvases(CHAT) == {CANVAS: canvas_state()}


@pytest.mark.parametrize(
    ("items", "session", "expected"),
    [
        ([], None, None),
        ([{"resource": SESSION}], {"chats": []}, None),
        ([{"resource": SESSION}], {"chats": "x", "defaultChat": 7}, None),
        ([{"resource": SESSION}], {"chats": [7, {"resource": CHAT}]}, CHAT),
    ],
)
async def test_a_host_may_have_no_chat(
    host: ScriptedHost, items: Any, session: Any, expected: str | None
) -> None:
    async with host.connect() as (client, peer):
        finding = begin(client.find_chat())
        await peer.answer(await peer.expect("listSessions"), {"items": items})
        if session is not None:
            await peer.give(SESSION, session, 4)
        if expected is None:
            with pytest.raises(NotFound):
                await within(finding)
        else:
            assert await within(finding) == expected


async def test_all_sessions_are_listed_page_by_page(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        listing = begin(client.list_sessions())
        page = {"items": [{"resource": SESSION}], "nextCursor": "1"}
        await peer.answer(await peer.expect("listSessions"), page)
        request = await peer.expect("listSessions")
        assert request["params"] == {"channel": ROOT, "cursor": "1"}
        await peer.answer(request, {"items": [{"resource": "ahp-session:/s0"}]})
        assert [each["resource"] for each in await within(listing)] == [SESSION, "ahp-session:/s0"]

        listing = begin(client.list_sessions())
        await peer.answer(await peer.expect("listSessions"), page)
        await peer.answer(await peer.expect("listSessions"), {"items": [], "nextCursor": "1"})
        assert len(await within(listing)) == 1

        listing = begin(client.list_sessions())
        await peer.answer(await peer.expect("listSessions"), {})
        with pytest.raises(InvalidAnswer):
            await within(listing)


async def test_canvases_are_subscribed_to_as_they_come_and_until_they_go(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        # Of a scheme that nobody understands (subscriptions.md): not subscribed to.
        await peer.act(CHAT, canvases_changed(CANVAS, "ahp-hologram:/x", OTHER, OTHER), 6)
        await peer.give(OTHER, canvas_state("Other"), 6)
        await until(changes, OTHER, title="Other")
        await peer.act(CHAT, canvases_changed(OTHER), 7)
        unsubscribed = await peer.expect("unsubscribe")
        assert unsubscribed["params"] == {"channel": CANVAS} and "id" not in unsubscribed
        assert list(client.canvases(CHAT)) == [OTHER]
        assert client.state(CANVAS) is None
        await peer.act(CHAT, canvases_changed(), 8)
        assert (await peer.expect("unsubscribe"))["params"] == {"channel": OTHER}
        assert client.canvases(CHAT) == {}
        # The same address again: it is another life of the canvas.
        await peer.act(CHAT, canvases_changed(CANVAS), 9)
        await peer.give(CANVAS, canvas_state("Again"), 9)
        await until(changes, CANVAS, title="Again")


async def test_a_canvas_that_is_gone_before_it_is_subscribed_to_is_left_out(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        await peer.act(CHAT, canvases_changed(CANVAS), 6)
        await peer.fail(await peer.expect("subscribe"), -32008)
        await peer.act(CHAT, canvases_changed(CANVAS, OTHER), 7)
        # It is listed again, so it is tried again.
        await peer.give(CANVAS, canvas_state(), 7)
        await peer.give(OTHER, canvas_state(), 7)


async def test_a_canvas_that_is_reopened_at_once_is_not_taken_for_the_one_that_is_gone(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        changes = client.changes()
        for seq, listed in enumerate(([CANVAS], [], [CANVAS]), 6):
            await peer.act(CHAT, canvases_changed(*listed), seq)
        first = await peer.expect("subscribe")
        await peer.expect("unsubscribe")
        second = await peer.expect("subscribe")
        await peer.fail(first, -32008)
        again = {"snapshot": snapshot(CANVAS, canvas_state("Again"), 9)}
        await peer.answer(second, again)
        await until(changes, CANVAS, title="Again")


async def test_a_canvas_that_went_before_its_state_came_does_not_come_back(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        await peer.act(CHAT, canvases_changed(CANVAS), 6)
        request = await peer.expect("subscribe")
        await peer.act(CHAT, canvases_changed(), 7)
        await peer.expect("unsubscribe")
        await peer.answer(request, {"snapshot": snapshot(CANVAS, canvas_state(), 6)})
        await peer.assert_idle()
        assert client.state(CANVAS) is None


async def test_a_provider_that_goes_takes_the_address_with_it(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        await peer.act(CANVAS, state_changed("there", "http://127.0.0.1:1/"), 6)
        await until(changes, CANVAS, title="there")
        await peer.act(CANVAS, state_changed("gone"), 7)
        change = await until(changes, CANVAS, title="gone")
        assert change.state is not None and "url" not in change.state
        with pytest.raises(Unavailable):
            await client.read(CANVAS)


async def test_more_canvases_than_anybody_looks_at_are_left_out(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        many = [f"ahp-canvas:/{number}" for number in range(1000)]
        await peer.act(CHAT, canvases_changed(*many), 6)
        for canvas in many[:200]:
            assert (await peer.expect("subscribe"))["params"] == {"channel": canvas}
        await peer.assert_idle()


async def test_a_channel_is_left(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        client.unsubscribe(CHAT)
        left = [(await peer.expect("unsubscribe"))["params"]["channel"] for _ in range(2)]
        assert sorted(left) == sorted([CHAT, CANVAS])
        assert client.state(CHAT) is None and client.state(CANVAS) is None
        await peer.act(CHAT, canvases_changed(OTHER), 9)
        client.unsubscribe(CHAT)
        await peer.assert_idle()


@pytest.mark.parametrize("channel", ["", "x", "https://evil.test/", "ahp-terminal:/1"])
async def test_what_a_client_does_not_understand_it_does_not_subscribe_to(
    host: ScriptedHost, channel: str
) -> None:
    async with host.connect() as (client, peer):
        with pytest.raises(ValueError, match="understands"):
            await client.subscribe(channel)
        with pytest.raises(ValueError, match="followed"):
            await client.follow(CANVAS)
        await peer.assert_idle()


@pytest.mark.parametrize("result", [None, {}, {"snapshot": {}}, {"snapshot": 7}, "x"])
async def test_a_subscription_without_a_state_is_none(host: ScriptedHost, result: Any) -> None:
    async with host.connect() as (client, peer):
        subscribing = begin(client.subscribe(CANVAS))
        await peer.answer(await peer.expect("subscribe"), result)
        with pytest.raises(InvalidAnswer):
            await within(subscribing)
        assert client.state(CANVAS) is None


# The order of things.


async def test_what_comes_before_its_snapshot_counts_if_it_is_newer(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        subscribing = begin(client.subscribe(CANVAS))
        request = await peer.expect("subscribe")
        await peer.act(CANVAS, state_changed("12"), 12)
        await peer.act(CANVAS, state_changed("11"), 11)
        await peer.act(CANVAS, state_changed("9"), 9)
        result = {"snapshot": snapshot(CANVAS, canvas_state("10"), 10)}
        await peer.answer(request, result)
        assert (await within(subscribing))["title"] == "12"


async def test_numbers_that_are_missing_are_those_of_others(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        for seq in (6, 7, 90, 1000):
            await peer.act(CANVAS, state_changed(str(seq)), seq)
            await until(changes, CANVAS, title=str(seq))
        await peer.assert_idle()


async def test_what_is_older_than_the_state_changes_nothing(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, seq=5)
        changes = client.changes()
        await peer.act(CANVAS, state_changed("old"), 5)
        await peer.act(CANVAS, state_changed("new"), 6)
        await peer.act(CANVAS, state_changed("twice"), 6)
        await peer.assert_idle()
        assert [change.state for change in [await within(changes.__anext__())]] == [
            canvas_state("new")
        ]
        assert client.state(CANVAS) == canvas_state("new")


async def test_actions_in_the_wrong_order_are_made_good_by_a_fresh_state(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, seq=5)
        changes = client.changes()
        await peer.act(CANVAS, state_changed("8"), 8)
        await peer.act(CANVAS, state_changed("7"), 7)
        await peer.act(CANVAS, state_changed("6"), 6)
        request = await peer.expect("subscribe")
        await peer.act(CANVAS, state_changed("10"), 10)
        await until(changes, CANVAS, title="10")
        result = {"snapshot": snapshot(CANVAS, canvas_state("9"), 9)}
        await peer.answer(request, result)
        change = await until(changes, CANVAS)
        assert (change.kind, change.state) == ("snapshot", canvas_state("10"))
        await peer.assert_idle()


async def test_a_rejected_action_changes_nothing(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        await peer.act(CHAT, canvases_changed(), 6, rejectionReason="server-only")
        await peer.assert_idle()
        assert list(client.canvases(CHAT)) == [CANVAS]


async def test_actions_of_a_newer_host_leave_the_state_alone(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        await peer.act(CANVAS, {"type": "canvas/shimmered", "canvas": {}}, 6)
        change = await until(changes, CANVAS)
        assert change.action == {"type": "canvas/shimmered", "canvas": {}}
        assert change.state == canvas_state()


async def test_sessions_that_come_and_go_are_told(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        changes = client.changes()
        params = {"channel": ROOT, "session": SESSION}
        await peer.send({"jsonrpc": "2.0", "method": "root/sessionRemoved", "params": params})
        change = await within(changes.__anext__())
        assert (change.channel, change.kind) == (ROOT, "notification")
        assert change.action == {**params, "type": "root/sessionRemoved"}


MALFORMED = [
    "",
    "nonsense",
    "[]",
    "7",
    "null",
    "{}",
    '{"jsonrpc":"2.0"}',
    "[" * 5000,
    '{"jsonrpc":"2.0","method":7}',
    '{"jsonrpc":"2.0","method":"action"}',
    '{"jsonrpc":"2.0","method":"action","params":[]}',
    '{"jsonrpc":"2.0","method":"action","params":{}}',
    f'{{"method":"action","params":{{"channel":"{CANVAS}","action":{{}},"serverSeq":6}}}}',
    f'{{"method":"action","params":{{"channel":"{CANVAS}","action":7,"serverSeq":6}}}}',
    f'{{"method":"action","params":{{"channel":"{CANVAS}","action":{{"type":"x"}}}}}}',
    f'{{"method":"action","params":{{"channel":"{CANVAS}","action":{{"type":"x"}},"serverSeq":-1}}}}',
    f'{{"method":"action","params":{{"channel":"{CANVAS}","action":{{"type":"x"}},"serverSeq":true}}}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
    '{"jsonrpc":"2.0","id":99,"result":{}}',
    '{"jsonrpc":"2.0","id":"x","result":{}}',
    '{"jsonrpc":"2.0","id":99,"error":{"code":"x"}}',
    '{"jsonrpc":"2.0","method":"root/sessionFlew","params":{}}',
]


async def test_no_frame_of_a_host_takes_the_client_down(
    host: ScriptedHost, caplog: pytest.LogCaptureFixture
) -> None:
    odd = [7, {}, {"resource": 9}, None, {"resource": CANVAS}]
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        for frame in MALFORMED:
            await peer.send(frame)
        await peer.act(CANVAS, {"type": "canvas/stateChanged"}, 6)
        await peer.act(CHAT, {"type": "chat/canvasesChanged", "canvases": odd}, 6)
        await peer.send_bytes(b"\x00\x01")
        changes = client.changes()
        await peer.act(CANVAS, state_changed("fine"), 1000)
        await until(changes, CANVAS, title="fine")
    assert "nonsense" not in caplog.text and "what?" not in caplog.text


async def test_a_host_that_asks_for_something_is_told_that_there_is_no_such_method(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (_, peer):
        params = {"channel": ROOT, "uri": "file:///etc/passwd"}
        await peer.send({"jsonrpc": "2.0", "id": 5, "method": "resourceRead", "params": params})
        answer = await peer.receive()
        assert (answer["id"], answer["error"]["code"]) == (5, -32601)


async def test_a_host_that_asks_without_reading_the_answers_is_left(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canvas_provider.ahp.line.MAX_WAITING", 10)
    async with host.connect() as (_, peer):
        asked = {"jsonrpc": "2.0", "id": 5, "method": "x" * 100, "params": {}}
        for _ in range(1000):
            await peer.send(asked)
        await (await host.accept()).expect("reconnect")


# Canvases.


async def test_without_the_capability_nothing_is_tried(host: ScriptedHost) -> None:
    async with host.connect(root=root_state(canvases=False)) as (client, peer):
        await follow(client, peer)
        for call in (
            client.request_registry(CHAT),
            client.open_canvas(CHAT, "project:kanban", "board"),
            client.dispose_canvas(CANVAS),
        ):
            with pytest.raises(Unsupported, match="capability"):
                await call
        await peer.assert_idle()


async def test_an_echo_is_no_proof_of_support(host: ScriptedHost) -> None:
    """A real host accepts actions that it does not know, and does nothing."""
    async with host.connect() as (client, peer):
        await follow(client, peer)
        asking = begin(client.request_registry(CHAT, timeout=0.05))
        sent = await peer.expect("dispatchAction")
        origin = {"clientId": "c-7f", "clientSeq": sent["params"]["clientSeq"]}
        await peer.act(CHAT, sent["params"]["action"], 6, origin=origin)
        with pytest.raises(TimeoutError):
            await within(asking)


async def test_the_registry_of_a_cold_chat_is_asked_for(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        asking = [begin(client.request_registry(CHAT)) for _ in range(2)]
        sent = await peer.expect("dispatchAction")
        assert sent["params"] == {
            "channel": CHAT,
            "clientSeq": 1,
            "action": {"type": "chat/canvasRegistryRequested"},
        }
        action = {"type": "chat/canvasRegistryChanged", "canvasRegistry": REGISTRY}
        await peer.act(CHAT, action, 6)
        for each in asking:
            registry = await within(each)
            assert registry is not None and registry.to_json() == REGISTRY
        await peer.expect("dispatchAction")
        assert await within(client.request_registry(CHAT)) == client.registry(CHAT)
        await peer.assert_idle()


async def test_a_registry_that_is_known_is_not_asked_for(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        asking = begin(client.request_registry(CHAT))
        await peer.give(CHAT, chat_state(canvasRegistry={"extensions": []}), 5)
        registry = await within(asking)
        assert registry is not None and list(registry) == []
        await peer.assert_idle()


async def test_a_host_may_say_that_it_has_no_registry(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        asking = begin(client.request_registry(CHAT))
        await peer.expect("dispatchAction")
        await peer.act(CHAT, {"type": "chat/canvasRegistryChanged"}, 6)
        assert await within(asking) is None


async def test_a_host_may_reject_the_request_for_the_registry(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        asking = begin(client.request_registry(CHAT))
        sent = (await peer.expect("dispatchAction"))["params"]
        for client_id in ("another", "c-7f"):
            origin = {"clientId": client_id, "clientSeq": sent["clientSeq"]}
            await peer.act(CHAT, sent["action"], 6, origin=origin, rejectionReason="not now")
        with pytest.raises(PermissionDenied):
            await within(asking)


async def test_a_canvas_is_opened_under_an_address_of_our_own(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        opening = begin(client.open_canvas(CHAT, "project:kanban", "board"))
        request = await peer.expect("openCanvas")
        uri = request["params"]["channel"]
        assert uri.startswith("ahp-canvas:/") and request["params"] == {
            "channel": uri,
            "chat": CHAT,
            "extensionId": "project:kanban",
            "canvasId": "board",
        }
        await peer.act(CHAT, canvases_changed(uri), 6)
        await peer.give(uri, canvas_state("Open"), 7)
        await peer.answer(request, {"anything": "at all"})
        assert await within(opening) == uri
        assert client.canvases(CHAT) == {uri: canvas_state("Open")}


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-32011, Conflict), (-32008, NotFound), (-32009, PermissionDenied), (-32603, RemoteError)],
)
async def test_a_canvas_that_cannot_be_opened_says_why(
    host: ScriptedHost, code: int, kind: type[RemoteError]
) -> None:
    async with host.connect() as (client, peer):
        opening = begin(client.open_canvas(CHAT, "project:kanban", "board", uri=CANVAS))
        request = await peer.expect("openCanvas")
        assert request["params"]["channel"] == CANVAS
        await peer.fail(request, code, "the reason", more=1)
        with pytest.raises(kind, match="the reason") as caught:
            await within(opening)
        assert (type(caught.value), caught.value.code, caught.value.data) == (
            kind,
            code,
            {"more": 1},
        )


@pytest.mark.parametrize("code", [None, -32008])
async def test_a_canvas_is_disposed_of_also_if_it_is_gone(
    host: ScriptedHost, code: int | None
) -> None:
    async with host.connect() as (client, peer):
        disposing = begin(client.dispose_canvas(CANVAS))
        request = await peer.expect("disposeCanvas")
        assert request["params"] == {"channel": CANVAS}
        await (peer.answer(request) if code is None else peer.fail(request, code))
        await within(disposing)


async def test_a_host_that_does_not_answer_is_not_waited_for_for_ever(host: ScriptedHost) -> None:
    async with host.connect(timeout=0.05) as (client, peer):
        with pytest.raises(TimeoutError):
            await client.list_sessions()
        # A late answer is nobody's.
        await peer.answer(await peer.expect("listSessions"), {"items": []})
        await peer.assert_idle()


# Connections that are lost.


async def return_of(host: ScriptedHost, peer: ScriptedPeer) -> tuple[ScriptedPeer, Any]:
    """Lose the connection; the next one, and the `reconnect` on it."""
    await peer.drop()
    peer = await host.accept()
    return peer, await peer.expect("reconnect")


async def test_a_lost_connection_is_continued_where_it_broke(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        await peer.act(CANVAS, state_changed("6"), 6)
        await until(changes, CANVAS, title="6")
        peer, request = await return_of(host, peer)
        assert not client.is_connected
        assert request["params"] == {
            "channel": ROOT,
            "clientId": "c-7f",
            "lastSeenServerSeq": 6,
            "subscriptions": [ROOT, CHAT, CANVAS],
        }
        # Something new comes before what was missed.
        await peer.act(CANVAS, state_changed("9"), 9)
        missed = [
            {"channel": CANVAS, "action": state_changed("7"), "serverSeq": 7},
            {"channel": CHAT, "action": canvases_changed(CANVAS, OTHER), "serverSeq": 8},
            {"nonsense": True},
        ]
        await peer.answer(request, {"type": "replay", "actions": missed, "missing": []})
        await peer.give(OTHER, canvas_state("Other"), 9)
        titles = [(await until(changes, CANVAS)).state for _ in range(2)]
        assert titles == [canvas_state("7"), canvas_state("9")]
        assert client.is_connected
        await until(changes, OTHER)
        await peer.assert_idle()


async def test_a_thousand_changes_survive_ten_lost_connections(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        sent = [
            {"channel": CANVAS, "action": state_changed(str(seq)), "serverSeq": seq}
            for seq in range(6, 1006)
        ]
        for number in range(10):
            for params in sent[number * 100 : number * 100 + 50]:
                await peer.send({"jsonrpc": "2.0", "method": "action", "params": params})
            peer, request = await return_of(host, peer)
            seen = request["params"]["lastSeenServerSeq"]
            missed = [each for each in sent[: (number + 1) * 100] if each["serverSeq"] > seen]
            await peer.answer(request, {"type": "replay", "actions": missed, "missing": []})
        await until(changes, CANVAS, title="1005")
        await peer.assert_idle()


async def test_what_cannot_be_resumed_is_tried_once(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, OTHER)
        changes = client.changes()
        peer, request = await return_of(host, peer)
        missing = [OTHER, CANVAS, "ahp-chat:/never-asked-for"]
        await peer.answer(request, {"type": "replay", "actions": [], "missing": missing})
        await peer.give(CANVAS, canvas_state("Back"), 9)
        await peer.fail(await peer.expect("subscribe"), -32008)
        await until(changes, CANVAS, title="Back")
        await until_gone(changes, OTHER)
        assert client.canvases(CHAT) == {CANVAS: canvas_state("Back"), OTHER: None}
        await peer.assert_idle()


async def test_too_much_was_missed_and_everything_comes_anew(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, OTHER, seq=50)
        changes = client.changes()
        peer, request = await return_of(host, peer)
        # The numbers begin anew with another life of the host.
        snapshots = [
            snapshot(ROOT, root_state(canvases=False), 1),
            snapshot(CHAT, chat_state(CANVAS), 3),
            snapshot(CANVAS, canvas_state("Anew"), 2),
            snapshot("ahp-chat:/never-asked-for", {}, 3),
        ]
        await peer.answer(request, {"type": "snapshot", "snapshots": snapshots})
        assert (await peer.expect("unsubscribe"))["params"] == {"channel": OTHER}
        await until(changes, CANVAS, title="Anew")
        assert not client.supports_canvases
        assert client.state("ahp-chat:/never-asked-for") is None
        await peer.act(CANVAS, state_changed("4"), 4)
        await until(changes, CANVAS, title="4")
        peer, request = await return_of(host, peer)
        assert request["params"]["lastSeenServerSeq"] == 4
        assert request["params"]["subscriptions"] == [ROOT, CHAT, CANVAS]


@pytest.mark.parametrize("error", [True, False])
async def test_a_host_that_has_forgotten_us_is_begun_with_anew(
    host: ScriptedHost, error: bool
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, seq=50)
        changes = client.changes()
        peer, request = await return_of(host, peer)
        await (peer.fail(request, -32008) if error else peer.answer(request, {"type": "new"}))
        params = await peer.greet(seq=2)
        assert params["clientId"] == "c-7f"
        await peer.give(CHAT, chat_state(CANVAS), 2)
        await peer.give(CANVAS, canvas_state("Anew"), 2)
        await until(changes, CANVAS, title="Anew")
        await peer.act(CANVAS, state_changed("3"), 3)
        await until(changes, CANVAS, title="3")
        await peer.assert_idle()


async def test_who_waits_for_an_answer_gets_it_on_the_next_connection(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        opening = begin(client.open_canvas(CHAT, "project:kanban", "board"))
        before = await peer.expect("openCanvas")
        subscribing = begin(client.subscribe(OTHER))
        await peer.expect("subscribe")
        peer, request = await return_of(host, peer)
        listing = begin(client.list_sessions())
        replay = {"type": "replay", "actions": [], "missing": []}
        await peer.answer(request, replay)
        again = await peer.expect("openCanvas")
        assert again == before, "the same address: it is focused, if it is open by now"
        await peer.give(OTHER, canvas_state("Other"), 6)
        assert await within(subscribing) == canvas_state("Other")
        await peer.answer(await peer.expect("listSessions"), {"items": []})
        assert await within(listing) == []
        await peer.answer(again)
        await peer.give(again["params"]["channel"], canvas_state(), 6)
        await within(opening)


async def test_what_another_life_of_the_host_said_is_not_applied(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        subscribing = begin(client.subscribe(CANVAS))
        await peer.expect("subscribe")
        await peer.act(CANVAS, state_changed("before"), 60)
        await peer.assert_idle()
        peer, request = await return_of(host, peer)
        await peer.fail(request, -32008)
        await peer.greet(seq=2)
        await peer.give(CANVAS, canvas_state("after"), 2)
        assert await within(subscribing) == canvas_state("after")


async def test_what_is_left_while_the_connection_is_away_stays_left(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        peer, request = await return_of(host, peer)
        client.unsubscribe(CHAT)
        missed = [{"channel": CHAT, "action": canvases_changed(OTHER), "serverSeq": 7}]
        await peer.answer(request, {"type": "replay", "actions": missed, "missing": []})
        left = [(await peer.expect("unsubscribe"))["params"]["channel"] for _ in range(2)]
        assert left == [CHAT, CANVAS]
        await peer.assert_idle()
        assert client.state(CHAT) is None


async def test_a_request_for_the_registry_is_sent_again(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        asking = begin(client.request_registry(CHAT))
        await peer.expect("dispatchAction")
        peer, request = await return_of(host, peer)
        await peer.answer(request, {"type": "replay", "actions": [], "missing": []})
        await peer.expect("dispatchAction")
        action = {"type": "chat/canvasRegistryChanged", "canvasRegistry": {"extensions": []}}
        await peer.act(CHAT, action, 6)
        assert await within(asking) is not None


async def test_a_canvas_that_was_being_subscribed_to_is_subscribed_to_again(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer)
        changes = client.changes()
        await peer.act(CHAT, canvases_changed(CANVAS), 6)
        await peer.expect("subscribe")
        peer, request = await return_of(host, peer)
        assert request["params"]["subscriptions"] == [ROOT, CHAT]
        await peer.answer(request, {"type": "replay", "actions": [], "missing": []})
        await peer.give(CANVAS, canvas_state("Back"), 6)
        await until(changes, CANVAS, title="Back")
        await peer.assert_idle()


async def test_connections_that_break_during_the_handshake_are_made_again(
    host: ScriptedHost,
) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS)
        changes = client.changes()
        peer, _ = await return_of(host, peer)
        peer, request = await return_of(host, peer)
        await peer.fail(request, -32008)
        await peer.expect("initialize")
        peer, request = await return_of(host, peer)
        missed = [{"channel": CANVAS, "action": state_changed("7"), "serverSeq": 7}]
        await peer.answer(request, {"type": "replay", "actions": missed, "missing": []})
        await until(changes, CANVAS, title="7")


async def test_a_client_gives_up_in_the_end_and_tells_everybody(host: ScriptedHost) -> None:
    async with host.connect(backoff=Backoff(first=0, attempts=3)) as (client, peer):
        await follow(client, peer, CANVAS)
        reading = begin(client.changes().__anext__())
        opening = begin(client.open_canvas(CHAT, "project:kanban", "board"))
        asking = begin(client.request_registry(CHAT))
        await peer.expect("openCanvas")
        host.refuse = 503
        await peer.drop()
        for waiting in (reading, opening, asking):
            with pytest.raises(ConnectionClosed, match="503"):
                await within(waiting)
        assert len(host.requests) == 4
        for late in (client.list_sessions(), client.changes().__anext__()):
            with pytest.raises(ConnectionClosed, match="503"):
                await within(late)


async def test_a_token_that_is_no_longer_right_is_not_tried_again(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        changes = client.changes()
        host.refuse = 401
        await peer.drop()
        with pytest.raises(ConnectionClosed, match="token"):
            await within(changes.__anext__())
        assert len(host.requests) == 2


async def test_a_host_that_will_not_have_us_back_is_left(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        changes = client.changes()
        peer, request = await return_of(host, peer)
        await peer.fail(request, -32008)
        await peer.fail(await peer.expect("initialize"), -32007, resources=[])
        with pytest.raises(AuthRequired):
            await within(changes.__anext__())
        await peer.ended()


async def test_closing_ends_everything(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        listing = begin(client.list_sessions())
        reading = begin(read_all(client.changes()))
        await peer.expect("listSessions")
        await client.aclose()
        with pytest.raises(ConnectionClosed, match="closed"):
            await within(listing)
        await within(reading)
        with pytest.raises(ConnectionClosed):
            await client.list_sessions()
        with pytest.raises(ConnectionClosed):
            await client.request_registry(CHAT)
        assert await read_all(client.changes()) == []
        await client.aclose()


async def test_a_client_is_connected_once(host: ScriptedHost) -> None:
    client = AHPClient(host.url)
    with pytest.raises(ConnectionClosed):
        await client.list_sessions()
    await client.aclose()
    async with host.connect() as (client, _):
        with pytest.raises(RuntimeError):
            await client.connect()


# Memory.


async def test_a_reader_who_is_slow_gets_the_latest_state(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        await follow(client, peer, CANVAS, OTHER)
        slow, watch = client.changes(), client.changes()
        for seq in range(6, 2006):
            await peer.act(CANVAS if seq % 2 else OTHER, state_changed(str(seq)), seq)
        await until(watch, CANVAS, title="2005")
        seen: dict[str, Any] = {}
        count = 0
        while seen.get(CANVAS) != canvas_state("2005") or seen.get(OTHER) != canvas_state("2004"):
            change = await within(slow.__anext__())
            seen[change.channel] = change.state
            count += 1
        assert count <= 256


async def test_a_reader_who_is_gone_is_forgotten(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        for _ in range(100):
            client.changes()
        assert len(client._readers) == 0


async def test_actions_that_flood_a_subscription_are_not_all_kept(host: ScriptedHost) -> None:
    async with host.connect() as (client, peer):
        subscribing = begin(client.subscribe(CANVAS))
        request = await peer.expect("subscribe")
        for seq in range(6, 1510):
            await peer.act(CANVAS, state_changed(str(seq)), seq)
        result = {"snapshot": snapshot(CANVAS, canvas_state("5"), 5)}
        await peer.answer(request, result)
        assert (await within(subscribing))["title"] == "1509"
        # Some may be missing, so the whole is asked for again.
        await peer.give(CANVAS, canvas_state("whole"), 1510)
        await peer.assert_idle()
        assert client.state(CANVAS) == canvas_state("whole")
