"""Annotations that are text, because of the next line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.signature import compile_typed
from canvas_provider.errors import DeclarationError

if TYPE_CHECKING:
    from decimal import Decimal

Column = Literal["todo", "done"]


class Board:
    pass


def schema_of(function: Any, state_type: Any = None) -> Any:
    plan = compile_typed(function, site=Site("k", "act"), subject="it", state_type=state_type)
    return plan.schema


def test_text_is_read_as_the_type_it_names() -> None:
    def act(ctx: CanvasContext, board: Board, column: Column, n: Annotated[int | None, "N"]): ...  # type: ignore[no-untyped-def]

    assert schema_of(act, Board)["properties"] == {
        "column": {"type": "string", "enum": ["todo", "done"]},
        "n": {"type": ["integer", "null"], "description": "N"},
    }


def test_names_around_the_function_are_found_and_the_state_by_its_name() -> None:
    class Local(Board):
        pass

    Size = Literal["s", "l"]

    def act(board: Local, size: Size) -> Any:
        return Size  # used inside, so it is in the function's closure

    assert list(schema_of(act, Local)["properties"]) == ["size"]


def test_what_it_returns_need_not_exist_at_run_time() -> None:
    def act(n: int) -> Decimal:
        raise NotImplementedError

    assert schema_of(act)["required"] == ["n"]


def test_a_decorated_function_is_read_where_it_was_written() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @logged
    def act(column: Column) -> None: ...

    assert schema_of(act)["required"] == ["column"]


def test_a_name_that_exists_only_for_type_checkers_is_refused_with_the_way_out() -> None:
    def act(price: Decimal) -> None: ...

    with pytest.raises(DeclarationError) as caught:
        schema_of(act)
    assert caught.value.field == "price"
    assert "'Decimal'" in str(caught.value)
    assert "import it outside `if TYPE_CHECKING:`" in str(caught.value)


def test_text_that_is_no_type_is_refused() -> None:
    def act(n: int) -> None: ...

    act.__annotations__["n"] = "1 +"
    with pytest.raises(DeclarationError, match="is no type"):
        schema_of(act)
