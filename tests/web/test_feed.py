"""The event stream of an instance: what a page is told, and how it resumes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import ANY

import httpx
import pytest

from canvas_provider import Canvas, CanvasContext, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.state.history import Revision
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.version import Version
from canvas_provider.web import feed
from tests.support.instances import open_app, open_client
from tests.support.stores import commit


@pytest.fixture
def canvas() -> Canvas:
    canvas = create_canvas(
        id="board", display_name="Board", description="A board.", state=dict[str, Any]
    )

    @canvas.action
    async def put(state: dict[str, Any], key: str, value: Any) -> None:
        """Put a value."""
        state[key] = value

    @canvas.action
    async def say(ctx: CanvasContext, text: str) -> None:
        """Say something to the pages."""
        ctx.emit("said", {"text": text})

    return canvas


@dataclass(frozen=True)
class Event:
    name: str
    data: Any
    id: str | None = None


class Stream:
    """Reads one event stream, as a page does. Ids are told without their epoch."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.version = ""
        """The last id as it came."""
        self._lines = response.aiter_lines()

    async def next(self) -> Event:
        fields: dict[str, str] = {}
        async with asyncio.timeout(5):
            async for line in self._lines:
                if line == "" and fields:
                    break
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                raise EOFError
        self.version = fields.get("id", self.version)
        number = fields["id"].partition("-")[0] if "id" in fields else None
        return Event(fields["event"], json.loads(fields["data"]), number)


@asynccontextmanager
async def listen(http: httpx.AsyncClient, query: str = "", **headers: str) -> AsyncIterator[Stream]:
    url = f"events{query}"
    async with http.stream("GET", url, headers=headers, timeout=5) as response:
        assert response.status_code == 200
        yield Stream(response)


async def put(instance: Instance, key: str, value: Any) -> None:
    await instance.invoke("put", {"key": key, "value": value}, author="agent")


def patch(number: int, key: str, value: Any) -> Event:
    data = {
        "revision": number,
        "ops": [{"op": "add", "path": f"/{key}", "value": value}],
        "author": "agent",
        "action": "put",
        "time": ANY,
    }
    return Event("patch", data, str(number))


async def test_a_page_gets_a_snapshot_and_then_patches(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance), listen(http) as stream:
        assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert await stream.next() == Event("snapshot", {"revision": 0, "state": {}}, "0")
        await put(instance, "a", "ü\n")
        assert await stream.next() == patch(1, "a", "ü\n")
        await put(instance, "b", [1, {"c": None}])
        assert await stream.next() == patch(2, "b", [1, {"c": None}])


async def test_a_page_gets_what_handlers_emit_without_an_id(canvas: Canvas) -> None:
    """Else the browser would resume after something that is no revision."""
    async with open_client(canvas) as (http, instance), listen(http) as stream:
        await stream.next()
        await instance.invoke("say", {"text": "hello"}, author="agent")
        assert await stream.next() == Event("said", {"text": "hello"})


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?after=1", {}),
        ("", {"last-event-id": "1"}),
        ("?after=0", {"last-event-id": "1"}),
        ("?after=x", {"last-event-id": "1"}),
        ("?after=1", {"last-event-id": "said"}),
        ("?x=y&after=1", {}),
    ],
)
async def test_a_page_that_was_away_gets_what_it_missed(
    canvas: Canvas, query: str, headers: dict[str, str]
) -> None:
    async with open_client(canvas) as (http, instance):
        for number, key in enumerate("abc", start=1):
            await put(instance, key, number)
        async with listen(http, query, **headers) as stream:
            assert await stream.next() == patch(2, "b", 2)
            assert await stream.next() == patch(3, "c", 3)
            await put(instance, "d", 4)
            assert await stream.next() == patch(4, "d", 4)


