"""A site that the agent writes, and a dashboard of it that is an artifact of the session.

Both are files in the session's workspace: the agent finds them there with its own tools, and they
go with the session. Without a workspace they are in the project's folder.
"""

from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Annotated, Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from canvas_provider import CanvasContext, CanvasError, JSONFileStore, Opened, create_canvas, run

Status = Literal["draft", "review", "done"]


@dataclass
class Page:
    title: str
    status: Status = "draft"


@dataclass
class Dashboard:
    pages: dict[str, Page] = field(default_factory=dict)
    """By the name of the file, without .html."""


def folder_of(ctx: CanvasContext) -> Path:
    root = ctx.session.workspace_path or ctx.session.working_directory or "."
    return Path(root) / "site"


@cache
def store_in(folder: Path) -> JSONFileStore:
    """One store for each folder, so that two panels of it share the dashboard."""
    return JSONFileStore(folder)


site = create_canvas(
    id="site",
    display_name="Site",
    description="A small web site with a dashboard of its pages. Use it to write pages together.",
    state=Dashboard,
    store=lambda ctx: store_in(folder_of(ctx)),
    state_key=lambda ctx: "dashboard",
    page=Path(__file__).with_name("page.html"),
    csp={"frame-src": ["'self'"]},
)

Name = Annotated[str, "The file's name without .html: letters, digits and dashes."]


@site.on_open
async def opened(ctx: CanvasContext[Dashboard]) -> Opened:
    done = sum(page.status == "done" for page in ctx.state.value.pages.values())
    return Opened(status=f"{done} of {len(ctx.state.value.pages)} pages done")


@site.action
async def write_page(
    ctx: CanvasContext[Dashboard], dashboard: Dashboard, name: Name, title: str, body: str
) -> str:
    """Write a page, its body as HTML, and return where the file is."""
    path = path_of(ctx, name)
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title>{body}",
        encoding="utf-8",
    )
    known = dashboard.pages.get(name)
    dashboard.pages[name] = Page(title, "draft" if known is None else known.status)
    return str(path)


@site.action
async def set_status(dashboard: Dashboard, name: Name, status: Status) -> None:
    """Say how far a page is."""
    if name not in dashboard.pages:
        raise CanvasError("page_not_found", f"There is no page {name!r}: write it first.")
    dashboard.pages[name].status = status


@site.route("/pages/{name}")
async def show_page(request: Request, ctx: CanvasContext[Dashboard]) -> Response:
    name = request.path_params["name"]
    if name not in ctx.state.value.pages:
        return PlainTextResponse("There is no such page.", 404)
    # What an agent wrote may hold anything. In a sandbox of its own it can neither read this canvas
    # nor call its actions.
    policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    text = path_of(ctx, name).read_text(encoding="utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


def path_of(ctx: CanvasContext, name: str) -> Path:
    if not name or not all(c.isascii() and (c.isalnum() or c == "-") for c in name):
        raise CanvasError("not_a_name", "A page's name has letters, digits and dashes only.")
    folder = folder_of(ctx)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.html"


if __name__ == "__main__":
    run(site)
