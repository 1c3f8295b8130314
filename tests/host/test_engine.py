"""The life cycle of canvas instances, without I/O: requests in, effects out."""

from typing import cast

import pytest

from canvas_provider.host.effect import Answer, Call, Emit, Refuse, Warn
from canvas_provider.host.engine import Engine
from canvas_provider.protocol.copilot import Method
from canvas_provider.types import MISSING, JSONObject, JSONValue

BOARD: JSONObject = {
    "id": "board",
    "displayName": "Board",
    "description": "d",
    "inputSchema": {"properties": {"k": {"type": "integer"}}},
    "actions": [{"name": "move", "inputSchema": {"required": ["to"]}}],
}
OTHER: JSONObject = {"id": "other", "displayName": "Other", "description": "d"}
REFERENCE: JSONObject = {"instanceId": "one", "extensionId": "project:f", "canvasId": "board"}


class Driver:
    """An engine with one provider, and a short name for each step."""

    def __init__(self, *canvases: JSONObject) -> None:
        self.engine = Engine(session_id="s1", working_directory="/work")
        self.engine.attach("project:f", "f", "/ext")
        self.events: list[tuple[str, JSONObject]] = []
        self.outcomes: dict[int, JSONValue | Exception] = {}
        self.calls: list[Call] = []
        self.warnings: list[str] = []
        self.declare(*(canvases or (BOARD, OTHER)))
        self.events.clear()

    def declare(self, *canvases: JSONObject) -> None:
        self.engine.declare("project:f", list(canvases))
        self.apply()

    def detach(self) -> None:
        self.engine.detach("project:f")
        self.apply()

    def attach(self, *canvases: JSONObject) -> None:
        self.engine.attach("project:f", "f", "/ext")
        self.declare(*(canvases or (BOARD, OTHER)))

    def apply(self) -> None:
        for effect in self.engine.effects():
            match effect:
                case Call():
                    self.calls.append(effect)
                case Emit(type, data):
                    self.events.append((type.removeprefix("session.canvas."), data))
                case Answer(ticket, value):
                    self.outcomes[ticket] = value
                case Refuse(ticket, reason):
                    self.outcomes[ticket] = reason
                case Warn(message):
                    self.warnings.append(message)

    def open(self, canvas_id: str = "board", instance_id: str = "one", **rest: JSONValue) -> int:
        ticket = self.engine.open(canvas_id, instance_id, rest.get("input", MISSING))
        self.apply()
        return ticket

    def invoke(self, instance_id: str = "one", name: str = "move", **rest: JSONValue) -> int:
        ticket = self.engine.invoke(instance_id, name, rest.get("input", MISSING))
        self.apply()
        return ticket

    def close(self, instance_id: str = "one") -> int:
        ticket = self.engine.close(instance_id)
        self.apply()
        return ticket

    def answer(self, value: JSONValue = None, *, index: int = 0) -> None:
        self.engine.receive_answer(self.calls.pop(index).call, value)
        self.apply()

    def fail(self, message: str, data: JSONValue = None) -> None:
        self.engine.receive_error(self.calls.pop(0).call, message, data)
        self.apply()

    def opened(self, value: JSONValue = None, **rest: JSONValue) -> JSONValue:
        ticket = self.open(**rest)  # type: ignore[arg-type]  # names of open()
        self.answer(value)
        return cast(JSONValue, self.outcomes[ticket])

    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def message(self, ticket: int) -> str:
        return str(self.outcomes[ticket])


