"""The parameters that a caller fills in: the schema of the whole input, and the way back.

A model, a dataclass or a TypedDict that is the only such parameter is the input itself; else each
parameter is a field.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args

from canvas_provider.canvas.annotation import Site, is_state
from canvas_provider.canvas.fastcheck import compile_check
from canvas_provider.canvas.results import to_json_value
from canvas_provider.canvas.schema import Convert, describe, shape_of
from canvas_provider.canvas.validation import InputRefused
from canvas_provider.errors import NotJSON
from canvas_provider.types import MISSING, JSONObject, JSONValue

__all__ = ["NOTHING", "Alias", "Arguments", "Input", "assemble", "read_input"]

Alias = Callable[[str], str]
"""From a parameter's name to the name agent and page use; such as pydantic's `to_camel`."""

Arguments = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes keyword arguments of a checked input."""

NOTHING: Final[JSONObject] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The schema of an input without fields."""


class Input:
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


def read_input(
    parameter: inspect.Parameter,
    annotation: Any,
    metadata: list[Any],
    state_type: Any,
    alias: Alias | None,
    site: Site,
) -> Input:
    """Read one parameter; refuse what would not be what it looks like."""
    name = parameter.name
    options = get_args(annotation)
    if any(site.is_context(option, name) or is_state(option, state_type) for option in options):
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
    return Input(name, key, annotation, default, metadata)


def _is_field(value: object) -> bool:
    return type(value).__module__ == "pydantic.fields"


def _sets_name_or_default(info: Any) -> bool:
    named = (getattr(info, each, None) for each in ("alias", "validation_alias"))
    required = info.is_required() if hasattr(info, "is_required") else True
    return not required or any(each is not None for each in named)


def _refuse_same_keys(inputs: list[Input], site: Site) -> None:
    taken: dict[str, str] = {}
    for each in inputs:
        if (other := taken.setdefault(each.key, each.name)) != each.name:
            raise site.refuse(f"alias= gives it the name of {other!r}, {each.key!r}", each.name)


def assemble(inputs: list[Input], site: Site) -> tuple[JSONObject, Arguments]:
    """Return the schema of the whole input, and what makes keyword arguments of it."""
    if not inputs:
        return NOTHING, lambda checked: {}
    _refuse_same_keys(inputs, site)
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


def _find_shapes(inputs: list[Input], site: Site) -> JSONObject | None:
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


def _whole(only: Input, definitions: JSONObject, site: Site) -> tuple[JSONObject, Arguments]:
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


def _with_default(each: Input, definitions: JSONObject, site: Site) -> JSONObject:
    try:
        default = to_json_value(each.default)
    except NotJSON:
        return each.schema
    fits = compile_check({**each.schema, "$defs": definitions})
    if fits is not None and not fits(default):
        hint = "write `... | None = None`" if default is None else "change one of them"
        raise site.refuse(f"its default does not fit its type: {hint}", each.name)
    return {**each.schema, "default": default}


def _binder(inputs: list[Input]) -> Arguments:
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
