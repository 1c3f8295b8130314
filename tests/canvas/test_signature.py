from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from pydantic.alias_generators import to_camel

from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.signature import (
    Plan,
    compile_long_form,
    compile_typed,
    first_paragraphs,
)
from canvas_provider.errors import InvalidInput
from canvas_provider.types import JSONObject

SITE = Site("kanban", "act")


class Board(BaseModel):
    cards: list[str] = []


class Card(BaseModel):
    title: str
    due: date | None = None


class Options(BaseModel):
    limit: int = 10


@dataclass
class Point:
    x: int
    y: int = 0


def plan_of(function: Any, **settings: Any) -> Plan:
    return compile_typed(function, site=SITE, subject="it", **settings)


def call(plan: Plan, checked: JSONObject, context: Any = None, draft: Any = None) -> Any:
    plan.validator.check(checked)
    return plan.call(checked, context, draft)


def test_each_parameter_is_a_field_with_its_text_and_its_default() -> None:
    def act(
        card_id: Annotated[str, "The card's id"],
        column: Literal["todo", "done"] = "todo",
        *,
        position: Annotated[int | None, "0 is the top"] = None,
        weight: Annotated[float, Field(ge=0)] = 1.5,
    ) -> None: ...

    assert plan_of(act).schema == {
        "type": "object",
        "properties": {
            "card_id": {"type": "string", "description": "The card's id"},
            "column": {"type": "string", "enum": ["todo", "done"], "default": "todo"},
            "position": {
                "type": ["integer", "null"],
                "description": "0 is the top",
                "default": None,
            },
            "weight": {"type": "number", "minimum": 0, "default": 1.5},
        },
        "required": ["card_id"],
        "additionalProperties": False,
    }


def test_no_parameters_no_schema_but_unknown_fields_are_still_refused() -> None:
    def act() -> str:
        return "done"

    plan = plan_of(act)
    assert plan.schema is None
    assert call(plan, {}) == "done"
    with pytest.raises(InvalidInput, match="/x: is not a field"):
        call(plan, {"x": 1})


def test_if_all_is_optional_null_is_declared_too() -> None:
    def act(limit: int = 5) -> None: ...

    schema = plan_of(act).schema
    assert schema is not None
    assert schema["type"] == ["object", "null"]
    assert "required" not in schema


def test_context_and_draft_are_no_input() -> None:
    def act(board: Board, ctx: CanvasContext[Any], title: str) -> tuple[Any, ...]:
        return board, ctx, title

    plan = plan_of(act, state_type=Board)
    assert plan.schema is not None
    assert list(plan.schema["properties"]) == ["title"]  # type: ignore[arg-type]
    assert plan.needs_context
    assert call(plan, {"title": "a"}, "context", "draft") == ("draft", "context", "a")


def test_a_parameter_called_ctx_needs_no_annotation() -> None:
    def act(ctx) -> Any:  # type: ignore[no-untyped-def]
        return ctx

    assert call(plan_of(act), {}, "context") == "context"


def test_the_state_type_is_input_where_the_canvas_has_no_state() -> None:
    def act(board: Board) -> Board:
        return board

    plan = plan_of(act)
    assert plan.draft is None
    assert call(plan, {"cards": ["a"]}) == Board(cards=["a"])


@pytest.mark.parametrize("state_type", [dict, dict[str, Any], Point])
def test_any_kind_of_state_can_be_injected(state_type: Any) -> None:
    def act(state: Any, n: int) -> Any:
        return state, n

    act.__annotations__["state"] = Annotated[state_type, "the board"]
    assert call(plan_of(act, state_type=state_type), {"n": 2.0}, None, "draft") == ("draft", 2)


@pytest.mark.parametrize("state_type", [dict, dict[str, Any]])
def test_a_plain_dict_and_its_typed_spellings_are_the_same_state(state_type: Any) -> None:
    def bare(state: dict) -> None: ...  # type: ignore[type-arg]

    def typed(state: dict[str, Any]) -> None: ...

    def other(state: dict[str, int]) -> None: ...

    for function in (bare, typed):
        assert plan_of(function, state_type=state_type).draft == "state"
    assert plan_of(other, state_type=state_type).draft is None


def test_alias_renames_parameters_in_schema_and_input() -> None:
    def act(card_id: str, to_column: int = 0) -> Any:
        return card_id, to_column

    plan = plan_of(act, alias=to_camel)
    assert plan.schema is not None
    assert plan.schema["required"] == ["cardId"]
    assert call(plan, {"cardId": "a", "toColumn": 2.0}) == ("a", 2)
    with pytest.raises(InvalidInput, match="/cardId: is missing; /card_id: is not a field"):
        call(plan, {"card_id": "a"})


@pytest.mark.parametrize("model", [Card, Point])
def test_a_model_that_is_the_only_parameter_is_the_input(model: type) -> None:
    def act(ctx: CanvasContext[Any], one: Any) -> Any:
        return one

    act.__annotations__["one"] = Annotated[model, "What to make"]
    plan = plan_of(act)
    assert plan.schema is not None
    assert plan.schema["type"] == "object"
    assert plan.schema["description"] == "What to make"
    assert "$defs" not in plan.schema
    fields: JSONObject = {"title": "a", "due": "2026-11-30"} if model is Card else {"x": 3.0}
    made = call(plan, fields)
    assert made == (Card(title="a", due=date(2026, 11, 30)) if model is Card else Point(3))


