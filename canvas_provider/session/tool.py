"""`@tool` and `Tool`: a function that the agent may call, with no canvas around it.

A typed function becomes a tool as it becomes an action of a canvas: closed JSON Schema from the
annotations, text from `Annotated` and the docstring, an optional context.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, cast, get_args, overload

from canvas_provider.canvas import rules
from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.inputs import NOTHING, Alias
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.signature import (
    ANY_OBJECT,
    Plan,
    compile_long_form,
    compile_typed,
    first_paragraphs,
)
from canvas_provider.errors import DeclarationError, NotJSON
from canvas_provider.protocol.copilot import ToolDeclaration
from canvas_provider.types import JSONObject, JSONValue

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

__all__ = ["Tool", "ToolContext", "tool"]

T = TypeVar("T")

Defer = Literal["auto", "never"]


class ToolContext(NamedTuple):
    """One call of a tool, as its handler sees it."""

    session: "Session"
    tool_call_id: str
    """The model's own id of the call; events of the session carry it, too."""
    tool_name: str
    arguments: JSONValue
    """As the model wrote them, which passed the schema; `{}` where it wrote null or nothing."""
    working_directory: str | None = None
    """Where the user works, absolute; None if the host does not say."""
    traceparent: str | None = None
    tracestate: str | None = None
    """W3C Trace Context of the runtime's own span, if it traces."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Do what has to be awaited, from a `def` handler, which is in a thread."""
        return self.session.run(coroutine)

    def __repr__(self) -> str:
        # Arguments are for nobody's log.
        return f"ToolContext(tool_name={self.tool_name!r}, tool_call_id={self.tool_call_id!r})"