@pytest.mark.parametrize("by_header", [True, False])
async def test_a_page_resumes_with_the_id_that_it_saw(canvas: Canvas, by_header: bool) -> None:
    async with open_client(canvas) as (http, instance):
        async with listen(http) as stream:
            await stream.next()
            await put(instance, "a", 1)
            await stream.next()
        await put(instance, "b", 2)
        query = "" if by_header else f"?after={stream.version}"
        headers = {"last-event-id": stream.version} if by_header else {}
        async with listen(http, query, **headers) as stream:
            assert await stream.next() == patch(2, "b", 2)
            seen = stream.version
        async with listen(http, f"?after={seen}") as stream:
            await put(instance, "c", 3)
            assert await stream.next() == patch(3, "c", 3)


@pytest.mark.parametrize("version", ["1-00000000", "2-00000000", "1-x", "2-" + "y" * 64])
async def test_a_page_of_another_process_gets_a_snapshot(canvas: Canvas, version: str) -> None:
    """Its document may have been another: its numbers are not ours."""
    async with open_client(canvas) as (http, instance):
        await put(instance, "a", 1)
        await put(instance, "b", 2)
        async with listen(http, f"?after={version}", **{"last-event-id": version}) as stream:
            assert await stream.next() == Event(
                "snapshot", {"revision": 2, "state": {"a": 1, "b": 2}}, "2"
            )


async def reset(instance: Instance, *documents: Any) -> None:
    """Let the store begin anew behind our back, and grow."""
    registry = instance._resources._registry
    assert registry is not None
    store = registry._store
    assert isinstance(store, MemoryStore)
    store._documents.clear()
    for number, document in enumerate(documents):
        await commit(store, "board/panel", number, document)


