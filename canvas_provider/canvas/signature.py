"""From a typed function to an action: its schema, and how to call it with a checked input.

Everything that can be decided is decided here, once, when the function is declared: which parameter
is the context, which one the open change of the state, which ones are input, and how each input is
converted. What cannot work is refused with what to write instead.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args, get_origin

from canvas_provider.canvas.annotation import Resolver, Site, call_method
from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.fastcheck import compile_check
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.schema import Convert, describe, shape_of
from canvas_provider.canvas.validation import InputRefused, Validator
from canvas_provider.errors import NotJSON
from canvas_provider.types import MISSING, Author, JSONObject, JSONValue

__all__ = [
    "ANY_OBJECT",
    "Alias",
    "Plan",
    "compile_long_form",
    "compile_typed",
    "first_paragraphs",
]

Alias = Callable[[str], str]
"""From a parameter's name to the name agent and page use; such as pydantic's `to_camel`."""

_NOTHING: Final[JSONObject] = {"type": "object", "properties": {}, "additionalProperties": False}
ANY_OBJECT: Final[JSONObject] = {"type": "object"}


class Plan:
    """How to check an input and call the handler with it."""

    def __init__(
        self,
        handler: Callable[..., Any],
        schema: JSONObject | None,
        validator: Validator,
        *,
        arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
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

    def call(
        self, checked: dict[str, Any], context: CanvasContext[Any] | None, draft: object = None
    ) -> Any:
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


class _Input:
    """One parameter that the caller fills in."""

    def __init__(
        self, name: str, key: str, annotation: Any, default: Any, metadata: list[Any]
    ) -> None:
        self.name = name
        self.key = key
        """What agent and page call it."""
        self.annotation = annotation
        self.default = default
        self.metadata = metadata
        self.schema: JSONObject = {}
        self.convert: Convert | None = None
        self.as_is: type | None = None

    @property
    def required(self) -> bool:
        return self.default is MISSING


def compile_long_form(handler: Any, schema: JSONValue, *, site: Site, subject: str) -> Plan:
    """Plan a handler that takes one argument, the context. The schema must compile."""
    _refuse_uncallable(handler, site)
    try:
        inspect.signature(handler).bind(object())
    except TypeError:
        raise site.refuse(
            "its handler is called with one argument, the context: write `async def handler(ctx)`, "
            "or use @canvas.action for a function with typed parameters",
            "handler",
        ) from None
    except ValueError:
        pass  # some built-in callables have no signature
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
    inputs: list[_Input] = []
    context = draft = None
    for parameter in parameters.values():
        annotation, metadata = resolve(parameter)
        if _is_context(annotation):
            context = _only(context, parameter.name, "context", site)
        elif state_type is not None and annotation == state_type:
            draft = _only(draft, parameter.name, "open change of the state", site)
        else:
            inputs.append(_read(parameter, annotation, metadata, state_type, alias, site))
    _refuse_same_keys(inputs, site)
    schema, arguments = _assemble(inputs, site)
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
            "ctx.emit(...)"
        )
    if inspect.isclass(function) or not callable(function):
        raise site.refuse("its handler is no function: write `async def` or `def`")


def _is_context(annotation: Any) -> bool:
    return annotation is CanvasContext or get_origin(annotation) is CanvasContext


def _only(taken: str | None, name: str, what: str, site: Site) -> str:
    if taken is not None:
        raise site.refuse(f"is the {what}, as is {taken!r}: keep one of them", name)
    return name


def _read(
    parameter: inspect.Parameter,
    annotation: Any,
    metadata: list[Any],
    state_type: Any,
    alias: Alias | None,
    site: Site,
) -> _Input:
    name = parameter.name
    options = get_args(annotation)
    if any(_is_context(o) or (state_type is not None and o == state_type) for o in options):
        raise site.refuse("is always given: drop everything but the type itself", name)
    for one in metadata:
        if _is_field(one) and _sets_name_or_default(one):
            raise site.refuse(
                f"its Field sets a default or an alias: write `{name}: ... = default`, and alias= "
                "on the canvas",
                name,
            )
    default = MISSING if parameter.default is inspect.Parameter.empty else parameter.default
    if _is_field(default):
        raise site.refuse(
            f"write Field inside the annotation: `{name}: Annotated[..., Field(...)] = default`",
            name,
        )
    key = name if alias is None else alias(name)
    if not isinstance(key, str) or not key:
        raise site.refuse(f"alias= gave {key!r} for it: it must return a name", name)
    return _Input(name, key, annotation, default, metadata)


def _is_field(value: object) -> bool:
    return type(value).__module__ == "pydantic.fields"


def _sets_name_or_default(info: Any) -> bool:
    named = (getattr(info, each, None) for each in ("alias", "validation_alias"))
    required = info.is_required() if hasattr(info, "is_required") else True
    return not required or any(each is not None for each in named)


def _refuse_same_keys(inputs: list[_Input], site: Site) -> None:
    taken: dict[str, str] = {}
    for each in inputs:
        if (other := taken.setdefault(each.key, each.name)) != each.name:
            raise site.refuse(f"alias= gives it the name of {other!r}, {each.key!r}", each.name)


def _assemble(
    inputs: list[_Input], site: Site
) -> tuple[JSONObject, Callable[[dict[str, Any]], dict[str, Any]]]:
    """Return the schema of the whole input, and what makes keyword arguments of it."""
    if not inputs:
        return _NOTHING, lambda checked: {}
    definitions = _find_shapes(inputs, site)
    if len(inputs) == 1 and definitions is not None and _is_object(inputs[0].annotation):
        return _whole(inputs[0], definitions, site)
    properties: JSONObject = {}
    for each in inputs:
        each.schema = describe(each.schema, each.metadata)
        if not each.required:
            each.schema = _with_default(each, definitions or {}, site)
        properties[each.key] = each.schema
    required: list[JSONValue] = [each.key for each in inputs if each.required]
    schema: JSONObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    else:
        schema["type"] = ["object", "null"]
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    return schema, _binder(inputs)


def _find_shapes(inputs: list[_Input], site: Site) -> JSONObject | None:
    """Fill in schema and conversion of each; return pydantic's definitions if it was needed."""
    difficult: dict[str, Any] = {}
    for each in inputs:
        constraints = [one for one in each.metadata if not isinstance(one, str)]
        shape = None if constraints else shape_of(each.annotation)
        if shape is None:
            difficult[each.name] = _annotate(each.annotation, constraints)
        else:
            each.schema, each.convert, each.as_is = shape.schema, shape.convert, shape.as_is
    if not difficult:
        return None
    # pydantic costs more than everything else at start: only canvases that need it pay.
    from canvas_provider.canvas.adapter import TypeRefused, adapt

    try:
        adapted = adapt(difficult)
    except TypeRefused as refused:
        raise site.refuse(
            f"its type cannot be read from JSON ({refused.reason}): take what JSON has, such as "
            "str, int, list, a model, and make the rest of it inside",
            refused.name,
        ) from None
    for each in inputs:
        if each.name in difficult:
            each.schema, each.convert = adapted.schemas[each.name], adapted.converts[each.name]
    return adapted.definitions


