"""A Redis server that is killed, paused, emptied and cut off, and what a state makes of it."""

import asyncio
import logging
import random
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from redis.asyncio import Redis

from canvas_provider import RedisStore
from canvas_provider.errors import DamagedDocument, StoreError
from canvas_provider.state import redis as line
from canvas_provider.state import redis_documents, redis_log, redis_scripts
from canvas_provider.state.shared import SharedState
from tests.support.redis_proxy import RedisProxy, proxy_to
from tests.support.redis_server import RedisServer
from tests.support.require import ROOT, require_openssl
from tests.support.stores import commit, held, step

KEYS = redis_log.name_keys("canvas", "board")


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "TIMEOUT", 0.5)
    monkeypatch.setattr(line, "HEARTBEAT", 0.1)
    monkeypatch.setattr(line, "LAST_DELAY", 0.1)
    # What has to be noticed is noticed without it.
    monkeypatch.setattr(redis_documents, "LOOK_EVERY", 1000.0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder, "--appendonly", "yes", "--appendfsync", "always").start()
    yield server
    server.kill()


@pytest.fixture
async def proxy(server: RedisServer) -> AsyncIterator[RedisProxy]:
    async with proxy_to(server.port) as proxy:
        yield proxy


@pytest.fixture
async def near(server: RedisServer) -> AsyncIterator[RedisStore]:
    """The store as others use it."""
    store = RedisStore(server.url)
    async with asyncio.timeout(20):
        yield store
        await Watch.close_all()
    await store.aclose()


@pytest.fixture
async def far(proxy: RedisProxy) -> AsyncIterator[RedisStore]:
    store = RedisStore(proxy.url)
    async with asyncio.timeout(20):
        yield store
        await Watch.close_all()
    await store.aclose()


@pytest.fixture
async def redis(server: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url) as client:
        yield client


def count(draft: Any) -> None:
    draft["n"] = draft.get("n", 0) + 1


class Watch:
    """What a page would see of a state."""

    states: ClassVar[list[SharedState[Any]]] = []
    """To be closed before their store is, as ever."""

    @classmethod
    async def close_all(cls) -> None:
        while cls.states:
            await cls.states.pop().aclose()

    def __init__(self, state: SharedState[Any]) -> None:
        self._state = state
        self.states.append(state)
        self._news = asyncio.Event()
        state.subscribe(lambda revision: self._news.set())
        state.subscribe_surroundings(self._news.set)
        state.enter("ann")

    async def until(self, holds: Callable[[SharedState[Any]], bool]) -> None:
        while not holds(self._state):
            self._news.clear()
            await self._news.wait()


async def test_a_commit_whose_answer_was_lost_is_sent_again_and_done_once(
    far: RedisStore, near: RedisStore, proxy: RedisProxy
) -> None:
    state = await SharedState.open(far, "board")
    await state.update(count)
    proxy.loses_answer_to = redis_scripts.COMMIT.sha.encode()
    await state.update(count)
    assert proxy.answers_lost == 1
    assert await held(near, "board") == (2, {"n": 2})
    assert [known.number for known in state.history()] == [1, 2]


