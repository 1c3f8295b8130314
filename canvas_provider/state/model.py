"""Shapes of models: pydantic models and dataclasses, field by field.

What belongs to a model as a whole, its own validators, runs when a change is committed; what
belongs to a field, when it is written. The nodes themselves are in `modelnode`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from canvas_provider.errors import InvalidState
from canvas_provider.state.codec import Codec, in_order, invalid, unwrap
from canvas_provider.state.json import ensure_json, escape
from canvas_provider.state.kinds import MappingKind
from canvas_provider.state.modelfield import own_storage
from canvas_provider.state.modelnode import Classes
from canvas_provider.state.node import Draft, Element, Link, Log, is_node, plain
from canvas_provider.state.recording import Recording
from canvas_provider.state.shape import PLAIN, Shape, place_of
from canvas_provider.state.typed import TypedShape, keep, merge
from canvas_provider.types import MISSING, JSONValue

__all__ = ["Field", "FieldCodec", "ModelShape"]


class Field:
    """What is known of one field of a model."""

    __slots__ = ("custom", "default", "frozen", "guarded", "key", "name", "shape")

    def __init__(
        self,
        name: str,
        shape: Shape,
        *,
        key: str,
        custom: bool = False,
        guarded: bool = False,
        frozen: bool = False,
        default: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.shape = shape
        self.key = key
        """In the document."""
        self.custom = custom
        """Whether writes go through validators or settings of the model's."""
        self.guarded = guarded
        """Whether it is a container with rules for it as a whole."""
        self.frozen = frozen
        self.default = default
        """Makes the value of a field that is not stored; `None` for those that are."""


class ModelShape(TypedShape):
    """A model whose fields are nodes, scalars or cells of their own."""

    container = dict

    def __init__(self, model: type, compile_fields: Callable[[], list[Field]]) -> None:
        super().__init__(model)
        self.model = model
        self._compile_fields = compile_fields
        self._classes: Classes | None = None
        self._kind: ModelKind | None = None
        self.open_ended = False
        """Whether unknown keys are attributes (`extra="allow"`)."""
        self.checks_model = False
        """Whether the model has validators of its own."""

    @property
    def kind(self) -> "ModelKind":
        """Its fields, which are compiled late: models refer to each other, and to themselves."""
        if self._kind is None:
            self._kind = ModelKind(self, self._compile_fields())
        return self._kind

    @property
    def classes(self) -> Classes:
        """The classes of its nodes."""
        if self._classes is None:
            self._classes = Classes(self)
        return self._classes

    def draft(self, raw: Any, link: Link) -> Element:
        # Opening is what a search through a list does most: the real function replaces this one.
        self.draft = self.classes.open_draft  # type: ignore[method-assign, assignment]
        return self.draft(raw, link)

    def view(self, raw: Any, link: Link | None) -> Element:
        self.view = self.classes.open_view  # type: ignore[method-assign, assignment]
        return self.view(raw, link)

    def iterate(self, items: Any, link: Link) -> Iterator[Element]:
        return self.classes.iterate(items, link)

    def real(self, raw: JSONValue) -> Any:
        return self.codec.decode(raw)

    def part(self, key: str) -> Shape | None:
        return None if self.checks_model else self.kind.parts.get(key)

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        if not (isinstance(raw, dict) and isinstance(normal, dict)):
            return normal
        merged = dict(normal)
        for field in self.kind.fields.values():
            if field.key in normal and field.key in raw:
                merged[field.key] = merge(field.shape, raw[field.key], normal[field.key])
        if self.open_ended:
            for key in normal.keys() & raw.keys() - self.kind.keys:
                merged[key] = merge(PLAIN, raw[key], normal[key])
        return keep(raw, merged)