def test_the_first_open_calls_the_provider_and_tells_of_it_twice() -> None:
    """Specification: facts 3.1, 5.8; the order was recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    ticket = driver.open(input={"k": 1})
    (call,) = driver.calls
    assert (call.extension_id, call.method) == ("project:f", Method.CANVAS_OPEN)
    assert call.params == {
        **REFERENCE,
        "input": {"k": 1},
        "session": {"workingDirectory": "/work"},
        "sessionId": "s1",
    }
    driver.answer({"url": "http://127.0.0.1:1/", "title": "T", "status": "S", "more": 1})
    opened: JSONObject = {
        **REFERENCE,
        "extensionName": "f",
        "title": "T",
        "status": "S",
        "url": "http://127.0.0.1:1/",
        "input": {"k": 1},
    }
    assert driver.outcomes == {ticket: opened}
    assert driver.events == [
        ("opened", opened),
        ("recorded", {**REFERENCE, "title": "T", "input": {"k": 1}}),
    ]
    assert driver.engine.open_canvases() == [opened]


def test_absent_input_is_sent_as_absent_and_null_as_null() -> None:
    """Specification: facts 3.1."""
    driver = Driver(OTHER)
    driver.open("other", "one")
    driver.open("other", "two", input=None)
    assert "input" not in driver.calls[0].params
    assert driver.calls[1].params["input"] is None


@pytest.mark.parametrize("result", [None, {}, [], "text", 7, {"url": 7, "title": 5, "status": []}])
def test_a_result_without_url_is_an_instance_without_url(result: JSONValue) -> None:
    """Specification: facts 3.9."""
    opened = Driver().opened(result)
    assert opened == {**REFERENCE, "extensionName": "f", "title": "Board"}


@pytest.mark.parametrize("url", ["http://x", "HTTPS://x", "file:///etc/passwd", "http:foo"])
def test_a_url_of_a_known_scheme_is_passed_through(url: str) -> None:
    """Specification: facts 3.9."""
    opened = Driver().opened({"url": url})
    assert isinstance(opened, dict)
    assert opened["url"] == url


@pytest.mark.parametrize("url", ["ftp://x/", "", "/x", "javascript:1", "data:text/html,x"])
def test_a_url_of_another_scheme_fails_the_open(url: str) -> None:
    """Specification: facts 3.9."""
    driver = Driver()
    ticket = driver.open()
    driver.answer({"url": url})
    assert driver.message(ticket) == (
        "Request session.canvas.open failed with message: "
        f"Canvas provider returned a URL with a disallowed scheme: {url}"
    )
    assert driver.events == []
    assert driver.engine.open_canvases() == []


@pytest.mark.parametrize("instance_id", ["a", "9", "a.b_c-d", "A" * 128])
def test_a_valid_instance_id_is_taken(instance_id: str) -> None:
    driver = Driver()
    driver.open(instance_id=instance_id)
    assert driver.calls


@pytest.mark.parametrize("instance_id", ["", "-a", "_a", ".a", "a b", "a/b", "é", "a\n", "A" * 129])
def test_an_invalid_instance_id_is_refused(instance_id: str) -> None:
    """Specification: facts 3.4."""
    driver = Driver()
    ticket = driver.open(instance_id=instance_id)
    assert driver.message(ticket) == (
        "Request session.canvas.open failed with message: "
        f'Invalid canvas instance ID "{instance_id}".'
    )


def test_input_that_does_not_fit_never_reaches_the_provider() -> None:
    """Specification: facts 3.2."""
    driver = Driver()
    opening = driver.open(input={"k": "x"})
    assert driver.message(opening) == (
        "Request session.canvas.open failed with message: "
        'Invalid input for canvas "board" open input: /k: "x" is not of type "integer". '
        "Inspect the canvas declaration for the expected input schema."
    )
    driver.opened()
    invoking = driver.invoke()
    assert driver.message(invoking) == (
        "Request session.canvas.action.invoke failed with message: "
        'Invalid input for action "move" on canvas "board": (root): "to" is a required property. '
        "Call list_canvas_capabilities to inspect the expected input schema."
    )
    assert driver.calls == []


def test_a_re_open_always_calls_the_provider_and_replaces_what_it_said() -> None:
    """Specification: facts 3.7, 3.8."""
    driver = Driver()
    driver.opened({"url": "http://a", "title": "A", "status": "s"}, input={"k": 1})
    again = driver.opened({"title": "B"})
    assert again == {**REFERENCE, "extensionName": "f", "title": "B"}
    assert driver.names() == ["opened", "recorded", "opened"]


def test_a_failing_re_open_leaves_everything_as_it_was() -> None:
    """Specification: facts 3.7."""
    driver = Driver()
    before = driver.opened({"url": "http://a"}, input={"k": 1})
    ticket = driver.open(input={"k": 2})
    driver.fail("nope")
    assert driver.message(ticket) == "Request session.canvas.open failed with message: nope"
    assert driver.engine.open_canvases() == [before]


def test_concurrent_opens_share_one_callback_and_its_answer() -> None:
    """Specification: facts 3.7; that nothing of the later ones counts was recorded."""
    driver = Driver()
    tickets = [
        driver.open(input={"k": 1}),
        driver.open(input={"k": "invalid"}),
        driver.open("other", input={"k": 3}),
    ]
    assert len(driver.calls) == 1
    driver.answer({"title": "T"})
    opened: JSONObject = {
        **REFERENCE,
        "extensionName": "f",
        "title": "T",
        "input": {"k": 1},
    }
    assert driver.outcomes == dict.fromkeys(tickets, opened)
    assert driver.names() == ["opened", "recorded"]


def test_an_instance_id_belongs_to_the_canvas_that_has_it() -> None:
    """Specification: facts 3.5; that it is checked before the input was recorded."""
    driver = Driver(BOARD, {**OTHER, "inputSchema": {"type": "string"}})
    driver.opened()
    ticket = driver.open("other")
    assert driver.message(ticket) == (
        "Request session.canvas.open failed with message: "
        'Canvas instance ID "one" is already owned by a different canvas.'
    )


def test_an_action_of_an_instance_nobody_opened_is_refused_with_advice() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    assert driver.message(driver.invoke("zz")) == (
        "Request session.canvas.action.invoke failed with message: "
        'Canvas instance "zz" is not open. No canvases are currently open — call open_canvas '
        "first (and remember instanceId is the caller-chosen panel handle, not the canvasId)."
    )
    driver.opened()
    driver.opened(instance_id="two")
    assert driver.message(driver.invoke("zz")) == (
        "Request session.canvas.action.invoke failed with message: "
        'Canvas instance "zz" is not open. Currently open instances: ["one", "two"]. Verify '
        'open_canvas succeeded for "zz" and that you\'re passing the instanceId (not the canvasId).'
    )


def test_actions_run_concurrently_and_answer_in_any_order() -> None:
    """Specification: facts section 8."""
    driver = Driver()
    driver.opened()
    first, second = driver.invoke(input={"to": 1}), driver.invoke(input={"to": 2})
    assert [call.params["input"] for call in driver.calls] == [{"to": 1}, {"to": 2}]
    driver.answer("b", index=1)
    driver.answer("a")
    assert (driver.outcomes[first], driver.outcomes[second]) == ("a", "b")


def test_an_error_reaches_the_caller_by_its_message_only() -> None:
    """Specification: facts 4.1. Ours: `data` stays beside it for tests of canvases."""
    driver = Driver()
    driver.opened()
    ticket = driver.invoke(input={"to": 1})
    driver.fail("", {"code": "c"})
    refusal = driver.outcomes[ticket]
    assert str(refusal) == "Request session.canvas.action.invoke failed with message: "
    assert getattr(refusal, "data", None) == {"code": "c"}


def test_close_asks_the_provider_and_then_tells_twice() -> None:
    """Specification: facts 5.1."""
    driver = Driver()
    driver.opened()
    driver.events.clear()
    ticket = driver.close()
    assert driver.calls[0].method == Method.CANVAS_CLOSE
    assert driver.events == []
    assert len(driver.engine.open_canvases()) == 1
    driver.answer()
    assert driver.events == [("closed", REFERENCE), ("removed", REFERENCE)]
    assert driver.outcomes[ticket] is None
    assert driver.engine.open_canvases() == []
    assert driver.message(driver.close()) == (
        'Request session.canvas.close failed with message: Canvas instance "one" is not open.'
    )


def test_a_close_that_the_provider_fails_succeeds_with_a_warning() -> None:
    """Specification: facts 4.2."""
    driver = Driver()
    driver.opened()
    ticket = driver.close()
    driver.fail("cannot")
    assert driver.outcomes[ticket] is None
    assert driver.engine.open_canvases() == []
    assert driver.warnings == ['Closing canvas "one" failed: cannot']


def test_closing_twice_at_once_asks_twice_and_tells_once() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    driver.opened()
    driver.events.clear()
    tickets = [driver.close(), driver.close()]
    driver.answer()
    driver.answer()
    assert driver.names() == ["closed", "removed"]
    assert [driver.outcomes[ticket] for ticket in tickets] == [None, None]


def test_an_action_may_overlap_a_close() -> None:
    """Specification: facts section 8."""
    driver = Driver()
    driver.opened()
    driver.close()
    ticket = driver.invoke(input={"to": 1})
    driver.answer(index=0)
    driver.answer("done")
    assert driver.outcomes[ticket] == "done"


def test_an_instance_that_is_being_opened_cannot_be_closed_yet() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    driver.open()
    assert "is not open" in driver.message(driver.close())
    driver.answer()
    assert driver.names() == ["opened", "recorded"]


def test_a_re_open_that_outlasts_a_close_brings_the_instance_back() -> None:
    """Specification: recorded from Copilot CLI 1.0.102, with no second record."""
    driver = Driver()
    driver.opened()
    driver.open()
    driver.close()
    driver.answer(index=1)
    driver.answer()
    assert driver.names() == ["opened", "recorded", "closed", "removed", "opened"]
    assert len(driver.engine.open_canvases()) == 1


def test_an_open_that_is_answered_before_a_close_ends_with_it() -> None:
    """Specification: recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    driver.opened()
    driver.close()
    driver.open()
    driver.answer(index=1)
    driver.answer()
    assert driver.names() == ["opened", "recorded", "opened", "closed", "removed"]
    assert driver.engine.open_canvases() == []


