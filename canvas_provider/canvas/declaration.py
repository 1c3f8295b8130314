"""`create_canvas`: a canvas, checked on the spot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canvas_provider.canvas import rules
from canvas_provider.canvas.action import Action, Handler
from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.canvas import (
    MAX_BODY,
    MAX_STREAMS,
    Canvas,
    Lifespan,
    PersonName,
    PickStore,
    Route,
    StateKey,
)
from canvas_provider.canvas.inputs import Alias
from canvas_provider.canvas.seed import read_seed
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.store import Store

__all__ = ["Canvas", "Route", "create_canvas"]


def create_canvas(
    *,
    id: str,
    display_name: str,
    description: str,
    state: Any = None,
    page: str | Path | None = None,
    input_schema: JSONValue = None,
    icon: str | Path | None = None,
    actions: Sequence[Action] = (),
    open: Handler | None = None,
    on_close: Handler | None = None,
    store: "Store | PickStore | None" = None,
    state_key: StateKey | None = None,
    person_name: PersonName | None = None,
    lifespan: Lifespan | None = None,
    alias: Alias | None = None,
    allowed_hosts: Sequence[str] = (),
    csp: Mapping[str, str | Sequence[str]] | None = None,
    max_body: int = MAX_BODY,
    max_streams: int = MAX_STREAMS,
    open_timeout: float = 30.0,
    close_timeout: float = 5.0,
) -> Canvas:
    """Declare a canvas.

    Add typed actions with `@canvas.action`; `actions=`, `open=` and `on_close=` are the long form,
    as in the Node SDK: their handlers take one argument, the `CanvasContext`.

    Args:
        description: one sentence; all the agent is told before it asks for more.
        state: a pydantic model, a dataclass, a TypedDict or `dict`; or a function that takes the
            context and returns the first value of a new document.
        page: an absolute path: a folder with `index.html`, or one HTML file.
        input_schema: JSON Schema of the open input; instead, give `@canvas.on_open` parameters.
        icon: a `.png`, relative to the folder of `extension.mjs`.
        store: where the state lives; None: in memory, gone with the process. Or a function that
            takes the context and returns one of several stores, each made once.
        state_key: picks the document from the context; None: one for each instance.
        person_name: what others who have the same document open see of this person, in
            `ctx.state.presence` and on their pages: a text, or a function of the context; None:
            the name of the system's user.
        lifespan: an async context manager around each instance; what it yields is `ctx.lifespan`.
        alias: renames parameters for agent and page, such as pydantic's `to_camel`.
        allowed_hosts: hosts besides 127.0.0.1 under which a page may be reached, `name` or
            `name:port`.
        csp: sources to add to the Content-Security-Policy, by directive.
        max_body: bytes of a request's body.
        max_streams: pages that may follow one instance at once.
        open_timeout: seconds for opening.
        close_timeout: seconds for each step of a close: running actions, `on_close`, `lifespan`.

    Raises:
        DeclarationError: Copilot would refuse it, or it could not work. The text names canvas,
            action and field, and says what to write instead.
    """
    site = Site(str(id))
    rules.check_text(id, "id", site)
    rules.check_text(display_name, "display_name", site)
    rules.check_text(description, "description", site)
    seed = read_seed(state, site)
    canvas = Canvas(id=id, display_name=display_name, description=description, seed=seed)
    canvas.page = None if page is None else rules.check_page(page, site)
    canvas.icon = None if icon is None else rules.check_icon(icon, site)
    canvas.store = rules.check_store(store, seed is not None, site)
    canvas.state_key = rules.check_callable(state_key, "state_key", site)
    canvas.person_name = rules.check_person_name(person_name, site)
    canvas.lifespan = rules.check_lifespan(lifespan, site)
    canvas.alias = rules.check_callable(alias, "alias", site)
    canvas.allowed_hosts = rules.check_hosts(allowed_hosts, site)
    canvas.csp = rules.check_csp(csp, site)
    canvas.max_body = rules.check_number(max_body, "max_body", site, whole=True)
    canvas.max_streams = rules.check_number(max_streams, "max_streams", site, whole=True)
    canvas.open_timeout = rules.check_number(open_timeout, "open_timeout", site)
    canvas.close_timeout = rules.check_number(close_timeout, "close_timeout", site)
    canvas.declare_long_form(
        input_schema=input_schema, actions=actions, open=open, on_close=on_close
    )
    return canvas
