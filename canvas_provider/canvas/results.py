"""What a handler returns, made JSON; and the form of a result that shows the agent pictures.

Python values that have one obvious JSON form get it. What JSON cannot carry (NaN, infinities, lone
surrogates, integers beyond 2**53, cycles) is an error that names the place: one bad value must not
cost the connection.
"""

import binascii
import math
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from canvas_provider.errors import NotJSON
from canvas_provider.types import MISSING, JSONObject, JSONValue

if TYPE_CHECKING:
    from datetime import timedelta

    from canvas_provider.protocol.copilot import ToolResultObject

__all__ = ["Image", "ToolResult", "to_json_value"]

_LARGEST: Final = 2**53
"""Beyond it, an integer changes on its way through a browser (RFC 8259 section 6)."""

_SHOWN: Final = 16
"""Levels of a place that are spelled out: a cycle has as many as there may be."""

_DEEPEST: Final = 200
"""Levels of containers. pydantic-core, which writes the JSON, gives up at 255."""


@dataclass(frozen=True)
class Image:
    """A picture for the agent. `description` is the text that a model sees with it."""

    data: bytes
    mime_type: str = "image/png"
    description: str = ""


@dataclass(frozen=True)
class ToolResult:
    """A result the agent sees as bare text, with pictures, instead of as JSON.

    A page gets the same object as JSON. Pictures reach only models that can see; anything over
    about 20 KB of text is cut for the model (both observed with Copilot CLI 1.0.102).
    """

    text: str
    images: Sequence[Image | bytes] = ()
    """Bytes are taken as PNG."""
    failed: bool = False
    error: str | None = None
    """What the host shows of a failure; the model reads `text`."""
    session_log: str | None = None
    """Details for the person's timeline."""

    def to_wire(self) -> "ToolResultObject":
        """Return what Copilot recognises by `textResultForLlm` and `resultType`."""
        wire: ToolResultObject = {
            "textResultForLlm": self.text,
            "resultType": "failure" if self.failed else "success",
        }
        if self.failed or self.error is not None:
            wire["error"] = self.text if self.error is None else self.error
        if self.session_log is not None:
            wire["sessionLog"] = self.session_log
        if self.images:
            wire["binaryResultsForLlm"] = [_image(image) for image in self.images]
        return wire


def _image(image: Image | bytes) -> JSONObject:
    given = image if isinstance(image, Image) else Image(image)
    data = binascii.b2a_base64(given.data, newline=False).decode("ascii")
    return {
        "data": data,
        "mimeType": given.mime_type,
        "type": "image",
        "description": given.description,
    }


def to_json_value(value: object) -> JSONValue:
    """Return `value` as JSON, sharing no list or dict with it. Treat what was a draft as frozen.

    Models and dataclasses become objects; dates ISO 8601; enums their value; paths, UUIDs and
    Decimals text; bytes base64; sets sorted lists; numpy values what `tolist()` gives.

    Raises:
        NotJSON: something in it has no JSON form; the text names the place, not the value.
    """
    try:
        return _convert(value, 0)
    except _Refused as refused:
        raise NotJSON(f"{refused.place()}: {refused.reason}") from None


