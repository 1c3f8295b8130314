import asyncio
import itertools
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from canvas_provider.canvas.action import Action
from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.instance import Outcome
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    DraftClosed,
    HandlerError,
    InvalidInput,
    NoHandler,
    NotAllowed,
    RevisionConflict,
    StateClosed,
    UnknownAction,
)
from canvas_provider.state.document import Change
from canvas_provider.types import MISSING, JSONValue
from tests.canvas.conftest import Make

# --- Inputs and results


@pytest.mark.parametrize("input", [MISSING, None, {}])
async def test_null_absent_and_empty_mean_the_same(make: Make, input: Any) -> None:
    canvas = make.canvas(
        input_schema={"type": "object", "properties": {"project": {"type": "string"}}},
        actions=[Action("long", handler=lambda ctx: ctx.input)],
    )

    @canvas.action
    async def typed(limit: int = 5) -> int:
        return limit

    @canvas.action
    def nothing() -> None: ...

    instance = make.instance(canvas)
    await instance.open(input)
    assert await instance.invoke("typed", input, author="agent") == Outcome(5, 0)
    assert await instance.invoke("nothing", input, author="agent") == Outcome(None, 0)
    assert await instance.invoke("long", input, author="agent") == Outcome({}, 0)


@pytest.mark.parametrize(
    ("input", "place"),
    [
        ({"n": "3", "pair": [1, "a"]}, "/n"),
        ({"n": True, "pair": [1, "a"]}, "/n"),
        ({"n": 3, "pair": [1, "a"], "notee": "secret"}, "/notee"),
        ({"n": 3}, "/pair"),
        ({"n": 3, "pair": [1]}, "/pair"),
        ({"n": 3, "pair": [1, 2]}, "/pair/1"),
        ("secret", "(root)"),
        ([], "(root)"),
    ],
)
@pytest.mark.parametrize("author", ["agent", "person", "system"])
async def test_an_input_that_does_not_fit_never_reaches_the_handler(
    make: Make, input: JSONValue, place: str, author: Any
) -> None:
    canvas = make.canvas()

    @canvas.action
    async def act(n: int, pair: tuple[int, str], note: str = "") -> None:
        raise AssertionError

    instance = await make.opened(canvas)
    with pytest.raises(InvalidInput) as caught:
        await instance.invoke("act", input, author=author)
    assert f"{place}: " in caught.value.message
    assert "secret" not in caught.value.message


async def test_three_point_zero_is_the_integer_three(make: Make) -> None:
    canvas = make.canvas()

    @canvas.action
    async def act(n: int) -> str:
        return repr(n)

    instance = await make.opened(canvas)
    assert (await instance.invoke("act", {"n": 3.0}, author="agent")).result == "3"


