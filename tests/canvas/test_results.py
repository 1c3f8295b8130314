import base64
import collections
import dataclasses
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import AnyUrl, BaseModel, Field, RootModel, SecretStr, TypeAdapter, computed_field

from canvas_provider.canvas.results import Image, ToolResult, to_json_value
from canvas_provider.errors import NotJSON
from canvas_provider.types import JSONValue


class Color(Enum):
    RED = "red"


class Nothing(Enum):
    NONE = None


class Size(IntEnum):
    LARGE = 2


class Mood(StrEnum):
    GOOD = "good"


@dataclasses.dataclass
class Point:
    x: float
    color: Color = Color.RED


class Pair(NamedTuple):
    one: int
    two: int


class Card(BaseModel):
    title: str
    due: date | None = None
    link: AnyUrl | None = None
    secret: SecretStr = SecretStr("x")
    column_id: str = Field(default="b", alias="columnId")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def shout(self) -> str:
        return self.title.upper()


class Blob(BaseModel):
    data: bytes


class Measure(BaseModel):
    length: float


class Numbers(RootModel[list[int]]):
    pass


class Scalar:
    """What numpy's scalars and arrays have in common."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


VALUES: list[tuple[object, JSONValue]] = [
    (None, None),
    (True, True),
    (3, 3),
    (2**53, 2**53),
    (1.5, 1.5),
    ("ä\U0001f600", "ä\U0001f600"),
    ([1, [2]], [1, [2]]),
    ({"a": {"b": 1}}, {"a": {"b": 1}}),
    ((1, 2), [1, 2]),
    (Pair(1, 2), [1, 2]),
    (range(3), [0, 1, 2]),
    ((n for n in [1]), [1]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.deque([1]), [1]),
    ({}.keys(), []),
    (Color.RED, "red"),
    (Size.LARGE, 2),
    (Mood.GOOD, "good"),
    (Nothing.NONE, None),
    (date(2026, 11, 30), "2026-11-30"),
    (datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30T12:00:00+00:00"),
    (time(12, 30), "12:30:00"),
    (timedelta(hours=2), "PT2H"),
    (Path("a/b"), "a/b"),
    (UUID(int=42), "00000000-0000-0000-0000-00000000002a"),
    (Decimal("1.50"), "1.50"),
    (b"\xff", "/w=="),
    (bytearray(b"a"), "YQ=="),
    (memoryview(b"a"), "YQ=="),
    (Point(1.5), {"x": 1.5, "color": "red"}),
    (
        Card(title="a", due=date(2026, 11, 30), link=AnyUrl("http://x/")),
        {
            "title": "a",
            "due": "2026-11-30",
            "link": "http://x/",
            "secret": "**********",
            "columnId": "b",
            "shout": "A",
        },
    ),
    (Blob(data=b"\xff"), {"data": "/w=="}),
    (Numbers([1]), [1]),
    ([Card(title="a")], [to_json_value(Card(title="a"))]),
    (Scalar(3.5), 3.5),
    (Scalar([[1], [2]]), [[1], [2]]),
    ({1: "a", Color.RED: 2, date(2026, 1, 1): 3}, {"1": "a", "red": 2, "2026-01-01": 3}),
    ({Mood.GOOD: 1, Path("p"): 2}, {"good": 1, "p": 2}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_values_with_one_obvious_json_form_get_it(value: object, expected: JSONValue) -> None:
    found = to_json_value(value)
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


def test_a_set_of_mixed_types_keeps_some_order() -> None:
    found = to_json_value({1, "a"})
    assert isinstance(found, list)
    assert len(found) == 2


def test_a_result_shares_nothing_with_the_value() -> None:
    value = {"a": [1]}
    found = to_json_value(value)
    value["a"].append(2)
    assert found == {"a": [1]}


@pytest.mark.parametrize(
    "duration",
    [
        timedelta(0),
        timedelta(days=3),
        timedelta(days=1, hours=2, minutes=3, seconds=4),
        timedelta(seconds=1.5),
        timedelta(microseconds=5),
        -timedelta(hours=1),
        timedelta(days=-1, seconds=5),
    ],
)
def test_durations_are_written_as_pydantic_writes_them(duration: timedelta) -> None:
    assert to_json_value(duration) == TypeAdapter(timedelta).dump_python(duration, mode="json")


def cyclic() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "(root)"),
        ({"a": [1, float("inf")]}, "/a/1"),
        ({"a/b": -float("inf")}, "/a~1b"),
        ("\ud800", "(root)"),
        ({"\udfff": 1}, ""),
        (2**53 + 1, "(root)"),
        ([-(2**60)], "/0"),
        (cyclic(), "/0/0"),
        ({"a": object()}, "/a"),
        ({"a": int}, "/a"),
        ({"a": Color}, "/a"),
        (3j, "(root)"),
        (print, "(root)"),
        ({(1, 2): 3}, "(root)"),
        ({None: 3}, "(root)"),
        ({True: 3}, "(root)"),
        ({1.5: 3}, "(root)"),
        ({1: "a", "1": "b"}, "/1"),
        (Point(float("nan")), "/x"),
        ([Scalar(float("nan"))], "/0"),
        ([Measure(length=float("nan"))], "/0/length"),
    ],
)
def test_what_json_cannot_carry_is_an_error_with_its_place(value: object, place: str) -> None:
    with pytest.raises(NotJSON) as caught:
        to_json_value(value)
    assert str(caught.value).startswith(place)


def test_a_forgotten_await_is_named() -> None:
    async def late() -> int:
        return 1

    forgotten = late()
    with pytest.raises(NotJSON, match="a coroutine is no result yet: await it"):
        to_json_value({"n": forgotten})
    forgotten.close()


def test_nesting_ends_where_the_encoder_would_give_up() -> None:
    value: object = 1
    for _ in range(200):
        value = [value]
    to_json_value(value)
    with pytest.raises(NotJSON):
        to_json_value([value])


def test_a_tool_result_is_text_and_pictures() -> None:
    result = ToolResult("Here.", images=[b"png", Image(b"jpg", "image/jpeg", "A cat")])
    assert to_json_value({"nested": result}) == {
        "nested": {
            "textResultForLlm": "Here.",
            "resultType": "success",
            "binaryResultsForLlm": [
                {"data": b64(b"png"), "mimeType": "image/png", "type": "image", "description": ""},
                {
                    "data": b64(b"jpg"),
                    "mimeType": "image/jpeg",
                    "type": "image",
                    "description": "A cat",
                },
            ],
        }
    }


def test_a_failed_tool_result_says_so() -> None:
    assert ToolResult("No.", failed=True, session_log="Why").to_wire() == {
        "textResultForLlm": "No.",
        "resultType": "failure",
        "error": "No.",
        "sessionLog": "Why",
    }
    assert ToolResult("No.", failed=True, error="Broken").to_wire()["error"] == "Broken"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
