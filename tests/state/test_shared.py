"""Shared state: revisions, turns, conflicts, and who is told."""

import asyncio
import contextvars
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, model_validator

from canvas_provider.errors import (
    ChangeInProgress,
    DamagedDocument,
    DraftClosed,
    NotJSON,
    RevisionConflict,
    StateClosed,
    StateError,
    StoreError,
)
from canvas_provider.state.backoff import Backoff
from canvas_provider.state.document import Change
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.patch import apply
from canvas_provider.state.recording import Recording
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.shared import Revision, SharedState, open_live
from canvas_provider.state.store import Stored
from canvas_provider.types import JSONValue
from tests.support.stores import commit, held, step


class Counter(BaseModel):
    count: int = 0


class SlowStore(MemoryStore):
    """A store whose commits wait until they are let through, and may be made to fail."""

    immediate = False

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.committing = asyncio.Event()
        self.error: Exception | None = None

    async def commit(
        self,
        key: str,
        expected_revision: int,
        document: JSONValue,
        revision: Revision,
    ) -> None:
        self.committing.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        await super().commit(key, expected_revision, document, revision)


class BlindStore(MemoryStore):
    """A store that does not see others' commits before it is asked to commit, as a remote one."""

    def is_current(self, key: str, revision: int) -> bool:
        return True


def increment(draft: Any) -> int:
    draft.count += 1
    return int(draft.count)


async def open_counter(store: MemoryStore | None = None) -> SharedState[Counter]:
    return await SharedState.open(store or MemoryStore(), "counter", Counter)


async def test_a_change_is_one_revision_that_everybody_hears_of() -> None:
    state = await open_counter()
    heard: list[Revision] = []
    unsubscribe = state.subscribe(heard.append)
    async with state.change(author="agent", action="count") as draft:
        draft.count = 1
        assert state.document == {"count": 0}, "nobody sees it before its end"
        assert heard == []
    assert (state.revision, state.document, state.value.count) == (1, {"count": 1}, 1)
    (revision,) = heard
    assert revision.number == 1
    assert revision.ops == [{"op": "replace", "path": "/count", "value": 1}]
    assert (revision.author, revision.action, revision.previous) == ("agent", "count", 0)
    assert state.since(0) == heard
    unsubscribe()
    await state.update(increment)
    assert len(heard) == 1


async def test_nothing_written_is_no_revision() -> None:
    state = await open_counter()
    heard: list[Revision] = []
    state.subscribe(heard.append)
    before = state.document
    async with state.change() as draft:
        draft.count += 1
        draft.count -= 1
    assert await state.update(lambda draft: draft.count) == 0
    assert (state.revision, heard) == (0, [])
    assert state.document is before


async def test_a_failed_change_leaves_everything_exactly_as_it_was() -> None:
    state = await open_counter()
    await state.update(increment)
    heard: list[Revision] = []
    state.subscribe(heard.append)
    before, history = state.document, state.since(0)
    with pytest.raises(ZeroDivisionError):
        async with state.change() as draft:
            draft.count = 1 // 0
    with pytest.raises(NotJSON):
        await state.update(lambda draft: setattr(draft, "count", 2**60))
    with pytest.raises(asyncio.CancelledError):
        async with state.change() as draft:
            draft.count = 9
            raise asyncio.CancelledError
    with pytest.raises(DraftClosed):
        _ = draft.count
    assert (state.revision, state.document) == (1, before)
    assert state.document is before
    assert (heard, state.since(0)) == ([], history)
    assert await state.update(increment) == 2, "the turn was given back"


async def test_update_returns_what_the_function_does_and_takes_coroutines() -> None:
    state = await open_counter()

    async def later(draft: Counter) -> Counter:
        await asyncio.sleep(0)  # noqa: TID251  # lets others run within the change
        draft.count += 1
        return draft

    view = await state.update(later)
    assert view.count == 1
    with pytest.raises(DraftClosed):
        view.count = 2


async def test_changes_take_turns() -> None:
    state = await open_counter()
    inside = 0

    async def count(draft: Counter) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        value = draft.count
        await asyncio.sleep(0)  # noqa: TID251  # lets others try
        draft.count = value + 1
        inside -= 1

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(state.update(count))
    assert (state.value.count, state.revision) == (50, 50)


