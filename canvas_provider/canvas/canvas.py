"""`Canvas`: what an author declares, and the decorators that add to it.

A canvas is a description: it holds no instance, no connection and no loop, so one can be declared
at import and opened any number of times, in Copilot, in the development host and in a test.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from canvas_provider.canvas import rules
from canvas_provider.canvas.action import Action, Audience, Handler
from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.inputs import Alias
from canvas_provider.canvas.seed import Seed
from canvas_provider.canvas.signature import (
    ANY_OBJECT,
    Plan,
    compile_long_form,
    compile_typed,
    first_paragraphs,
)
from canvas_provider.canvas.validation import Validator
from canvas_provider.types import JSONObject, JSONValue

if TYPE_CHECKING:
    from canvas_provider.protocol.copilot import ActionDeclaration, CanvasDeclaration
    from canvas_provider.state.store import Store

__all__ = ["MAX_BODY", "MAX_STREAMS", "Canvas", "Lifespan", "PickStore", "Route", "StateKey"]

F = TypeVar("F", bound=Handler)

Lifespan = Callable[[CanvasContext[Any]], AbstractAsyncContextManager[Any]]
StateKey = Callable[[CanvasContext[Any]], str]
PersonName = str | Callable[[CanvasContext[Any]], str]
PickStore = Callable[[CanvasContext[Any]], "Store"]

MAX_BODY: Final = 1 << 20
"""Bytes."""
MAX_STREAMS: Final = 256
_AUDIENCES: Final = ("agent", "person", "both")


@dataclass(frozen=True)
class Route:
    """A route of the author's own beside ours, as in Starlette."""

    path: str
    methods: tuple[str, ...]
    endpoint: Callable[..., Any]
    content_types: tuple[str, ...]
    """What a request with a body may carry."""


