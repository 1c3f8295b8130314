import functools
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from jsonschema import Draft7Validator
from pydantic import BaseModel, Field, RootModel
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from canvas_provider.canvas.action import Action
from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.declaration import Canvas, Route, create_canvas
from canvas_provider.errors import DeclarationError
from canvas_provider.session.tool import ToolContext
from canvas_provider.testing import open_canvas
from canvas_provider.types import JSONObject, JSONValue


class Board(BaseModel):
    cards: list[str] = []


class Card(BaseModel):
    title: str = ""


@dataclass
class Notes:
    text: str
    more: list[str] = field(default_factory=list)


class Total(TypedDict):
    count: int


class Empty(TypedDict, total=False):
    count: int


class Names(RootModel[list[str]]):
    pass


class Required(BaseModel):
    title: str


async def pick_later(ctx: Any) -> None:
    """Nothing waits for a store."""


def create(**settings: Any) -> Canvas:
    given = {"id": "kanban", "display_name": "Kanban", "description": "A board."} | settings
    return create_canvas(**given)


def page(tmp_path: Path, *names: str) -> Path:
    folder = tmp_path / "page"
    for name in names or ("index.html",):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


# --- What it declares


def test_the_seeds_declaration_comes_out_as_it_is_written_there() -> None:
    """The declaration of the reference, in the long form: only null is admitted on top."""
    move: JSONObject = {
        "type": "object",
        "properties": {"cardId": {"type": "string"}, "columnId": {"type": "string"}},
        "required": ["cardId", "columnId"],
    }
    canvas = create(
        input_schema={"type": "object", "properties": {"project": {"type": "string"}}},
        icon="assets/icon.png",
        actions=[Action("move_card", "Move one card.", move, handler=lambda ctx: None)],
    )
    assert canvas.declaration == {
        "id": "kanban",
        "displayName": "Kanban",
        "description": "A board.",
        "inputSchema": {
            "type": ["object", "null"],
            "properties": {"project": {"type": "string"}},
        },
        "icon": "assets/icon.png",
        "actions": [{"name": "move_card", "description": "Move one card.", "inputSchema": move}],
    }


def test_the_typed_form_declares_the_same() -> None:
    canvas = create(state=Board, alias=to_camel)

    @canvas.action
    async def move_card(board: Board, card_id: str, column_id: str) -> None:
        """Move one card."""

    @canvas.on_open
    def opened(ctx: CanvasContext, project: str = "default") -> Opened:
        return Opened()

    declaration = canvas.declaration
    assert declaration["actions"] == [
        {
            "name": "move_card",
            "description": "Move one card.",
            "inputSchema": {
                "type": "object",
                "properties": {"cardId": {"type": "string"}, "columnId": {"type": "string"}},
                "required": ["cardId", "columnId"],
                "additionalProperties": False,
            },
        }
    ]
    assert declaration["inputSchema"] == {
        "type": ["object", "null"],
        "properties": {"project": {"type": "string", "default": "default"}},
        "additionalProperties": False,
    }


def test_the_agent_is_told_only_of_actions_it_may_invoke() -> None:
    canvas = create()

    @canvas.action(audience="person", name="drop", description="Drop it.", timeout=3)
    async def anything() -> None: ...

    @canvas.action(audience="agent")
    async def think() -> None: ...

    @canvas.action()
    async def act() -> None: ...

    assert [action["name"] for action in canvas.declaration["actions"]] == ["think", "act"]
    assert list(canvas.actions) == ["drop", "think", "act"]
    assert canvas.actions["drop"].description == "Drop it."
    assert canvas.actions["drop"].timeout == 3


def test_a_decorated_function_stays_what_it_was() -> None:
    canvas = create()

    @canvas.action
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8


def test_an_action_without_handler_is_declared() -> None:
    canvas = create(actions=[Action("later", input_schema={"type": "object"})])
    assert canvas.declaration["actions"] == [{"name": "later", "inputSchema": {"type": "object"}}]
    assert canvas.plans["later"] is None


def test_actions_are_read_only() -> None:
    with pytest.raises(TypeError):
        create().actions["x"] = Action("x")  # type: ignore[index]