async def test_threads_take_turns_with_tasks() -> None:
    state = await open_counter()

    def in_thread() -> None:
        for _ in range(20):
            with state.change(author="agent") as draft:
                draft.count += 1

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(asyncio.to_thread(in_thread))
            group.create_task(_count(state, 20))
    assert (state.value.count, state.revision) == (160, 160)


async def _count(state: SharedState[Counter], times: int) -> None:
    for _ in range(times):
        async with state.change() as draft:
            draft.count += 1


async def test_an_exception_in_a_thread_rolls_back() -> None:
    state = await open_counter()

    def fail() -> None:
        with state.change() as draft:
            draft.count = 1
            raise KeyError

    with pytest.raises(KeyError):
        await asyncio.to_thread(fail)
    assert state.document == {"count": 0}
    await state.update(increment)


async def test_with_on_the_loop_says_what_to_write() -> None:
    state = await open_counter()
    with pytest.raises(StateError, match="async with"):
        state.change().__enter__()


async def test_a_change_within_a_change_is_an_error_and_no_deadlock() -> None:
    state = await open_counter()
    other = await SharedState.open(MemoryStore(), "other")

    def in_thread() -> None:
        with state.change():
            pass

    def nested_in_thread() -> None:
        with state.change(), pytest.raises(ChangeInProgress):
            state.change().__enter__()

    async with asyncio.timeout(5):
        async with state.change() as draft:
            draft.count = 1
            with pytest.raises(ChangeInProgress):
                await state.change().__aenter__()
            with pytest.raises(ChangeInProgress):
                await state.update(increment)
            with pytest.raises(ChangeInProgress):
                await asyncio.create_task(state.update(increment))
            with pytest.raises(ChangeInProgress):
                await asyncio.to_thread(in_thread)
            async with other.change() as another:
                another["fine"] = True
        await asyncio.to_thread(nested_in_thread)

        async def nested(draft: Counter) -> None:
            with pytest.raises(ChangeInProgress):
                await state.update(increment)

        await state.update(nested)
    assert state.document == {"count": 1}
    assert other.document == {"fine": True}


async def test_a_task_that_outlives_the_change_it_began_in_may_change() -> None:
    state = await open_counter()
    over = asyncio.Event()

    async def later() -> None:
        await over.wait()
        await state.update(increment)

    async with asyncio.timeout(5):
        async with state.change():
            task = asyncio.create_task(later())
        over.set()
        await task
    assert state.value.count == 1


async def test_a_change_is_entered_once() -> None:
    state = await open_counter()
    context = state.change()
    async with context:
        with pytest.raises(StateError, match="entered once"):
            await context.__aenter__()


# Conflicts.


async def test_a_stale_writer_is_refused_before_anything_runs() -> None:
    state = await open_counter()
    await state.update(increment)
    calls: list[int] = []
    with pytest.raises(RevisionConflict) as caught:
        await state.update(lambda draft: calls.append(1), expected_revision=0)
    assert (caught.value.expected, caught.value.actual, calls) == (0, 1, [])
    with pytest.raises(RevisionConflict):
        async with state.change(expected_revision=7):
            pass
    assert await state.update(increment, expected_revision=1) == 2


async def test_update_runs_again_when_another_process_was_first() -> None:
    store = BlindStore()
    ours, theirs = await open_counter(store), await open_counter(store)
    await theirs.update(increment)
    runs: list[int] = []

    def add(draft: Counter) -> int:
        runs.append(draft.count)
        draft.count += 10
        return draft.count

    assert await ours.update(add) == 11
    assert runs == [0, 1]
    assert (ours.revision, ours.document) == (2, {"count": 11})