class Canvas:
    """A canvas, as `create_canvas` made it. Its decorators add what it can do."""

    def __init__(self, *, id: str, display_name: str, description: str, seed: Seed | None) -> None:
        self.id = id
        self.display_name = display_name
        self.description = description
        self.seed = seed
        """The type of the state and how it begins; None: no state."""
        self.page: Path | None = None
        self.icon: str | None = None
        self.input_schema: JSONObject | None = None
        """As declared to the runtime."""
        self.alias: Alias | None = None
        self.store: Store | PickStore | None = None
        """Where the state lives, or what picks that for an instance; None: in memory."""
        self.state_key: StateKey | None = None
        self.person_name: PersonName | None = None
        """What others who have the document open are told; None: the system's user."""
        self.lifespan: Lifespan | None = None
        self.allowed_hosts: tuple[str, ...] = ()
        self.csp: Mapping[str, tuple[str, ...]] = {}
        self.max_body = MAX_BODY
        """Bytes."""
        self.max_streams = MAX_STREAMS
        self.open_timeout = 30.0
        """Seconds."""
        self.close_timeout = 5.0
        """Seconds."""
        self.routes: list[Route] = []
        self.plans: dict[str, Plan | None] = {}
        """How to call each action's handler; None: it has none."""
        self.open_validator = Validator(ANY_OBJECT, _open_subject(id))
        """Without a schema any object opens the canvas: `state_key=` may read it."""
        self.open_plan: Plan | None = None
        self.close_plan: Plan | None = None
        self._actions: dict[str, Action] = {}
        self._site = Site(id)
        self._long_form_open = False

    def __repr__(self) -> str:
        return f"<Canvas {self.id!r}, {len(self._actions)} actions>"

    @property
    def state_type(self) -> Any:
        """The type of the state; None: the canvas has none."""
        return None if self.seed is None else self.seed.type

    def store_for(self, context: CanvasContext[Any]) -> "Store | None":
        """Return the store of the instance that this context opens; None: in memory."""
        if not callable(self.store):
            return self.store
        picked = self.store(context)
        if not rules.is_store(picked):
            raise TypeError(f"store= returned {type(picked).__name__}: it must return a store")
        return picked

    @property
    def has_page(self) -> bool:
        """Whether a page is served: not if a long-form `open` is all there is, as in Node."""
        return self.page is not None or bool(self.routes) or not self._long_form_open

    @property
    def actions(self) -> Mapping[str, Action]:
        """All actions by name, also those that only a person may invoke."""
        return MappingProxyType(self._actions)

    @property
    def declaration(self) -> "CanvasDeclaration":
        """What the runtime is told: of the actions, those that the agent may invoke."""
        declared: CanvasDeclaration = {
            "id": self.id,
            "displayName": self.display_name,
            "description": self.description,
        }
        if self.input_schema is not None:
            declared["inputSchema"] = self.input_schema
        if self.icon is not None:
            declared["icon"] = self.icon
        for_agent = (action for action in self._actions.values() if action.audience != "person")
        declared["actions"] = [_declare(action) for action in for_agent]
        return declared

    @overload
    def action(self, function: F, /) -> F: ...
    @overload
    def action(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        audience: Audience = "both",
        timeout: float | None = None,
    ) -> Callable[[F], F]: ...
    def action(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        audience: Audience = "both",
        timeout: float | None = None,
    ) -> F | Callable[[F], F]:
        """Make a typed function an action, for the agent and for the page.

        Its name is the function's, its description the docstring's, its schema that of its
        parameters. A parameter of the state's type gets the open change; one annotated
        `CanvasContext` the context. A `def` runs in a thread.

        Args:
            audience: who may invoke it.
            timeout: seconds until it is cancelled and rolled back; None: never.

        Raises:
            DeclarationError: it could not work, or the agent could not use it.
        """

        if isinstance(function, str):
            raise self._site.refuse(
                f"takes the name by keyword: write @canvas.action(name={function!r})", "action"
            )

        def declare(function: F) -> F:
            given = getattr(function, "__name__", "") if name is None else name
            text = first_paragraphs(function) if description is None else description
            self._declare_typed(function, Action(given, text, None, function, audience, timeout))
            return function

        return declare if function is None else declare(function)

    def on_open(self, function: F) -> F:
        """Run it whenever the canvas is opened: first, for a focus, after a reload, on resume.

        Its parameters are the input of opening; `ctx.reopened` tells the first time from the
        others. It returns an `Opened` or nothing.
        """
        site = Site(self.id, "on_open")
        if self.open_plan is not None:
            raise site.refuse("the canvas has one already: keep one")
        plan = self._compile(function, site, _open_subject(self.id))
        if plan.schema is not None:
            if self.input_schema is not None:
                raise site.refuse(
                    "has parameters, and the canvas an input_schema: keep one of them",
                    "input_schema",
                )
            self.input_schema = plan.schema
            self.open_validator = plan.validator
        self.open_plan = plan
        return function

    def on_close(self, function: F) -> F:
        """Run it when the canvas is closed on purpose: not for reload, disconnect or exit.

        What it raises is logged. Release what an instance holds in `lifespan=` instead.
        """
        site = Site(self.id, "on_close")
        if self.close_plan is not None:
            raise site.refuse("the canvas has one already: keep one")
        plan = self._compile(function, site, f'canvas "{self.id}" close')
        if plan.schema is not None:
            raise site.refuse("gets no input: take `ctx: CanvasContext` and the state, no more")
        self.close_plan = plan
        return function

    def route(
        self,
        path: str,
        methods: Sequence[str] = ("GET",),
        content_types: Sequence[str] = ("application/json",),
    ) -> Callable[[F], F]:
        """Serve a route of your own under the instance's URL, behind the same guards.

        Args:
            content_types: what a request with a body may carry.
        """
        site = Site(self.id)
        known_path, known_methods = rules.check_route(path, methods, self.page, site)
        if isinstance(content_types, str):
            raise site.refuse(f"must be a list: write [{content_types!r}]", "content_types")
        types = tuple(str(one).lower() for one in content_types)
        for other in self.routes:
            if other.path == known_path and set(other.methods) & set(known_methods):
                raise site.refuse(f"{path!r} is declared twice: keep one", "path")

        def declare(endpoint: F) -> F:
            rules.check_endpoint(endpoint, site)
            self.routes.append(Route(known_path, known_methods, endpoint, types))
            return endpoint

        return declare

    def _compile(self, function: Any, site: Site, subject: str) -> Plan:
        return compile_typed(
            function, site=site, subject=subject, state_type=self.state_type, alias=self.alias
        )

    def _declare_typed(self, function: Any, action: Action) -> None:
        site = self._check_action(action)
        plan = self._compile(function, site, _subject(action.name, self.id))
        self._add(action, plan, plan.schema)

    def declare_long_form(
        self,
        *,
        input_schema: JSONValue,
        actions: Sequence[Action],
        open: Handler | None,
        on_close: Handler | None,
    ) -> None:
        """Take what `create_canvas` got in the form of the Node SDK."""
        if input_schema is not None:
            rules.check_schema(input_schema, self._site)
        plan = compile_long_form(
            open if open is not None else _open_nothing,
            input_schema,
            site=Site(self.id, "open"),
            subject=_open_subject(self.id),
        )
        self.input_schema = plan.schema
        self.open_validator = plan.validator
        if open is not None:
            self._long_form_open = True
            self.open_plan = plan
        if on_close is not None:
            self.close_plan = compile_long_form(
                on_close, None, site=Site(self.id, "on_close"), subject=f'canvas "{self.id}" close'
            )
        if not isinstance(actions, Sequence) or isinstance(actions, str):
            raise self._site.refuse("must be a list of Action objects", "actions")
        for action in actions:
            self._declare_long_form(action)

    def _declare_long_form(self, action: Action) -> None:
        if not isinstance(action, Action):
            raise self._site.refuse(
                "must be Action objects: write Action(name=..., handler=...), or use "
                "@canvas.action for a typed function",
                "actions",
            )
        site = self._check_action(action)
        schema = action.input_schema
        if schema is not None:
            rules.check_schema(schema, site)
        if action.handler is None:
            self._add(action, None, _as_object(schema))
            return
        subject = _subject(action.name, self.id)
        plan = compile_long_form(action.handler, schema, site=site, subject=subject)
        self._add(action, plan, plan.schema)

    def _check_action(self, action: Action) -> Site:
        site = Site(self.id, str(action.name))
        rules.check_action_name(action.name, self._actions, site)
        if action.description is not None:
            rules.check_text(action.description, "description", site)
        if action.audience not in _AUDIENCES:
            raise site.refuse(f"must be one of {', '.join(_AUDIENCES)}", "audience")
        if action.timeout is not None:
            rules.check_number(action.timeout, "timeout", site)
        return site

    def _add(self, action: Action, plan: Plan | None, schema: JSONObject | None) -> None:
        declared = Action(
            action.name,
            action.description,
            schema,
            action.handler,
            action.audience,
            action.timeout,
        )
        if plan is not None:
            plan.timeout = action.timeout
            plan.only = None if action.audience == "both" else action.audience
        self._actions[action.name] = declared
        self.plans[action.name] = plan


def _subject(action: str, canvas: str) -> str:
    return f'action "{action}" on canvas "{canvas}"'


def _open_nothing(context: CanvasContext[Any]) -> None:
    """Open a canvas that has nothing to do then."""


def _open_subject(canvas: str) -> str:
    return f'canvas "{canvas}" open input'


def _as_object(schema: JSONValue) -> JSONObject | None:
    return schema if isinstance(schema, dict) else None


def _declare(action: Action) -> "ActionDeclaration":
    declared: ActionDeclaration = {"name": action.name}
    if action.description is not None:
        declared["description"] = action.description
    if action.input_schema is not None:
        declared["inputSchema"] = action.input_schema
    return declared