@pytest.mark.parametrize("state", [Board, Notes(""), dict, dict[str, int], Empty, None])
def test_what_the_state_may_be(state: Any) -> None:
    if isinstance(state, Notes):
        state = dataclass(type("Free", (), {"__annotations__": {"n": int}, "n": 1}))
    canvas = create(state=state)
    assert canvas.state_type is state


def test_a_factory_seeds_what_its_annotation_says() -> None:
    def first(ctx: CanvasContext) -> Required:
        return Required(title=ctx.instance_id)

    canvas = create(state=first)
    assert canvas.state_type is Required
    assert canvas.seed is not None
    assert canvas.seed.factory is first


Tree = dict[str, "Tree"]


class Link(TypedDict, total=False):
    next: "Link"
    more: JSONValue


def first_json(ctx: CanvasContext) -> dict[str, JSONValue]:
    return {"a": [1]}


def first_object(ctx: CanvasContext) -> JSONObject:
    return {"a": [1]}


def first_tree(ctx: CanvasContext) -> "dict[str, Tree]":
    return {"a": {}}


def first_link(ctx: CanvasContext) -> Link:
    return {"next": {}, "more": [1]}


@pytest.mark.parametrize(
    "state",
    [
        first_json, first_object, first_tree, first_link, Link, dict, dict[str, Any],
        dict[str, JSONValue], dict[str, pydantic.JsonValue],
    ],
)  # fmt: skip
async def test_a_type_that_refers_to_itself_can_be_the_state(state: Any) -> None:
    async with open_canvas(create(state=state)) as panel:
        assert panel.state == (state(None) if state.__name__.startswith("first") else {})


def local_types() -> list[Any]:
    class Local(TypedDict, total=False):
        next: "Local"  # type: ignore[misc]  # as an author may write it

    def first(ctx: CanvasContext) -> "Local":
        return {}

    return [Local, first]


def first_list(ctx: CanvasContext) -> list[int]:
    return []


def first_any(ctx: CanvasContext) -> Any:
    return {}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Tree, "'Tree'"),
        (dict[str, "Nowhere"], "'Nowhere'"),  # type: ignore[name-defined]  # noqa: F821
        (local_types()[0], "'Local'"),
        (local_types()[1], "'Local'"),
        (first_list, "factory first_list"),
        (first_any, "factory first_any"),
        (Mapping[str, int], "Mapping"),
        (list[int], "list"),
        (Any, "Any"),
        (object, "object"),
        (dict[str, int] | None, "UnionType"),
        (JSONValue, "UnionType"),
    ],
)
def test_other_types_cannot_be_the_state_and_are_named(state: Any, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        create(state=state)


@dataclass
class Vague:
    card: "Missing" = 0  # type: ignore[name-defined]  # noqa: F821


class VagueModel(BaseModel):
    cards: "list[MissingModel]" = []  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Wide:
    by_name: dict[str, Annotated[list[Vague], "a note"]] = field(default_factory=dict)


@dataclass
class WideModels:
    cards: list[VagueModel] | None = None


@dataclass
class NoType:
    card: "3 | None" = 0  # type: ignore[valid-type]


def first_vague(ctx: CanvasContext) -> Vague:
    return Vague()


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (Vague, "Vague refers to 'Missing' by name"),
        (VagueModel, "VagueModel refers to 'MissingModel' by name"),
        (Wide, "Vague refers to 'Missing' by name"),
        (WideModels, "VagueModel refers to 'MissingModel' by name"),
        (dict[str, Vague], "Vague refers to 'Missing' by name"),
        (first_vague, "Vague refers to 'Missing' by name"),
        (NoType, "an annotation in NoType is no type"),
    ],
)
def test_a_name_that_cannot_be_looked_up_is_refused_however_deep_it_is(
    state: Any, said: str
) -> None:
    with pytest.raises(DeclarationError, match=said) as caught:
        create(state=state)
    assert caught.value.field == "state"


@dataclass
class Chain:
    """What names itself, in a list, an alias, or a note, can be looked up."""

    next: "Chain | None" = None
    rest: "list[Chain]" = field(default_factory=list)
    extra: JSONValue = None
    kind: Literal["a", "b"] = "a"
    note: Annotated[int, "a note"] = 0


class Later(BaseModel):
    card: "LaterCard | None" = None


class LaterCard(BaseModel):
    title: str = ""