class FakeTime:
    """A clock that pauses put forward, and nothing else but `spend`. Draws are the middle."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []
        self.backoff = Backoff(lambda: self.now, lambda: 0.5, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)  # noqa: TID251  # a step of the loop, in which others go on

    async def open_counter(self, store: MemoryStore) -> SharedState[Counter]:
        live = await open_live(store, "counter", Counter, None)
        return SharedState(live, backoff=self.backoff)


async def test_update_goes_on_while_others_keep_committing_first_for_5_seconds() -> None:
    store, time = BlindStore(), FakeTime()
    ours, theirs = await time.open_counter(store), await open_counter(store)

    async def lose(draft: Counter) -> None:
        draft.count = -1
        await theirs.update(increment)

    with pytest.raises(RevisionConflict) as caught:
        await ours.update(lose)
    tries = len(time.pauses) + 2
    assert caught.value.message == (
        f"Nothing was changed: another process kept committing first ({tries} tries in 5.0 s). "
        "Try again when less is going on."
    )
    # The second try follows at once. From there on each pause is drawn from a range twice as long.
    assert time.pauses[:6] == [0.001, 0.002, 0.004, 0.008, 0.016, 0.025]
    assert set(time.pauses[6:]) == {0.025}
    assert ours.document == theirs.document == {"count": tries}
    assert await ours.update(increment) == tries + 1


async def test_a_slow_update_is_made_five_times_however_long_that_takes() -> None:
    store, time = BlindStore(), FakeTime()
    ours, theirs = await time.open_counter(store), await open_counter(store)
    runs = 0

    async def lose(draft: Counter) -> None:
        nonlocal runs
        runs += 1
        draft.count = -1
        time.now += 60
        await theirs.update(increment)

    with pytest.raises(RevisionConflict, match=r"\(5 tries in 240\.0 s\)"):
        await ours.update(lose)
    assert runs == 5


async def test_an_undo_goes_on_while_others_keep_committing_first() -> None:
    store, time = BlindStore(), FakeTime()
    ours, theirs = await time.open_counter(store), await open_counter(store)
    await ours.update(increment, author="agent")
    before = store.commit
    lost = 0

    async def commit_second(
        key: str, expected_revision: int, document: JSONValue, revision: Revision
    ) -> None:
        nonlocal lost
        if revision.reverts is not None and lost < 20:
            lost += 1
            await before(key, expected_revision, {"count": 1}, step(expected_revision))
        await before(key, expected_revision, document, revision)

    store.commit = commit_second  # type: ignore[method-assign]
    assert (await ours.undo(1)).number == 22
    await theirs.update(lambda draft: None)
    assert (lost, ours.document) == (20, {"count": 0})


async def test_who_loses_a_race_keeps_its_turn_among_those_who_wait_here() -> None:
    store, time = BlindStore(), FakeTime()
    ours, theirs = await time.open_counter(store), await open_counter(store)
    order: list[str] = []

    async def first(draft: Counter) -> None:
        order.append("first")
        draft.count += 1
        if len(order) < 4:
            await theirs.update(increment)

    def second(draft: Counter) -> None:
        order.append("second")
        draft.count += 1

    async with asyncio.timeout(5):
        await asyncio.gather(ours.update(first), ours.update(second))
    assert order == ["first"] * 4 + ["second"]
    assert ours.document == {"count": 5}


@pytest.mark.parametrize("ending", ["cancelled", "closed"])
async def test_who_is_ended_between_two_tries_gives_the_turn_back(ending: str) -> None:
    store = BlindStore()
    pausing = asyncio.Event()
    going_on = asyncio.Event()

    async def pause(seconds: float) -> None:
        pausing.set()
        await going_on.wait()

    registry = StateRegistry(store)
    other = await registry.open("counter", Counter)
    live = other._live
    ours = SharedState[Counter](live, _nothing, backoff=Backoff(sleep=pause))
    theirs = await open_counter(store)

    async def lose(draft: Counter) -> None:
        draft.count = -1
        await theirs.update(increment)

    task = asyncio.create_task(ours.update(lose))
    async with asyncio.timeout(5):
        await pausing.wait()
        if ending == "cancelled":
            task.cancel()
        else:
            await ours.aclose()
            going_on.set()
        with pytest.raises(asyncio.CancelledError if ending == "cancelled" else StateClosed):
            await task
        assert await other.update(increment) == 3
    await other.aclose()


async def _nothing() -> None:
    """Let go of a document that others hold."""


async def test_change_raises_when_another_process_was_first_and_is_then_up_to_date() -> None:
    store = BlindStore()
    ours, theirs = await open_counter(store), await open_counter(store)
    await theirs.update(increment)
    heard: list[Revision] = []
    ours.subscribe(heard.append)
    with pytest.raises(RevisionConflict) as caught:
        async with ours.change() as draft:
            draft.count = 99
    assert (caught.value.expected, caught.value.actual) == (0, 1)
    assert (ours.revision, ours.document) == (1, {"count": 1})
    assert [(entry.author, entry.ops) for entry in heard] == [
        ("system", [{"op": "replace", "path": "/count", "value": 1}])
    ]


async def test_a_visible_change_by_others_is_taken_before_a_change_begins() -> None:
    store = MemoryStore()
    ours, theirs = await open_counter(store), await open_counter(store)
    await theirs.update(increment)
    assert await ours.update(increment) == 2
    assert [entry.author for entry in ours.since(0) or []] == ["system", "system"]


async def test_who_subscribes_hears_of_changes_by_others() -> None:
    store = MemoryStore()
    ours, theirs = await open_counter(store), await open_counter(store)
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    ours.subscribe(heard.put_nowait)
    for _ in range(3):
        await theirs.update(increment, author="agent", action="count")
    async with asyncio.timeout(5):
        revisions = [await heard.get() for _ in range(3)]
    assert ours.document == theirs.document == {"count": 3}
    assert revisions == theirs.history() == ours.history() == ours.since(0)
    assert [(entry.number, entry.author, entry.action) for entry in revisions] == [
        (1, "agent", "count"),
        (2, "agent", "count"),
        (3, "agent", "count"),
    ]


async def test_what_others_have_made_of_another_seed_is_one_revision_of_unknown_author() -> None:
    store = MemoryStore()
    ours = await SharedState.open(store, "counter", initial=lambda: {"count": 0, "id": "ours"})
    theirs = await SharedState.open(store, "counter", initial=lambda: {"count": 0, "id": "theirs"})
    heard: asyncio.Queue[Revision] = asyncio.Queue()
    ours.subscribe(heard.put_nowait)
    for number in (1, 2):
        async with theirs.change(author="agent") as draft:
            draft["count"] = number
    async with asyncio.timeout(5):
        revision = await heard.get()
    assert ours.document == theirs.document == {"count": 2, "id": "theirs"}
    assert (revision.author, revision.previous, revision.number) == ("system", 0, 2)
    assert apply({"count": 0, "id": "ours"}, revision.ops) == theirs.document
    assert apply(theirs.document, revision.inverse) == {"count": 0, "id": "ours"}
    assert (ours.since(1), ours.history()) == (None, [revision])


async def test_a_state_bound_to_a_call_carries_its_author_and_its_expectation_once() -> None:
    state = await open_counter()
    bound = state.bind(author="person", action="add", expected_revision=0)
    assert await bound.update(increment) == 1
    async with bound.change() as draft:
        draft.count += 1
    assert (bound.revision, bound.value.count, bound.document) == (2, 2, {"count": 2})
    assert [(entry.author, entry.action) for entry in state.since(0) or []] == [
        ("person", "add"),
        ("person", "add"),
    ]
    with pytest.raises(AttributeError, match=r"read ctx\.state\.value\.count, and write within"):
        bound.count  # type: ignore[attr-defined]  # noqa: B018
    stale = state.bind(author="person", action="add", expected_revision=0)
    with pytest.raises(RevisionConflict):
        await stale.update(increment)


# The store.


async def test_a_revision_is_stored_before_anybody_sees_it() -> None:
    store = SlowStore()
    state = await open_counter(store)
    heard: list[Revision] = []
    state.subscribe(heard.append)
    task = asyncio.create_task(state.update(increment))
    async with asyncio.timeout(5):
        await store.committing.wait()
        assert (state.revision, heard) == (0, [])
        store.gate.set()
        await task
    assert (state.revision, len(heard)) == (1, 1)


async def test_a_commit_that_has_begun_is_seen_through_when_its_task_is_cancelled() -> None:
    store = SlowStore()
    state = await open_counter(store)
    task = asyncio.create_task(state.update(increment))
    async with asyncio.timeout(5):
        await store.committing.wait()
        task.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (state.revision, state.document) == (1, {"count": 1})
    assert (await store.load("counter") or Stored(0, None)).revision == 1
    assert await state.update(increment) == 2


async def test_a_store_that_fails_rolls_the_change_back() -> None:
    store = SlowStore()
    store.gate.set()
    state = await open_counter(store)
    store.error = StoreError("the disk is full")
    with pytest.raises(StoreError):
        async with state.change() as draft:
            draft.count = 1
    with pytest.raises(DraftClosed):
        _ = draft.count
    store.error = None
    assert await state.update(increment) == 1


async def test_a_waiting_change_that_is_cancelled_leaves_the_queue() -> None:
    state = await open_counter()
    async with asyncio.timeout(5):
        async with state.change() as draft:
            draft.count = 1
            # A fresh context, as every request has.
            waiting = _detached_task(lambda: state.update(increment))
            await asyncio.sleep(0)  # noqa: TID251  # lets it begin to wait
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await state.update(increment) == 2


def _detached_task(start: Callable[[], Any]) -> "asyncio.Task[Any]":
    async def run() -> Any:
        return await start()

    return asyncio.get_running_loop().create_task(run(), context=contextvars.Context())


async def test_damage_is_reported_and_the_state_begins_anew() -> None:
    class DamagedStore(MemoryStore):
        async def load(self, key: str, since: int = 0) -> Stored | None:
            raise DamagedDocument("counter.json could not be read; it is kept as x")

    state = await open_counter(DamagedStore())
    assert state.document == {"count": 0}
    assert state.damage is not None
    assert "kept as x" in state.damage


async def test_what_a_grown_type_adds_is_committed_as_a_revision_of_its_own() -> None:
    store = MemoryStore()
    await commit(store, "counter", 0, {"future": 1}, [])
    state = await open_counter(store)
    assert (state.revision, state.document) == (2, {"future": 1, "count": 0})
    assert await held(store, "counter") == (2, {"future": 1, "count": 0})


async def test_nobody_sees_what_others_left_out() -> None:
    """A page reads every field of the type, also after somebody edited the file by hand."""
    store = MemoryStore()
    state = await open_counter(store)
    await state.update(increment)
    seen: list[object] = []
    state.subscribe(lambda revision: seen.append((revision.number, state.document)))
    await commit(store, "counter", 1, {"other": True}, [])
    async with state.change():
        assert seen == [(3, {"other": True, "count": 0})]
    assert state.since(1) is not None


async def test_a_document_of_another_type_is_refused_and_stays() -> None:
    store = MemoryStore()
    await commit(store, "counter", 0, {"count": "many"}, [])
    with pytest.raises(StateError, match="does not fit Counter"):
        await open_counter(store)
    assert await held(store, "counter") == (1, {"count": "many"})


async def test_a_cancellation_during_a_commit_that_conflicts_is_no_reason_to_try_again() -> None:
    store = SlowStore()
    state = await open_counter(store)
    runs: list[int] = []

    def count(draft: Counter) -> None:
        runs.append(1)
        increment(draft)

    task = asyncio.create_task(state.update(count))
    async with asyncio.timeout(5):
        await store.committing.wait()
        await MemoryStore.commit(store, "counter", 0, {"count": 5}, step(0))
        task.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (len(runs), state.document) == (1, {"count": 5})


async def test_what_others_commit_right_after_our_commit_is_seen() -> None:
    class Followed(MemoryStore):
        """Somebody else's commit comes before ours has returned, and is told only then."""

        async def commit(
            self, key: str, expected_revision: int, document: JSONValue, revision: Revision
        ) -> None:
            await super().commit(key, expected_revision, document, revision)
            if expected_revision == 0:
                await super().commit(key, 1, {"count": 7}, step(1))

    state = await open_counter(Followed())
    seen = asyncio.Event()
    state.subscribe(lambda revision: seen.set() if revision.number == 2 else None)
    await state.update(increment)
    async with asyncio.timeout(5):
        await seen.wait()
    assert state.document == {"count": 7}