class _Refused(Exception):
    """On its way out it collects where it was, so that values in order cost nothing for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str | int] = []

    def place(self) -> str:
        path = self.path[::-1][:_SHOWN]
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
        return "".join(f"/{part}" for part in parts) or "(root)"


def _convert(value: Any, depth: int) -> JSONValue:
    kind = type(value)
    if value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if kind is str:
        return value if value.isascii() else _text(value)
    if kind is int:
        if not -_LARGEST <= value <= _LARGEST:
            raise _Refused("an integer beyond 2**53 is not safe in JSON: return it as text")
        return value  # type: ignore[no-any-return]
    if kind is float:
        if not math.isfinite(value):
            raise _Refused("NaN and infinities are not JSON: return None or text instead")
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return _object(value, depth)
    return _list(value, depth) if kind is list else _other(value, depth)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Refused("text with half of a surrogate pair is not JSON") from None
    return value


def _object(value: Mapping[Any, Any], depth: int) -> JSONObject:
    _check_depth(depth)
    converted: JSONObject = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key)
        try:
            if not name.isascii():
                _text(name)
            if name in converted:
                raise _Refused("two keys have the same text in JSON")
            converted[name] = _convert(item, depth + 1)
        except _Refused as refused:
            refused.path.append(name)
            raise
    return converted


def _list(value: Iterable[Any], depth: int) -> list[JSONValue]:
    _check_depth(depth)
    converted: list[JSONValue] = []
    try:
        for item in value:
            converted.append(_convert(item, depth + 1))  # noqa: PERF401  # its length is the place
    except _Refused as refused:
        refused.path.append(len(converted))
        raise
    return converted


def _check_depth(depth: int) -> None:
    # A cycle has no end, so it is found here, too.
    if depth >= _DEEPEST:
        raise _Refused(f"something contains itself, or more than {_DEEPEST} levels")


def _key(key: object) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    text = key if type(key) is int else MISSING if isinstance(key, bool) else _scalar(key)
    if type(text) not in (str, int):
        raise _Refused(f"keys of JSON objects are text, not {type(key).__name__}")
    return str(text)


def _other(value: Any, depth: int) -> JSONValue:
    if (kind := getattr(type(value), "__draft_kind__", None)) is not None:
        return kind.plain(value)  # type: ignore[no-any-return]  # a `state.recording.Draft`
    if (scalar := _scalar(value)) is not MISSING:
        return _convert(scalar, depth)
    if isinstance(value, ToolResult):
        return _convert(value.to_wire(), depth)
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return _convert(_dump(value), depth)
    if is_dataclass(value) and not isinstance(value, type):
        return _object({field.name: getattr(value, field.name) for field in fields(value)}, depth)
    if isinstance(value, Mapping):
        return _object(value, depth)
    if callable(to_list := getattr(value, "tolist", None)) and not isinstance(value, type):
        return _convert(to_list(), depth)  # numpy's scalars and arrays, and those like them
    if isinstance(value, AbstractSet):
        return _sorted(_list(value, depth))
    if isinstance(value, Iterable) and not isinstance(value, type):
        return _list(value, depth)
    raise _refuse(value)


def _refuse(value: object) -> _Refused:
    name = type(value).__name__
    if isinstance(value, Awaitable):
        return _Refused(f"a {name} is no result yet: await it")
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return _Refused(f"{article} {name} has no JSON form: return a dict, a dataclass or a model")


def _dump(model: Any) -> object:
    try:
        # By alias, as the state and the schemas are; without warnings, which quote values.
        return model.model_dump(mode="json", by_alias=True, warnings=False)
    except ValueError:  # pydantic's PydanticSerializationError: bytes that are no UTF-8
        return model.model_dump(mode="python", by_alias=True, warnings=False)


def _sorted(values: list[JSONValue]) -> list[JSONValue]:
    try:
        return sorted(values)  # type: ignore[type-var]
    except TypeError:
        return values  # of mixed types: in some order


def _scalar(value: object) -> object:
    """Return the JSON form of a value that has parts for nobody, or `MISSING`."""
    for module, name, convert in _SCALARS:
        # A value of a type whose module is not loaded cannot exist.
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, getattr(loaded, name)):
            return convert(value)
    return MISSING


def _duration(value: "timedelta") -> str:
    """Write ISO 8601, as pydantic does: `-P1DT2H3.5S`."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    hours, seconds = divmod(value.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    fraction = f"{value.microseconds:06}".rstrip("0")
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction:
        clock += f"{seconds}{'.' if fraction else ''}{fraction}S"
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days or 'T0S'}"


def _isoformat(value: Any) -> str:
    return value.isoformat()  # type: ignore[no-any-return]


def _base64(value: Any) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


_SCALARS: Final[tuple[tuple[str, str, Callable[[Any], object]], ...]] = (
    ("enum", "Enum", lambda value: value.value),
    ("builtins", "str", str.__str__),
    ("builtins", "int", int.__int__),
    ("builtins", "float", float.__float__),
    ("builtins", "bytes", _base64),
    ("builtins", "bytearray", _base64),
    ("builtins", "memoryview", _base64),
    ("datetime", "date", _isoformat),  # and datetime, which is one
    ("datetime", "time", _isoformat),
    ("datetime", "timedelta", _duration),
    ("decimal", "Decimal", str),
    ("pathlib", "PurePath", str),
    ("uuid", "UUID", str),
)
"""By module and name, in this order: a `StrEnum` is an Enum and a str, numpy's float64 a float."""
