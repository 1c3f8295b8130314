"""From a state type to its shape.

Read from annotations, not from pydantic's schemas: what matters is how a value is reached and
changed. What pydantic makes of it is the codec's matter. A type that is not understood here is a
cell: it works, but is encoded and compared as a whole.
"""

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import AliasChoices, BaseModel, PydanticUserError
from pydantic.fields import FieldInfo

from canvas_provider.errors import StateError
from canvas_provider.state.model import Field, FieldCodec, ModelShape
from canvas_provider.state.shape import PLAIN, Shape, is_typed_dict
from canvas_provider.state.typed import (
    CellShape,
    ListShape,
    MapShape,
    ScalarShape,
    TypedShape,
    UnionShape,
)

__all__ = ["shape_of"]


@lru_cache(maxsize=64)
def shape_of(state_type: Any) -> Shape:
    """Return the shape of a state type. Generated classes are kept and shared.

    Raises:
        StateError: the type cannot be stored as JSON and read back.
    """
    shape = _Compiler().shape(state_type)
    assert isinstance(shape, TypedShape), "plain types do not come here"
    try:
        # What pydantic cannot handle shall be known now, not at the first write.
        shape.codec.prepare()
    except PydanticUserError as error:
        raise StateError(f"the state cannot be a {state_type}: {error.message}") from None
    except RecursionError:
        raise StateError(
            f"the state cannot be a {state_type}: an alias in it refers to itself, which "
            "pydantic cannot follow. For any JSON, write pydantic.JsonValue; else use a class"
        ) from None
    return shape


_SCALARS: Final = (str, int, float, bool, NoneType)

_HARMLESS_NOTES: Final = frozenset(
    {"StringConstraints", "Strict", "PydanticGeneralMetadata", "Discriminator", "WithJsonSchema"}
)
"""Notes of `Annotated` that check or describe, but leave the value what its JSON is. So do those of
`annotated_types`; any other may convert, so that its value is a cell."""

_HARMLESS_SETTINGS: Final = frozenset(
    {
        "alias_generator",
        "arbitrary_types_allowed",
        "defer_build",
        "extra",
        "from_attributes",
        "frozen",
        "json_schema_extra",
        "populate_by_name",
        "protected_namespaces",
        "revalidate_instances",
        "title",
        "use_attribute_docstrings",
        "validate_assignment",
        "validate_by_alias",
        "validate_by_name",
        "validate_default",
    }
)
"""Settings of a model that do not change how a field's value is validated or written."""


