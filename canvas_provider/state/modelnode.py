"""Drafts and views of models: generated subclasses of the author's class.

So `isinstance`, its methods and its properties work, those that write to `self` included. What
Python keeps the attributes of a node in is the object of the document itself until something is put
into it: opening a card costs next to nothing, and its scalars are read at full speed. Nobody gets
at that object, not by `vars` nor by `object.__setattr__`: see `modelfield`.
"""

from abc import ABCMeta
from collections.abc import Callable, Iterator
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel

from canvas_provider.errors import InvalidState
from canvas_provider.state.draft import refuse_use, refuse_write
from canvas_provider.state.modelfield import Attributes, HeldField, OpenField, own_storage
from canvas_provider.state.modelopen import openers, walker
from canvas_provider.state.node import Link, plain
from canvas_provider.state.typed import ScalarShape

if TYPE_CHECKING:
    from canvas_provider.state.model import ModelShape

__all__ = ["Classes"]

_set = object.__setattr__


class ModelNode:
    """What drafts and views of all models have in common."""

    __slots__ = ()

    __draft_live__ = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # The author's own hook is for the author's own subclasses.
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # pydantic writes to the dataclasses that it looks at: the author's is one it may write to.
        return handler(source.__draft_shape__.model)

    def __copy__(self) -> Any:
        node: Any = self
        return node.__draft_shape__.real(plain(node))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__copy__().__reduce_ex__(protocol)


def _refuse_dict(node: Any, value: object) -> NoReturn:
    """Stand in for `self.__dict__ = ...`, and for what pydantic does to begin an instance anew."""
    if node.__draft_live__ is None:
        refuse_use(node)
    if not node.__draft_live__:
        refuse_write(node)
    raise InvalidState("a draft keeps its attributes elsewhere: assign them one by one")


class ModelDraft(ModelNode):
    """Writing: each write is checked, then noted."""

    __slots__ = ()

    __draft_live__ = True

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.__draft_kind__  # type: ignore[attr-defined]  # generated classes have it
        if name in kind.fields:
            kind.write(self, name, value)
        elif isinstance(getattr(type(self), name, None), property):
            _set(self, name, value)
        elif name in getattr(type(self), "__private_attributes__", ()):
            self.__pydantic_private__[name] = value  # type: ignore[attr-defined]
        elif kind.shape.open_ended:
            kind.write(self, name, value)
        else:
            model = kind.shape.model.__name__
            raise InvalidState(f"{model} has no field {name!r}, so the document cannot hold it")

    def __delattr__(self, name: str) -> None:
        kind = self.__draft_kind__  # type: ignore[attr-defined]
        held = own_storage(self)
        if name in kind.fields or not kind.shape.open_ended or name not in held:
            raise InvalidState(f"the field {name!r} cannot be removed: assign a value")
        self.__draft_link__.recording.mark(self).keys[name] = None  # type: ignore[attr-defined]
        del held[name]


