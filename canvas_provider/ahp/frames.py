"""One JSON-RPC 2.0 message for each text frame, read and written. No batches, ids are numbers.

The WebSocket does the framing (transport.md), so this is less than `wire.connection`. Reading never
raises: what is no message becomes `Invalid`, which says how to answer it.
"""

import json
from typing import Final, NamedTuple, TypeAlias

from canvas_provider.protocol.ahp import ErrorCode
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "Failure",
    "Frame",
    "Invalid",
    "Notification",
    "Request",
    "RequestId",
    "Result",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_result",
    "parse_frame",
]

RequestId: TypeAlias = int | float

MAX_DEPTH: Final = 100
"""Nested deeper, a message is not taken: what is passed on has to be written again."""


class Request(NamedTuple):
    """The other side asks: answer it exactly once."""

    id: RequestId
    method: str
    params: JSONObject


class Notification(NamedTuple):
    method: str
    params: JSONObject


class Result(NamedTuple):
    """The answer to a request of ours."""

    id: RequestId
    value: JSONValue


class Failure(NamedTuple):
    """The refusal of a request of ours; without an id, nobody knows of which."""

    id: RequestId | None
    code: int
    message: str
    data: JSONValue


class Invalid(NamedTuple):
    """No message, or none that can be served. To be answered with an error of this code."""

    id: RequestId | None
    code: ErrorCode
    message: str


Frame: TypeAlias = Request | Notification | Result | Failure | Invalid


def parse_frame(text: str) -> Frame:
    """Read a frame."""
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
        # "\ud800" is half a character: it can be read, but not be passed on.
        _check(message, MAX_DEPTH)
    except (ValueError, RecursionError):
        return Invalid(None, ErrorCode.PARSE_ERROR, "the frame holds no JSON")
    if isinstance(message, list):
        return Invalid(None, ErrorCode.INVALID_REQUEST, "batches are not supported")
    if not isinstance(message, dict):
        return Invalid(None, ErrorCode.INVALID_REQUEST, "a message is an object")
    return _parse_message(message)


def _parse_message(message: JSONObject) -> Frame:
    id = message.get("id")
    number = id if isinstance(id, int | float) and not isinstance(id, bool) else None
    method = message.get("method")
    if method is None:
        return _parse_answer(number, message)
    if not isinstance(method, str):
        return Invalid(number, ErrorCode.INVALID_REQUEST, "a method is a string")
    if "id" in message and number is None:
        return Invalid(None, ErrorCode.INVALID_REQUEST, "an id is a number")
    params = message.get("params", {})
    if not isinstance(params, dict):
        return Invalid(number, ErrorCode.INVALID_PARAMS, "params are an object")
    return Notification(method, params) if number is None else Request(number, method, params)


def _parse_answer(id: RequestId | None, message: JSONObject) -> Frame:
    error = message.get("error")
    if isinstance(error, dict):
        code, text = error.get("code"), error.get("message")
        if isinstance(code, int) and isinstance(text, str):
            return Failure(id, code, text, error.get("data"))
    elif "result" in message and id is not None:
        return Result(id, message["result"])
    return Invalid(id, ErrorCode.INVALID_REQUEST, "neither a request nor an answer")


def encode_request(id: RequestId, method: str, params: JSONObject) -> str:
    return _encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def encode_notification(method: str, params: JSONObject) -> str:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_result(id: RequestId, value: JSONValue) -> str:
    return _encode({"jsonrpc": "2.0", "id": id, "result": value})


def encode_error(id: RequestId | None, code: int, message: str, data: JSONValue = None) -> str:
    """Write an error; `data` is left out where it is None."""
    error: JSONObject = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return _encode({"jsonrpc": "2.0", "id": id, "error": error})


def _encode(message: JSONObject) -> str:
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # A provider's title, or a path that is no UTF-8: no frame can carry half a character.
        return text.encode(errors="replace").decode()
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check(value: JSONValue, depth: int) -> None:
    """Raise ValueError where a value could not be written again, or not everywhere."""
    if depth == 0:
        raise ValueError("nested too deeply")
    match value:
        case str():
            value.encode()
        case float() if value in (float("inf"), float("-inf")):
            raise ValueError("beyond the range of numbers")
        case list():
            for item in value:
                _check(item, depth - 1)
        case dict():
            for key, item in value.items():
                key.encode()
                _check(item, depth - 1)
