"""A JSON-RPC 2.0 connection as a state machine. Sans-IO: bytes in, events out, and the reverse.

Knows framing, the envelope, and which of our requests are unanswered. Does not decide what a
method means, when to write, how long to wait, or what becomes of a request when the stream ends:
that is `peer`'s. It never raises on what the other side sent; each mistake is answered as the
specification says (https://www.jsonrpc.org/specification, section 5.1) and reported as an event.

Two deliberate narrowings, both true of every message of the Copilot runtime: parameters go by name
(a request whose `params` is no object is answered -32602), and there are no batches (-32600). The
member `jsonrpc` is written, and not insisted on.
"""

import json
import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias, TypeGuard

from canvas_provider.errors import ConnectionClosed, FrameError, MessageTooLarge
from canvas_provider.types import JSONObject, JSONValue
from canvas_provider.wire.framing import MAX_FRAME_SIZE, FrameDecoder, encode_frame

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Connection",
    "End",
    "Event",
    "Failure",
    "Invalid",
    "Notification",
    "Request",
    "RequestId",
    "Result",
    "Tap",
    "decode_json",
    "encode_json",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

RequestId: TypeAlias = int | str
"""Ours are integers that count up from 0; the other side's are echoed as they came."""

Tap: TypeAlias = Callable[[Literal["in", "out"], bytes], None]
"""Called with the body of every message, before it is handled or after it is queued."""


# The events are tuples because there is one for every message, and a frozen dataclass costs twice.


class Request(NamedTuple):
    """The other side asks: answer with `send_result` or `send_error`, exactly once."""

    id: RequestId
    method: str
    params: JSONObject
    """Empty if there were none."""


class Notification(NamedTuple):
    """The other side tells, and expects no answer."""

    method: str
    params: JSONValue


class Result(NamedTuple):
    """One of our requests succeeded."""

    id: int
    value: JSONValue


class Failure(NamedTuple):
    """One of our requests was answered with an error."""

    id: int
    code: int
    message: str
    data: JSONValue


class Invalid(NamedTuple):
    """Something came that is no message for us. It was answered if it has to be.

    The reason names no content.
    """

    reason: str


class End(NamedTuple):
    """Nothing more will come. The last event."""

    exception: Exception | None
    """None for an orderly end, between two frames."""


