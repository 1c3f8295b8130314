"""The JSON body of a request: read whole, and refused with what is wrong with it.

pydantic-core parses it, which is fast and strict, but whose errors quote the body. So a body that
it refuses is looked at a second time, for a reason that can be told.
"""

import json
import re
from typing import Final, NoReturn

from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from canvas_provider.canvas.surrogates import HalfPair, find_half_pair
from canvas_provider.errors import InvalidInput, NotJSON
from canvas_provider.serving.guards import header_values
from canvas_provider.state.json import ensure_json
from canvas_provider.types import MISSING, JSONValue, Missing

__all__ = ["parse_json", "read_body"]

_PERHAPS_TOO_LARGE: Final = re.compile(rb"[0-9]{16}|[eE]\+?[0-9]")
"""A number without this is one that a double holds exactly."""


async def read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Read all of it; None if the client went away in the middle.

    Raises:
        HTTPException: it is compressed (RFC 9110 section 15.5.16); nothing here unpacks.
    """
    for coding in header_values(scope, b"content-encoding"):
        if coding.strip().lower() != b"identity":
            refusal = "Send the body as it is: this address unpacks no Content-Encoding."
            raise HTTPException(415, refusal, {"Accept-Encoding": "identity"})
    chunks = []
    while (message := await receive())["type"] == "http.request":
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return None


def parse_json(body: bytes) -> JSONValue | Missing | HalfPair:
    """Parse a body. An empty one is absent.

    In place of a body that has text with half of a surrogate pair comes the `HalfPair`.

    Raises:
        InvalidInput: it is no JSON, or has a number that JSON cannot carry from end to end.
    """
    if not body:
        return MISSING
    try:
        value: JSONValue = from_json(body, allow_inf_nan=False)
    except ValueError:
        # Not chained: the parser's text quotes the body.
        return _explain(body)
    if _PERHAPS_TOO_LARGE.search(body) is not None:
        try:
            ensure_json(value)
        except NotJSON as error:
            raise InvalidInput(f"The body cannot be used: {error}.") from None
    return value


def _explain(body: bytes) -> HalfPair:
    """Say what the parser did not like. Half of a surrogate pair the action's own words are for."""
    try:
        # As floats, for Python reads no integer of more than 4,300 digits.
        value = json.loads(body.decode(), parse_int=float, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise InvalidInput("The body is not JSON: it is not UTF-8.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"The body is not JSON: look at {place}.") from None
    except RecursionError:
        raise InvalidInput("The body cannot be used: it is nested too deeply.") from None
    if (found := find_half_pair(value)) is not None:
        return found
    try:
        ensure_json(value)
    except NotJSON as error:
        raise InvalidInput(f"The body cannot be used: {error}.") from None
    raise InvalidInput("The body is not JSON.")


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"The body is not JSON: {name} is no number there, send null or text.")