@pytest.mark.parametrize("state", [Chain, Later, dict[str, Annotated[int, "a note"]]])
def test_what_can_be_looked_up_by_name_is_a_state(state: Any) -> None:
    seed = create(state=state).seed
    assert seed is not None
    assert seed.type == state


def test_a_page_is_served_unless_a_long_form_open_is_all_there_is(tmp_path: Path) -> None:
    def opened(ctx: CanvasContext) -> dict[str, str]:
        return {"url": "http://127.0.0.1:1/"}

    assert create().has_page
    assert create(page=page(tmp_path), open=opened).has_page
    assert not create(open=opened).has_page


def test_a_page_is_a_folder_or_one_html_file(tmp_path: Path) -> None:
    folder = page(tmp_path, "index.html", "state.js", "sub/state", "actions.js")
    assert create(page=folder).page == folder
    assert create(page=str(folder / "index.html")).page == folder / "index.html"


def test_routes_are_kept_with_a_leading_slash(tmp_path: Path) -> None:
    canvas = create(page=page(tmp_path, "index.html", "cards.html"))

    @canvas.route("export/{name}.csv", methods=["get", "POST"], content_types=["Text/CSV"])
    async def export(request: Any) -> None: ...

    assert canvas.routes == [Route("/export/{name}.csv", ("GET", "POST"), export, ("text/csv",))]


def test_limits_hosts_and_sources_are_kept() -> None:
    canvas = create(
        allowed_hosts=["Canvas.Example:8080"],
        csp={"img-src": "https://a.example", "connect-src": ["https://b.example", "wss:"]},
        max_body=10,
        open_timeout=1.5,
    )
    assert canvas.allowed_hosts == ("canvas.example:8080",)
    assert canvas.csp == {
        "img-src": ("https://a.example",),
        "connect-src": ("https://b.example", "wss:"),
    }
    assert (canvas.max_body, canvas.max_streams, canvas.open_timeout) == (10, 256, 1.5)


def test_every_declared_schema_is_draft_07() -> None:
    canvas = create(state=Board)

    @canvas.action
    def one(board: Board, cards: list[Card], pair: tuple[int, Card], card: Card | None = None): ...  # type: ignore[no-untyped-def]

    @canvas.action
    def two(card: Card) -> None: ...

    for action in canvas.declaration["actions"]:
        Draft7Validator.check_schema(action["inputSchema"])  # type: ignore[arg-type]


