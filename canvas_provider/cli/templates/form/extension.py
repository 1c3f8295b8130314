"""__TITLE__: a form that an agent prepares and a person fills in and sends."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from canvas_provider import CanvasError, JSONFileStore, create_canvas, run

Kind = Literal["question", "problem", "idea"]


@dataclass
class Form:
    name: str = ""
    email: str = ""
    kind: Kind = "question"
    details: str = ""
    sent: bool = False


canvas = create_canvas(
    id="__ID__",
    display_name="__TITLE__",
    # The agent decides by this sentence whether it is the canvas that it needs.
    description="A form for a request. Use it to ask the user for details; fill in what you know.",
    state=Form,
    page=Path(__file__).with_name("page.html"),
    store=JSONFileStore(),
    # One form for all panels and sessions. Without this, each panel has its own.
    state_key=lambda ctx: "main",
)


@canvas.action
async def get_form(form: Form) -> Form:
    """Read what is filled in, and whether the user has sent it."""
    return form


@canvas.action
async def fill_in(
    form: Form,
    name: str | None = None,
    email: str | None = None,
    kind: Kind | None = None,
    details: Annotated[str | None, "In the user's words; line breaks are kept."] = None,
) -> None:
    """Fill in some fields. What is left out stays as it is."""
    if form.sent:
        raise CanvasError("form_sent", "The form was sent: start a new one with start_anew.")
    if name is not None:
        form.name = name.strip()
    if email is not None:
        form.email = email.strip()
    if kind is not None:
        form.kind = kind
    if details is not None:
        form.details = details


# Only a person sends it: the agent sees no such action.
@canvas.action(audience="person")
async def send(form: Form) -> None:
    """Send the form."""
    missing = [field for field in ("name", "email", "details") if not getattr(form, field).strip()]
    if missing:
        raise CanvasError("fields_missing", f"Please fill in: {', '.join(missing)}.")
    if "@" not in form.email:
        raise CanvasError("email_wrong", "That email address has no @.")
    form.sent = True


@canvas.action
async def start_anew(form: Form) -> None:
    """Empty the form for another request."""
    form.name, form.email, form.kind, form.details, form.sent = "", "", "question", "", False


if __name__ == "__main__":
    run(canvas)