class ModelView(ModelNode):
    """Reading only."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in getattr(type(self), "__private_attributes__", ()):
            self.__pydantic_private__[name] = value  # type: ignore[attr-defined]
        else:
            refuse_write(self)

    __delattr__ = refuse_write


class ModelClosed(ModelNode):
    """Nothing any more."""

    __slots__ = ()

    __draft_live__ = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__" or name.startswith(("__pydantic", "__draft")):
            return object.__getattribute__(self, name)
        return refuse_use(self)

    def __repr__(self) -> str:
        return "<draft of a change that was rolled back>"

    __str__ = __repr__
    __setattr__ = __delattr__ = __eq__ = __iter__ = refuse_use
    __hash__ = None  # type: ignore[assignment]


class _PydanticMethods:
    """Methods of `BaseModel` that look into `__dict__`, for nodes, which hold JSON there."""

    __slots__ = ()

    __pydantic_extra__: Any = None

    @property
    def __pydantic_fields_set__(self) -> set[str]:
        return set(self.__draft_kind__.stored)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        model = self.__draft_shape__.model  # type: ignore[attr-defined]
        if self is other:
            return True
        if not isinstance(other, model) or other.__class__ is not model:
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name in self.__draft_kind__.fields  # type: ignore[attr-defined]
        )

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name in self.__draft_kind__.fields:  # type: ignore[attr-defined]
            yield name, getattr(self, name)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from _PydanticMethods.__iter__(self)
        yield from (self.__pydantic_extra__ or {}).items()
        computed = self.__draft_shape__.model.model_computed_fields  # type: ignore[attr-defined]
        for name, info in computed.items():
            if info.repr:
                yield name, getattr(self, name)

    def __getstate__(self) -> Any:
        return self.__copy__().__getstate__()  # type: ignore[attr-defined]

    def model_copy(self, **options: Any) -> Any:
        return self.__copy__().model_copy(**options)  # type: ignore[attr-defined]

    def model_dump(self, **options: Any) -> Any:
        return self.__copy__().model_dump(**options)  # type: ignore[attr-defined]

    def model_dump_json(self, **options: Any) -> Any:
        return self.__copy__().model_dump_json(**options)  # type: ignore[attr-defined]


class _ExtraMethods:
    """Unknown keys as attributes, for models with `extra="allow"`."""

    __slots__ = ()

    @property
    def __pydantic_extra__(self) -> dict[str, Any]:
        stored = self.__draft_kind__.stored
        held = self.__draft_dict__
        return {name: getattr(self, name) for name in held if name not in stored}

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if (type(value) is dict or type(value) is list) and name[:2] != "__":
            held = object.__getattribute__(self, "__draft_dict__")
            if name in held:
                kind = type(self).__draft_kind__  # type: ignore[attr-defined]
                shape = kind.shape_of(name)
                if type(self).__draft_live__:  # type: ignore[attr-defined]
                    link = self.__draft_link__.recording.link(self)
                    value = shape.draft(value, link)
                else:
                    value = shape.view(value, None)
                own_storage(self)[name] = value
        return value


class Classes:
    """The classes of the nodes of one model, and the quick ways to make nodes of them."""

    def __init__(self, shape: "ModelShape") -> None:
        base = _base_class(shape)
        draft, view, closed = (_subclass(shape, base, kind) for kind in _KINDS)
        for cls in (draft, view, closed):
            cls.__draft_view__, cls.__draft_closed__ = view, closed
        self.set_link: Callable[[Any, Link], None] = base.__dict__["__draft_link__"].__set__
        self.open_draft: Callable[[Any, Link], Any]
        self.open_view: Callable[[Any, Link | None], Any]
        self.open_draft, self.open_view = openers(shape, base, draft, view)
        self.iterate: Callable[[Any, Link], Iterator[Any]] = walker(shape, base, draft)


def _base_class(shape: "ModelShape") -> Any:
    """Generate what the three classes of a model share: its fields, and room for ours."""
    model: Any = shape.model
    slots = ["__draft_link__", "__draft_base__"]
    if not any("__dict__" in vars(cls) for cls in model.__mro__):
        slots.append("__dict__")
    namespace: dict[str, Any] = {
        "__slots__": tuple(slots),
        "__draft_kind__": shape.kind,
        "__draft_shape__": shape,
        "__class__": property(lambda node: model),
        "__new__": lambda cls, *args, **kwargs: model(*args, **kwargs),
        "__module__": model.__module__,
        "__doc__": model.__doc__,
    }
    for field in shape.kind.fields.values():
        held = isinstance(field.shape, ScalarShape) and field.default is None
        opens = not held or field.name in _slots_of(model)
        namespace[field.name] = OpenField(field) if opens else HeldField(field.name)
    base = _create_class(model, (ModelNode, model), namespace)
    type.__setattr__(base, "__draft_dict__", _storage_of(base))
    return base


def _subclass(shape: "ModelShape", base: Any, kind: type) -> Any:
    """Generate the drafts, views or closed drafts of a model."""
    model: Any = shape.model
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        "__dict__": property(Attributes, _refuse_dict),
    }
    if kind is ModelClosed:
        return _create_class(model, (ModelClosed, base), namespace)
    namespace["__hash__"] = model.__hash__
    bases: list[type] = [kind]
    if issubclass(model, BaseModel):
        for name in ("__eq__", "__iter__", "__repr_args__"):
            # What an author has written on purpose stays.
            if getattr(model, name) is not getattr(BaseModel, name):
                namespace[name] = getattr(model, name)
        if shape.open_ended:
            bases.append(_ExtraMethods)
        bases.append(_PydanticMethods)
        if not model.__private_attributes__:
            namespace["__pydantic_private__"] = None
    return _create_class(model, (*bases, base), namespace)


_KINDS = (ModelDraft, ModelView, ModelClosed)


def _create_class(model: type, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
    """Create a class as Python does, past a metaclass that would compile a schema for it."""
    metaclass = type(model)
    create = ABCMeta.__new__ if issubclass(metaclass, ABCMeta) else type.__new__
    return create(metaclass, model.__name__, bases, namespace)


def _storage_of(base: Any) -> GetSetDescriptorType:
    """Return what gets and sets the real `__dict__` of a node."""
    found = (vars(cls).get("__dict__") for cls in base.__mro__)
    return next(known for known in found if isinstance(known, GetSetDescriptorType))


def _slots_of(model: type) -> set[str]:
    slots: set[str] = set()
    for cls in model.__mro__:
        found = vars(cls).get("__slots__", ())
        slots.update((found,) if isinstance(found, str) else found)
    return slots
