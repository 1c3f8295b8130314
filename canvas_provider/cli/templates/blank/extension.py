"""__TITLE__: a canvas that a person and an agent work on together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from canvas_provider import JSONFileStore, create_canvas, run


@dataclass
class State:
    text: str = ""


canvas = create_canvas(
    id="__ID__",
    display_name="__TITLE__",
    # The agent decides by this sentence whether it is the canvas that it needs.
    description="A shared text. Use it to draft something together with the user.",
    state=State,
    page=Path(__file__).with_name("page.html"),
    store=JSONFileStore(),
    # One text for all panels and sessions. Without this, each panel has its own.
    state_key=lambda ctx: "main",
)


@canvas.action
async def get_text(state: State) -> str:
    """Read the text."""
    return state.text


@canvas.action
async def set_text(state: State, text: Annotated[str, "All of it; line breaks are kept."]) -> None:
    """Replace the text."""
    state.text = text


if __name__ == "__main__":
    run(canvas)
