"""The parameters of requests, checked: what is wrong becomes a `RemoteError` to answer with."""

from typing import Final, Literal, NoReturn

from canvas_provider.errors import RemoteError
from canvas_provider.protocol.ahp import ROOT, ErrorCode
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "MAX_URI",
    "refuse",
    "take_encoding",
    "take_number",
    "take_root",
    "take_text",
    "take_uris",
]

MAX_URI: Final = 4096
"""Characters of a URI or a name."""

MAX_URIS: Final = 1000


def refuse(code: ErrorCode, message: str, data: JSONValue = None) -> NoReturn:
    """Raise the answer to a request."""
    raise RemoteError(code, message, data)


def take_text(params: JSONObject, key: str) -> str:
    """Return a string that has to be there."""
    value = params.get(key)
    if not isinstance(value, str) or not value or len(value) > MAX_URI:
        refuse(ErrorCode.INVALID_PARAMS, f"{key} is a string of 1 to {MAX_URI} characters")
    return value


def take_root(params: JSONObject) -> None:
    """Check the channel of a request that concerns no other one."""
    if params.get("channel") != ROOT:
        refuse(ErrorCode.INVALID_PARAMS, f"channel is {ROOT}")


def take_uris(params: JSONObject, key: str) -> list[str]:
    """Return a list of strings."""
    value = params.get(key)
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    if texts != value or len(texts) > MAX_URIS:
        refuse(ErrorCode.INVALID_PARAMS, f"{key} is a list of at most {MAX_URIS} strings")
    return texts


def take_number(params: JSONObject, key: str) -> int:
    """Return a whole number that is not negative."""
    value = params.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        refuse(ErrorCode.INVALID_PARAMS, f"{key} is a whole number")
    return value


def take_encoding(params: JSONObject) -> Literal["utf-8", "base64"] | None:
    """Return what `resourceRead` would like its data to be."""
    match params.get("encoding"):
        case None:
            return None
        case "utf-8":
            return "utf-8"
        case "base64":
            return "base64"
    refuse(ErrorCode.INVALID_PARAMS, "encoding is utf-8 or base64")
