"""What a declaration must not say: all that the runtime refuses, or takes although it is useless.

The runtime's own answers are short ("Failed to compile JSON schema for canvas "a"."), arrive after
the process has started, and block the user's first turn (observed with Copilot CLI 1.0.102). These
name canvas, action and field, say what to write instead, and come while the file is being read.
"""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.draft07 import find_problem
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "check_action_name",
    "check_callable",
    "check_csp",
    "check_endpoint",
    "check_hosts",
    "check_icon",
    "check_lifespan",
    "check_number",
    "check_page",
    "check_route",
    "check_schema",
    "check_store",
    "is_store",
    "check_text",
    "hides",
]

_FILES_OF_OURS: Final = frozenset({"state", "events", "canvas.js", "canvas.css"})
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def check_text(value: object, field: str, site: Site) -> str:
    """Return a text that says something."""
    if not isinstance(value, str):
        raise site.refuse(f"must be text, not {type(value).__name__}", field)
    if not value.strip():
        raise site.refuse(f"is blank: {_WHY_TEXT[field]}", field)
    return value


_WHY_TEXT: Final = {
    "id": "name the canvas, as in id='kanban'",
    "name": "name the action, as in name='move_card'",
    "display_name": "write what a person reads on the panel, as in 'Kanban'",
    "description": "write one sentence that tells the agent what it is for",
}


def check_action_name(name: object, taken: Iterable[str], site: Site) -> str:
    """Return a name that both the runtime and `POST actions/NAME` can carry, once per canvas."""
    text = check_text(name, "name", site)
    if text.startswith("canvas."):
        raise site.refuse(
            f"names that begin with 'canvas.' are the runtime's own: write {text[7:] or 'open'!r}",
            "name",
        )
    if text in (".", "..") or re.search(r"[/\\\x00-\x1f\x7f]", text):
        raise site.refuse("cannot be part of a URL: use letters, digits, '_' and '-'", "name")
    if text in taken:
        raise site.refuse("the canvas has an action of that name already: rename one", "name")
    return text


def check_schema(schema: JSONValue, site: Site, field: str = "input_schema") -> JSONObject:
    """Return a schema that compiles as draft-07 and describes an object."""
    if not isinstance(schema, dict):
        raise site.refuse(
            f"must be a JSON Schema as a dict, not {type(schema).__name__}: write "
            "{'type': 'object', 'properties': {...}}, or leave it out",
            field,
        )
    if (problem := find_problem(schema)) is not None:
        where = f" at {problem.place}" if problem.place else ""
        raise site.refuse(f"does not compile as draft-07{where}: {problem.text}", field)
    kind = schema.get("type")
    combined = schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}
    if (
        kind != "object"
        and not (isinstance(kind, list) and "object" in kind)
        and (kind is not None or not combined)
    ):
        raise site.refuse(
            "must describe an object, because an input has named fields: write "
            "{'type': 'object', 'properties': {...}}",
            field,
        )
    return schema


def check_icon(icon: object, site: Site) -> str:
    """Return the path of a `.png` inside the extension's folder, with forward slashes."""
    text = check_path_text(icon, site)
    posix, windows = PurePosixPath(text), PureWindowsPath(text)
    if posix.is_absolute() or windows.drive or windows.root:
        raise site.refuse("must be relative to extension.mjs, as in 'icon.png'", "icon")
    if windows.suffix.lower() != ".png" or not text.endswith(".png"):
        raise site.refuse("must be a .png: other formats are not shown", "icon")
    if ".." in windows.parts:
        raise site.refuse("may lie outside the extension's folder: write it without '..'", "icon")
    return windows.as_posix()


def check_path_text(value: object, site: Site) -> str:
    if not isinstance(value, str | PurePosixPath | PureWindowsPath) or not str(value).strip():
        raise site.refuse("must be a path, as in 'icon.png'", "icon")
    return str(value)


def check_page(page: object, site: Site) -> Path:
    """Return an absolute folder with an `index.html`, or one HTML file, that hides no route."""
    if not isinstance(page, str | Path):
        raise site.refuse("must be a path: write Path(__file__).parent / 'page'", "page")
    path = Path(page)
    if not path.is_absolute():
        raise site.refuse(
            "is relative, but Copilot starts the process in the user's project: write "
            f"Path(__file__).parent / {str(page)!r}",
            "page",
        )
    if not path.exists():
        raise site.refuse(f"there is no {path.name!r} in {path.parent.name!r}: create it", "page")
    if path.is_file():
        if path.suffix.lower() not in (".html", ".htm"):
            raise site.refuse("a single file must be .html: pass its folder instead", "page")
        return path
    if not (path / "index.html").is_file():
        raise site.refuse(f"the folder {path.name!r} has no index.html: create it", "page")
    for name in sorted(_FILES_OF_OURS):
        if (path / name).is_file():
            raise site.refuse(f"the file {name!r} would hide a route of ours: rename it", "page")
    if (path / "actions").is_dir() and any((path / "actions").iterdir()):
        raise site.refuse(
            "the folder 'actions' would hide the actions' own routes: rename it", "page"
        )
    return path