async def test_a_store_that_was_reset_while_a_page_was_away_is_noticed(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        async with listen(http) as stream:
            await stream.next()
            await put(instance, "a", 1)
            await put(instance, "b", 2)
            await stream.next()
            await stream.next()
        await reset(instance, {"new": 0})
        await put(instance, "c", 3)
        assert instance.state is not None
        assert instance.state.revision == 2, "the same number again, of another document"
        async with listen(http, f"?after={stream.version}") as stream:
            assert await stream.next() == Event(
                "snapshot", {"revision": 2, "state": {"new": 0, "c": 3}}, "2"
            )
        async with listen(http, "?after=2") as stream:
            await put(instance, "d", 4)
            assert (await stream.next()).name == "patch", "a bare number is trusted"


async def test_a_page_that_listens_follows_a_reset_and_resumes_after_it(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        async with listen(http) as stream:
            await stream.next()
            await put(instance, "a", 1)
            await put(instance, "b", 2)
            await stream.next()
            await stream.next()
            before = stream.version
            await reset(instance, {"new": 0})
            event = await stream.next()
            assert (event.name, event.data["previous"], event.id) == ("patch", 2, "1")
            assert stream.version != before
        async with listen(http, f"?after={stream.version}") as stream:
            await put(instance, "c", 3)
            assert (await stream.next()).name == "patch"


@pytest.mark.parametrize("of", ["events", "state"])
async def test_if_match_with_an_epoch_binds_to_the_document_that_was_seen(
    canvas: Canvas, of: str
) -> None:
    async def call(http: httpx.AsyncClient, tag: str) -> int:
        body = {"key": "k", "value": tag}
        return (await http.post("actions/put", json=body, headers={"if-match": tag})).status_code

    async with open_client(canvas) as (http, instance):
        await put(instance, "a", 1)
        await put(instance, "b", 2)
        if of == "events":
            async with listen(http) as stream:
                await stream.next()
            tag = f'"{stream.version}"'
        else:
            tag = (await http.get("state")).headers["etag"]
        await reset(instance, {"new": 0})
        await put(instance, "c", 3)
        answer = await http.post(
            "actions/put", json={"key": "k", "value": 0}, headers={"if-match": tag}
        )
        assert answer.status_code == 412
        assert "another by now" in answer.json()["error"]["message"]
        assert await call(http, '"2"') == 200, "a bare number is trusted"
        fresh = (await http.get("state")).headers["etag"]
        assert await call(http, fresh) == 200
        assert await call(http, fresh) == 412


async def test_a_page_that_missed_nothing_gets_nothing(canvas: Canvas) -> None:
    async with open_client(canvas) as (http, instance):
        await put(instance, "a", 1)
        async with listen(http, "?after=1") as stream:
            await put(instance, "b", 2)
            assert await stream.next() == patch(2, "b", 2)


@pytest.mark.parametrize("after", ["999", "-1", "", "x", "1.5", "9" * 40, "0x1", "%C2%B2"])
async def test_a_page_that_was_away_too_long_gets_a_snapshot(canvas: Canvas, after: str) -> None:
    async with open_client(canvas) as (http, instance):
        await put(instance, "a", 1)
        async with listen(http, f"?after={after}") as stream:
            snapshot = Event("snapshot", {"revision": 1, "state": {"a": 1}}, "1")
            assert await stream.next() == snapshot


async def test_a_patch_says_what_it_follows_where_it_skips_and_what_it_undid(
    canvas: Canvas,
) -> None:
    """Commits of other processes may come in at once."""
    async with open_app(canvas) as (app, instance):
        source = app._site.feed
        frames: list[bytes] = []
        source.stream.publish = frames.append  # type: ignore[assignment,method-assign]
        source.stream._pages.add(object())  # type: ignore[arg-type]
        source._on_revision(Revision(9, [], "system", None, 1.5, 4, []))
        source._on_revision(Revision(10, [], "person", "undo", 2.5, 9, [], reverts=8))
        source.stream._pages.clear()
        assert instance.state is not None
    data = [json.loads(frame.split(b"data: ")[1]) for frame in frames]
    assert [facts.pop("ops") for facts in data] == [[], []]
    assert data == [
        {"revision": 9, "author": "system", "action": None, "time": 1.5, "previous": 4},
        {"revision": 10, "author": "person", "action": "undo", "time": 2.5, "reverts": 8},
    ]


async def test_a_snapshot_is_encoded_once_for_all_pages(
    canvas: Canvas, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[object] = []

    def encode_json(value: Any) -> bytes:
        encoded.append(value)
        return json.dumps(value).encode()

    monkeypatch.setattr(feed, "encode_json", encode_json)
    async with open_client(canvas) as (http, instance):
        for _ in range(3):
            async with listen(http) as stream:
                await stream.next()
        assert len(encoded) == 1
        await put(instance, "a", 1)
        assert len(encoded) == 1, "nobody listens, so nothing is encoded"
        async with listen(http) as stream, listen(http) as other:
            assert await stream.next() == await other.next()
            await put(instance, "b", 2)
            assert await stream.next() == await other.next()
        assert len(encoded) == 3


async def test_a_snapshot_is_not_kept_beyond_its_document(canvas: Canvas) -> None:
    """After a reset of its store, a document has an earlier number, and another content."""
    async with open_app(canvas) as (app, instance):
        source = app._site.feed
        documents = iter([(Version(1, "e"), {"a": 1}), (Version(1, "e"), {"b": 2})])
        source.document = lambda: next(documents)  # type: ignore[method-assign,assignment,return-value]
        assert b'{"a":1}' in source._snapshot()
        assert b'{"b":2}' in source._snapshot()
        assert instance.phase == "open"


@pytest.mark.parametrize("reason", ["closed", "shutdown"])
async def test_the_end_is_told_with_its_reason(canvas: Canvas, reason: Any) -> None:
    async with open_app(canvas) as (app, instance):
        from canvas_provider.testing.asgi import StreamingASGITransport
        from tests.support.instances import BASE

        transport = StreamingASGITransport(app)
        async with (
            httpx.AsyncClient(transport=transport, base_url=BASE) as http,
            listen(http) as stream,
        ):
            await stream.next()
            app.close(reason)
            app.close("closed")
            assert await stream.next() == Event("closed", {"reason": reason})
            with pytest.raises(EOFError):
                await stream.next()
            answer = await http.get("events")
            assert (answer.status_code, answer.json()["error"]["code"]) == (410, "closing")
        await put(instance, "a", 1)


async def test_a_canvas_without_state_has_events_too() -> None:
    canvas = create_canvas(id="plain", display_name="Plain", description="No state.")
    async with open_client(canvas) as (http, instance), listen(http, "?after=0") as stream:
        assert await stream.next() == Event("snapshot", {"revision": 0, "state": None}, "0")
        instance.emit("ping", None)
        assert await stream.next() == Event("ping", None)
