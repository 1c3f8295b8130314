"""Arbitrary bytes where strangers' bytes arrive; each crash that was found is a case of its own."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS

CORPUS: Final = Path(__file__).parent / "corpus"

JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)

KEYWORDS: Final = [
    *("type", "properties", "required", "additionalProperties", "items", "additionalItems", "enum"),
    *("const", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "pattern", "minLength", "format"),
    *("minimum", "maximum", "multipleOf", "patternProperties", "if", "then", "else", "minItems"),
    *("uniqueItems", "propertyNames", "contains", "dependencies", "maxProperties", "default"),
]

SCHEMAS: Final = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["object", "array", "string", "integer", "null"])}
    ),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYWORDS),
        inner
        | st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "#/$defs/a", ""]), inner, max_size=3)
        | st.sampled_from(
            ["string", "object", "#", "#/$defs/a", "#/properties/a", "a", "(", 0, 1, 2.5]
        )
        | st.lists(st.sampled_from(["a", "b", "string", "null"]), max_size=3),
        max_size=4,
    ),
    max_leaves=8,
)

POINTERS: Final = st.sampled_from(
    [
        "",
        "/",
        "/a",
        "/0",
        "/1",
        "/-",
        "/a/0",
        "/0/a",
        "/~0",
        "/~1",
        "/~2",
        "/01",
        "a",
        "/a/-",
        "/-1",
    ]
)

OPERATIONS: Final = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "other", 1])},
    optional={"path": POINTERS | JSON, "from": POINTERS | JSON, "value": JSON},
)


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


SMALL: Final = st.dictionaries(
    st.sampled_from(["a", "0", "~", "/", ""]), JSON, max_size=3
) | st.lists(JSON, max_size=4)

HEADERS: Final = st.sampled_from(
    [b"Content-Length: ", b"content-length:", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"0", b"3", b"-1"]
    + [
        b"99999999999999999999",
        b"+3",
        b" 3",
        b"3 ",
        b"{}",
        b"null",
        b"X: y\r\n",
        b"Content-Length: 2",
    ]
)

CALLS: Final = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": JSON | st.just("2.0"),
        "id": JSON,
        "method": JSON | st.just("canvas.open"),
        "params": JSON,
        "result": JSON,
        "error": JSON | st.fixed_dictionaries({"code": JSON, "message": JSON}),
    },
)

NAMES: Final = st.sampled_from(["board", "b1", "b2", "put", "", "s-1"]) | JSON

PARAMS: Final = JSON | st.fixed_dictionaries(
    {},
    optional={
        "sessionId": NAMES,
        "extensionId": NAMES,
        "canvasId": NAMES,
        "instanceId": NAMES,
        "actionName": NAMES,
        "input": JSON,
        "host": JSON,
        "session": JSON,
        "event": st.fixed_dictionaries({}, optional={"type": NAMES, "data": JSON, "id": JSON}),
        "hookType": NAMES,
    },
)

METHODS: Final = st.sampled_from(
    ["canvas.open", "canvas.close", "canvas.action.invoke", "session.event", "hooks.invoke"]
    + ["session.lifecycle", "host.event", "ping", "shutdown", "", "canvas.nothing"]
)

HTML: Final = st.sampled_from(
    [
        "<script>",
        "</script>",
        "<SCRIPT src=x>",
        "<b onclick='a'>",
        '<b onclick="',
        "<!--",
        "-->",
        "x",
    ]
    + ["<style>", "&amp;", "<", ">", "'", "\x00", "é", "<script type=module>", "<textarea>", "\n"]
)

SHAPED: Final[dict[str, st.SearchStrategy[bytes]]] = {
    "framing": st.lists(HEADERS | st.binary(max_size=4), max_size=12).map(b"".join),
    "connection": st.lists(HEADERS | st.binary(max_size=4), max_size=12).map(b"".join),
    "message": (CALLS | st.lists(CALLS, max_size=3) | JSON).map(as_bytes),
    "ahp_frame": (CALLS | st.lists(CALLS, max_size=3) | JSON).map(as_bytes),
    "calls": st.lists(st.tuples(METHODS, PARAMS), min_size=1, max_size=5).map(as_bytes),
    "patch": (st.tuples(SMALL, st.lists(OPERATIONS, max_size=4)) | st.tuples(SMALL, JSON)).map(
        as_bytes
    ),
    "schema": st.tuples(SCHEMAS | JSON, JSON).map(as_bytes),
    "body": JSON.map(as_bytes),
    "version": st.from_regex(r"[0-9]{0,20}(-[\w-]*)?", fullmatch=True).map(str.encode),
    "html": st.lists(HTML, max_size=12).map(lambda parts: "".join(parts).encode()),
    "stored_json": JSON.map(as_bytes),
}
"""Bytes that get further than random ones."""

EXAMPLES: Final = {"calls": 50, "stored_json": 25}
"""What needs a session or a disk is tried less often."""


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_break_it(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=EXAMPLES.get(name, 200), deadline=None, derandomize=True, database=None)
    @given(SHAPED[name] | st.binary(max_size=200))
    def run(data: bytes) -> None:
        target(data)

    run()


CASES: Final = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_case_of_the_corpus_holds(case: Path) -> None:
    TARGETS[case.parent.name](case.read_bytes())


def test_every_target_has_cases() -> None:
    assert {case.parent.name for case in CASES} == set(TARGETS) == set(SHAPED)