def check_route(
    path: object, methods: Sequence[str], page: Path | None, site: Site
) -> tuple[str, tuple[str, ...]]:
    """Return path (with a leading slash) and methods of a route that hides nothing."""
    if not isinstance(path, str) or not path.strip("/"):
        raise site.refuse("needs a path of its own, as in '/export.csv'", "path")
    inside = path.removeprefix("/")
    if isinstance(methods, str):
        raise site.refuse(f"must be a list: write methods=[{methods!r}]", "methods")
    known = tuple(str(method).upper() for method in methods)
    if not known or not set(known) <= _METHODS:
        raise site.refuse(f"must be some of {', '.join(sorted(_METHODS))}", "methods")
    if inside in _FILES_OF_OURS or inside.split("/", 1)[0] == "actions":
        raise site.refuse(f"{inside!r} is a route of ours: choose another path", "path")
    for name in sorted(_FILES_OF_OURS):
        if hides(inside, name):
            raise site.refuse(f"{inside!r} would hide our route {name!r}: be narrower", "path")
    if page is not None and page.is_dir():
        for file in page.rglob("*"):
            relative = file.relative_to(page).as_posix()
            if file.is_file() and hides(inside, relative):
                raise site.refuse(
                    f"the page has a file {relative!r}, which would hide or be hidden by it: "
                    "rename one",
                    "path",
                )
    return f"/{inside}", known


def check_endpoint(endpoint: object, site: Site) -> None:
    """Refuse what cannot be called as `endpoint(request)` or `endpoint(request, ctx)`."""
    if not callable(endpoint):
        raise site.refuse("its endpoint is no function", "path")
    try:
        signature = inspect.signature(endpoint)
    except ValueError:
        return  # some built-in callables have no signature
    request = object()
    for arguments in ((request,), (request, object())):
        with suppress(TypeError):
            signature.bind(*arguments)
            return
    raise site.refuse(
        "its endpoint is called with the request: write `async def endpoint(request: Request)`, or "
        "`(request: Request, ctx: CanvasContext)`",
        "path",
    )


def hides(pattern: str, path: str) -> bool:
    """Whether a Starlette path such as `cards/{id}` matches `path`."""
    parts = re.split(r"\{[^}:]*(:[^}]*)?\}", pattern)
    regex = ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            regex += re.escape(part)
        else:
            regex += ".*" if part == ":path" else "[^/]+"
    return re.fullmatch(regex, path) is not None


def check_hosts(hosts: object, site: Site) -> tuple[str, ...]:
    """Return host names (`name` or `name:port`) a page may be reached under besides 127.0.0.1."""
    if isinstance(hosts, str) or not isinstance(hosts, Iterable):
        raise site.refuse(f"must be a list: write allowed_hosts=[{hosts!r}]", "allowed_hosts")
    listed = tuple(hosts)
    for host in listed:
        if not isinstance(host, str) or not re.fullmatch(r"[A-Za-z0-9.\-]+(:\d{1,5})?", host):
            raise site.refuse(
                f"{host!r} is no host: write a name or name:port, without scheme, path and '*'",
                "allowed_hosts",
            )
    return tuple(host.lower() for host in listed)


def check_csp(csp: object, site: Site) -> Mapping[str, tuple[str, ...]]:
    """Return the extra sources by directive: `{"connect-src": ("https://api.example.com",)}`."""
    if csp is None:
        return {}
    if not isinstance(csp, Mapping):
        raise site.refuse("must be a dict: write csp={'img-src': ['https://example.com']}", "csp")
    found: dict[str, tuple[str, ...]] = {}
    for directive, sources in csp.items():
        listed = (sources,) if isinstance(sources, str) else tuple(sources)
        if not isinstance(directive, str) or not re.fullmatch(r"[a-z][a-z-]*", directive):
            raise site.refuse(f"{directive!r} is no directive, such as 'img-src'", "csp")
        for source in listed:
            if not isinstance(source, str) or not re.fullmatch(r"[^\s;,]+", source):
                raise site.refuse(f"{directive}: {source!r} is no single source", "csp")
        found[directive] = listed
    return found


def check_number(value: Any, field: str, site: Site, *, whole: bool = False) -> Any:
    """Return a limit: a positive number, whole if it counts something."""
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not fits or not 0 < value < float("inf"):
        kind = "whole number" if whole else "number of seconds"
        raise site.refuse(f"must be a positive {kind}", field)
    return value


def check_callable(value: Any, field: str, site: Site) -> Any:
    """Return a function, or None."""
    if value is not None and (not callable(value) or inspect.iscoroutinefunction(value)):
        raise site.refuse(f"must be a function (`def`), not {type(value).__name__}", field)
    return value


def check_person_name(name: Any, site: Site) -> Any:
    """Return a text, a function, or None."""
    return name if isinstance(name, str) else check_callable(name, "person_name", site)


def check_lifespan(lifespan: Any, site: Site) -> Any:
    """Return what makes an async context manager of a context, or None."""
    if lifespan is None:
        return None
    if inspect.isasyncgenfunction(lifespan) or inspect.iscoroutinefunction(lifespan):
        raise site.refuse("must be an async context manager: add @asynccontextmanager", "lifespan")
    return check_callable(lifespan, "lifespan", site)


def is_store(value: object) -> bool:
    """Say whether documents can be kept in it."""
    return hasattr(value, "load") and hasattr(value, "commit")


def check_store(store: Any, has_state: bool, site: Site) -> Any:
    """Return a store, what picks one, or None. One without a state would keep nothing."""
    if store is None:
        return None
    waits = inspect.iscoroutinefunction(store)
    if isinstance(store, type) or waits or not (is_store(store) or callable(store)):
        raise site.refuse(
            "must be a store, or a def that takes the context and returns one: write "
            "store=JSONFileStore()",
            "store",
        )
    if not has_state:
        raise site.refuse("has nothing to store: pass state= as well", "store")
    return store
