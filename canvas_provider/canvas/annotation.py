"""Reading what a parameter is annotated with, and refusing what no caller could fill in."""

import inspect
import types
from functools import partial
from typing import Any, Final, get_origin, get_type_hints

from canvas_provider.canvas.context import CanvasContext
from canvas_provider.canvas.schema import split_annotated
from canvas_provider.errors import DeclarationError

__all__ = ["Resolver", "Site", "call_method", "is_state"]


class Site:
    """Where a declaration stands: what its context is, and the text of its refusal."""

    context: type = CanvasContext
    """The type of the parameter that gets the context."""

    decorator = "@canvas.action"
    """What declares a function with typed parameters here."""

    report = "ctx.emit(...)"
    """What tells others of progress here."""

    def __init__(self, canvas: str | None = None, action: str | None = None) -> None:
        self.canvas = canvas
        self.action = action

    def refuse(self, message: str, field: str | None = None) -> DeclarationError:
        return DeclarationError(message, canvas=self.canvas, action=self.action, field=field)

    def is_context(self, annotation: Any, name: str) -> bool:
        """Whether a parameter so annotated gets the context.

        Raises:
            DeclarationError: it is the context of another kind of declaration.
        """
        kind = get_origin(annotation) or annotation
        if kind is self.context:
            return True
        sites: list[type[Site]] = [Site, *Site.__subclasses__()]
        for other in sites:
            if kind is other.context:
                raise self.refuse(
                    f"is the context of {other.decorator}: write `{name}: {self.context.__name__}`",
                    name,
                )
        return False


class Resolver:
    """Reads annotations, also those that are text (`from __future__ import annotations`)."""

    def __init__(self, function: Any, state_type: Any, site: Site) -> None:
        self._site = site
        plain = function.func if isinstance(function, partial) else function
        plain = inspect.unwrap(getattr(plain, "__func__", plain))
        if not hasattr(plain, "__globals__"):
            plain = call_method(plain)
        self._globals = getattr(plain, "__globals__", {})
        self._locals = _closure(plain)
        context = f"`ctx: {site.context.__name__}` for the context"
        self._special = f" ({context})"
        if isinstance(state_type, type):
            self._special = f" (`state: {state_type.__name__}` for the state, {context})"
            self._locals.setdefault(state_type.__name__, state_type)

    def __call__(self, parameter: inspect.Parameter) -> tuple[Any, list[Any]]:
        """Return the annotation without `Annotated`, and the metadata."""
        self._refuse_kind(parameter)
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            if parameter.name == "ctx":
                return self._site.context, []
            raise self._site.refuse(
                f"has no annotation: write its type, as in `{parameter.name}: str`{self._special}",
                parameter.name,
            )
        if not isinstance(annotation, type) or isinstance(annotation, types.GenericAlias):
            annotation = self._evaluate(annotation, parameter.name)
        return split_annotated(annotation)

    def _refuse_kind(self, parameter: inspect.Parameter) -> None:
        name, kind = parameter.name, parameter.kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            text = f"*{name} has no name for its values: write `{name}: list[...]`"
        elif kind is inspect.Parameter.VAR_KEYWORD:
            text = f"**{name} has no schema: name each parameter, or write `{name}: dict[str, ...]`"
        elif kind is inspect.Parameter.POSITIONAL_ONLY:
            text = "is positional-only, but inputs have names: drop the `/`"
        else:
            return
        raise self._site.refuse(text, name)

    def _evaluate(self, annotation: Any, name: str) -> Any:
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            return get_type_hints(holder, self._globals, self._locals, include_extras=True)[name]
        except NameError as error:
            raise self._site.refuse(
                f"its annotation needs the name {error.name!r}, which does not exist at run time: "
                "import it outside `if TYPE_CHECKING:`, and define it above, at module level",
                name,
            ) from None
        except (TypeError, SyntaxError, AttributeError) as error:
            raise self._site.refuse(f"its annotation is no type: {error}", name) from None


def _closure(function: Any) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # assigned later
    return found


def call_method(function: Any) -> Any:
    """Return the `__call__` that the class of an object defines."""
    return type(function).__dict__.get("__call__")


def is_state(annotation: Any, state_type: Any) -> bool:
    """Whether a parameter so annotated gets the open change of the state.

    Type checkers insist on `dict[str, Any]` where the state is a plain `dict`: it is the same.
    """
    if state_type is None:
        return False
    return bool(annotation == state_type) or (annotation in _ANY_DICT and state_type in _ANY_DICT)


_ANY_DICT: Final = (dict, dict[str, Any])
