"""What `state=` means: the type of the shared state, and how a new document begins."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin, get_type_hints

from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.context import CanvasContext
from canvas_provider.types import JSONValue

__all__ = ["Seed", "read_seed"]


class Seed:
    """The state's type, and the author's factory of its first value, if there is one."""

    def __init__(
        self, type: Any, factory: Callable[[CanvasContext[Any]], Any] | None = None
    ) -> None:
        self.type = type
        self.factory = factory


def read_seed(state: Any, site: Site) -> Seed | None:
    """Read `state=`: None, a type, or a factory whose return annotation is the type.

    Raises:
        DeclarationError: not a type of JSON objects, or one that cannot begin by itself.
    """
    if state is None:
        return None
    if _is_object_type(state):
        _refuse_unresolved(state, site)
        if missing := _required_fields(state):
            raise site.refuse(
                f"a new {state.__name__} would lack {', '.join(map(repr, missing))}: give it "
                f"defaults, or pass a factory, `def first(ctx) -> {state.__name__}: ...`",
                "state",
            )
        return Seed(state)
    if _is_object_type(type(state)):
        name = type(state).__name__
        raise site.refuse(
            f"must be the type, not a value of it, which all panels would share: write state={name}"
            f", or a factory, `def first(ctx) -> {name}: ...`, for a state that is not empty",
            "state",
        )
    waits = inspect.iscoroutinefunction(state)
    if waits or not callable(state) or isinstance(state, type) or get_origin(state) is not None:
        raise site.refuse(f"cannot be {'async ' if waits else ''}{_name(state)}: {_WHAT}", "state")
    returned = _return_type(state, site)
    _refuse_unresolved(returned, site, is_read=True)
    return Seed(returned, state)


_WHAT = (
    "pass a pydantic model, a dataclass, a TypedDict or dict, or a function that takes the context "
    "and returns one"
)


def _is_object_type(state: Any) -> bool:
    if state is dict or get_origin(state) is dict:
        return True
    if not isinstance(state, type):
        return False
    # A model is told by what it has: importing pydantic for the question would cost its start.
    model = hasattr(state, "model_fields") and not getattr(state, "__pydantic_root_model__", False)
    return model or is_dataclass(state) or _is_typeddict(state)


def _refuse_unresolved(state: Any, site: Site, is_read: bool = False) -> None:
    """Refuse a type that names one which cannot be found, at any depth: no state could be made."""
    try:
        found = _find_unresolved(state, _name(state), set(), is_read)
    except (TypeError, SyntaxError, AttributeError) as error:
        text = f"an annotation in {_name(state)} is no type: {error}"
        raise site.refuse(text, "state") from None
    if found is not None:
        holder, name = found
        raise site.refuse(
            f"{holder} refers to {name!r} by name, which cannot be looked up: define it above, at "
            "the top of a module, import it outside `if TYPE_CHECKING:`, and refer to it without "
            "quotes or in a class",
            "state",
        )


def _find_unresolved(
    annotation: Any, holder: str, seen: set[Any], is_read: bool = False
) -> tuple[str, str] | None:
    """Return the first name that nothing says the meaning of, and which type refers to it.

    Args:
        is_read: somebody has looked up the names in `annotation`. What it still names then is an
            alias that it is itself within, such as JSONValue.
    """
    if isinstance(annotation, (str, ForwardRef)):
        name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return None if is_read else (holder, name)
    if annotation == JSONValue or get_origin(annotation) is Literal:
        return None
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts = parts[:1]
    elif isinstance(annotation, type) and get_origin(annotation) is None:
        if annotation in seen:
            return None
        seen.add(annotation)
        holder, is_read = annotation.__name__, True
        try:
            parts = _field_types(annotation)
        except NameError as error:
            return holder, str(error.name)
    for part in parts:
        if (found := _find_unresolved(part, holder, seen, is_read)) is not None:
            return found
    return None


def _field_types(cls: type) -> tuple[Any, ...]:
    """Return what the fields of a class are annotated with.

    Raises:
        NameError: with a name that cannot be looked up.
    """
    model: Any = cls
    if (declared := getattr(model, "model_fields", None)) is not None:
        if not model.__pydantic_complete__:
            model.model_rebuild()
            declared = model.model_fields
        return tuple(field.annotation for field in declared.values())
    if is_dataclass(cls) or _is_typeddict(cls):
        return tuple(get_type_hints(cls, include_extras=True).values())
    return ()


def _is_typeddict(state: type) -> bool:
    return issubclass(state, dict) and hasattr(
        state, "__required_keys__"
    )  # also typing_extensions'


def _required_fields(state: Any) -> list[str]:
    """Return the fields that `state()` would ask for."""
    if not isinstance(state, type):
        return []  # dict[str, ...]
    if _is_typeddict(state):
        return sorted(getattr(state, "__required_keys__", ()))
    if is_dataclass(state):
        return [
            field.name
            for field in fields(state)
            if field.init and field.default is NO_DEFAULT and field.default_factory is NO_DEFAULT
        ]
    found = getattr(state, "model_fields", {})
    return [name for name, field in found.items() if field.is_required()]


def _return_type(factory: Any, site: Site) -> Any:
    try:
        returned = get_type_hints(factory).get("return")
    except NameError as error:
        raise site.refuse(
            f"the factory {_name(factory)} returns something that has no meaning at the top of its "
            f"module: {error}. Define the type there",
            "state",
        ) from None
    except (TypeError, AttributeError):
        returned = None
    if returned is None or not _is_object_type(returned):
        name = _name(factory)
        raise site.refuse(
            f"the factory {name} does not say what it returns: write `def {name}(ctx) -> Board:`, "
            "where Board is a model, a dataclass, a TypedDict or dict",
            "state",
        )
    return returned


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))