def test_a_model_of_optional_fields_admits_null() -> None:
    def act(options: Options) -> Options:
        return options

    plan = plan_of(act)
    assert plan.schema is not None
    assert plan.schema["type"] == ["object", "null"]
    assert call(plan, {}) == Options()


def test_a_recursive_model_keeps_its_definition() -> None:
    class Node(BaseModel):
        name: str
        children: list["Node"] = []

    def act(node: Node) -> Node:
        return node

    act.__annotations__["node"] = Node
    plan = plan_of(act)
    assert plan.schema is not None
    assert plan.schema["required"] == ["name"]
    assert list(plan.schema["$defs"]) == ["Node"]  # type: ignore[arg-type]
    made = call(plan, {"name": "a", "children": [{"name": "b"}]})
    assert made.children[0].name == "b"
    with pytest.raises(InvalidInput, match="/children/0/nam: is not a field"):
        call(plan, {"name": "a", "children": [{"name": "b", "nam": 1}]})


def test_a_model_beside_others_is_a_field() -> None:
    def act(card: Card, position: int = 0) -> Any:
        return card, position

    plan = plan_of(act)
    assert plan.schema is not None
    assert plan.schema["properties"]["card"] == {"$ref": "#/$defs/Card"}  # type: ignore[index,call-overload]
    assert call(plan, {"card": {"title": "a"}}) == (Card(title="a"), 0)
    with pytest.raises(InvalidInput, match="/card/titel: is not a field"):
        call(plan, {"card": {"title": "a", "titel": "b"}})


def test_what_pydantic_refuses_names_the_field_as_the_caller_knows_it() -> None:
    def act(due_day: date) -> date:
        return due_day

    plan = plan_of(act, alias=to_camel)
    with pytest.raises(InvalidInput) as caught:
        call(plan, {"dueDay": "yesterday"})
    assert "/dueDay: " in str(caught.value)
    assert "yesterday" not in str(caught.value)


def test_each_call_gets_its_own_lists() -> None:
    def act(tags: list[str]) -> list[str]:
        tags.append("mine")
        return tags

    plan = plan_of(act)
    checked: JSONObject = {"tags": ["a"]}
    assert call(plan, checked) == call(plan, checked) == ["a", "mine"]
    assert checked == {"tags": ["a"]}


def test_methods_partials_and_objects_are_handlers_too() -> None:
    class Handler:
        async def __call__(self, n: int) -> int:
            return n

        def method(self, n: int) -> int:
            return n

    def two(n: int, m: int) -> int:
        return n + m

    assert plan_of(Handler()).is_async
    assert not plan_of(Handler().method).is_async
    assert call(plan_of(Handler().method), {"n": 1.0}) == 1
    assert call(plan_of(partial(two, 2)), {"m": 3}) == 5


async def test_a_coroutine_function_is_async_also_as_a_partial() -> None:
    async def act(n: int, m: int) -> int:
        return n * m

    plan = plan_of(partial(act, 2))
    assert plan.is_async
    assert await call(plan, {"m": 3.0}) == 6


def test_the_docstring_without_its_sections_describes() -> None:
    def act() -> None:
        """Move one card.

        It goes to the end.

        Args:
            nothing: here.
        """

    def other() -> None:
        """Do it.

        :param nothing: here
        """

    def bare() -> None: ...

    assert first_paragraphs(act) == "Move one card.\n\nIt goes to the end."
    assert first_paragraphs(other) == "Do it."
    assert first_paragraphs(bare) is None
    assert first_paragraphs(partial(act)) is None


def test_the_long_form_gets_the_context_alone() -> None:
    plan = compile_long_form(lambda ctx: ctx, {"type": "object"}, site=SITE, subject="it")
    assert plan.needs_context
    assert call(plan, {"anything": 1}, "context") == "context"


@pytest.mark.parametrize(
    ("schema", "declared"),
    [
        (None, None),
        ({"type": "object"}, {"type": ["object", "null"]}),
        ({"type": "object", "required": ["a"]}, {"type": "object", "required": ["a"]}),
        ({"type": "object", "minProperties": 1}, {"type": "object", "minProperties": 1}),
        ({"type": ["object", "null"]}, {"type": ["object", "null"]}),
        ({"anyOf": [{"type": "object"}]}, {"anyOf": [{"type": "object"}]}),
    ],
)
def test_a_hand_written_schema_admits_null_where_it_admits_nothing(
    schema: JSONObject | None, declared: JSONObject | None
) -> None:
    assert compile_long_form(print, schema, site=SITE, subject="it").schema == declared


def test_without_a_schema_the_long_form_takes_any_object_and_nothing_else() -> None:
    plan = compile_long_form(print, None, site=SITE, subject="it")
    plan.validator.check({"a": [1]})
    with pytest.raises(InvalidInput):
        plan.validator.check([1])