def test_a_provider_that_goes_away_is_no_close() -> None:
    """Specification: facts 5.2, 5.3."""
    driver = Driver()
    driver.opened()
    driver.events.clear()
    driver.detach()
    assert driver.calls == []
    assert driver.events == [("unavailable", REFERENCE), ("registry_changed", {"canvases": []})]
    assert driver.engine.open_canvases() == []
    assert driver.engine.canvases() == []
    assert driver.message(driver.open()) == (
        'Request session.canvas.open failed with message: No canvas "board" is registered.'
    )
    assert driver.message(driver.invoke()) == (
        "Request session.canvas.action.invoke failed with message: "
        'Canvas instance "one" cannot be reached: its owning provider "project:f" is not '
        "connected. Re-issue open_canvas to rehydrate."
    )


def test_calls_in_flight_fail_when_the_provider_dies() -> None:
    """Specification: facts 4.2; closing succeeds all the same."""
    driver = Driver()
    driver.opened()
    driver.opened(instance_id="two")
    opening, invoking = driver.open(instance_id="three"), driver.invoke(input={"to": 1})
    closing = driver.close("two")
    late = driver.calls[0]
    driver.detach()
    assert driver.message(opening) == (
        "Request session.canvas.open failed with message: connection closed"
    )
    assert driver.message(invoking) == (
        "Request session.canvas.action.invoke failed with message: connection closed"
    )
    assert driver.outcomes[closing] is None
    driver.engine.receive_answer(late.call, {})
    assert driver.engine.effects() == []