class Tool:
    """One tool, field by field as in the Node SDK.

    Its handler takes one argument, the `ToolContext`; for one with typed parameters use `@tool`.
    A `def` runs in a thread. What it returns is for the model: text as it is, a `ToolResult` with
    its pictures, everything else as JSON. A `CanvasError` tells the model its message.

    Args:
        name: 1 to 64 letters, digits, `_` and `-`.
        description: what the model is told it is for.
        parameters: JSON Schema of an object, read as draft-07. None: any object.
        handler: None leaves calls pending; answer them by `session.rpc`, as in the Node SDK.
        overrides_built_in_tool: it replaces Copilot's own tool of this name, which is refused
            otherwise.
        skip_permission: calls need no permission. **The user is asked for approval when the
            extension loads**, and without it nothing of the extension is loaded.
        defer: `"never"` keeps the tool in every prompt, also where there are many; `"auto"` lets
            the model find it by a search.
        metadata: for hosts that know it; kept as it is.
        namespace: `{"name": …, "description": …}`. Where a model finds tools by a search, those of
            one namespace are presented together. The description may be left out.
        is_terminal: a call that succeeds ends the agent's turn.

    Raises:
        DeclarationError: Copilot would refuse it, or it could not work.
    """

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: JSONValue = None,
        handler: Callable[[ToolContext], Any] | None = None,
        *,
        overrides_built_in_tool: bool = False,
        skip_permission: bool = False,
        defer: Defer | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: Mapping[str, str] | None = None,
        is_terminal: bool = False,
    ) -> None:
        site = _ToolSite(str(name))
        self.name: Final = _check_name(name, site)
        self.plan: Plan | None = None
        """How to call the handler; None: declared only."""
        self.declaration: Final[ToolDeclaration] = {"name": self.name}
        """What the runtime is told."""
        schema = ANY_OBJECT
        if parameters is not None:
            schema = rules.check_schema(parameters, site, "parameters")
        if handler is not None:
            self.plan = compile_long_form(handler, schema, site=site, subject=_subject(self.name))
        if description is not None:
            self.declaration["description"] = rules.check_text(description, "description", site)
        self.declaration["parameters"] = _for_models(schema)
        if defer is not None:
            if defer not in get_args(Defer):
                raise site.refuse("must be 'auto' or 'never'", "defer")
            self.declaration["defer"] = defer
        if metadata is not None:
            self.declaration["metadata"] = _check_object(metadata, site, "metadata")
        if namespace is not None:
            self.declaration["namespace"] = _check_namespace(namespace, site)
        flags = {
            "overridesBuiltInTool": overrides_built_in_tool,
            "skipPermission": skip_permission,
            "isTerminal": is_terminal,
        }
        given = {flag: True for flag, is_set in flags.items() if is_set}
        self.declaration.update(cast(ToolDeclaration, given))

    def __repr__(self) -> str:
        return f"Tool(name={self.name!r})"

    @property
    def handler(self) -> Callable[..., Any] | None:
        """The author's function, to be called by tests."""
        return None if self.plan is None else self.plan.handler


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    alias: Alias | None = None,
    overrides_built_in_tool: bool = False,
    skip_permission: bool = False,
    defer: Defer | None = None,
    metadata: Mapping[str, Any] | None = None,
    namespace: Mapping[str, str] | None = None,
    is_terminal: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    alias: Alias | None = None,
    **options: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a typed function a tool for the agent; pass it to `run(tools=[...])`.

        @tool
        async def count_words(text: Annotated[str, "What to count"]) -> int:
            "Count the words of a text."
            return len(text.split())

    Its name is the function's, its description the docstring's, its schema that of its parameters;
    one annotated `ToolContext` gets the context. A model that is the only other parameter is the
    whole input. For the rest of the options see `Tool`.

    Args:
        alias: renames parameters for the model, such as pydantic's `to_camel`.

    Raises:
        DeclarationError: it could not work, or the agent could not use it.
    """
    if isinstance(function, str):
        raise DeclarationError(
            f"takes the name by keyword: write @tool(name={function!r})", tool=function
        )

    def declare(function: Callable[..., Any]) -> Tool:
        given = getattr(function, "__name__", "") if name is None else name
        text = first_paragraphs(function) if description is None else description
        return _declare_typed(function, given, text, alias, options)

    return declare if function is None else declare(function)


def _declare_typed(
    function: Callable[..., Any],
    name: str,
    description: str | None,
    alias: Alias | None,
    options: dict[str, Any],
) -> Tool:
    site = _ToolSite(name)
    if description is None:
        raise site.refuse(
            "has no docstring: write what the tool does, in one line, for the model to know",
            "description",
        )
    plan = compile_typed(function, site=site, subject=_subject(name), alias=alias)
    made = Tool(name, description, NOTHING if plan.schema is None else plan.schema, **options)
    made.plan = plan
    return made


class _ToolSite(Site):
    context = ToolContext
    decorator = "@tool"
    report = "ctx.session.log(...)"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def refuse(self, message: str, field: str | None = None) -> DeclarationError:
        return DeclarationError(message, tool=self._name, field=field)


def _check_name(name: object, site: Site) -> str:
    # What Copilot CLI 1.0.102 accepts, which is also what the models' providers do.
    if not isinstance(name, str) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise site.refuse(
            "must be 1 to 64 letters, digits, '_' and '-', as in 'count_words'", "name"
        )
    return name


def _check_namespace(namespace: Mapping[str, str], site: Site) -> JSONObject:
    checked = _check_object(namespace, site, "namespace")
    texts = all(isinstance(value, str) and value.strip() for value in checked.values())
    if not texts or not {"name"} <= checked.keys() <= {"name", "description"}:
        raise site.refuse('must be {"name": …} with a "description", or without', "namespace")
    return checked


def _check_object(given: Mapping[str, Any], site: Site, field: str) -> JSONObject:
    try:
        value = to_json_value(given)
    except NotJSON as error:
        raise site.refuse(f"is not JSON: {error}", field) from None
    if not isinstance(value, dict):
        raise site.refuse("must be a dict", field)
    return value


def _for_models(schema: JSONObject) -> JSONObject:
    """Say `object` only: providers of models refuse a function whose input may be null.

    Ours may nevertheless be: a model that writes null for "nothing" is understood.
    """
    return {**schema, "type": "object"} if isinstance(schema.get("type"), list) else schema


def _subject(name: str) -> str:
    return f'tool "{name}"'