async def test_a_result_that_json_cannot_carry_is_a_named_error(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    canvas = make.canvas()

    @canvas.action
    async def act() -> Any:
        return {"cards": [{"weight": float("nan")}]}

    instance = await make.opened(canvas)
    with pytest.raises(HandlerError, match="/cards/0/weight: NaN"):
        await instance.invoke("act", author="agent")


# --- Who may do what, and when


async def test_an_action_is_for_its_audience(make: Make) -> None:
    canvas = make.canvas()
    for audience in ("agent", "person", "both"):
        canvas.action(name=audience, audience=audience)(lambda: "done")
    instance = await make.opened(canvas)

    async def code(name: str, author: Any) -> str:
        try:
            return str((await instance.invoke(name, author=author)).result)
        except NotAllowed as error:
            return error.code

    assert [await code(name, "agent") for name in ("agent", "person", "both")] == [
        "done",
        "not_for_agent",
        "done",
    ]
    assert [await code(name, "person") for name in ("agent", "person", "both")] == [
        "not_for_person",
        "done",
        "done",
    ]
    assert [await code(name, "system") for name in ("agent", "person")] == ["done", "done"]


async def test_unknown_actions_and_those_without_handler_say_which(make: Make) -> None:
    instance = await make.opened(make.canvas(actions=[Action("later"), Action("other")]))
    with pytest.raises(UnknownAction, match="Known actions: later, other"):
        await instance.invoke("nope", author="agent")
    with pytest.raises(NoHandler, match='"later"') as caught:
        await instance.invoke("later", author="agent")
    assert caught.value.code == "canvas_action_no_handler"


async def test_an_instance_that_is_not_open_takes_no_action(make: Make) -> None:
    canvas = make.canvas()
    canvas.action(name="act")(lambda: None)
    instance = make.instance(canvas)
    with pytest.raises(CanvasError) as caught:
        await instance.invoke("act", author="agent")
    assert caught.value.code == "instance_not_open"
    await instance.open()
    await instance.close(explicit=True)
    with pytest.raises(Closing):
        await instance.invoke("act", author="agent")
    with pytest.raises(Closing):
        await instance.open()
    assert instance.phase == "closed"


# --- Errors of the author's code


async def test_an_authors_error_is_the_answer(make: Make) -> None:
    canvas = make.canvas()

    @canvas.action
    def act() -> None:
        raise CanvasError("card_not_found", "There is no card '7'.")

    instance = await make.opened(canvas)
    with pytest.raises(CanvasError) as caught:
        await instance.invoke("act", author="agent")
    assert (caught.value.code, caught.value.message) == ("card_not_found", "There is no card '7'.")


@pytest.mark.parametrize("name", ["coroutine", "thread"])
async def test_an_unexpected_error_is_logged_and_leaks_nothing(
    make: Make, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    canvas = make.canvas()

    @canvas.action
    async def coroutine(key: str) -> None:
        raise KeyError("secret")

    @canvas.action
    def thread(key: str) -> None:
        raise KeyError("secret")

    instance = await make.opened(canvas)
    with pytest.raises(HandlerError) as caught:
        await instance.invoke(name, {"key": "input value"}, author="agent")
    assert caught.value.code == "canvas_handler_error"
    assert "secret" not in caught.value.message
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "input value" not in caplog.text
    assert "Traceback" in caplog.text


# --- Handlers in threads


async def test_a_plain_function_runs_in_a_daemon_thread(make: Make) -> None:
    canvas = make.canvas()

    @canvas.action
    def act() -> list[bool]:
        thread = threading.current_thread()
        return [thread is threading.main_thread(), thread.daemon]

    instance = await make.opened(canvas)
    assert (await instance.invoke("act", author="agent")).result == [False, True]


async def test_a_plain_function_that_gives_a_coroutine_is_awaited(make: Make) -> None:
    async def answer() -> int:
        return 42

    canvas = make.canvas(actions=[Action("act", handler=lambda ctx: answer())])
    instance = await make.opened(canvas)
    assert (await instance.invoke("act", author="agent")).result == 42


async def test_a_thread_changes_the_state_and_emits(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    def act(ctx: CanvasContext, n: int) -> int:
        with ctx.state.change() as board:
            board["n"] = n
        ctx.emit("done", {"n": n})
        return n

    instance = await make.opened(canvas)
    heard = asyncio.Event()
    instance.subscribe_events(lambda name, data: heard.set())
    async with asyncio.timeout(5):
        assert await instance.invoke("act", {"n": 3}, author="person") == Outcome(3, 1)
        await heard.wait()
    assert instance.state is not None
    assert instance.state.document == {"n": 3}
    (revision,) = instance.state.since(0) or []
    assert (revision.author, revision.action) == ("person", "act")


async def test_a_thread_gets_the_draft_too(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    def act(board: dict, n: int) -> bool:  # type: ignore[type-arg]
        board["n"] = n
        return threading.current_thread() is threading.main_thread()

    instance = await make.opened(canvas)
    assert await instance.invoke("act", {"n": 3}, author="agent") == Outcome(False, 1)


async def test_a_late_commit_of_a_thread_is_refused(make: Make) -> None:
    canvas = make.canvas(state=dict, state_key=lambda ctx: "shared", close_timeout=0.01)
    inside, go_on = threading.Event(), threading.Event()
    outcome: list[BaseException | None] = []

    @canvas.action
    def act(ctx: CanvasContext) -> None:
        inside.set()
        go_on.wait(5)
        try:
            with ctx.state.change() as board:
                board["late"] = True
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    other = await make.opened(canvas, instance_id="other")
    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        call = asyncio.create_task(instance.invoke("act", author="agent"))
        await asyncio.to_thread(inside.wait, 5)
        await instance.close(explicit=True)
        with pytest.raises(Closing):
            await call
        go_on.set()
        while not outcome:
            await asyncio.to_thread(lambda: None)
    assert outcome[0] is not None
    assert other.state is not None
    assert other.state.document == {}


async def test_a_thread_that_is_out_of_time_changes_nothing_any_more(make: Make) -> None:
    canvas = make.canvas(state=dict)
    go_on = threading.Event()
    outcome: list[BaseException] = []

    @contextmanager
    def noting() -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            outcome.append(error)

    @canvas.action(timeout=0.01)
    def act(ctx: CanvasContext) -> None:
        go_on.wait(5)
        with noting(), ctx.state.change() as board:
            board["late"] = True

    @canvas.action(timeout=0.01)
    def injected(board: dict) -> None:  # type: ignore[type-arg]
        go_on.wait(5)
        with noting():
            board["late"] = True

    @canvas.action(timeout=0.01)
    def kept(ctx: CanvasContext) -> None:
        state = ctx.state
        go_on.wait(5)
        with noting(), state.change() as board:
            board["late"] = True

    @canvas.action(timeout=0.01)
    def within(ctx: CanvasContext) -> None:
        with noting(), ctx.state.change() as board:
            board["early"] = True
            go_on.wait(5)

    names = ("act", "injected", "kept", "within")
    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        for name in names:
            with pytest.raises(ActionTimeout):
                await instance.invoke(name, author="agent")
        assert instance.state is not None
        async with instance.state.change():
            pass  # nobody waits for a thread that is out of time
        go_on.set()
        while len(outcome) < len(names):
            await asyncio.to_thread(lambda: None)
    assert {type(error) for error in outcome} == {StateClosed, DraftClosed}
    assert instance.state.document == {}


# --- The open change of the state


class Card(BaseModel):
    title: str
    due: date | None = None


class Board(BaseModel):
    cards: list[Card] = []

    def find(self, title: str) -> Card:
        return next(card for card in self.cards if card.title == title)


@dataclass
class Item:
    title: str
    due: date | None = None


@dataclass
class Shelf:
    cards: list[Item] = field(default_factory=list)

    def find(self, title: str) -> Item:
        return next(card for card in self.cards if card.title == title)


@pytest.mark.parametrize(("state", "card"), [(Board, Card), (Shelf, Item)])
async def test_a_typed_draft_is_the_authors_type(make: Make, state: Any, card: Any) -> None:
    canvas = make.canvas(state=state)

    async def add(board: Any, title: str, due: date) -> Any:
        assert isinstance(board, state)
        board.cards.append(card(title=title, due=due))
        return board.find(title)

    add.__annotations__["board"] = state
    canvas.action(add)
    instance = await make.opened(canvas)
    outcome = await instance.invoke("add", {"title": "a", "due": "2026-11-30"}, author="agent")
    assert outcome == Outcome({"title": "a", "due": "2026-11-30"}, 1)
    assert instance.state is not None
    assert instance.state.document == {"cards": [{"title": "a", "due": "2026-11-30"}]}


async def test_a_result_is_made_before_the_commit(make: Make) -> None:
    canvas = make.canvas(state=Board)

    @canvas.action
    async def act(board: Board) -> Any:
        board.cards.append(Card(title="a"))
        return [board.cards[0], float("inf")]

    instance = await make.opened(canvas)
    with pytest.raises(HandlerError, match="/1: "):
        await instance.invoke("act", author="agent")
    assert instance.state is not None
    assert instance.state.document == {"cards": []}


async def test_an_injected_draft_is_one_revision_with_its_author(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def add(board: dict, ctx: CanvasContext, title: str) -> list[str]:  # type: ignore[type-arg]
        board.setdefault("cards", []).append(title)
        assert ctx.author == "agent"
        return board["cards"]  # type: ignore[no-any-return]

    instance = await make.opened(canvas)
    assert await instance.invoke("add", {"title": "a"}, author="agent") == Outcome(["a"], 1)
    assert await instance.invoke("add", {"title": "b"}, author="agent") == Outcome(["a", "b"], 2)
    assert instance.state is not None
    revisions = instance.state.since(0)
    assert revisions is not None
    assert [(one.author, one.action) for one in revisions] == [("agent", "add")] * 2


async def test_nothing_written_is_no_revision(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def look(board: dict) -> int:  # type: ignore[type-arg]
        return len(board)

    instance = await make.opened(canvas)
    assert await instance.invoke("look", author="agent") == Outcome(0, 0)


@pytest.mark.parametrize("how", ["raises", "not json", "not json state", "times out"])
async def test_a_failed_action_leaves_the_state_as_it_was(
    make: Make, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action(timeout=0.01 if how == "times out" else None)
    async def act(board: dict) -> Any:  # type: ignore[type-arg]
        board["n"] = 1
        match how:
            case "raises":
                raise CanvasError("no", "No.")
            case "not json":
                return float("nan")
            case "not json state":
                board["n"] = float("nan")
            case "times out":
                await asyncio.Event().wait()

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        with pytest.raises(CanvasError):
            await instance.invoke("act", author="agent")
        assert instance.state is not None
        assert (instance.state.revision, instance.state.document) == (0, {})
        # And the next change does not wait for the failed one.
        async with instance.state.change() as board:
            board["n"] = 2


async def test_a_timeout_answers_with_the_time(make: Make) -> None:
    canvas = make.canvas()

    @canvas.action(timeout=0.01)
    async def act() -> None:
        await asyncio.Event().wait()

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        with pytest.raises(ActionTimeout, match=r"0\.01 s"):
            await instance.invoke("act", author="agent")


async def test_a_stale_writer_is_refused_at_its_first_change_only(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def injected(board: dict) -> None:  # type: ignore[type-arg]
        board["n"] = board.get("n", 0) + 1

    @canvas.action
    async def twice(ctx: CanvasContext) -> None:
        for _ in range(2):
            async with ctx.state.change() as board:
                board["n"] = board.get("n", 0) + 1

    instance = await make.opened(canvas)
    for name in ("injected", "twice"):
        with pytest.raises(RevisionConflict):
            await instance.invoke(name, author="person", expected_revision=7)
    await instance.invoke("twice", author="person", expected_revision=0)
    assert (await instance.invoke("injected", author="person", expected_revision=2)).revision == 3


async def test_a_lost_race_runs_the_handler_again_with_new_arguments(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvas = make.canvas(state=dict)
    runs: list[list[str]] = []

    @canvas.action
    async def add(board: dict, tags: list[str]) -> list[str]:  # type: ignore[type-arg]
        runs.append(list(tags))
        tags.append("mine")
        board["tags"] = tags
        return tags

    instance = await make.opened(canvas)
    live = instance.state._live  # type: ignore[union-attr]
    commit = live.commit
    lost: list[int] = []

    async def lose_once(change: Change, *arguments: Any, **options: Any) -> Any:
        if not lost:
            lost.append(1)
            # The turn is kept for the next try.
            change.rollback()
            raise RevisionConflict(0, 1)
        return await commit(change, *arguments, **options)

    monkeypatch.setattr(live, "commit", lose_once)
    outcome = await instance.invoke("add", {"tags": ["a"]}, author="agent")
    assert outcome.result == ["a", "mine"]
    assert runs == [["a"], ["a"]]


async def test_a_change_inside_the_injected_one_is_an_error_not_a_deadlock(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def act(board: dict, ctx: CanvasContext) -> None:  # type: ignore[type-arg]
        async with ctx.state.change():
            pass

    @canvas.action
    def thread(board: dict, ctx: CanvasContext) -> None:  # type: ignore[type-arg]
        with ctx.state.change():
            pass

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        for name in ("act", "thread"):
            with pytest.raises(HandlerError):
                await instance.invoke(name, author="agent")
    assert "ChangeInProgress" in caplog.text


# --- Opening


async def test_opening_tells_title_status_and_url(make: Make) -> None:
    canvas = make.canvas()

    @canvas.on_open
    async def opened(ctx: CanvasContext, project: str = "default") -> Opened:
        return Opened(title=f"Board {project}", status=f"again: {ctx.reopened}")

    instance = make.instance(canvas)
    phases: list[str] = [instance.phase]
    assert await instance.open() == Opened("Board default", "again: False")
    phases.append(instance.phase)
    assert phases == ["opening", "open"]
    assert await instance.open({"project": "x"}) == Opened("Board x", "again: True")
    assert (instance.title, instance.status, instance.url) == ("Board x", "again: True", None)


async def test_a_restored_instance_is_reopened_from_the_start(make: Make) -> None:
    canvas = make.canvas(open=lambda ctx: {"title": str(ctx.reopened)})
    assert (await make.instance(canvas).open(reopened=True)).title == "True"


async def test_the_long_form_answers_a_dict_as_in_the_node_sdk(make: Make) -> None:
    canvas = make.canvas(
        open=lambda ctx: {"url": "http://127.0.0.1:1/", "title": ctx.input["a"], "status": "ok"}
    )
    instance = make.instance(canvas)
    assert await instance.open({"a": "T"}) == Opened("T", "ok", "http://127.0.0.1:1/")
    assert instance.url == "http://127.0.0.1:1/"


@pytest.mark.parametrize(
    "answer",
    ["http://127.0.0.1:1/", 5, {"titel": "x"}, {"title": 5}, Opened(url="file:///etc/passwd")],
)
async def test_an_answer_to_open_that_means_nothing_is_an_error(
    make: Make, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    instance = make.instance(make.canvas(open=lambda ctx: answer))
    with pytest.raises(HandlerError):
        await instance.open()
    assert instance.phase == "opening"


async def test_the_open_input_is_checked(make: Make) -> None:
    canvas = make.canvas()

    @canvas.on_open
    def opened(project: str) -> None: ...

    instance = make.instance(canvas)
    with pytest.raises(InvalidInput, match='canvas "kanban" open input: /project: is missing'):
        await instance.open()
    await instance.open({"project": "x"})


async def test_a_failed_first_open_leaves_nothing_and_can_be_tried_again(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []
    broken = [True]

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[str]:
        log.append("enter")
        yield "resource"
        log.append("leave")

    def opened(ctx: CanvasContext) -> None:
        log.append(ctx.lifespan)
        if broken:
            raise ValueError("secret")

    instance = make.instance(make.canvas(state=dict, lifespan=lifespan, open=opened))
    with pytest.raises(HandlerError) as caught:
        await instance.open()
    assert "secret" not in caught.value.message
    assert (instance.phase, instance.state) == ("opening", None)
    assert log == ["enter", "resource", "leave"]
    broken.clear()
    await instance.open()
    await instance.open()
    assert log == ["enter", "resource", "leave", "enter", "resource", "resource"]
    await instance.close(explicit=False)
    assert log[-1] == "leave"


async def test_a_failed_lifespan_fails_the_open(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        raise ValueError("no")
        yield

    with pytest.raises(HandlerError):
        await make.instance(make.canvas(lifespan=lifespan)).open()


async def test_a_failed_reopen_leaves_the_old_state(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def opened(ctx: CanvasContext) -> Opened:
        if ctx.input:
            raise CanvasError("no", "No.")
        return Opened("first", "ready")

    instance = make.instance(make.canvas(open=opened, state=dict))
    await instance.open()
    with pytest.raises(CanvasError, match="No."):
        await instance.open({"a": 1})
    assert (instance.phase, instance.title, instance.status) == ("open", "first", "ready")
    assert instance.state is not None


async def test_opening_has_its_time(make: Make) -> None:
    async def opened(ctx: CanvasContext) -> None:
        await asyncio.Event().wait()

    instance = make.instance(make.canvas(open=opened, open_timeout=0.01))
    async with asyncio.timeout(5):
        with pytest.raises(ActionTimeout, match="Opening"):
            await instance.open()
    assert instance.phase == "opening"


async def test_a_timeout_error_of_the_handler_is_not_ours(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async def opened(ctx: CanvasContext) -> None:
        raise TimeoutError

    with pytest.raises(HandlerError):
        await make.instance(make.canvas(open=opened)).open()


async def test_concurrent_opens_of_one_input_share_an_answer_others_take_turns(make: Make) -> None:
    running = 0
    seen: list[Any] = []
    started, go_on = asyncio.Event(), asyncio.Event()

    async def opened(ctx: CanvasContext) -> Opened:
        nonlocal running
        running += 1
        assert running == 1
        seen.append((ctx.input, ctx.reopened))
        started.set()
        await go_on.wait()
        running -= 1
        return Opened(title=str(ctx.input))

    instance = make.instance(make.canvas(open=opened))
    async with asyncio.timeout(5):
        inputs: list[JSONValue] = [{}, None, {"a": 1}, {"a": 1}]
        opens = [asyncio.create_task(instance.open(one)) for one in inputs]
        await started.wait()
        for _ in range(5):
            await asyncio.sleep(0)  # noqa: TID251  # lets all that can run do so, no time passes
        go_on.set()
        titles = [(await one).title for one in opens]
    assert titles == ["{}", "{}", "{'a': 1}", "{'a': 1}"]
    assert seen == [({}, False), ({"a": 1}, True)]


async def test_an_open_whose_caller_gives_up_goes_on(make: Make) -> None:
    go_on = asyncio.Event()

    async def opened(ctx: CanvasContext) -> None:
        await go_on.wait()

    instance = make.instance(make.canvas(open=opened))
    async with asyncio.timeout(5):
        first = asyncio.create_task(instance.open())
        second = asyncio.create_task(instance.open())
        await asyncio.sleep(0)  # noqa: TID251  # lets the tasks begin, no time passes
        first.cancel()
        go_on.set()
        assert await second == Opened()
        with pytest.raises(asyncio.CancelledError):
            await first


# --- State keys and seeds


async def test_a_factory_seeds_a_new_document_only(make: Make) -> None:
    seeds: list[str] = []

    def first(ctx: CanvasContext) -> dict[str, Any]:
        seeds.append(ctx.instance_id)
        return {"owner": ctx.instance_id, "project": ctx.input["project"]}

    canvas = make.canvas(state=first, state_key=lambda ctx: ctx.input["project"])
    one, two = make.instance(canvas, "one"), make.instance(canvas, "two")
    await one.open({"project": "x"})
    await two.open({"project": "x"})
    assert one.state is not None
    assert two.state is not None
    assert one.state.document == two.state.document == {"owner": "one", "project": "x"}
    assert seeds == ["one"]


async def test_each_instance_has_its_own_document_unless_a_key_says_otherwise(make: Make) -> None:
    canvas = make.canvas(state=dict)

    @canvas.action
    async def write(board: dict) -> None:  # type: ignore[type-arg]
        board["n"] = 1

    one = await make.opened(canvas, instance_id="one")
    two = await make.opened(canvas, instance_id="two")
    await one.invoke("write", author="agent")
    assert two.state is not None
    assert two.state.document == {}


async def test_an_open_instance_does_not_change_its_document(make: Make) -> None:
    canvas = make.canvas(state=dict, state_key=lambda ctx: ctx.input["project"])
    instance = make.instance(canvas)
    await instance.open({"project": "x"})
    with pytest.raises(CanvasError, match="under another instance id") as caught:
        await instance.open({"project": "y"})
    assert caught.value.code == "instance_shows_other_document"
    await instance.open({"project": "x"})


async def test_a_key_that_changes_by_itself_does_not_change_the_open_document(make: Make) -> None:
    """A board by date, focused after midnight."""
    today = ["monday"]
    canvas = make.canvas(
        state=dict,
        state_key=lambda ctx: f"{ctx.input.get('project')}/{ctx.input.get('day', *today)}",
    )
    instance = make.instance(canvas)
    await instance.open({"project": "x"})
    document = instance.state
    today[:] = ["tuesday"]
    await instance.open({"project": "x"})
    await instance.open({"project": "x", "wide": True})
    await instance.open({"project": "x", "day": "monday"})
    assert instance.state is document
    with pytest.raises(CanvasError, match="under another instance id"):
        await instance.open({"project": "y"})
    with pytest.raises(CanvasError, match="under another instance id"):
        await instance.open({"project": "x", "day": "sunday"})
    await instance.open({"project": "x", "day": "monday"})
    await instance.close(explicit=True)
    later = make.instance(canvas)
    await later.open({"project": "x"})
    assert later.state is not None
    await later.close(explicit=True)


async def test_the_same_input_is_never_asked_for_its_document_again(make: Make) -> None:
    """Whatever picks one then, such as a random number, the panel keeps what it shows."""
    numbers = itertools.count()
    canvas = make.canvas(state=dict, state_key=lambda ctx: f"board-{next(numbers)}")
    instance = await make.opened(canvas)
    document = instance.state
    await instance.open()
    assert instance.state is document


async def test_an_open_handler_that_swallows_its_cancellation_does_not_hold_up_a_close(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def opened(ctx: CanvasContext) -> None:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    canvas = make.canvas(open=opened, state=dict, close_timeout=0.01)
    instance = make.instance(canvas)
    opening = asyncio.create_task(instance.open())
    try:
        async with asyncio.timeout(5):
            await begun.wait()
            await instance.close(explicit=True)
    finally:
        release.set()
    assert (instance.phase, instance.state) == ("closed", None)
    assert "took longer than 0.01 s" in caplog.text
    with pytest.raises(Closing):
        await opening
    assert instance.state is None


@pytest.mark.parametrize("key", ["", 5, None])
async def test_a_state_key_is_text(make: Make, key: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(HandlerError):
        await make.instance(make.canvas(state=dict, state_key=lambda ctx: key)).open()


# --- Title and status


async def test_an_update_is_told_to_the_host_if_something_changes(make: Make) -> None:
    canvas = make.canvas(open=lambda ctx: Opened("Board", "ready"))

    @canvas.action
    async def act(ctx: CanvasContext, status: str) -> None:
        await ctx.instance.update(status=status)

    instance = await make.opened(canvas)
    await instance.invoke("act", {"status": "ready"}, author="agent")
    assert make.told == []
    await instance.invoke("act", {"status": "busy"}, author="agent")
    assert make.told == [(None, "busy")]
    assert (instance.title, instance.status) == ("Board", "busy")


async def test_an_update_outlives_a_focus_but_not_another_input(make: Make) -> None:
    instance = make.instance(make.canvas(open=lambda ctx: Opened("Board", str(ctx.input))))
    await instance.open()
    await instance.update(title="Live")
    assert await instance.open() == Opened("Live", "{}")
    assert await instance.open({"a": 1}) == Opened("Board", "{'a': 1}")


async def test_an_update_that_the_host_refuses_changes_nothing(make: Make) -> None:
    async def refuse(*arguments: Any) -> None:
        raise ValueError("no")

    instance = await make.opened(make.canvas(), update=refuse)
    with pytest.raises(ValueError, match="no"):
        await instance.update(title="x")
    assert instance.title is None
    assert await instance.open() == Opened()


async def test_an_update_inside_on_open_is_refused(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[CanvasContext] = []

    async def opened(ctx: CanvasContext) -> None:
        kept.append(ctx)
        await ctx.instance.update(title="x")

    instance = make.instance(make.canvas(open=opened))
    with pytest.raises(HandlerError):
        await instance.open()
    assert "return Opened(title=..., status=...) instead" in caplog.text
    await make.opened(make.canvas(open=lambda ctx: kept.append(ctx)))
    await kept[-1].instance.update(title="later")
    assert make.told == [("later", None)]


# --- Closing


async def test_on_close_runs_for_an_explicit_close_only(make: Make) -> None:
    closed: list[tuple[str, Any]] = []
    canvas = make.canvas(
        state=dict, on_close=lambda ctx: closed.append((ctx.instance_id, ctx.state.document))
    )
    one = await make.opened(canvas, instance_id="one")
    two = await make.opened(canvas, instance_id="two")
    await one.close(explicit=True)
    await two.close(explicit=False)
    never_open = make.instance(canvas, "three")
    await never_open.close(explicit=True)
    assert closed == [("one", {})]
    assert {i.phase for i in (one, two, never_open)} == {"closed"}
    assert one.state is None
    assert repr(make.registry) == "<StateRegistry of 0 documents>"


async def test_on_close_may_change_the_state(make: Make) -> None:
    canvas = make.canvas(state=dict, state_key=lambda ctx: "shared")

    @canvas.on_close
    async def closed(board: dict) -> None:  # type: ignore[type-arg]
        board["closed"] = True

    other = await make.opened(canvas, instance_id="other")
    await (await make.opened(canvas)).close(explicit=True)
    assert other.state is not None
    assert other.state.document == {"closed": True}


def fail(ctx: CanvasContext) -> None:
    raise ValueError("no")


async def hang(ctx: CanvasContext) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(("handler", "said"), [(fail, "failed"), (hang, "took longer than")])
async def test_a_close_succeeds_whatever_the_author_does(
    make: Make, handler: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        yield
        await handler(ctx) if handler is hang else handler(ctx)

    instance = await make.opened(
        make.canvas(state=dict, on_close=handler, lifespan=lifespan, close_timeout=0.01)
    )
    async with asyncio.timeout(5):
        await asyncio.gather(instance.close(explicit=True), instance.close(explicit=True))
    assert (instance.phase, instance.state) == ("closed", None)
    assert [record.getMessage().split(" of ")[0] for record in caplog.records] == [
        "on_close",
        "lifespan",
    ]
    assert said in caplog.text


async def test_a_close_lets_a_running_action_finish_and_refuses_new_ones(make: Make) -> None:
    canvas = make.canvas(state=dict, state_key=lambda ctx: "shared")
    started, go_on = asyncio.Event(), asyncio.Event()

    @canvas.action
    async def act(board: dict) -> str:  # type: ignore[type-arg]
        started.set()
        await go_on.wait()
        board["done"] = True
        return "done"

    other = await make.opened(canvas, instance_id="other")
    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        call = asyncio.create_task(instance.invoke("act", author="agent"))
        await started.wait()
        closing = asyncio.create_task(instance.close(explicit=True))
        await asyncio.sleep(0)  # noqa: TID251  # lets the close begin, no time passes
        await asyncio.sleep(0)  # noqa: TID251  # and its task
        assert instance.phase == "closing"
        with pytest.raises(Closing):
            await instance.invoke("act", author="person")
        go_on.set()
        assert (await call).result == "done"
        await closing
    assert other.state is not None
    assert other.state.document == {"done": True}


async def test_an_action_that_outstays_the_close_is_ended(make: Make) -> None:
    canvas = make.canvas(close_timeout=0.01)
    started, ended = asyncio.Event(), asyncio.Event()

    @canvas.action
    async def act() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        call = asyncio.create_task(instance.invoke("act", author="agent"))
        await started.wait()
        await instance.close(explicit=True)
        assert ended.is_set()
        with pytest.raises(Closing, match='"act"'):
            await call


async def test_an_end_of_the_process_gives_actions_a_moment_whatever_a_close_would(
    make: Make,
) -> None:
    canvas = make.canvas(close_timeout=3600.0)
    started = asyncio.Event()

    @canvas.action
    async def act() -> None:
        started.set()
        await asyncio.Event().wait()

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        call = asyncio.create_task(instance.invoke("act", author="agent"))
        await started.wait()
        await instance.close(explicit=False)
        with pytest.raises(Closing, match='"act"'):
            await call


async def test_a_close_that_is_cancelled_cuts_its_step_short_and_lets_go(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []
    entered = asyncio.Event()

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        yield
        log.append("left")

    async def closed(ctx: CanvasContext) -> None:
        entered.set()
        await asyncio.Event().wait()

    canvas = make.canvas(state=dict, on_close=closed, lifespan=lifespan, close_timeout=2.0)
    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        closing = asyncio.create_task(instance.close(explicit=True))
        await entered.wait()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert (log, instance.phase, instance.state) == (["left"], "closed", None)
    assert "took longer" not in caplog.text


async def test_a_close_ends_an_open_that_is_under_way(make: Make) -> None:
    log: list[str] = []
    entered = asyncio.Event()

    @asynccontextmanager
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        yield
        log.append("left")

    async def opened(ctx: CanvasContext) -> None:
        entered.set()
        await asyncio.Event().wait()

    instance = make.instance(make.canvas(lifespan=lifespan, open=opened, state=dict))
    async with asyncio.timeout(5):
        opening = asyncio.create_task(instance.open())
        await entered.wait()
        await instance.close(explicit=True)
        with pytest.raises(Closing):
            await opening
    assert log == ["left"]
    assert (instance.phase, instance.state) == ("closed", None)


async def test_a_cancelled_close_still_lets_go_of_the_document(make: Make) -> None:
    entered = asyncio.Event()

    async def closed(ctx: CanvasContext) -> None:
        entered.set()
        await asyncio.Event().wait()

    instance = await make.opened(make.canvas(on_close=closed, state=dict))
    async with asyncio.timeout(5):
        closing = asyncio.create_task(instance.close(explicit=True))
        await entered.wait()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
    assert (instance.phase, instance.state) == ("closed", None)


async def test_a_cancelled_call_passes_through(make: Make) -> None:
    canvas = make.canvas()
    started = asyncio.Event()

    @canvas.action
    async def act() -> None:
        started.set()
        await asyncio.Event().wait()

    instance = await make.opened(canvas)
    async with asyncio.timeout(5):
        call = asyncio.create_task(instance.invoke("act", author="agent"))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


# --- Contexts


async def test_a_context_knows_its_call(make: Make) -> None:
    names = [
        "instance_id",
        "canvas_id",
        "extension_id",
        "session_id",
        "action_name",
        "author",
        "host",
        "url",
        "input",
    ]
    canvas = make.canvas(
        actions=[
            Action("act", handler=lambda ctx: {name: getattr(ctx, name) for name in names}),
            Action("where", handler=lambda ctx: ctx.session.working_directory),
            Action("state", handler=lambda ctx: ctx.state),
            Action("panel", handler=lambda ctx: [ctx.instance.id, ctx.instance.url, repr(ctx)]),
        ]
    )
    instance = await make.opened(canvas)
    instance.url = "http://127.0.0.1:1/token/"
    assert (await instance.invoke("act", {"a": 1}, author="person")).result == {
        "instance_id": "panel",
        "canvas_id": "kanban",
        "extension_id": "project:kanban",
        "session_id": "session",
        "action_name": "act",
        "author": "person",
        "host": {},
        "url": "http://127.0.0.1:1/token/",
        "input": {"a": 1},
    }
    assert (await instance.invoke("where", author="agent")).result == "/project"
    panel = (await instance.invoke("panel", {"secret": 1}, author="agent")).result
    assert isinstance(panel, list)
    assert panel[:2] == ["panel", instance.url]
    assert "token" not in str(panel[2])
    assert "secret" not in str(panel[2])


async def test_a_context_without_state_says_what_to_pass(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    instance = await make.opened(make.canvas(actions=[Action("a", handler=lambda ctx: ctx.state)]))
    with pytest.raises(HandlerError):
        await instance.invoke("a", author="agent")
    assert "pass state= to create_canvas" in caplog.text
