"""What holds for the examples as code to copy from."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from canvas_provider import Action, create_canvas
from tests.support.require import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PAGES = sorted((ROOT / "examples").glob("*/page/*"))

PUBLIC = ("canvas_provider", "canvas_provider.testing")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_an_example_uses_public_names_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("canvas_provider"):
            assert node.module in PUBLIC
            public = import_module(str(node.module)).__all__
            assert {alias.name for alias in node.names} <= set(public)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_needs_nothing_from_elsewhere(path: Path) -> None:
    """No other server, no markup from text, no browser storage (ours: docs/guide/page.md)."""
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("http://", "https://", 'src="/', 'href="/', "innerHTML", "Storage", "cookie"):
        assert forbidden not in text


def move(ctx: Any) -> Any:
    return ctx.input


def test_the_declaration_of_the_node_sdk_goes_through_field_by_field() -> None:
    """The kanban as the Copilot canvas reference declares it, in the long form."""
    move_schema: Any = {
        "type": "object",
        "properties": {"cardId": {"type": "string"}, "columnId": {"type": "string"}},
        "required": ["cardId", "columnId"],
    }
    canvas = create_canvas(
        id="agentic-kanban",
        display_name="Agentic Kanban",
        description="A shared board for people and agents.",
        input_schema={"type": "object", "properties": {"project": {"type": "string"}}},
        actions=[
            Action(
                name="move_card",
                description="Move one card to another column.",
                input_schema=move_schema,
                handler=move,
            )
        ],
    )
    assert canvas.declaration == {
        "id": "agentic-kanban",
        "displayName": "Agentic Kanban",
        "description": "A shared board for people and agents.",
        # Models send null for "nothing", so it is admitted where an empty object is.
        "inputSchema": {
            "type": ["object", "null"],
            "properties": {"project": {"type": "string"}},
        },
        "actions": [
            {
                "name": "move_card",
                "description": "Move one card to another column.",
                "inputSchema": move_schema,
            }
        ],
    }
