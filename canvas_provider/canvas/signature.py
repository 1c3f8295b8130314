"""From a typed function to an action: its schema, and how to call it with a checked input.

Everything that can be decided is decided here, once, when the function is declared: which parameter
is the context, which one the open change of the state, which ones are input, and how each input is
converted. What cannot work is refused with what to write instead.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final

from canvas_provider.canvas.annotation import Resolver, Site, call_method, is_state
from canvas_provider.canvas.inputs import Alias, Arguments, Input, assemble, read_input
from canvas_provider.canvas.validation import InputRefused, Validator
from canvas_provider.types import Author, JSONObject, JSONValue

__all__ = [
    "ANY_OBJECT",
    "Plan",
    "compile_long_form",
    "compile_typed",
    "first_paragraphs",
]

ANY_OBJECT: Final[JSONObject] = {"type": "object"}


class Plan:
    """How to check an input and call the handler with it."""

    def __init__(
        self,
        handler: Callable[..., Any],
        schema: JSONObject | None,
        validator: Validator,
        *,
        arguments: Arguments | None = None,
        context: str | None = None,
        draft: str | None = None,
    ) -> None:
        self.handler = handler
        self.is_async = is_async(handler)
        self.schema = schema
        """What is declared to the runtime. None: no schema."""
        self.validator = validator
        self.arguments = arguments
        """Makes the keyword arguments of a checked input; None for the long form."""
        self.context = context
        """The parameter that gets the context."""
        self.draft = draft
        """The parameter that gets the open change of the state."""
        self.needs_context = arguments is None or context is not None or draft is not None
        self.timeout: float | None = None
        """Seconds; None: no limit."""
        self.only: Author | None = None
        """The one who may invoke it; None: all."""

    def call(self, checked: dict[str, Any], context: object, draft: object = None) -> Any:
        """Call the handler; one that is async gives a coroutine.

        Arguments are made anew, so that a second attempt finds nothing that the first one changed.

        Raises:
            InvalidInput: a type's own checks refuse what the schema let pass.
        """
        if self.arguments is None:
            return self.handler(context)
        try:
            arguments = self.arguments(checked)
        except InputRefused as refused:
            raise self.validator.refuse(refused.problems) from None
        if self.context is not None:
            arguments[self.context] = context
        if self.draft is not None:
            arguments[self.draft] = draft
        return self.handler(**arguments)


def compile_long_form(handler: Any, schema: JSONValue, *, site: Site, subject: str) -> Plan:
    """Plan a handler that takes one argument, the context. The schema must compile."""
    _refuse_uncallable(handler, site)
    try:
        signature = inspect.signature(handler)
        signature.bind(object())
    except TypeError:
        raise site.refuse(
            "its handler is called with one argument, the context: write `async def handler(ctx)`, "
            f"or use {site.decorator} for a function with typed parameters",
            "handler",
        ) from None
    except ValueError:
        pass  # some built-in callables have no signature
    else:
        for parameter in signature.parameters.values():
            site.is_context(parameter.annotation, parameter.name)
    declared, checked = _widen(schema)
    return Plan(handler, declared, Validator(checked, subject))


def _widen(schema: JSONValue) -> tuple[JSONObject | None, JSONObject]:
    """Admit null where an empty object plainly fits: models send it for "nothing"."""
    if not isinstance(schema, dict):
        return None, ANY_OBJECT
    demands = [keyword for keyword in _DEMANDS if schema.get(keyword)]
    if schema.get("type") == "object" and not demands:
        return {**schema, "type": ["object", "null"]}, schema
    return schema, schema


_DEMANDS: Final = (
    *("required", "minProperties", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"),
)
"""Keywords by which a schema may refuse an empty object."""


def compile_typed(
    function: Any,
    *,
    site: Site,
    subject: str,
    state_type: Any = None,
    alias: Alias | None = None,
) -> Plan:
    """Plan a function whose parameters say what it wants.

    Raises:
        DeclarationError: a parameter that nothing could fill in.
    """
    _refuse_uncallable(function, site)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise site.refuse("its parameters cannot be read: write a plain function") from None
    resolve = Resolver(function, state_type, site)
    inputs: list[Input] = []
    context = draft = None
    for parameter in parameters.values():
        annotation, metadata = resolve(parameter)
        if site.is_context(annotation, parameter.name):
            context = _only(context, parameter.name, "context", site)
        elif is_state(annotation, state_type):
            draft = _only(draft, parameter.name, "open change of the state", site)
        else:
            inputs.append(read_input(parameter, annotation, metadata, state_type, alias, site))
    schema, arguments = assemble(inputs, site)
    declared = schema if inputs else None
    validator = Validator(schema, subject)
    return Plan(function, declared, validator, arguments=arguments, context=context, draft=draft)


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine; if not, it runs in a thread."""
    # An object may have `async def __call__`.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        call_method(function)
    )


def first_paragraphs(function: Any) -> str | None:
    """Return a docstring up to its sections (`Args:`, `:param`), which are not for the agent."""
    text = inspect.getdoc(function) if hasattr(function, "__name__") else None
    lines: list[str] = []
    for line in (text or "").splitlines():
        if line.rstrip() in _SECTIONS or line.startswith((":param", ":return", ":raises")):
            break
        lines.append(line)
    return "\n".join(lines).strip() or None


_SECTIONS: Final = frozenset(
    {"Args:", "Arguments:", "Example:", "Examples:", "Parameters", "Raises:", "Returns:", "Yields:"}
)


def _refuse_uncallable(function: Any, site: Site) -> None:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise site.refuse(
            "a generator gives no result: return a list, and send what happens on the way with "
            f"{site.report}"
        )
    if inspect.isclass(function) or not callable(function):
        raise site.refuse("its handler is no function: write `async def` or `def`")


def _only(taken: str | None, name: str, what: str, site: Site) -> str:
    if taken is not None:
        raise site.refuse(f"is the {what}, as is {taken!r}: keep one of them", name)
    return name
