"""What a client says and understands, on one connection after the other. Sans-IO.

Texts in, texts and events out. After `begin`, `receive` and any request, write out
`texts_to_send()` and take `events()`; when a connection is gone, tell it by `lose`.

Every request is one that may be sent twice: a URI that was opened is focused, one that was disposed
of is not found, reading changes nothing. So what had no answer when a connection was lost is sent
again on the next one, and whoever waits for it need not know.

What the host sends is never trusted to be well-formed: what is no message of the protocol is left
out, and the log says so without its content.
"""

import logging
from collections.abc import Iterable
from typing import Final

from canvas_provider.ahp.answers import (
    read_envelope,
    read_introduction,
    read_reconnection,
    read_snapshot,
)
from canvas_provider.ahp.change import Change
from canvas_provider.ahp.event import Answered, Ended, Event, Failed, Ready, Rejected
from canvas_provider.ahp.exchange import Answer, Exchange
from canvas_provider.ahp.failures import to_error
from canvas_provider.ahp.following import Following
from canvas_provider.ahp.frames import (
    Failure,
    Notification,
    Request,
    Result,
    encode_error,
    parse_frame,
)
from canvas_provider.ahp.mirror import Expectation, Mirror
from canvas_provider.errors import InvalidAnswer, UnsupportedVersion, WireError
from canvas_provider.protocol.ahp import (
    ROOT,
    SUPPORTED_VERSIONS,
    ActionEnvelope,
    ErrorCode,
    Method,
    RootNotification,
    Snapshot,
)
from canvas_provider.types import JSONObject

__all__ = ["Dialogue"]

MAX_HELD: Final = 10_000
"""Actions that are kept while the host makes up what was missed."""

NOTIFICATIONS: Final = frozenset(RootNotification)

logger = logging.getLogger("canvas_provider.ahp")