class ModelKind(MappingKind):
    """How a change reads and writes the nodes of one model."""

    def __init__(self, shape: ModelShape, fields: list[Field]) -> None:
        self.shape = shape
        self.fields = {field.name: field for field in fields}
        self.checks = shape.checks_model or any(field.guarded for field in fields)
        self.stored = {field.name: field.key for field in fields if field.default is None}
        self.keys = frozenset(self.stored.values())
        self.parts = {
            field.key: field.shape for field in fields if not (field.custom or field.guarded)
        }
        """The shapes of the fields that the model itself has no say in, by their keys."""
        self._codecs = {
            field.name: FieldCodec(shape.model, field.name, field.key)
            for field in fields
            if field.custom or field.guarded
        }

    def has(self, name: str) -> bool:
        """Say whether an attribute is part of the document, or would be: not if the class has it,
        as it has a cached property.
        """
        return name in self.fields or not hasattr(self.shape.model, name)

    def get(self, node: Any, name: str) -> Element:
        return node.__draft_dict__.get(name, MISSING)

    def items(self, node: Any) -> Iterable[tuple[str, Element]]:
        held = node.__draft_dict__
        items = [(name, held[name]) for name in self.stored if name in held]
        if self.shape.open_ended:
            items += [pair for pair in held.items() if pair[0] not in self.stored]
        return items

    def put(self, node: Any, name: str, element: Element) -> None:
        own_storage(node)[name] = element

    def shape_of(self, name: str) -> Shape:
        field = self.fields.get(name)
        return PLAIN if field is None else field.shape

    def json_key(self, key: Any) -> Any:
        return self.stored.get(key, key)

    def json_of(self, name: str, element: Element, recording: Recording) -> JSONValue:
        # A model holds nodes and JSON; decoded values are in the cells of its link.
        return recording.render(element) if is_node(element) else element

    def relink(self, node: Any, link: Link) -> None:
        self.shape.classes.set_link(node, link)

    def recheck(self, node: Draft, key: str, recording: Recording) -> None:
        cells = recording.link(node).cells or {}
        if key in cells and cells[key] != self.shape_of(key).decode(self.get(node, key)):
            self.write(node, key, cells[key])

    def write(self, node: Any, name: str, value: Any) -> None:
        """Write one field: checked, then noted."""
        element = self._accept(node, name, value)
        recording = node.__draft_link__.recording
        recording.mark(node).keys[name] = None
        own_storage(node)[name] = element
        cells = recording.link(node).cells
        if cells is not None:
            cells.pop(name, None)
        if is_node(element):
            recording.adopt(element, node)

    def _accept(self, node: Any, name: str, value: Any) -> Element:
        field = self.fields.get(name)
        if field is None:
            return PLAIN.accept(value, node, name)
        if field.frozen:
            raise InvalidState(f"{place_of(node, name)}: the field is frozen")
        if field.default is not None:
            raise InvalidState(f"{place_of(node, name)}: the field is excluded from the document")
        if not field.custom or is_node(value):
            return field.shape.accept(value, node, name)
        return self._codecs[name].take_from(node, value, place_of(node, name))

    def check(self, node: Draft, log: Log, document: Any, path: str) -> JSONValue:
        if self.shape.checks_model:
            return self.shape.merge(document, self.shape.codec.normal(document, path))
        checked = document
        for name, _ in self.changed(node, log):
            field = self.fields.get(name)
            if field is not None and field.guarded:
                old = document[field.key]
                raw = self._codecs[name].take_from(node, old, f"{path}/{escape(field.key)}")
                normal = merge(field.shape, old, raw)
                if normal is not old:
                    checked = {**checked, field.key: normal}
        return checked  # type: ignore[no-any-return]

    def plain(self, node: Any) -> JSONValue:
        base, held = node.__draft_base__, node.__draft_dict__
        if held is base:
            return base  # type: ignore[no-any-return]
        document = {key: item for key, item in base.items() if key not in self.keys}
        if self.shape.open_ended:
            document.clear()
        for name, element in self.items(node):
            document[self.json_key(name)] = plain(element) if is_node(element) else element
        return document


class FieldCodec(Codec):
    """Validates, writes and reads one field as its model says: with its validators and settings."""

    def __init__(self, model: Any, name: str, key: str) -> None:
        super().__init__(model)
        self._model = model
        self._name = name
        self._key = key
        self._validator: SchemaValidator | None = None

    def _validate(self, value: Any, others: dict[str, Any]) -> Any:
        if self._validator is None:
            self._validator = _fields_validator(self._model)
        fields: Any = self._validator.validate_assignment(others, self._name, value)
        return fields[0][self._name]

    def decode(self, raw: JSONValue) -> Any:
        return self._validate(raw, {})

    def encode(self, value: Any, path: str) -> JSONValue:
        # The model writes it: an instance that has nothing else.
        instance = self._model.__new__(self._model)
        for name, item in (
            ("__dict__", {self._name: value}),
            ("__pydantic_fields_set__", {self._name}),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(instance, name, item)
        written = self.write(
            self._model.__pydantic_serializer__.to_python, instance, path, {self._name}
        )
        return ensure_json(in_order(value, written[self._key]), path)

    def take(self, value: Any, path: str) -> JSONValue:
        return self._take(value, path, {})

    def take_from(self, node: Any, value: Any, path: str) -> JSONValue:
        """Take a value for the field of `node`, whose other fields a validator may look at.

        Raises:
            InvalidState, NotJSON: it cannot be taken.
        """
        return self._take(
            value, path, {name: getattr(node, name) for name in node.__draft_kind__.stored}
        )

    def _take(self, value: Any, path: str, others: dict[str, Any]) -> JSONValue:
        try:
            raw = self.encode(self._validate(unwrap(value), others), path)
            self._validate(raw, others)
        except ValidationError as error:
            # The place that pydantic names begins with the field.
            invalid(error, path.rpartition("/")[0])
        return raw


def _fields_validator(model: Any) -> SchemaValidator:
    """Build the validator of a model's fields alone, without the validators of the model."""
    schema = model.__pydantic_core_schema__
    definitions: list[Any] = []
    config = None
    while schema["type"] != "model-fields":
        if schema["type"] == "definitions":
            definitions = schema["definitions"]
            schema = schema["schema"]
        elif schema["type"] == "definition-ref":
            ref = schema["schema_ref"]
            schema = next(known for known in definitions if known.get("ref") == ref)
        else:
            config = schema.get("config", config)
            schema = schema["schema"]
    if definitions:
        schema = {"type": "definitions", "schema": schema, "definitions": definitions}
    return SchemaValidator(schema, config)
