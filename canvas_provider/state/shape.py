"""What a place in a document holds: the shape of a type, and what may be written there.

A shape opens the JSON of its place as a draft or view, and accepts what an author writes there.
Plain JSON, and TypedDicts, lists and dicts of it, are known here. Every other type needs pydantic,
which comes with `compile`, imported at its first use.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from canvas_provider.errors import NotJSON, StateError, UnfitDocument
from canvas_provider.state.arrays import ListClosed, ListDraft, ListView, new_list
from canvas_provider.state.draft import refuse_use, specialise
from canvas_provider.state.json import MAX_DEPTH, SCALARS, check_key, check_scalar, escape, refuse
from canvas_provider.state.kinds import ObjectKind
from canvas_provider.state.listkind import ListKind
from canvas_provider.state.node import Draft, Element, Link, is_node, plain
from canvas_provider.state.objects import DictClosed, DictDraft, DictView, new_dict
from canvas_provider.state.recording import Recording
from canvas_provider.state.store import PUT_RIGHT
from canvas_provider.types import JSONValue

__all__ = [
    "PLAIN",
    "PlainShape",
    "Shape",
    "create_value",
    "fresh",
    "is_typed_dict",
    "own_node",
    "place_of",
    "shape_of",
]


class Shape:
    """What a place holds. The defaults are those of JSON scalars."""

    lazy = True
    """Whether an item is held as the document has it until it is opened; else it is decoded when
    its container is opened."""

    def draft(self, raw: Any, link: Link) -> Element:
        """Open the JSON of a place for a change, under the parent of `link`."""
        return raw

    def view(self, raw: Any, link: Link | None) -> Element:
        """Open the JSON of a place for reading."""
        return raw

    def iterate(self, items: Any, link: Link) -> Iterator[Element]:
        """Open the items of a list draft, one after the other, as they are asked for."""
        for place, item in enumerate(list.__iter__(items)):
            if type(item) is dict or type(item) is list:
                item = self.draft(item, link)
                link.walk(items, place, [item])
            yield item

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        """Return what `parent` shall hold at `key` for a written `value`: nothing of the caller's.

        Raises:
            NotJSON: JSON cannot carry it.
            InvalidState: the type does not accept it.
        """
        raise NotImplementedError

    def hold(self, raw: JSONValue) -> Element:
        """Return what the view of a container holds for the JSON of one item."""
        return raw if self.lazy else self.view(raw, None)

    def real(self, raw: JSONValue) -> Any:
        """Return the value of a node, as somebody outside of any change has it."""
        return raw

    def json(self, element: Element) -> JSONValue:
        """Return the JSON of what a container holds, other than a node."""
        return element  # type: ignore[no-any-return]

    def decode(self, raw: JSONValue) -> Any:
        """Return the value that stands for `raw` outside of any change."""
        return raw

    def part(self, key: str) -> "Shape | None":
        """Return the shape of what is at `key` of a container, if that can be checked by itself.

        `None` where the container, or more, has rules for it.
        """
        return None

    def may_lack(self, key: str) -> bool:
        """Say whether a container stays of its type, whatever is in it, when `key` goes.

        Not where `part` is `None` for any key.
        """
        return False

    def load(self, raw: JSONValue) -> JSONValue | None:
        """Check a whole stored document; return it with what it lacks filled in, if it does.

        Raises:
            StateError: it does not fit.
        """
        raise NotImplementedError

    def seed(self, create: Callable[[], Any] | None) -> JSONValue:
        """Return the JSON of the document that `create` begins with."""
        raise NotImplementedError


class PlainShape(Shape):
    """Any JSON: objects are dicts, arrays are lists."""

    def __init__(self) -> None:
        shared = {"__draft_shape__": self}
        self._dicts = specialise(
            DictDraft,
            DictView,
            DictClosed,
            {**shared, "__draft_kind__": ObjectKind(self, {})},
        )
        self._lists = specialise(
            ListDraft,
            ListView,
            ListClosed,
            {**shared, "__draft_kind__": ListKind(self)},
        )

    def draft(self, raw: Any, link: Link) -> Element:
        if type(raw) is not dict and type(raw) is not list:
            return raw
        node = self._node(raw, 0)
        node.__draft_link__ = link
        node.__draft_base__ = raw
        link.note(node)
        link.recording.containers.append(node)
        return node

    def view(self, raw: Any, link: Link | None) -> Element:
        return self._node(raw, 1) if type(raw) is dict or type(raw) is list else raw

    def _node(self, items: Any, which: int) -> Any:
        if type(items) is dict:
            node: Any = new_dict(self._dicts[which])
            dict.update(node, items)
        else:
            node = new_list(self._lists[which])
            list.extend(node, items)
        return node

    def accept(self, value: Any, parent: Draft, key: Any) -> Element:
        if type(value) is str and value.isascii():
            return value
        recording = parent.__draft_link__.recording
        depth = 0 if type(value) in SCALARS else 1 + recording.depth(parent)
        try:
            return self._take(value, recording, "", depth)
        except NotJSON:
            # Once more, for the error to name the place: finding it is not free.
            self._take(value, recording, place_of(parent, key), depth)
            raise

    def part(self, key: str) -> Shape:
        return self

    def may_lack(self, key: str) -> bool:
        return True

    def load(self, raw: JSONValue) -> JSONValue | None:
        if not isinstance(raw, (dict, list)):
            raise UnfitDocument(
                "the stored state is no object or array; it stays as it is",
                told=f"The stored state is no object or array. {PUT_RIGHT}",
            )
        return None

    def seed(self, create: Callable[[], Any] | None) -> JSONValue:
        value = {} if create is None else create_value(create)
        document = plain(value) if is_node(value) else self._take(value, Recording(), "", 0)
        if not isinstance(document, (dict, list)):
            raise StateError("a state is an object or array: begin with a dict or list")
        return document

    def _take(self, value: Any, recording: Recording, path: str, depth: int) -> Element:
        if check_scalar(value, path):
            return value
        if is_node(value):
            return value if own_node(value, self, recording) else plain(value)
        if depth >= MAX_DEPTH:
            refuse(path[:60], f"a cycle, or nesting deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            items = {}
            for key, item in value.items():
                name = str(key.value) if isinstance(key, Enum) else key
                check_key(name, path)
                items[name] = self._take(item, recording, f"{path}/{escape(name)}", depth + 1)
            return self._hold(items, items.values(), recording)
        if isinstance(value, (list, tuple)):
            elements = [
                self._take(item, recording, f"{path}/{index}", depth + 1)
                for index, item in enumerate(value)
            ]
            return self._hold(elements, elements, recording)
        return _scalar(value, path)

    def _hold(self, items: Any, elements: Any, recording: Recording) -> Element:
        """Return `items`, as a node of its own if it holds nodes."""
        if not any(map(is_node, elements)):
            return items
        return fresh(self._node(items, 0), elements, recording)


def _scalar(value: Any, path: str) -> JSONValue:
    """Return the JSON of an instance of a subclass of a scalar type, such as a `StrEnum`."""
    if isinstance(value, Enum):
        value = value.value
    for kind in (str, int, float):
        if isinstance(value, kind):
            value = kind(value)
            check_scalar(value, path)
            return value  # type: ignore[no-any-return]
    refuse(
        path,
        f"{type(value).__name__} is no type of JSON; give the canvas a state with such a field",
    )


def create_value(create: Callable[[], Any]) -> Any:
    """Call `create`; a TypedDict or a generic such as `dict[str, int]` begins empty.

    Raises:
        StateError: a type that cannot begin without values.
    """
    maker = dict if is_typed_dict(create) else get_origin(create) or create
    if not isinstance(maker, type):
        return maker()
    try:
        return maker()
    except (TypeError, ValueError):
        raise StateError(
            f"a new {maker.__name__} needs values: give its fields defaults, or a first value"
        ) from None


def fresh(node: Any, elements: Any, recording: Recording) -> Draft:
    """Make `node`, which stands for nothing in the document, a node of the change."""
    node.__draft_link__ = Link(recording)
    node.__draft_base__ = None
    recording.nodes.append(node)
    recording.mark(node)
    for element in elements:
        if is_node(element):
            recording.adopt(element, node)
    return node  # type: ignore[no-any-return]


def own_node(value: Any, shape: Shape, recording: Recording) -> bool:
    """Say whether `value` is a draft of this very change and shape: it is put in as it is.

    Raises:
        DraftClosed: its change was rolled back.
    """
    cls = type(value)
    if cls.__draft_live__ is None:
        refuse_use(value)
    return (
        cls.__draft_live__
        and cls.__draft_shape__ is shape
        and value.__draft_link__.recording is recording
    )


def place_of(parent: Draft, key: Any) -> str:
    """Return the JSON Pointer of an item, for errors."""
    name = parent.__draft_kind__.json_key(key)
    return f"{parent.__draft_link__.recording.path(parent)}/{escape(str(name))}"


PLAIN: Final = PlainShape()


def shape_of(state_type: Any) -> Shape:
    """Return the shape of a state type; `None` means any JSON.

    Importing pydantic, if the type needs it, happens here.
    """
    if state_type is None or _is_plain(state_type):
        return PLAIN
    return import_module("canvas_provider.state.compile").shape_of(state_type)  # type: ignore[no-any-return]


def is_typed_dict(annotation: Any) -> bool:
    """Say whether a type is a TypedDict: Python's, or that of `typing_extensions`."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, dict)
        and hasattr(annotation, "__required_keys__")
    )


_PLAIN_TYPES: Final = (dict, list, str, int, float, bool, NoneType, None, Any, object, JSONValue)


def _is_plain(annotation: Any, within: tuple[Any, ...] = ()) -> bool:
    """Say whether values of a type are JSON as they are, and nothing checks them."""
    # What a resolved hint still names is an alias that it is itself within, such as JSONValue.
    if annotation in _PLAIN_TYPES or annotation in within or isinstance(annotation, ForwardRef):
        return True
    if is_typed_dict(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        return all(_is_plain(hint, (*within, annotation)) for hint in hints.values())
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return all(type(arg) in (str, int, bool, NoneType) for arg in args)
    if origin in (Required, NotRequired):
        return _is_plain(args[0], within)
    if origin is Annotated:
        return _is_plain(args[0], within) and all(type(note) is str for note in args[1:])
    if origin is dict and args and args[0] is not str:
        return False
    return origin in (list, dict, Union, UnionType) and all(_is_plain(arg, within) for arg in args)