class Dialogue:
    """One client's side.

    Args:
        client_id: what the host knows us by when we return.
        client_info: who we are, for readers.
    """

    def __init__(self, client_id: str, client_info: JSONObject) -> None:
        self.mirror = Mirror()
        self.version: str | None = None
        """What was agreed on."""
        self.is_ready = False
        self._client_id = client_id
        self._client_info = client_info
        self._next_seq = 0
        self._exchange = Exchange()
        self._following = Following()
        # Subscriptions that wait for their states: of our user, by request, and of our own.
        self._subscribing: dict[int, Expectation] = {}
        self._trying: list[Expectation] = []
        # What came while the host makes up what was missed.
        self._held: list[ActionEnvelope] | None = None
        self._events: list[Event] = []

    # What comes out.

    def texts_to_send(self) -> list[str]:
        """Hand over what is to be written, in order."""
        return self._exchange.texts_to_send()

    def events(self) -> list[Event]:
        """Hand over what happened, in order."""
        events, self._events = self._events, []
        return events

    # What our user wants.

    def request(self, method: str, params: JSONObject) -> int:
        """Send a request, now or as soon as that is possible; return its id."""

        def take(id: int, answer: Answer) -> None:
            if isinstance(answer, Failure):
                self._events.append(Failed(id, to_error(answer)))
            else:
                self._events.append(Answered(id, answer.value))

        return self._exchange.ask_lastingly(method, params, take, now=self.is_ready)

    def forget(self, id: int) -> None:
        """Wait no longer for an answer."""
        self._exchange.forget(id)
        if (expected := self._subscribing.pop(id, None)) is not None:
            self.mirror.settle(expected)

    def subscribe(self, channel: str, *, follow: bool = False) -> int:
        """Subscribe to a channel; the answer to the request is its state.

        Args:
            follow: of a chat, subscribe to its canvases as they come, and until they go.
        """

        def take(id: int, answer: Answer) -> None:
            error = self._take_subscription(self._subscribing.pop(id), answer)
            if error is not None:
                self._events.append(Failed(id, error))
            else:
                self._events.append(Answered(id, self.mirror.state(channel)))

        if follow:
            self._following.add(channel)
        id = self._exchange.ask_lastingly(
            Method.SUBSCRIBE, {"channel": channel}, take, now=self.is_ready
        )
        self._subscribing[id] = self.mirror.expect(channel)
        return id

    def unsubscribe(self, channel: str) -> None:
        """End a subscription, and forget the state."""
        if channel in self.mirror:
            self._drop(channel)
            self._tell_unsubscribed(channel)

    def dispatch(self, channel: str, action: JSONObject) -> int | None:
        """Send an action; return its `clientSeq`, or None while there is no connection."""
        if not self.is_ready:
            return None
        self._next_seq += 1
        params: JSONObject = {"channel": channel, "clientSeq": self._next_seq, "action": action}
        self._exchange.notify(Method.DISPATCH_ACTION, params)
        return self._next_seq

    # The connection.

    def begin(self) -> None:
        """Begin on a new connection."""
        if self.version is None:
            self._initialize()
        else:
            self._reconnect()

    def lose(self) -> None:
        """Take note that the connection is gone."""
        self.is_ready = False
        self._held = None
        self._exchange.lose()
        for expected in self._trying:
            self.mirror.settle(expected)
            if self.mirror.is_current(expected):
                self.mirror.doubtful.add(expected.channel)
        self._trying.clear()

    def receive(self, text: str) -> None:
        """Take a frame that has come."""
        match parse_frame(text):
            case Request(id, method, _):
                message = f"this client has no method {method[:100]}"
                self._exchange.put(encode_error(id, ErrorCode.METHOD_NOT_FOUND, message))
            case Notification(Method.ACTION, params):
                self._take_action(params)
            case Notification(method, params) if method in NOTIFICATIONS:
                action: JSONObject = {**params, "type": method}
                root = self.mirror.state(ROOT)
                self._events.append(Change(ROOT, "notification", root, action))
            case Result() | Failure() as answer:
                self._exchange.take(answer)
            case Notification():
                pass  # of a newer host
            case invalid:
                logger.warning("ignored a frame of the host: %s", invalid.message)
        if self.is_ready:
            self._refresh()

    # Messages.

    def _take_action(self, params: JSONObject) -> None:
        envelope = read_envelope(params)
        if envelope is None:
            logger.warning("ignored an action of the host that is none")
        elif self._held is None:
            self._apply([envelope])
        elif len(self._held) < MAX_HELD:
            self._held.append(envelope)
        elif envelope["channel"] in self.mirror:
            self.mirror.doubtful.add(envelope["channel"])

    def _apply(self, envelopes: Iterable[ActionEnvelope]) -> None:
        for envelope in envelopes:
            match envelope:
                case {
                    "origin": {"clientId": self._client_id, "clientSeq": int(seq)},
                    "rejectionReason": str(reason),
                }:
                    self._events.append(Rejected(seq, reason))
            self._note(self.mirror.take_action(envelope))

    def _take_subscription(self, expected: Expectation, answer: Answer) -> WireError | None:
        """Take the answer to `subscribe`; return what is wrong with it.

        A channel whose last subscription has failed is dropped: it is gone, or as good as gone.
        """
        if not self.mirror.is_current(expected):
            return InvalidAnswer("the subscription was ended meanwhile")
        error = self._take_state(expected.channel, answer)
        if self.mirror.settle(expected) and error is not None:
            self._drop(expected.channel)
        return error

    def _take_state(self, channel: str, answer: Answer) -> WireError | None:
        if isinstance(answer, Failure):
            return to_error(answer)
        found = answer.value.get("snapshot") if isinstance(answer.value, dict) else None
        snapshot = read_snapshot(found)
        if snapshot is None:
            return InvalidAnswer("the host answered a subscription without a snapshot")
        # By the name that we know it by, should the host write it otherwise.
        self._take_snapshots([{**snapshot, "resource": channel}])
        return None

    # States.

    def _take_snapshots(self, snapshots: Iterable[Snapshot]) -> None:
        for snapshot in snapshots:
            self._note(self.mirror.take_snapshot(snapshot))

    def _note(self, change: Change | None) -> None:
        if change is not None:
            self._events.append(change)
            if change.kind != "gone" and change.channel in self._following:
                self._follow(change.channel)

    def _follow(self, chat: str) -> None:
        """Subscribe to the canvases that a chat has now, and to no others."""
        gone, listed = self._following.update(chat, self.mirror.state(chat))
        for canvas in gone:
            self.unsubscribe(canvas)
        for canvas in listed:
            if canvas not in self.mirror:
                self._try_to_subscribe(canvas)

    def _try_to_subscribe(self, channel: str) -> None:
        """Subscribe, or forget the channel: it may be gone by then."""

        def take(answer: Answer) -> None:
            self._trying.remove(expected)
            self._take_subscription(expected, answer)

        expected = self.mirror.expect(channel)
        self._trying.append(expected)
        self._exchange.ask(Method.SUBSCRIBE, {"channel": channel}, take)

    def _refresh(self) -> None:
        """Ask for the whole state where ours may be wrong."""
        while self.mirror.doubtful:
            channel = self.mirror.doubtful.pop()
            if channel in self.mirror and channel not in [each.channel for each in self._trying]:
                self._try_to_subscribe(channel)

    def _drop(self, channel: str) -> None:
        self._note(self.mirror.drop(channel))
        for canvas in self._following.remove(channel):
            self.unsubscribe(canvas)

    def _tell_unsubscribed(self, channel: str) -> None:
        if self.is_ready:
            self._exchange.notify(Method.UNSUBSCRIBE, {"channel": channel})

    # The handshake.

    def _initialize(self) -> None:
        """Introduce ourselves, then begin each channel anew.

        A host that does not know us any more may be another one, whose numbers mean something
        else. So nothing is continued.
        """

        def take(answer: Answer) -> None:
            if isinstance(answer, Failure):
                self._events.append(Ended(to_error(answer)))
                return
            found = read_introduction(answer.value, [ROOT])
            if found is None:
                self._events.append(Ended(InvalidAnswer("the host did not introduce itself")))
            elif found.version not in SUPPORTED_VERSIONS:
                text = "the host chose a version that was not offered"
                code = ErrorCode.UNSUPPORTED_PROTOCOL_VERSION
                self._events.append(Ended(UnsupportedVersion(code, text)))
            else:
                self.version = found.version
                self._restart(found.seq, found.snapshots)
                known = [each["resource"] for each in found.snapshots]
                self._become_ready([uri for uri in self.mirror.channels if uri not in known])

        params: JSONObject = {
            "channel": ROOT,
            "protocolVersions": list(SUPPORTED_VERSIONS),
            "clientId": self._client_id,
            "clientInfo": self._client_info,
            "initialSubscriptions": [ROOT],
        }
        self._exchange.ask(Method.INITIALIZE, params, take)

    def _reconnect(self) -> None:
        """Ask for what was missed; if that cannot be told, begin anew."""
        channels = self.mirror.channels

        def take(answer: Answer) -> None:
            value = answer.value if isinstance(answer, Result) else None
            found = read_reconnection(value, channels)
            held, self._held = self._held or [], None
            if found is None:
                self._initialize()
                return
            self.is_ready = True
            for channel in channels:
                if channel not in self.mirror:
                    self._tell_unsubscribed(channel)
            if found.actions is None:
                self._restart(0, found.snapshots)
            self._apply([*(found.actions or ()), *held])
            self._become_ready(found.missing)

        params: JSONObject = {
            "channel": ROOT,
            "clientId": self._client_id,
            "lastSeenServerSeq": self.mirror.last_seen,
            "subscriptions": [*channels],
        }
        self._held = []
        self._exchange.ask(Method.RECONNECT, params, take)

    def _restart(self, seq: int, snapshots: list[Snapshot]) -> None:
        self.mirror.restart(seq)
        self._take_snapshots(snapshots)

    def _become_ready(self, missing: list[str]) -> None:
        """Go on: with the channels that the host did not resume, and the requests that waited."""
        self.is_ready = True
        self._events.append(Ready())
        for channel in missing if ROOT in self.mirror else [ROOT, *missing]:
            # Once. If it is refused, the channel is gone.
            self._try_to_subscribe(channel)
        self._exchange.resend()
        for chat in self._following.chats:
            if self.mirror.state(chat) is not None:
                self._follow(chat)
