"""An orb whose button asks the agent for a colour, which answers by an action."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from canvas_provider import CanvasContext, CanvasError, create_canvas, run


@dataclass
class Orb:
    color: str = "#0969da"
    mood: str = ""


orb = create_canvas(
    id="orb",
    display_name="Orb",
    description="An orb that shows a mood as a colour. Use it when the user asks how things are.",
    state=Orb,
    page=Path(__file__).with_name("page.html"),
)


@orb.action
async def set_color(
    state: Orb,
    color: Annotated[str, "Such as #1a7f37."],
    mood: Annotated[str, "What the colour stands for, in a few words."] = "",
) -> None:
    """Give the orb another colour."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", color):
        raise CanvasError("not_a_color", "Write the colour as # and six digits, such as #1a7f37.")
    state.color, state.mood = color.lower(), mood


@orb.action(audience="person")
async def ask(ctx: CanvasContext) -> None:
    """Ask the agent for a colour."""
    # The key makes five clicks one prompt. Nothing is waited for: the answer is a set_color.
    await ctx.session.send(
        "Choose a colour for how this session has gone so far, and show it on the orb with "
        f"set_color (instance {ctx.instance_id}).",
        dedupe="color",
        display_prompt="Which colour has this session?",
    )


if __name__ == "__main__":
    run(orb)