def test_a_simple_canvas_needs_neither_asyncio_nor_pydantic_nor_jsonschema() -> None:
    program = (
        "import sys\n"
        "from typing import Annotated, Literal\n"
        "from canvas_provider import CanvasContext, create_canvas\n"
        "canvas = create_canvas(id='k', display_name='K', description='K.', state=dict,\n"
        "    input_schema={'type': 'object', 'properties': {'a': {'minLength': 1}}})\n"
        "@canvas.action\n"
        "async def act(ctx: CanvasContext, state: dict, n: int, kind: Literal['a'] | None = None,\n"
        "    names: Annotated[list[str], 'x'] = ()) -> None: ...\n"
        "assert canvas.declaration['actions']\n"
        "print(*{'asyncio', 'pydantic', 'jsonschema'} & sys.modules.keys())\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == ""


# --- What it refuses: the setting, where it points, and a word of the way out


def closed(field: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": field}}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"id": ""}, "id", "blank"),
    ({"id": "  "}, "id", "blank"),
    ({"id": 5}, "id", "must be text"),
    ({"display_name": "\n"}, "display_name", "what a person reads"),
    ({"display_name": None}, "display_name", "must be text"),
    ({"description": " "}, "description", "one sentence"),
    ({"input_schema": "object"}, "input_schema", "as a dict"),
    ({"input_schema": True}, "input_schema", "leave it out"),
    ({"input_schema": {"type": "array"}}, "input_schema", "must describe an object"),
    ({"input_schema": {}}, "input_schema", "must describe an object"),
    ({"input_schema": {"type": "object", "required": "a"}}, "input_schema", "/required"),
    (
        {"input_schema": closed({"type": "x"})},
        "input_schema",
        "/a",
    ),
    ({"input_schema": {"$ref": "http://example.com/a"}}, "input_schema", "must be local"),
    (
        {"input_schema": {"type": "object", "properties": {"a": {"pattern": "["}}}},
        "input_schema",
        "regu",
    ),
    ({"icon": "/icon.png"}, "icon", "must be relative"),
    ({"icon": "C:\\icon.png"}, "icon", "must be relative"),
    ({"icon": "icon.svg"}, "icon", "must be a .png"),
    ({"icon": "../icon.png"}, "icon", "outside"),
    ({"icon": "a\\..\\..\\icon.png"}, "icon", "outside"),
    ({"icon": ""}, "icon", "must be a path"),
    ({"icon": 5}, "icon", "must be a path"),
    ({"state": Required}, "state", "would lack 'title'"),
    ({"state": Notes}, "state", "would lack 'text'"),
    ({"state": Total}, "state", "would lack 'count'"),
    ({"state": Names}, "state", "pass a pydantic model"),
    ({"state": list}, "state", "pass a pydantic model"),
    ({"state": list[str]}, "state", "pass a pydantic model"),
    ({"state": Board()}, "state", "write state=Board"),
    ({"state": Notes("a")}, "state", "write state=Notes"),
    ({"state": {"cards": []}}, "state", "write state=dict"),
    ({"state": lambda ctx: Board()}, "state", "does not say what it returns"),
    ({"store": "redis"}, "store", "must be a store"),
    ({"store": type("Store", (), {"load": 1, "commit": 1})}, "store", "must be a store"),
    ({"store": pick_later}, "store", "must be a store, or a def"),
    ({"store": type("Store", (), {"load": 1, "commit": 1})()}, "store", "pass state="),
    ({"state_key": "fixed"}, "state_key", "must be a function"),
    ({"alias": "camel"}, "alias", "must be a function"),
    ({"lifespan": 5}, "lifespan", "must be a function"),
    ({"allowed_hosts": "example.com"}, "allowed_hosts", "must be a list"),
    ({"allowed_hosts": ["https://example.com"]}, "allowed_hosts", "without scheme"),
    ({"allowed_hosts": ["*"]}, "allowed_hosts", "without scheme"),
    ({"csp": "img-src *"}, "csp", "must be a dict"),
    ({"csp": {"img src": "a"}}, "csp", "no directive"),
    ({"csp": {"img-src": "a; script-src *"}}, "csp", "no single source"),
    ({"max_body": 0}, "max_body", "whole number"),
    ({"max_streams": 1.5}, "max_streams", "whole number"),
    ({"open_timeout": -1}, "open_timeout", "seconds"),
    ({"close_timeout": float("inf")}, "close_timeout", "seconds"),
    ({"open_timeout": True}, "open_timeout", "seconds"),
    ({"open": lambda: None}, "handler", "one argument"),
    ({"open": "yes"}, None, "no function"),  # type: ignore[list-item]
    ({"on_close": lambda a, b: None}, "handler", "one argument"),
    ({"actions": {"a": 1}}, "actions", "list of Action"),
    ({"actions": [print]}, "actions", "Action(name="),
    ({"actions": [Action("")]}, "name", "blank"),
    ({"actions": [Action("a"), Action("a")]}, "name", "already"),
    ({"actions": [Action("canvas.open")]}, "name", "'open'"),
    ({"actions": [Action("a/b")]}, "name", "URL"),
    ({"actions": [Action("..")]}, "name", "URL"),
    ({"actions": [Action("a\nb")]}, "name", "URL"),
    ({"actions": [Action("a", "  ")]}, "description", "one sentence"),
    ({"actions": [Action("a", audience="all")]}, "audience", "both"),  # type: ignore[arg-type]
    ({"actions": [Action("a", timeout=0)]}, "timeout", "positive"),
    ({"actions": [Action("a", input_schema={"type": "string"})]}, "input_schema", "an object"),
    (
        {
            "actions": [
                Action(
                    "a",
                    input_schema=closed({"exclusiveMinimum": True}),
                )
            ]
        },
        "input_schema",
        "draft-04",
    ),
    ({"actions": [Action("a", handler=lambda a, b: None)]}, "handler", "@canvas.action"),
    ({"actions": [Action("a", handler=5)]}, None, "no function"),  # type: ignore[arg-type,list-item]
]


@pytest.mark.parametrize(("settings", "at", "word"), REFUSED)
def test_a_declaration_that_could_not_work_is_refused_with_the_way_out(
    settings: dict[str, Any], at: str | None, word: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        create(**settings)
    assert caught.value.field == at
    assert word in str(caught.value)
    assert caught.value.canvas == str(settings.get("id", "kanban"))
    for action in settings.get("actions", ()):
        if isinstance(action, Action):
            assert caught.value.action == action.name


PAGES: list[tuple[tuple[str, ...], str]] = [
    (("other.html",), "no index.html"),
    (("index.html", "state"), "'state'"),
    (("index.html", "events"), "'events'"),
    (("index.html", "canvas.js"), "'canvas.js'"),
    (("index.html", "canvas.css"), "'canvas.css'"),
    (("index.html", "actions/move_card"), "'actions'"),
]


@pytest.mark.parametrize(("names", "word"), PAGES)
def test_a_page_that_hides_a_route_is_refused(
    tmp_path: Path, names: tuple[str, ...], word: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        create(page=page(tmp_path, *names))
    assert caught.value.field == "page"
    assert word in str(caught.value)


def test_a_page_that_is_not_there_or_not_html_or_relative_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("x")
    for given, word in [
        (tmp_path / "nothing", "there is no 'nothing'"),
        (tmp_path / "page.txt", "must be .html"),
        ("page", "Path(__file__).parent / 'page'"),
        (5, "must be a path"),
    ]:
        with pytest.raises(DeclarationError, match="page") as caught:
            create(page=given)
        assert word in str(caught.value)
        assert caught.value.field == "page"


@pytest.mark.parametrize(
    ("path", "settings", "word"),
    [
        ("/", {}, "a path of its own"),
        (5, {}, "a path of its own"),
        ("/state", {}, "route of ours"),
        ("events", {}, "route of ours"),
        ("/actions/move", {}, "route of ours"),
        ("/{name}", {}, "would hide our route"),
        ("/{rest:path}", {}, "would hide our route"),
        ("/cards/{name}.png", {}, "'cards/a.png'"),
        ("/about.html", {}, "'about.html'"),
        ("/x", {"methods": "GET"}, "must be a list"),
        ("/x", {"methods": []}, "must be some of"),
        ("/x", {"methods": ["FETCH"]}, "must be some of"),
        ("/x", {"content_types": "text/csv"}, "must be a list"),
        ("/taken", {"methods": ["POST", "GET"]}, "declared twice"),
    ],
)
def test_a_route_that_hides_something_is_refused(
    tmp_path: Path, path: Any, settings: dict[str, Any], word: str
) -> None:
    canvas = create(page=page(tmp_path, "index.html", "about.html", "cards/a.png"))
    canvas.route("/taken")(lambda request: None)
    with pytest.raises(DeclarationError) as caught:
        canvas.route(path, **settings)
    assert word in str(caught.value)
    assert caught.value.canvas == "kanban"


def test_an_endpoint_is_a_function() -> None:
    with pytest.raises(DeclarationError, match="no function"):
        create().route("/x")("not one")  # type: ignore[type-var]


def asks_nothing() -> None: ...
def asks_for_three(request: object, ctx: object, more: object) -> None: ...


@pytest.mark.parametrize("endpoint", [asks_nothing, asks_for_three])
def test_an_endpoint_that_cannot_be_called_is_refused(endpoint: Any) -> None:
    with pytest.raises(DeclarationError, match="endpoint\\(request: Request\\)"):
        create().route("/x")(endpoint)


def bare(title) -> None: ...  # type: ignore[no-untyped-def]
def star(*titles: str) -> None: ...
def stars(**titles: str) -> None: ...
def positional(title: str, /) -> None: ...
def function(title: Callable[[], int]) -> None: ...
def unresolved(title: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def two_boards(a: Board, b: Board) -> None: ...
def two_contexts(a: CanvasContext, b: CanvasContext) -> None: ...
def maybe_board(board: Board | None) -> None: ...
def maybe_context(context: CanvasContext | None) -> None: ...
def of_a_tool(ctx: ToolContext) -> None: ...
def maybe_of_a_tool(ctx: ToolContext | None) -> None: ...
def wrong_default(n: int = "a") -> None: ...  # type: ignore[assignment]
def none_default(n: int = None) -> None: ...  # type: ignore[assignment]
def field_default(n: int = Field(3)) -> None: ...
def field_inside(n: Annotated[int, Field(default=3)]) -> None: ...
def field_alias(n: Annotated[int, Field(alias="m")]) -> None: ...
def model_default(card: Card = Card()) -> None: ...  # noqa: B008
def same_names(card_id: int, cardId: int) -> None: ...
def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


SIGNATURES: list[tuple[Any, str | None, str]] = [
    (bare, "title", "`title: str` (`state: Board` for the state"),
    (star, "titles", "list[...]"),
    (stars, "titles", "dict[str, ...]"),
    (positional, "title", "drop the `/`"),
    (function, "title", "cannot be read from JSON"),
    (unresolved, "title", "'Nowhere'"),
    (two_boards, "b", "keep one"),
    (two_contexts, "b", "keep one"),
    (maybe_board, "board", "always given"),
    (maybe_context, "context", "always given"),
    (of_a_tool, "ctx", "is the context of @tool: write `ctx: CanvasContext`"),
    (maybe_of_a_tool, "ctx", "is the context of @tool: write `ctx: CanvasContext`"),
    (wrong_default, "n", "does not fit its type"),
    (none_default, "n", "`... | None = None`"),
    (field_default, "n", "Annotated"),
    (field_inside, "n", "= default"),
    (field_alias, "n", "alias= on the canvas"),
    (model_default, "card", "give the fields of Card their defaults"),
    (same_names, "cardId", "'card_id'"),
    (generator, None, "a generator gives no result"),
    (async_generator, None, "a generator gives no result"),
    (Card, None, "no function"),
    (5, None, "no function"),
]


@pytest.mark.parametrize(("function", "at", "word"), SIGNATURES)
def test_a_function_that_no_caller_could_call_is_refused_with_what_to_write(
    function: Any, at: str | None, word: str
) -> None:
    canvas = create(state=Board, alias=to_camel if function is same_names else None)
    with pytest.raises(DeclarationError) as caught:
        canvas.action(name="act")(function)
    assert (caught.value.canvas, caught.value.action, caught.value.field) == ("kanban", "act", at)
    assert word in str(caught.value)
    assert "act" not in canvas.actions


def test_an_action_needs_a_name_of_its_own() -> None:
    canvas = create()
    canvas.action(name="act")(lambda: None)
    for given in ("act", "", "canvas.act"):
        with pytest.raises(DeclarationError, match="name"):
            canvas.action(name=given)(lambda: None)
    with pytest.raises(DeclarationError, match="action\\(name='move'\\)"):
        canvas.action("move")  # type: ignore[call-overload]
    with pytest.raises(DeclarationError, match="name the action"):
        canvas.action(functools.partial(print))


def test_alias_must_give_names() -> None:
    canvas = create(alias=lambda name: None)
    with pytest.raises(DeclarationError, match="must return a name"):

        @canvas.action
        def act(n: int) -> None: ...


def test_a_canvas_opens_and_closes_in_one_way_only() -> None:
    canvas = create(open=lambda ctx: None, on_close=lambda ctx: None)
    with pytest.raises(DeclarationError, match="has one already"):
        canvas.on_open(lambda: None)
    with pytest.raises(DeclarationError, match="has one already"):
        canvas.on_close(lambda: None)


def test_the_open_input_is_declared_in_one_way_only() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    canvas = create(input_schema=schema)
    canvas.on_open(lambda: None)
    assert canvas.declaration["inputSchema"] == {**schema, "type": ["object", "null"]}
    with pytest.raises(DeclarationError, match="keep one of them"):

        @create(input_schema=schema).on_open
        def opened(a: str) -> None: ...


def test_on_close_gets_no_input() -> None:
    with pytest.raises(DeclarationError, match="gets no input"):

        @create().on_close
        def closed(reason: str) -> None: ...


def test_a_lifespan_without_its_decorator_is_refused() -> None:
    async def lifespan(ctx: CanvasContext) -> AsyncIterator[None]:
        yield

    assert create(lifespan=asynccontextmanager(lifespan)).lifespan is not None
    with pytest.raises(DeclarationError, match="asynccontextmanager"):
        create(lifespan=lifespan)


def test_async_where_a_plain_function_is_needed_is_refused() -> None:
    async def later(ctx: CanvasContext) -> Board:
        return Board()

    with pytest.raises(DeclarationError, match="async later"):
        create(state=later)
    with pytest.raises(DeclarationError, match="must be a function"):
        create(state=Board, state_key=later)