async def test_one_that_others_have_built_upon_meanwhile_is_recognised_too(
    far: RedisStore, near: RedisStore, proxy: RedisProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await commit(far, "board", 0, {"n": 1})

    async def others(seconds: float) -> None:
        await commit(near, "board", 2, {"n": 3}, [{"op": "replace", "path": "/n", "value": 3}])

    proxy.loses_answer_to = redis_scripts.COMMIT.sha.encode()
    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", others)
        await commit(far, "board", 1, {"n": 2}, [{"op": "replace", "path": "/n", "value": 2}])
    assert proxy.answers_lost == 1
    assert not far.is_current("board", 2)
    assert await held(far, "board") == (3, {"n": 3})


async def test_a_server_that_is_killed_is_told_of_and_everything_heals(
    server: RedisServer, near: RedisStore
) -> None:
    state = await SharedState.open(near, "board")
    watch = Watch(state)
    await state.update(count)
    server.kill()
    await watch.until(lambda state: not state.online)
    assert not near.is_current("board", 1)
    with pytest.raises(StoreError) as caught:
        await state.update(count)
    assert caught.value.told is not None
    assert (state.revision, state.value) == (1, {"n": 1})
    server.start()
    await watch.until(lambda state: state.online)
    await state.update(count)
    other = RedisStore(server.url)
    assert await held(other, "board") == (2, {"n": 2})
    await other.aclose()


async def test_a_server_that_is_paused_is_told_of_and_everything_heals(
    server: RedisServer, near: RedisStore
) -> None:
    state = await SharedState.open(near, "board")
    watch = Watch(state)
    await state.update(count)
    server.pause()
    with pytest.raises(StoreError, match="does not answer"):
        await state.update(count)
    assert (state.revision, state.document) == (1, {"n": 1})
    await watch.until(lambda state: not state.online)
    for _ in range(3):
        # What is not sent cannot come there late.
        with pytest.raises(StoreError, match="nothing was sent"):
            await state.update(count)
    server.resume()
    await watch.until(lambda state: state.online)
    # It had the commit already, and nobody could know.
    await state.update(count)
    assert state.document == {"n": state.revision}
    assert state.revision in (2, 3)


async def test_a_server_without_its_data_begins_anew_and_pages_are_told(
    server: RedisServer, near: RedisStore
) -> None:
    state = await SharedState.open(near, "board", initial=lambda: {"n": 0})
    watch = Watch(state)
    await state.update(count)
    await state.update(count)
    before = state.version
    server.kill()
    server.empty()
    server.start()
    await watch.until(lambda state: state.revision == 0)
    assert (state.document, state.since(before)) == ({"n": 0}, None)
    await state.update(count)
    assert await held(near, "board") == (1, {"n": 1})


@pytest.mark.parametrize("way", ["cut", "hang"])
async def test_a_network_that_was_gone_is_made_up_for(
    far: RedisStore, near: RedisStore, proxy: RedisProxy, way: str
) -> None:
    state = await SharedState.open(far, "board")
    watch = Watch(state)
    await state.update(count)
    getattr(proxy, way)()
    if way == "hang":
        await watch.until(lambda state: not state.online)
    await commit(near, "board", 1, {"n": 5}, [{"op": "replace", "path": "/n", "value": 5}])
    proxy.heal()
    await watch.until(lambda state: state.revision == 2 and state.online)
    assert state.document == {"n": 5}


async def test_a_message_that_is_lost_on_a_line_that_holds_is_made_up_for(
    far: RedisStore, near: RedisStore, proxy: RedisProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_documents, "LOOK_EVERY", 0.1)
    state = await SharedState.open(far, "board")
    watch = Watch(state)
    await state.update(count)
    proxy.loses_messages = True
    await commit(near, "board", 1, {"n": 5}, [{"op": "replace", "path": "/n", "value": 5}])
    await watch.until(lambda state: state.revision == 2)


async def test_scripts_that_the_server_has_forgotten_are_sent_to_it_again(
    near: RedisStore, redis: Redis
) -> None:
    await commit(near, "board", 0, {"n": 1})
    await redis.script_flush()
    await commit(near, "board", 1, {"n": 2})
    await redis.script_flush()
    assert await held(near, "board") == (2, {"n": 2})


async def test_data_that_went_back_and_on_again_to_the_same_revision_is_noticed(
    near: RedisStore, server: RedisServer, redis: Redis
) -> None:
    """As after the restore of a backup: numbers come again."""
    add = [{"op": "add", "path": "/n", "value": 1}]
    await commit(near, "board", 0, {})
    backup = [(key, await redis.dump(key) or b"") for key in KEYS[:2]]
    state = await SharedState.open(near, "board")
    await state.update(lambda draft: draft.update(ours=1))
    for key, dumped in backup:
        await redis.restore(key, 0, dumped, replace=True)
    other = RedisStore(server.url)
    await commit(other, "board", 1, {"n": 1}, add)  # type: ignore[arg-type]
    await state.update(count)
    assert state.document == {"n": 2}
    assert await held(other, "board") == (3, {"n": 2})
    await other.aclose()


@pytest.mark.parametrize(
    "damage",
    [
        lambda redis: redis.hset(KEYS.document, "snapshot", b"\xff"),
        lambda redis: redis.hset(KEYS.document, "revision", "many"),
        lambda redis: redis.hdel(KEYS.document, "snapshot"),
        lambda redis: redis.lset(KEYS.log, -1, b"x" * 40),
        lambda redis: redis.ltrim(KEYS.log, 0, 0),
        lambda redis: redis.delete(KEYS.log),
    ],
)
async def test_a_damaged_document_is_set_aside_and_reported(
    near: RedisStore, server: RedisServer, redis: Redis, damage: Any
) -> None:
    await commit(near, "board", 0, {"n": "hunter2"})
    await commit(near, "board", 1, {"n": 2}, [{"op": "replace", "path": "/n", "value": 2}])
    await damage(redis)
    reader = RedisStore(server.url)
    with pytest.raises(DamagedDocument) as caught:
        await reader.load("board")
    assert "hunter2" not in str(caught.value)
    assert await reader.load("board") is None
    aside = await redis.keys("canvas:{board}:document.damaged-*")
    assert len(aside) == 1
    await commit(reader, "board", 0, {"n": 3})
    await reader.aclose()


async def test_a_document_of_a_newer_version_is_left_alone(near: RedisStore, redis: Redis) -> None:
    await commit(near, "board", 0, {"n": 1})
    await redis.hset(KEYS.document, "format", "2")
    for use in (near.load("board"), commit(near, "board", 1, {"n": 2})):
        with pytest.raises(StoreError, match="another version"):
            await use
    assert await redis.hget(KEYS.document, "revision") == b"1"


async def test_a_server_that_refuses_says_why_and_nothing_changes(
    near: RedisStore, redis: Redis
) -> None:
    await commit(near, "board", 0, {"n": 1})
    await redis.config_set("maxmemory", "1")
    with pytest.raises(StoreError, match="OOM|OutOfMemory"):
        await commit(near, "board", 1, {"n": 2}, [{"op": "replace", "path": "/n", "value": 2}])
    with pytest.raises(StoreError, match="OOM|OutOfMemory"):
        await commit(near, "new", 0, {"n": 1})
    await redis.config_set("maxmemory", "0")
    assert await held(near, "board") == (1, {"n": 1})
    assert await held(near, "new") is None


async def test_what_is_no_redis_at_all_is_refused_until_there_is_one(server: RedisServer) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        # A length that is no number, which redis-py does not expect.
        writer.write(b"*hunter2\r\n")
        met.set()
        await reader.read()
        writer.close()

    met = asyncio.Event()
    server.kill()
    other = await asyncio.start_server(babble, "127.0.0.1", server.port)
    store, heard = RedisStore(server.url), asyncio.Event()
    async with asyncio.timeout(10):
        with pytest.raises(StoreError, match="refused: ValueError$"):
            await store.load("board")
        stop = store.watch("board", heard.set)
        while store.is_reachable():
            met.clear()
            await met.wait()
        other.close()
        await other.wait_closed()
        server.start()
        await heard.wait()
        assert store.is_reachable()
        stop()
        await store.aclose()


async def test_the_time_out_of_the_url_is_for_answers_and_not_for_silence(
    server: RedisServer,
) -> None:
    line_was: list[bool] = []
    heard = asyncio.Event()

    def hear(is_there: bool) -> None:
        line_was.append(is_there)
        heard.set()

    follower = line.RedisFollower(
        # Less than the silence before a listener asks for a sign of life.
        f"{server.url}?socket_timeout=0.03",
        on_ready=lambda channel: None,
        on_message=lambda channel, data: None,
        on_line=hear,
    )
    follower.follow("news")
    async with asyncio.timeout(10):
        while len(line_was) < 3:
            heard.clear()
            await heard.wait()
        await follower.aclose()
    assert line_was == [True] * 3


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A key and a certificate that nobody else has signed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            require_openssl(), "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return key, certificate


async def test_a_line_can_be_encrypted_and_a_certificate_of_nobody_is_refused(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    folder = tmp_path / "encrypted"
    folder.mkdir()
    server = RedisServer(
        folder, "--requirepass", "hunter2", "--tls-auth-clients", "no",
        "--tls-key-file", str(certificate[0]), "--tls-cert-file", str(certificate[1]),
        encrypted=True,
    ).start()  # fmt: skip
    url = server.url.replace("//", "//:hunter2@")
    stranger = RedisStore(url)
    store, another = (RedisStore(f"{url}?ssl_ca_certs={certificate[1]}") for _ in range(2))
    try:
        async with asyncio.timeout(10):
            with pytest.raises(StoreError, match="refused: CERTIFICATE_VERIFY_FAILED"):
                await stranger.load("board")
            state = await SharedState.open(store, "board")
            watch = Watch(state)
            await state.update(count)
            await commit(
                another, "board", 1, {"n": 2}, [{"op": "replace", "path": "/n", "value": 2}]
            )
            await watch.until(lambda state: state.revision == 2)
    finally:
        await Watch.close_all()
        for opened in (another, store, stranger):
            await opened.aclose()
        server.kill()


async def test_documents_expire_after_their_latest_commit_if_they_are_to(
    server: RedisServer, redis: Redis
) -> None:
    async with asyncio.timeout(10):
        store = RedisStore(server.url, expire_after=1000)
        for revision in (0, 1):
            await commit(store, "board", revision, {"n": revision})
            for key in KEYS[:2]:
                assert 990_000 < await redis.pttl(key) <= 1_000_000
                await redis.persist(key)
        await store.aclose()


async def test_a_small_change_of_a_large_document_costs_little(
    far: RedisStore, near: RedisStore, proxy: RedisProxy
) -> None:
    items = [{"id": str(n), "text": "x" * 100} for n in range(5000)]
    await commit(near, "board", 0, {"items": items})
    ours = await SharedState.open(far, "board")
    watch = Watch(ours)
    theirs = await SharedState.open(near, "board")
    await ours.update(lambda draft: draft["items"][7].update(text="warm"))
    await theirs.update(lambda draft: draft["items"][8].update(text="warm"))
    await watch.until(lambda state: state.revision == 3)
    before = proxy.bytes
    await ours.update(lambda draft: draft["items"][2500].update(text="small"))
    written = proxy.bytes - before
    before = proxy.bytes
    await theirs.update(lambda draft: draft["items"][2501].update(text="small"))
    await watch.until(lambda state: state.revision == 5)
    read = proxy.bytes - before
    assert written < 4096
    assert read < 4096


async def test_no_log_error_or_repr_shows_the_url(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "secured"
    folder.mkdir()
    server = RedisServer(folder, "--requirepass", "hunter2").start()
    caplog.set_level(logging.DEBUG, "canvas_provider")
    good = f"redis://default:hunter2@127.0.0.1:{server.port}/0"
    store, bad = RedisStore(good), RedisStore(good.replace("hunter2", "hunter3"))
    try:
        async with asyncio.timeout(10):
            state = await SharedState.open(store, "board")
            watch = Watch(state)
            await state.update(count)
            with pytest.raises(StoreError) as refused:
                await bad.load("board")
            server.kill()
            await watch.until(lambda state: not state.online)
            with pytest.raises(StoreError) as unreachable:
                await state.update(count)
    finally:
        server.kill()
        await Watch.close_all()
        await store.aclose()
        await bad.aclose()
    with pytest.raises(ValueError, match="no URL") as broken:
        RedisStore("redis://:hunter2@host:hunter2/0")
    texts = [repr(store), repr(vars(store)["_documents"]), caplog.text]
    texts += [f"{found.value} {found.value.__cause__}" for found in (refused, unreachable, broken)]
    assert "hunter" not in "".join(texts)


async def test_a_user_who_may_do_what_the_guide_says_needs_no_more(
    server: RedisServer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (ROOT / "docs" / "guide" / "redis.md").read_text(encoding="utf-8")
    rights = [*re.findall(r"A user needs `(.+?)`", guide), *re.findall(r"`(~notes:.+?)`", guide)]
    words = " ".join(rights).split()
    assert len(words) == 8
    admin: Any = redis
    await admin.execute_command("ACL", "SETUSER", "team", "on", ">hunter2", *words)
    url = server.url.replace("//", "//team:hunter2@")
    store, outside = RedisStore(url, prefix="notes"), RedisStore(url, prefix="others")
    async with asyncio.timeout(10):
        state = await SharedState.open(store, "board")
        watch = Watch(state)
        await state.update(count)
        await redis.script_flush()
        await state.update(count)
        await watch.until(lambda state: state.online and store.is_current("board", 2))
        present = redis_log.name_keys("notes", "board").present
        while await redis.zcard(present) < 1:
            pass
        with pytest.raises(StoreError, match="NOPERM|NoPermission"):
            await outside.load("board")
        await Watch.close_all()
        await store.aclose()
        assert await redis.zcard(present) == 0
        await outside.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "", "http://x", "localhost:6379", "redis://h:port", "redis://h?protocol=3", "redis://h/name",
        "redis://h?db=x", "redis://h?retry=3", "redis://h?ssl_ca_certs=ca", "unix://",
        "redis://h?socket_timeout=soon", "redis://h?socket_timeout=0", "redis://h?max_connections=1",
    ],
)  # fmt: skip
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no URL of a Redis server"):
        RedisStore(url)


def test_a_prefix_that_would_end_the_hash_tag_is_refused() -> None:
    for prefix in ("", "a{b", "}", "a\n"):
        with pytest.raises(ValueError, match="no prefix"):
            RedisStore("redis://127.0.0.1", prefix=prefix)
    with pytest.raises(ValueError, match="seconds"):
        RedisStore("redis://127.0.0.1", expire_after=0)


def test_both_keys_of_a_document_are_in_one_slot_of_a_cluster() -> None:
    assert redis_log.name_keys("p", "a}b").log == "p:{a%7Db}:log"
    assert redis_log.name_keys("p", "").log == "p:{%}:log"
    assert step(0).number == 1


async def test_nothing_acknowledged_is_lost_by_a_server_that_is_killed_while_it_commits(
    server: RedisServer, near: RedisStore
) -> None:
    """With `appendfsync always`. Each kill comes somewhere within a commit."""
    source = random.Random(7)
    state = await SharedState.open(near, "board", initial=lambda: {"log": []})
    watch = Watch(state)
    acknowledged = 0
    for _ in range(5):
        last = acknowledged + source.randrange(5, 30)
        adding = asyncio.create_task(add_until_refused(state))
        await watch.until(lambda state, last=last: state.revision >= last)  # type: ignore[misc]
        server.kill()
        acknowledged = await adding
        server.start()
        await watch.until(lambda state: state.online)
        other = RedisStore(server.url)
        stored = await other.load("board")
        await other.aclose()
        assert stored is not None
        document: Any = stored.document
        # The one that was refused may have been done.
        assert stored.revision in (acknowledged, acknowledged + 1)
        assert document["log"] == list(range(stored.revision))
        await watch.until(lambda state, there=stored.revision: state.revision == there)  # type: ignore[misc]


async def add_until_refused(state: SharedState[Any]) -> int:
    """Return the last revision that was acknowledged."""
    while True:
        try:
            await state.update(lambda draft: draft["log"].append(len(draft["log"])))
        except StoreError:
            return state.revision
