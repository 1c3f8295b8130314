"""A diagram that the agent draws, with a person's note on each node for the agent to read."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from canvas_provider import (
    CanvasContext,
    CanvasError,
    JSONFileStore,
    create_canvas,
    quote_untrusted,
    run,
)


@dataclass
class Node:
    id: str
    label: str
    needs: Annotated[list[str], "The ids of the nodes that come before it."] = field(
        default_factory=list
    )


@dataclass
class Diagram:
    nodes: list[Node] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    """A person's words, by the node's id."""


diagram = create_canvas(
    id="diagram",
    display_name="Diagram",
    description="A diagram of steps. Use it to show the user how things depend on each other.",
    state=Diagram,
    store=JSONFileStore(),
    page=Path(__file__).with_name("page.html"),
)


@diagram.action
async def draw(diagram: Diagram, nodes: list[Node]) -> None:
    """Draw another diagram. Notes stay with the nodes whose id is still there."""
    ids = {node.id for node in nodes}
    for node in nodes:
        if missing := sorted(set(node.needs) - ids):
            raise CanvasError("node_not_found", f"Node {node.id!r} needs {missing}: add them.")
    diagram.nodes = nodes
    for node_id in [known for known in diagram.notes if known not in ids]:
        del diagram.notes[node_id]


@diagram.action(audience="person")
async def write_note(diagram: Diagram, node_id: str, text: str) -> None:
    """Write a note on a node; an empty one removes it."""
    find(diagram, node_id)
    if text.strip():
        diagram.notes[node_id] = text
    else:
        diagram.notes.pop(node_id, None)


@diagram.action
async def get_notes(diagram: Diagram) -> dict[str, str]:
    """Read the user's notes, by the node's id."""
    return dict(diagram.notes)


@diagram.action(audience="person")
async def discuss(ctx: CanvasContext[Diagram], node_id: str) -> None:
    """Ask the agent about a node and its note."""
    node = find(ctx.state.value, node_id)
    note = ctx.state.value.notes.get(node_id, "")
    await ctx.session.send(
        f"About the node {node_id!r} of the diagram: what follows from my note?\n"
        + quote_untrusted(f"{node.label}\n{note}", label="a node and its note"),
        dedupe=f"node {node_id}",
        display_prompt=f"What about {node.label}?",
    )


def find(diagram: Diagram, node_id: str) -> Node:
    for node in diagram.nodes:
        if node.id == node_id:
            return node
    raise CanvasError("node_not_found", f"There is no node {node_id!r}.")


if __name__ == "__main__":
    run(diagram)