class _Compiler:
    """Compiles one state type. Types that refer to themselves meet their own shape."""

    def __init__(self) -> None:
        self._models: dict[Any, TypedShape] = {}

    def shape(self, annotation: Any, notes: tuple[Any, ...] = ()) -> Shape:
        """Return the shape of an annotation with the notes that `Annotated` would hold."""
        annotation, notes = _unwrap(annotation, notes)
        full = Annotated[(annotation, *notes)] if notes else annotation
        if not all(map(_is_harmless, notes)):
            return CellShape(full)
        if annotation in (Any, object):
            return PLAIN
        if annotation in _SCALARS:
            return ScalarShape(full, frozenset() if notes else frozenset({annotation}), frozenset())
        if isinstance(annotation, type) and get_origin(annotation) is None:
            known = self._models.get(annotation)
            if known is not None:
                return known
            if (shape := self._class(annotation)) is not None:
                return shape
        return self._generic(annotation, full, bool(notes))

    def _class(self, cls: Any) -> Shape | None:
        if is_typed_dict(cls):
            return self._typed_dict(cls)
        if issubclass(cls, BaseModel):
            return self._model(cls) if _is_plain_model(cls) else CellShape(cls)
        if dataclasses.is_dataclass(cls):
            return self._dataclass(cls)
        if cls is dict or cls is list:
            return self._generic(dict[str, Any] if cls is dict else list[Any], cls, False)
        return None

    def _generic(self, annotation: Any, full: Any, noted: bool) -> Shape:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Literal and all(type(arg) in _SCALARS for arg in args):
            choices = frozenset() if noted else frozenset((type(arg), arg) for arg in args)
            return ScalarShape(full, frozenset(), choices)
        if origin is list:
            return ListShape(full, self.shape(args[0]), noted)
        if origin is dict and _is_key(args[0]):
            return MapShape(full, self.shape(args[1]), noted or args[0] is not str)
        if origin in (Union, UnionType):
            return self._union(full, [self.shape(arg) for arg in args], noted)
        return CellShape(full)

    def _union(self, full: Any, members: list[Shape], noted: bool) -> Shape:
        scalars = [member for member in members if isinstance(member, ScalarShape)]
        if len(scalars) == len(members):
            if noted:
                return ScalarShape(full, frozenset(), frozenset())
            exact = frozenset[type]().union(*(member.exact for member in scalars))
            choices = frozenset[Any]().union(*(member.choices for member in scalars))
            return ScalarShape(full, exact, choices)
        return UnionShape(full, members)

    def _typed_dict(self, cls: Any) -> Shape:
        fields: dict[str, Shape] = {}
        shape = self._models[cls] = MapShape(cls, PLAIN, False, fields, cls.__required_keys__)
        for name, hint in get_type_hints(cls, include_extras=True).items():
            fields[name] = self.shape(hint)
        shape.settle()
        return shape

    def _dataclass(self, cls: Any) -> Shape:
        def compile_fields() -> list[Field]:
            hints = get_type_hints(cls, include_extras=True)
            frozen = cls.__dataclass_params__.frozen
            return [
                self._field(field.name, hints[field.name], (), key=field.name, frozen=frozen)
                for field in dataclasses.fields(cls)
            ]

        shape = self._models[cls] = ModelShape(cls, compile_fields)
        # What a dataclass computes from its fields, or refuses, is like a model's validator.
        shape.checks_model = hasattr(cls, "__post_init__") or hasattr(
            cls, "__pydantic_decorators__"
        )
        return shape

    def _model(self, cls: Any) -> Shape:
        def compile_fields() -> list[Field]:
            if not cls.__pydantic_complete__:
                cls.model_rebuild()
            return [self._model_field(cls, name, info) for name, info in cls.model_fields.items()]

        shape = self._models[cls] = ModelShape(cls, compile_fields)
        shape.open_ended = cls.model_config.get("extra") == "allow"
        shape.checks_model = bool(
            cls.__pydantic_decorators__.model_validators
            or cls.__pydantic_decorators__.root_validators
        )
        return shape

    def _model_field(self, cls: Any, name: str, info: FieldInfo) -> Field:
        decorators = cls.__pydantic_decorators__
        validated = any(
            name in decorator.info.fields or "*" in decorator.info.fields
            for kind in (decorators.field_validators, decorators.validators)
            for decorator in kind.values()
        )
        written = any(
            name in decorator.info.fields or "*" in decorator.info.fields
            for decorator in decorators.field_serializers.values()
        )
        key = _key(cls, name, info)
        if written:
            # Its JSON need not be of the annotation: only the model can write and read it.
            cell = CellShape(cls)
            cell.codec = FieldCodec(cls, name, key)
            return Field(name, cell, key=key, frozen=_is_frozen(cls, info))
        return self._field(
            name,
            info.annotation,
            tuple(info.metadata),
            key=key,
            frozen=_is_frozen(cls, info),
            custom=validated or not cls.model_config.keys() <= _HARMLESS_SETTINGS,
            validated=validated,
            default=(lambda: info.get_default(call_default_factory=True)) if info.exclude else None,
        )

    def _field(
        self,
        name: str,
        annotation: Any,
        notes: tuple[Any, ...],
        *,
        key: str,
        frozen: bool,
        custom: bool = False,
        validated: bool = False,
        default: Callable[[], Any] | None = None,
    ) -> Field:
        shape = self.shape(annotation, notes)
        return Field(
            name,
            shape,
            key=key,
            custom=custom,
            guarded=validated and not isinstance(shape, (ScalarShape, CellShape)),
            frozen=frozen,
            default=default,
        )


def _unwrap(annotation: Any, notes: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Take off what says nothing about the value: `Annotated`, `Required`, aliases, `NewType`."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *inner = get_args(annotation)
            notes = (*inner, *notes)
        elif origin in (Required, NotRequired):
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif annotation is None:
            annotation = NoneType
        else:
            return annotation, notes


def _is_harmless(note: Any) -> bool:
    if isinstance(note, FieldInfo):
        return all(map(_is_harmless, note.metadata))
    kind = type(note)
    return (
        isinstance(note, str)
        or kind.__module__.partition(".")[0] == "annotated_types"
        or kind.__name__ in _HARMLESS_NOTES
    )


def _is_key(annotation: Any) -> bool:
    """Say whether keys of that type are the keys of the JSON."""
    annotation, notes = _unwrap(annotation, ())
    if get_origin(annotation) is Literal:
        return all(type(arg) is str for arg in get_args(annotation))
    return annotation is str and all(map(_is_harmless, notes))


def _is_plain_model(cls: Any) -> bool:
    """Say whether the JSON of a model is an object of its fields."""
    own_schema: Any = BaseModel.__get_pydantic_core_schema__
    return (
        not cls.__pydantic_root_model__
        and not cls.__pydantic_decorators__.model_serializers
        and cls.__get_pydantic_core_schema__.__func__ is own_schema.__func__
    )


def _is_frozen(cls: Any, info: FieldInfo) -> bool:
    return bool(info.frozen or cls.model_config.get("frozen"))


def _key(cls: Any, name: str, info: FieldInfo) -> str:
    """Return the key of a field in the document: what pydantic writes, if it can read it, too."""
    written = info.serialization_alias or name
    read: Any = info.validation_alias or name
    settings = cls.model_config
    by_name = settings.get("populate_by_name") or settings.get("validate_by_name")
    choices = read.choices if isinstance(read, AliasChoices) else [read]
    if written not in choices and not (by_name and written == name):
        raise StateError(
            f"{cls.__name__}.{name} is written as {written!r}, which is not what it is read from:"
            " use alias= instead of validation_alias= and serialization_alias="
        )
    return written
