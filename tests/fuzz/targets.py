"""What is fed with arbitrary bytes, and what has to hold whatever they are.

Each target takes bytes, so that the same ones serve hypothesis, a coverage-guided fuzzer and the
cases of `corpus/`. A target that raises has found a bug.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from canvas_provider import create_canvas
from canvas_provider.ahp.frames import (
    Failure,
    Invalid,
    Notification,
    Request,
    Result,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    parse_frame,
)
from canvas_provider.canvas.complaint import create_explain
from canvas_provider.canvas.draft07 import find_problem
from canvas_provider.canvas.fastcheck import compile_check
from canvas_provider.canvas.surrogates import HalfPair
from canvas_provider.canvas.validation import Validator
from canvas_provider.errors import DamagedDocument, InvalidInput, NotJSON, PatchError, RemoteError
from canvas_provider.serving.headers import inline_hashes
from canvas_provider.state.json import ensure_json, equal
from canvas_provider.state.json_file import JSONFileStore
from canvas_provider.state.patch import apply, diff
from canvas_provider.state.store import Stored
from canvas_provider.state.version import Version
from canvas_provider.types import MISSING
from canvas_provider.web.body import parse_json
from canvas_provider.wire.connection import Connection, decode_json
from canvas_provider.wire.framing import FrameDecoder, encode_frame
from tests.support.contributions import SESSION, contributing

__all__ = ["TARGETS"]


def framing(data: bytes) -> None:
    """However the bytes arrive, the frames are the same, and so is where they end."""
    whole, pieces = FrameDecoder(4096), FrameDecoder(4096)
    whole.feed(data)
    for byte in data:
        pieces.feed(byte.to_bytes())
    assert whole.frames() == pieces.frames()
    assert (whole.error is None) == (pieces.error is None)


def connection(data: bytes) -> None:
    """It never raises, and says nothing but JSON-RPC in answer."""
    it = Connection()
    it.send_request("ask")
    it.data_to_send()
    it.receive_data(data)
    it.events_received()
    decoder = FrameDecoder()
    decoder.feed(it.data_to_send())
    assert decoder.error is None
    for body in decoder.frames():
        answer = json.loads(body)
        assert answer["jsonrpc"] == "2.0"
        assert isinstance(answer["error"]["message"], str)


def message(data: bytes) -> None:
    """The same for what comes well framed; the next request is heard all the same."""
    connection(encode_frame(data))
    it = Connection()
    it.receive_data(encode_frame(data))
    it.events_received()
    it.receive_data(encode_frame(b'{"jsonrpc":"2.0","id":"after","method":"ping"}'))
    (after,) = it.events_received()
    assert after.id == "after"  # type: ignore[union-attr]


def ahp_frame(data: bytes) -> None:
    """What is read can be written, and reads the same; what cannot be read can be answered."""
    frame = parse_frame(data.decode(errors="replace"))
    match frame:
        case Request(id, method, params):
            text = encode_request(id, method, params)
        case Notification(method, params):
            text = encode_notification(method, params)
        case Result(id, value):
            text = encode_result(id, value)
        case Failure(failed, code, said, more):
            text = encode_error(failed, code, said, more)
        case Invalid(wrong, error, why):
            text = encode_error(wrong, error, why)
            frame = Failure(wrong, error, why, None)
    assert parse_frame(text) == frame


def patch(data: bytes) -> None:
    """`[document, patch]`: applied, or a PatchError. `[old, new]`: a patch leads there."""
    match _json(data):
        case [document, second]:
            before = json.dumps(document)
            if isinstance(second, list):
                with suppress(PatchError):
                    apply(document, second)
            assert equal(apply(document, diff(document, second)), second)
            assert json.dumps(document) == before


def schema(data: bytes) -> None:
    """`[schema, value]`: refused, or compiled; and the quick check is never too generous."""
    match _json(data):
        case [schema, value] if find_problem(schema) is None:
            try:
                Validator(schema, "it").check(value)
            except InvalidInput as error:
                assert len(str(error)) < 10_000
            fits = compile_check(schema)
            if fits is not None and fits(value):
                assert not create_explain(schema)(value)


def body(data: bytes) -> None:
    """A body is JSON that can go on, or refused without being repeated."""
    try:
        value = parse_json(data)
    except InvalidInput as error:
        assert len(str(error)) < 400
    else:
        if value is not MISSING and not isinstance(value, HalfPair):
            json.dumps(value, allow_nan=False).encode()


def version(data: bytes) -> None:
    """What stands in `Last-Event-ID` is a version or is none."""
    found = Version.parse(data.decode("latin-1"))
    assert found is None or (found >= 0 and Version.parse(str(found)) == found)


def html(data: bytes) -> None:
    """Any page gets a policy that fits into a header."""
    for source in inline_hashes(data.decode("utf-8", "replace")):
        source.encode("ascii")


def calls(data: bytes) -> None:
    """`[[method, params], …]`: each is answered, and the next good call works."""
    match _json(data):
        case [*calls] if calls:
            asyncio.run(_call(calls))


async def _call(calls: list[Any]) -> None:
    board = create_canvas(id="board", display_name="B", description="B.", state=dict)

    @board.action
    async def put(state: dict[str, Any], key: str = "k", value: Any = None) -> None:
        """Put anything."""
        state[key] = value

    good = {"sessionId": SESSION, "extensionId": "x", "canvasId": "board", "instanceId": "good"}
    async with contributing(canvases=[board]) as (runtime, _), asyncio.timeout(5):
        for call in calls:
            match call:
                case [str(method), params]:
                    with suppress(RemoteError):
                        await runtime.peer.request(method, params)
                    runtime.peer.notify(method, params)
        assert await runtime.peer.request("canvas.open", {**good})
        assert await runtime.peer.request(
            "canvas.action.invoke", {**good, "actionName": "put", "input": {"key": "a"}}
        ) in (None, {})


def stored_json(data: bytes) -> None:
    """A file of whatever bytes is read, or set aside whole."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "board.json").write_bytes(data)
        try:
            loaded = asyncio.run(_load(folder))
        except DamagedDocument:
            (aside,) = folder.glob("board.json.damaged-*")
            assert aside.read_bytes() == data
        else:
            assert loaded is not None
            assert loaded.revision >= 1
            ensure_json(loaded.document)
            assert (folder / "board.json").read_bytes() == data


async def _load(folder: Path) -> Stored | None:
    store = JSONFileStore(folder)
    try:
        return await store.load("board")
    finally:
        await store.aclose()


def _json(data: bytes) -> Any:
    try:
        return ensure_json(decode_json(data))
    except (ValueError, NotJSON):
        return None


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    target.__name__: target
    for target in (
        framing, connection, message, ahp_frame, calls, patch, schema, body, version, html,
        stored_json,
    )
}  # fmt: skip
