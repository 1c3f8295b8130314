"""Shapes of types that plain JSON has not: models, and containers and scalars that are checked.

Containers become nodes, whose writes are noted one by one. What is neither a container nor a JSON
scalar, such as a `datetime` or a `set`, is a cell: it is decoded when it is read, and encoded when
it is written or found to be another than it was.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from canvas_provider.errors import InvalidState, NotJSON
from canvas_provider.state.arrays import ListClosed, ListDraft, ListView, new_list
from canvas_provider.state.codec import Codec, misfit
from canvas_provider.state.draft import specialise
from canvas_provider.state.json import SCALARS, check_scalar, equal
from canvas_provider.state.kinds import ObjectKind
from canvas_provider.state.listkind import ListKind
from canvas_provider.state.node import Draft, Element, Link, Log, is_node, plain
from canvas_provider.state.objects import DictClosed, DictDraft, DictView, new_dict
from canvas_provider.state.shape import Shape, create_value, fresh, own_node, place_of
from canvas_provider.types import JSONValue

__all__ = [
    "CellShape",
    "ListShape",
    "MapShape",
    "ScalarShape",
    "TypedShape",
    "UnionShape",
    "is_frozen",
    "keep",
    "merge",
]


class TypedShape(Shape):
    """A place whose writes pydantic checks."""

    container: type | None = None
    """`dict` or `list`, if the JSON of the place is always that."""

    def __init__(self, annotation: Any) -> None:
        self.codec = Codec(annotation)

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        if is_node(value):
            if own_node(value, self, parent.__draft_link__.recording):
                return value
            if type(value).__draft_shape__ is self:
                return plain(value)
        try:
            return self.codec.take(value, "")
        except (InvalidState, NotJSON):
            self.codec.take(value, place_of(parent, key))
            raise

    def decode(self, raw: JSONValue) -> Any:
        return self.codec.decode(raw)

    def load(self, raw: JSONValue) -> JSONValue | None:
        try:
            normal = self.codec.normal(raw, "")
        except InvalidState as error:
            misfit(error, self.codec.annotation)
        merged = self.merge(raw, normal)
        return None if merged is raw else merged

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        """Return `raw` with the values of `normal`, its normal form, and with what only it has.

        `raw` itself, if it is normal: keys that the type does not know are no difference.
        """
        return raw if equal(raw, normal) else normal

    def seed(self, create: Callable[[], Any] | None) -> JSONValue:
        assert create is not None, "a type can always be called"
        return self.codec.take(create_value(create), "")


class ScalarShape(TypedShape):
    """A JSON scalar: the value is the JSON."""

    def __init__(self, annotation: Any, exact: frozenset[type], choices: frozenset[Any]) -> None:
        super().__init__(annotation)
        self.exact = exact
        """Types whose instances need no pydantic."""
        self.choices = choices
        """Allowed values, with their types."""

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        kind = type(value)
        if kind in self.exact:
            try:
                check_scalar(value, "")
            except NotJSON:
                check_scalar(value, place_of(parent, key))
            return value
        if kind in SCALARS and (kind, value) in self.choices:
            return value
        return super().accept(value, parent, key)


class CellShape(TypedShape):
    """A value that is encoded as a whole."""

    lazy = False

    def draft(self, raw: Any, link: Link) -> Element:
        return self.codec.decode(raw)

    def view(self, raw: Any, link: Link | None) -> Element:
        return self.codec.decode(raw)

    def json(self, element: Element) -> JSONValue:
        return self.codec.take(element, "")

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        if equal(raw, normal) or self.codec.decode(raw) == self.codec.decode(normal):
            return raw
        return normal


class _GuardedList(ListKind):
    def __init__(self, shape: "ListShape", checks: bool) -> None:
        super().__init__(shape.item)
        self.shape = shape
        self.checks = checks

    def check(self, node: Draft, log: Log, document: JSONValue, path: str) -> JSONValue:
        return self.shape.merge(document, self.shape.codec.normal(document, path))


class ListShape(TypedShape):
    """A list whose items have a shape; `guarded` if there are rules for the list as a whole."""

    container = list

    def __init__(self, annotation: Any, item: Shape, guarded: bool) -> None:
        super().__init__(annotation)
        self.item = item
        self._guarded = guarded
        self._draft, self._view, _ = specialise(
            ListDraft,
            ListView,
            ListClosed,
            {"__draft_shape__": self, "__draft_kind__": _GuardedList(self, guarded)},
        )

    def draft(self, raw: Any, link: Link) -> Element:
        node = new_list(self._draft)
        node.__draft_link__ = link
        node.__draft_base__ = raw
        link.note(node)
        link.recording.containers.append(node)
        if self.item.lazy:
            list.extend(node, raw)
        else:
            own = link.recording.link(node)
            list.extend(node, [self.item.draft(item, own) for item in raw])
            link.recording.decoded[id(node)] = [*list.__iter__(node)]
            _watch(node, enumerate(list.__iter__(node)), own)
        return node

    def view(self, raw: Any, link: Link | None) -> Element:
        node = new_list(self._view)
        list.extend(node, raw if self.item.lazy else [self.item.view(item, None) for item in raw])
        return node

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        if isinstance(value, Iterator):
            value = [*value]
        if type(value) in (list, tuple) and any(map(is_node, value)):
            recording = parent.__draft_link__.recording
            node = new_list(self._draft)
            fresh(node, (), recording)
            node.extend(value)
            return node
        return super().accept(value, parent, key)

    def part(self, key: str) -> Shape | None:
        return None if self._guarded else self.item

    def may_lack(self, key: str) -> bool:
        return not self._guarded

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        if not (isinstance(raw, list) and isinstance(normal, list) and len(raw) == len(normal)):
            return normal
        merged = [merge(self.item, *pair) for pair in zip(raw, normal, strict=True)]
        same = all(one is other for one, other in zip(raw, merged, strict=True))
        return raw if same else merged


class _GuardedObject(ObjectKind):
    def __init__(
        self, shape: "MapShape", checks: bool, fields: dict[str, Shape], required: frozenset[str]
    ) -> None:
        super().__init__(shape.item, fields)
        self.shape = shape
        self.checks = checks
        self.required = required

    def check(self, node: Draft, log: Log, document: JSONValue, path: str) -> JSONValue:
        return self.shape.merge(document, self.shape.codec.normal(document, path))

    def release(self, key: str) -> None:
        if key in self.required:
            raise InvalidState(f"the key {key!r} is required and cannot be removed")


class MapShape(TypedShape):
    """A dict whose values have a shape: all the same, or, for a TypedDict, one for each key."""

    container = dict

    def __init__(
        self,
        annotation: Any,
        item: Shape,
        guarded: bool,
        fields: dict[str, Shape] | None = None,
        required: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(annotation)
        self.item = item
        self.fields = {} if fields is None else fields
        self._lazy = item.lazy
        self._kind = _GuardedObject(self, guarded, self.fields, required)
        self._draft, self._view, _ = specialise(
            DictDraft,
            DictView,
            DictClosed,
            {"__draft_shape__": self, "__draft_kind__": self._kind},
        )

    def settle(self) -> None:
        """Take note of the fields, once they are all there."""
        self._lazy = self.item.lazy and all(field.lazy for field in self.fields.values())
        self._kind.holds_json = self._lazy

    def _shape_of(self, key: str) -> Shape:
        return self.fields.get(key, self.item)

    def draft(self, raw: Any, link: Link) -> Element:
        node = new_dict(self._draft)
        node.__draft_link__ = link
        node.__draft_base__ = raw
        link.note(node)
        link.recording.containers.append(node)
        dict.update(node, raw)
        if not self._lazy:
            own = link.recording.link(node)
            for key, item in raw.items():
                if not (shape := self._shape_of(key)).lazy:
                    dict.__setitem__(node, key, shape.draft(item, own))
            _watch(node, dict.items(node), own)
        return node

    def view(self, raw: Any, link: Link | None) -> Element:
        node = new_dict(self._view)
        dict.update(node, raw)
        if not self._lazy:
            for key, item in raw.items():
                if not (shape := self._shape_of(key)).lazy:
                    dict.__setitem__(node, key, shape.view(item, None))
        return node

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        if type(value) is dict and any(map(is_node, value.values())):
            node = new_dict(self._draft)
            fresh(node, (), parent.__draft_link__.recording)
            node.update(value)
            return node
        return super().accept(value, parent, key)

    def part(self, key: str) -> Shape | None:
        return None if self._kind.checks else self._shape_of(key)

    def may_lack(self, key: str) -> bool:
        return not self._kind.checks and key not in self._kind.required

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        if not (isinstance(raw, dict) and isinstance(normal, dict)):
            return normal
        merged = {
            key: merge(self._shape_of(key), raw[key], item) if key in raw else item
            for key, item in normal.items()
        }
        return keep(raw, merged)


class UnionShape(TypedShape):
    """One of several shapes. Which one, the JSON tells."""

    def __init__(self, annotation: Any, members: list[Shape]) -> None:
        super().__init__(annotation)
        self.members = members
        self.lazy = all(member.lazy for member in members)

    def _candidates(self, container: type) -> list[Shape]:
        return [
            member
            for member in self.members
            if (member.container if isinstance(member, TypedShape) else container)
            in (container, None)
            and not isinstance(member, ScalarShape)
        ]

    def pick(self, raw: Any) -> Shape | None:
        """Return the shape of the container `raw`; `None` if it is a cell."""
        candidates = self._candidates(type(raw))
        if len(candidates) > 1 or isinstance(candidates[0], CellShape):
            value = self.codec.decode(raw)
            candidates = [shape for shape in candidates if _is_of(value, shape)]
        return candidates[0] if candidates else None

    def draft(self, raw: Any, link: Link) -> Element:
        if type(raw) is dict or type(raw) is list:
            shape = self.pick(raw)
            if shape is not None:
                return shape.draft(raw, link)
        return raw if self.lazy else self.codec.decode(raw)

    def view(self, raw: Any, link: Link | None) -> Element:
        if type(raw) is dict or type(raw) is list:
            shape = self.pick(raw)
            if shape is not None:
                return shape.view(raw, None)
        return raw if self.lazy else self.codec.decode(raw)

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        if is_node(value):
            for member in self.members:
                if type(value).__draft_shape__ is member:
                    return member.accept(value, parent, key)
        elif type(value) in (list, dict):
            candidates = self._candidates(type(value))
            if len(candidates) == 1:
                return candidates[0].accept(value, parent, key)
        return super().accept(value, parent, key)

    def json(self, element: Element) -> JSONValue:
        return element if self.lazy else self.codec.take(element, "")

    def merge(self, raw: JSONValue, normal: JSONValue) -> JSONValue:
        if isinstance(normal, (dict, list)) and type(raw) is type(normal):
            shape = self.pick(normal)
            if shape is not None:
                return merge(shape, raw, normal)
        if equal(raw, normal) or (
            not self.lazy and self.codec.decode(raw) == self.codec.decode(normal)
        ):
            return raw
        return normal


def merge(shape: Shape, raw: JSONValue, normal: JSONValue) -> JSONValue:
    """Call `shape.merge`, for shapes that may be plain."""
    if isinstance(shape, TypedShape):
        return shape.merge(raw, normal)
    return raw if equal(raw, normal) else normal


def keep(raw: dict[str, JSONValue], merged: dict[str, JSONValue]) -> JSONValue:
    """Add to `merged` what only `raw` has; return `raw` itself if that makes no difference."""
    for key, item in raw.items():
        if key not in merged:
            merged[key] = item
    same = len(raw) == len(merged) and all(raw[key] is merged[key] for key in raw)
    return raw if same else merged


def _is_of(value: Any, shape: Shape) -> bool:
    if isinstance(shape, CellShape):
        return False
    if isinstance(shape, (ListShape, MapShape)):
        return type(value) is shape.container
    model = getattr(shape, "model", None)
    return type(value) is model if model is not None else type(value) in (dict, list)


def _watch(node: Draft, items: Any, own: Link) -> None:
    """Note which items of `node` may change unseen."""
    for key, item in items:
        if not is_node(item) and not is_frozen(item):
            own.recording.cells.append((node, key))


_FROZEN: Final[Any] = (
    *SCALARS, bytes, date, datetime, time, timedelta, Decimal, UUID, Enum, PurePath, complex,
)  # fmt: skip


def is_frozen(value: Any) -> bool:
    """Say whether `value` cannot change without being assigned."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_frozen, value))
    return isinstance(value, _FROZEN)