async def test_a_draft_that_cannot_be_made_gives_the_turn_back() -> None:
    good = True

    class Picky(RootModel[list[int]]):
        @model_validator(mode="after")
        def check(self) -> "Picky":
            if not good:
                raise ValueError("not now")
            return self

    state = await SharedState.open(MemoryStore(), "k", Picky, initial=lambda: Picky([1]))
    good = False
    with pytest.raises(Exception, match="not now"):
        await state.update(lambda draft: None)
    good = True
    async with asyncio.timeout(5):
        await state.update(lambda draft: None)


# The end.


async def test_after_the_close_late_commits_are_refused() -> None:
    state = await open_counter()
    heard: list[Revision] = []
    state.subscribe(heard.append)
    entered, closed = threading.Event(), threading.Event()

    def late() -> None:
        with state.change() as draft:
            draft.count = 1
            entered.set()
            assert closed.wait(5)

    async with asyncio.timeout(5):
        task = asyncio.create_task(asyncio.to_thread(late))
        await asyncio.to_thread(entered.wait, 5)
        await state.aclose()
        closed.set()
        with pytest.raises(StateClosed):
            await task
    with pytest.raises(StateClosed):
        await state.update(increment)
    with pytest.raises(StateClosed):
        await state.change().__aenter__()
    assert (state.document, heard, state.closed) == ({"count": 0}, [], True)
    await state.aclose()


