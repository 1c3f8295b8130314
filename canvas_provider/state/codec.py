"""Between the values of a type and their JSON, by pydantic. Imported with `typed`, once needed.

The JSON is pydantic's: by alias, without computed fields, so that it can be read back.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from canvas_provider.errors import InvalidState, NotJSON, StateError, UnfitDocument
from canvas_provider.state.json import ensure_json, escape, refuse
from canvas_provider.state.node import is_node, plain
from canvas_provider.state.store import PUT_RIGHT
from canvas_provider.types import JSONValue

__all__ = ["Codec", "in_order", "invalid", "misfit", "unwrap"]

_SHOWN = 3
"""How many problems an error text names."""


class Codec:
    """Validates, writes and reads the values of one annotation. The work begins at first use."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self._adapter: TypeAdapter[Any] | None = None

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """pydantic's adapter."""
        if self._adapter is None:
            self._adapter = TypeAdapter(self.annotation)
        return self._adapter

    def prepare(self) -> None:
        """Do the work now.

        Raises:
            PydanticUserError: pydantic cannot handle the annotation.
        """
        _ = self.adapter

    def decode(self, raw: JSONValue) -> Any:
        """Read JSON: as JSON, for strict types take less from Python.

        Raises:
            ValidationError: it does not fit.
        """
        return self.adapter.validate_json(json.dumps(raw))

    def encode(self, value: Any, path: str) -> JSONValue:
        """Write a value of the type.

        Raises:
            NotJSON: JSON cannot carry it.
        """
        raw = self.write(self.adapter.dump_python, value, path)
        return ensure_json(in_order(value, raw), path)

    def write(
        self, dump: Callable[..., Any], value: Any, path: str, include: set[str] | None = None
    ) -> Any:
        """Call one of pydantic's functions that write JSON."""
        write = partial(
            dump, value, by_alias=True, round_trip=True, warnings="none", include=include
        )
        try:
            raw = write(mode="json")
            # pydantic writes NaN and infinity as null, without a word.
            lost = _holds_null(raw) and _is_lossy(raw, write(mode="python"))
        except (PydanticSerializationError, UnicodeError, ValueError) as error:
            raise NotJSON(f"{path or 'the document'}: it cannot be written as JSON") from error
        if lost:
            refuse(path, "NaN and infinity are not JSON; use null or a string")
        return raw

    def take(self, value: Any, path: str) -> JSONValue:
        """Validate what somebody wrote and return its JSON, which can be read back.

        Raises:
            InvalidState: the type does not accept it.
            NotJSON: JSON cannot carry it.
        """
        try:
            raw = self.encode(self.adapter.validate_python(unwrap(value)), path)
            self.decode(raw)
        except ValidationError as error:
            invalid(error, path)
        except RecursionError:
            refuse(path, "a cycle, or nesting far too deep")
        return raw

    def normal(self, raw: JSONValue, path: str) -> JSONValue:
        """Read JSON and write it again.

        Raises:
            InvalidState: it does not fit.
        """
        try:
            return self.encode(self.decode(raw), path)
        except ValidationError as error:
            invalid(error, path)


def _holds_null(raw: Any) -> bool:
    if isinstance(raw, dict):
        return any(map(_holds_null, raw.values()))
    return raw is None or (isinstance(raw, list) and any(map(_holds_null, raw)))


def _is_lossy(raw: Any, value: Any) -> bool:
    """Say whether there is a null in `raw` where `value`, of the same shape, has a number."""
    if raw is None:
        return isinstance(value, float)
    if isinstance(raw, dict) and isinstance(value, dict):
        return any(map(_is_lossy, raw.values(), value.values()))
    if isinstance(raw, list) and isinstance(value, (list, tuple)):
        return any(map(_is_lossy, raw, value))
    return False


def invalid(error: ValidationError, path: str) -> NoReturn:
    """Raise pydantic's complaint as ours: it names places, and no value."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    texts = []
    for problem in found[:_SHOWN]:
        place = path + "".join(f"/{escape(str(token))}" for token in problem["loc"])
        texts.append(f"{place or 'the state'}: {problem['msg']}")
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise InvalidState("; ".join(texts) + more) from None


def unwrap(value: Any) -> Any:
    """Return `value` with real values in place of all drafts and views in it."""
    if is_node(value):
        return _real(value)
    if isinstance(value, dict):
        return {key: unwrap(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(unwrap, value))
    fields = getattr(value, "__dict__", None)
    if fields and any(map(_holds_node, fields.values())):
        copy = object.__new__(type(value))
        for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            if hasattr(value, name):
                object.__setattr__(copy, name, getattr(value, name))
        object.__setattr__(copy, "__dict__", {k: unwrap(item) for k, item in fields.items()})
        return copy
    return value


def _holds_node(value: Any) -> bool:
    if is_node(value):
        return True
    if isinstance(value, dict):
        return any(map(_holds_node, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_node, value))
    fields = getattr(value, "__dict__", None)
    if not fields or isinstance(value, type):
        return False
    return any(map(_holds_node, fields.values()))


def _real(node: Any) -> Any:
    shape = type(node).__draft_shape__
    if isinstance(node, list):
        return [unwrap(item) for item in node]
    if isinstance(node, dict):
        return {key: unwrap(item) for key, item in node.items()}
    return shape.real(plain(node))


def in_order(value: Any, raw: Any) -> Any:
    """Return the JSON of `value`; that of a set sorted.

    The order of a set differs from process to process, which would look like a change.
    """
    if not isinstance(value, (set, frozenset)):
        return raw
    try:
        return sorted(raw)
    except TypeError:
        return sorted(raw, key=json.dumps)


def misfit(error: StateError, annotation: Any) -> NoReturn:
    """Say that a stored document does not fit its type."""
    name = getattr(annotation, "__name__", str(annotation))
    raise UnfitDocument(
        f"the stored state does not fit {name} ({error}); it stays as it is",
        told=f"The stored state is not what this canvas can read: {error}. {PUT_RIGHT}",
    ) from None