Event: TypeAlias = Request | Notification | Result | Failure | Invalid | End


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode_json(body: bytes) -> JSONValue:
    """Parse UTF-8 JSON, strictly.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    value: JSONValue = _decoder.decode(body.decode())
    return value


def encode_json(value: JSONValue) -> bytes:
    """Write compact UTF-8 JSON.

    Raises:
        TypeError, ValueError, RecursionError: JSON cannot carry the value.
    """
    return _encoder.encode(value).encode()


class Connection:
    """One end of a JSON-RPC connection.

    After `receive_data` or `receive_eof`, take `events_received()`. After those and after any
    `send_*`, write out `data_to_send()`. Both hand over what there is and forget it.

    Args:
        max_frame_size: Largest accepted message in bytes; a larger one ends the connection.
        max_sent_size: Largest message in bytes that is sent. The `send_*` methods raise
            MessageTooLarge on a larger one, and have then queued nothing.
        loads: Parses a body; raises ValueError or RecursionError on what is no JSON.
        dumps: Writes a body; raises TypeError, ValueError or RecursionError on what JSON cannot
            carry. The `send_*` methods let that through and have then queued nothing.
        on_message: Sees the body of every message.
        ignores: Says of a body that nobody wants to know what is in it: it is not even parsed.
    """

    def __init__(
        self,
        *,
        max_frame_size: int = MAX_FRAME_SIZE,
        max_sent_size: int = MAX_FRAME_SIZE,
        loads: Callable[[bytes], JSONValue] = decode_json,
        dumps: Callable[[JSONValue], bytes] = encode_json,
        on_message: Tap | None = None,
        ignores: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.loads = loads
        """May be replaced at any time, as the other arguments may."""
        self.dumps = dumps
        self.on_message = on_message
        self.ignores = ignores
        self.ended = False
        """Whether nothing more will come."""
        self._max_sent_size = max_sent_size
        self._decoder = FrameDecoder(max_frame_size)
        self._events: list[Event] = []
        self._output: list[bytes] = []
        self._next_id = 0
        # Requests of ours that were neither answered nor forgotten.
        self._unanswered: set[int] = set()

    # Out.

    def send_request(self, method: str, params: JSONValue = None) -> int:
        """Queue a request; a `Result` or `Failure` with the returned id will be its answer.

        Raises:
            ConnectionClosed: no answer can come any more.
        """
        if self.ended:
            raise ConnectionClosed("the connection is closed")
        request_id = self._next_id
        message: JSONObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)
        self._next_id += 1
        self._unanswered.add(request_id)
        return request_id

    def is_unanswered(self, request_id: int) -> bool:
        """Whether that request of ours still waits for its answer."""
        return request_id in self._unanswered

    def forget_request(self, request_id: int) -> None:
        """Stop waiting: should the answer still come, it is ignored."""
        self._unanswered.discard(request_id)

    def send_notification(self, method: str, params: JSONValue = None) -> None:
        """Queue a notification."""
        message: JSONObject = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)

    def send_result(self, request_id: RequestId, result: JSONValue) -> None:
        """Queue the answer to a `Request`. Works after the end, too: it may still be read."""
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def send_error(
        self, request_id: RequestId | None, code: int, message: str, data: JSONValue = None
    ) -> None:
        """Queue an error as the answer to a `Request`; `data` is left out if it is None."""
        error: JSONObject = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._send({"jsonrpc": "2.0", "id": request_id, "error": error})

    def data_to_send(self) -> bytes:
        """Hand over the bytes to write, in order."""
        if not self._output:
            return b""
        output, self._output = self._output, []
        return b"".join(output)

    def _send(self, message: JSONObject) -> None:
        body = self.dumps(message)
        if len(body) > self._max_sent_size:
            raise MessageTooLarge(len(body), self._max_sent_size)
        self._output.append(encode_frame(body))
        if self.on_message is not None:
            self.on_message("out", body)

    # In.

    def receive_data(self, data: bytes) -> None:
        """Take bytes that arrived. Next, call `events_received()` and `data_to_send()`."""
        if self.ended:
            return
        self._decoder.feed(data)
        for body in self._decoder.frames():
            self._receive_body(body)
        if self._decoder.error is not None:
            self.send_error(None, PARSE_ERROR, str(self._decoder.error))
            self._end(self._decoder.error)

    def receive_eof(self, exception: Exception | None = None) -> None:
        """Take note that nothing more arrives, and what broke, if something did."""
        if self.ended:
            return
        if exception is None and self._decoder.is_within_frame:
            exception = FrameError("the stream ended in the middle of a frame")
        self._end(exception)

    def events_received(self) -> list[Event]:
        """Hand over what happened, in order."""
        events, self._events = self._events, []
        return events

    def _end(self, exception: Exception | None) -> None:
        self.ended = True
        self._unanswered.clear()
        self._events.append(End(exception))

    def _receive_body(self, body: bytes) -> None:
        if self.on_message is not None:
            self.on_message("in", body)
        if self.ignores is not None and self.ignores(body):
            return
        try:
            message = self.loads(body)
        except (ValueError, RecursionError):
            # The frame was whole, so the next one can be found: this is survivable.
            self._refuse(_salvage_id(body), PARSE_ERROR, "The message is not valid JSON.")
            return
        if type(message) is not dict:
            self._refuse(None, INVALID_REQUEST, "The message is not a JSON object.")
        elif "method" in message:
            self._receive_call(message)
        else:
            self._receive_answer(message)

    def _receive_call(self, message: JSONObject) -> None:
        method = message["method"]
        params = message.get("params")
        request_id = message.get("id")
        if "id" not in message:
            if type(method) is str:
                self._events.append(Notification(method, params))
            else:
                self._refuse(None, INVALID_REQUEST, "The method is not a string.")
        elif not _is_request_id(request_id):
            self._refuse(None, INVALID_REQUEST, "The id is neither an integer nor a string.")
        elif type(method) is not str:
            self._refuse(request_id, INVALID_REQUEST, "The method is not a string.")
        elif type(params) is dict:
            self._events.append(Request(request_id, method, params))
        elif params is None:
            self._events.append(Request(request_id, method, {}))
        else:
            self._refuse(request_id, INVALID_PARAMS, "The params are not a JSON object.")

    def _receive_answer(self, message: JSONObject) -> None:
        request_id = message.get("id")
        error = message.get("error")
        if type(request_id) is int and request_id in self._unanswered:
            self._unanswered.discard(request_id)
            if error is not None:
                self._events.append(_to_failure(request_id, error))
            elif "result" in message:
                self._events.append(Result(request_id, message["result"]))
            else:
                text = "The answer has neither a result nor an error."
                self._events.append(Failure(request_id, INVALID_REQUEST, text, None))
        elif "result" in message or "error" in message:
            # Not refused with an error: two ends that did would go on for ever.
            if type(request_id) is not int or not 0 <= request_id < self._next_id:
                self._events.append(Invalid(_describe_stray_answer(request_id, error)))
        else:
            known = request_id if _is_request_id(request_id) else None
            self._refuse(known, INVALID_REQUEST, "The message has no method.")

    def _refuse(self, request_id: RequestId | None, code: int, message: str) -> None:
        self.send_error(request_id, code, message)
        self._events.append(Invalid(message))


_HEAD: Final = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15}|"[\w./:-]{1,200}")\s*,\s*"method"\s*:',
    re.ASCII,
)


def _salvage_id(body: bytes) -> RequestId | None:
    """Return the id of a request that cannot be read, if it stands where everybody writes it.

    Told by its id, whoever asks learns that there will be no answer, instead of waiting for ever.
    """
    head = _HEAD.match(body)
    if head is None:
        return None
    request_id: RequestId = json.loads(head[1])
    return request_id


def _is_request_id(value: JSONValue) -> TypeGuard[RequestId]:
    # `type() is` rather than isinstance(): True is no id, though it is an int.
    if type(value) is str:
        # "\ud800" in JSON is half a character: it can be read, but not be written back.
        return value.isascii() or value.encode(errors="ignore").decode() == value
    return type(value) is int


def _to_failure(request_id: int, error: JSONValue) -> Failure:
    """Read an error object, forgiving whatever is wrong with it: its request has failed anyway."""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return Failure(
        request_id,
        code if type(code) is int else INTERNAL_ERROR,
        message if isinstance(message, str) else "The other side gave no reason.",
        fields.get("data"),
    )


def _describe_stray_answer(request_id: JSONValue, error: JSONValue) -> str:
    if request_id is not None or not isinstance(error, dict):
        return "An answer came to no request of ours."
    # What a runtime says of bytes of ours that it could not read.
    return f"The other side could not read a message of ours (error {error.get('code')!r})."