async def test_a_change_that_waits_when_the_state_closes_is_refused() -> None:
    state = await open_counter()
    async with asyncio.timeout(5):
        async with state.change():
            waiting = _detached_task(lambda: state.update(increment))
            await asyncio.sleep(0)  # noqa: TID251  # lets it begin to wait
        await state.aclose()
        with pytest.raises(StateClosed):
            await waiting


def test_a_thread_whose_loop_has_ended_is_refused() -> None:
    async def open_state() -> SharedState[Counter]:
        return await open_counter()

    state = asyncio.run(open_state())
    with pytest.raises(StateClosed), state.change():
        pass


async def test_closing_waits_for_a_commit_that_has_begun() -> None:
    store = SlowStore()
    state = await open_counter(store)
    task = asyncio.create_task(state.update(increment))
    async with asyncio.timeout(5):
        await store.committing.wait()
        closing = asyncio.create_task(state.aclose())
        await asyncio.sleep(0)  # noqa: TID251  # lets it begin to wait
        assert not closing.done()
        store.gate.set()
        await closing
        await task
    assert await held(store, "counter") == (1, {"count": 1})


async def test_a_listener_that_fails_hides_nothing_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = await open_counter()
    heard: list[Revision] = []

    def fail(revision: Revision) -> None:
        raise KeyError("x")

    state.subscribe(fail)
    state.subscribe(heard.append)
    assert await state.update(increment) == 1
    assert len(heard) == 1
    assert "listener" in caplog.text