def test_an_instance_can_be_closed_while_its_provider_is_away() -> None:
    """Specification: facts 5.1, 5.4."""
    driver = Driver()
    driver.opened()
    driver.detach()
    driver.events.clear()
    ticket = driver.close()
    assert driver.outcomes[ticket] is None
    assert driver.names() == ["closed", "removed"]
    driver.attach()
    assert driver.calls == []


def test_a_provider_that_returns_opens_again_with_the_latest_input() -> None:
    """Specification: facts 5.4: concurrently, and `recorded` is not repeated."""
    driver = Driver()
    driver.opened(input={"k": 1})
    driver.opened(input={"k": 99})
    driver.opened(instance_id="two")
    driver.detach()
    driver.events.clear()
    driver.attach()
    assert [(call.params["instanceId"], call.params.get("input")) for call in driver.calls] == [
        ("one", {"k": 99}),
        ("two", None),
    ]
    assert driver.engine.open_canvases() == []
    driver.answer({"url": "http://new"})
    driver.answer()
    assert driver.names() == ["registry_changed", "opened", "opened"]
    assert driver.engine.open_canvases()[0]["url"] == "http://new"


def test_an_open_joins_a_restore_in_flight() -> None:
    driver = Driver()
    driver.opened(input={"k": 1})
    driver.detach()
    driver.attach()
    ticket = driver.open(input={"k": 2})
    assert len(driver.calls) == 1
    driver.answer()
    assert driver.outcomes[ticket] == {
        **REFERENCE,
        "extensionName": "f",
        "title": "Board",
        "input": {"k": 1},
    }


def test_a_restore_that_fails_is_silent_reachable_and_tried_again() -> None:
    """Specification: facts 5.5."""
    driver = Driver()
    driver.opened()
    driver.detach()
    driver.attach()
    driver.events.clear()
    driver.fail("no")
    assert driver.events == []
    assert driver.engine.open_canvases() == []
    driver.invoke(input={"to": 1})
    assert driver.calls.pop().method == Method.CANVAS_ACTION_INVOKE
    driver.detach()
    driver.attach()
    assert driver.calls[0].method == Method.CANVAS_OPEN


def test_input_that_no_longer_fits_is_silently_not_opened_again() -> None:
    """Specification: facts 5.5."""
    driver = Driver()
    driver.opened(input={"k": 1})
    driver.detach()
    driver.attach({**BOARD, "inputSchema": {"required": ["new"]}})
    assert driver.calls == []


def test_declaring_again_re_opens_what_stays_and_loses_what_goes() -> None:
    """Specification: facts 2.8; the order was recorded from Copilot CLI 1.0.102."""
    driver = Driver()
    driver.opened()
    driver.opened(canvas_id="other", instance_id="two")
    driver.events.clear()
    driver.declare({**BOARD, "displayName": "New"})
    assert driver.names() == ["unavailable", "registry_changed"]
    assert [call.params["instanceId"] for call in driver.calls] == ["one"]
    driver.answer()
    (opened,) = driver.engine.open_canvases()
    assert opened["title"] == "New"


def test_input_is_checked_against_what_is_declared_now() -> None:
    """Also for an instance whose restore failed."""
    driver = Driver()
    driver.opened()
    driver.declare({**BOARD, "actions": [{"name": "move", "inputSchema": {"required": ["where"]}}]})
    driver.fail("not restored")
    assert '"where" is a required property' in driver.message(driver.invoke(input={"to": 1}))