def _annotate(annotation: Any, constraints: list[Any]) -> Any:
    return Annotated[annotation, *constraints] if constraints else annotation


def _is_object(annotation: Any) -> bool:
    from canvas_provider.canvas.adapter import is_object_type

    return is_object_type(annotation)


def _whole(
    only: _Input, definitions: JSONObject, site: Site
) -> tuple[JSONObject, Callable[[dict[str, Any]], dict[str, Any]]]:
    """A model that is the only input parameter is the input: its fields, not a field of its own."""
    if not only.required:
        raise site.refuse(
            "is the whole input, so it has no default: give the fields of "
            f"{only.annotation.__name__} their defaults instead",
            only.name,
        )
    schema, convert = dict(only.schema), only.convert
    others = dict(definitions)
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix("#/$defs/")
        target = definitions[name]
        assert isinstance(target, dict)
        if f'"{reference}"' not in repr(definitions).replace("'", '"'):
            del others[name]
        schema = {**target, **{key: one for key, one in schema.items() if key != "$ref"}}
    if not schema.get("required"):
        schema["type"] = ["object", "null"]
    if others:
        schema["$defs"] = others
    assert convert is not None
    return describe(schema, only.metadata), lambda checked: {only.name: convert(checked)}


def _with_default(each: _Input, definitions: JSONObject, site: Site) -> JSONObject:
    try:
        default = to_json_value(each.default)
    except NotJSON:
        return each.schema
    fits = compile_check({**each.schema, "$defs": definitions})
    if fits is not None and not fits(default):
        hint = "write `... | None = None`" if default is None else "change one of them"
        raise site.refuse(f"its default does not fit its type: {hint}", each.name)
    return {**each.schema, "default": default}


def _binder(inputs: list[_Input]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    if all(each.convert is None and each.key == each.name for each in inputs):
        return dict
    table = {each.key: (each.name, each.convert, each.as_is) for each in inputs}

    def arguments(checked: dict[str, Any]) -> dict[str, Any]:
        made = {}
        key = ""
        try:
            for key, value in checked.items():
                name, convert, as_is = table[key]
                if convert is None or type(value) is as_is:
                    made[name] = value
                else:
                    made[name] = convert(value)
        except InputRefused as refused:
            raise refused.at(key) from None
        return made

    return arguments