async def test_nothing_of_a_change_needs_the_garbage_collector() -> None:
    state = await SharedState.open(MemoryStore(), "k", initial=lambda: {"items": [{"n": 0}]})

    def write(draft: Any) -> None:
        draft["items"][0]["n"] += 1
        draft["items"].append(draft["items"].pop(0))

    async def write_within(draft: Any) -> None:
        write(draft)

    def count() -> int:
        return sum(isinstance(known, (Recording, Change)) for known in gc.get_objects())

    await state.update(write)
    gc.collect()
    gc.disable()
    try:
        before = count()
        for _ in range(10):
            await state.update(write)
            await state.update(write_within)
            async with state.change() as draft:
                write(draft)
            del draft
        assert count() == before
    finally:
        gc.enable()


async def test_it_shows_nothing_of_the_state() -> None:
    state = await SharedState.open(MemoryStore(), "k", initial=lambda: {"secret": "hunter2"})
    assert "hunter2" not in repr(state)
    assert "hunter2" not in repr(state._live.document)


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def deeper(draft: Any) -> None:
    draft["other"] = {"b": draft["deep"]}


def deeper_by_a_move(draft: Any) -> None:
    draft["target"]["inner"]["deep"] = draft.pop("deep")


def deeper_in_a_list(draft: Any) -> None:
    draft["items"].append([draft["deep"]])


def deeper_one_by_one(draft: Any) -> None:
    for _ in range(3000):
        draft["deep"] = {"a": draft["deep"]}


def deeper_below_what_is_deep(draft: Any) -> None:
    lowest = draft["deep"]
    while "a" in lowest:
        lowest = lowest["a"]
    lowest["again"] = draft["target"]


@pytest.mark.parametrize(
    "write",
    [
        deeper,
        deeper_by_a_move,
        deeper_in_a_list,
        deeper_one_by_one,
        deeper_below_what_is_deep,
    ],
)
async def test_what_is_deep_already_cannot_be_put_too_deep(write: Callable[[Any], None]) -> None:
    """Such a document could neither be stored nor sent."""
    seed = {"deep": nested(199), "target": {"inner": {}}, "items": []}
    state = await SharedState.open(MemoryStore(), "k", initial=lambda: seed)
    await state.update(lambda draft: draft.update(a=1))
    before = state.document
    with pytest.raises(NotJSON, match="200 levels"):
        await state.update(write)
    assert (state.document is before, state.revision) == (True, 1)
    await state.update(lambda draft: draft.update(moved=draft.pop("deep")))
    assert state.revision == 2
