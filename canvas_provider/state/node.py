"""What the nodes of a change are to it: their kind, their links to one another, and their logs.

A node is a draft or a view; what a change makes of its nodes is `recording`'s matter.
"""

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from canvas_provider.state.difference import Difference
from canvas_provider.types import JSONValue

if TYPE_CHECKING:
    from canvas_provider.state.recording import Recording

__all__ = ["Draft", "Element", "Kind", "Link", "Log", "is_node", "plain"]

Element = Any
"""What a node holds in one place: a scalar, a container of the document not opened yet, a node, or
the decoded form of such a value."""


class Draft(Protocol):
    """A node: a `list`, `dict` or model. The names are such that no author's model has them."""

    __draft_kind__: "Kind"
    __draft_link__: "Link"
    __draft_base__: JSONValue
    """The container of the document that it stands for; `None` if it is new."""

    __draft_shape__: Any
    __draft_live__: bool | None
    """Whether it may be written to; `None` when it cannot even be read."""
    __draft_view__: type
    __draft_closed__: type
    """The classes that it gets when the change is committed, and when it is rolled back."""


class Kind(Protocol):
    """What the nodes of one class have in common."""

    checks: bool
    """Whether a node may have to be validated as a whole when something in it was written."""

    def relink(self, node: Draft, link: "Link") -> None:
        """Set `__draft_link__`."""

    def recheck(self, node: Draft, key: Any, recording: "Recording") -> None:
        """Mark `node` if the mutable value at `key` is another than it was."""

    def render(self, node: Draft, recording: "Recording") -> JSONValue:
        """Return the JSON of a new node."""

    def settle(
        self, node: Draft, log: "Log", recording: "Recording", found: Difference, path: str
    ) -> JSONValue:
        """Return the JSON of a written node, and add what turns its base into it."""

    def describe_as(
        self, node: Draft, old: JSONValue, recording: "Recording", found: Difference, path: str
    ) -> None:
        """Add what turns `old`, which is not its base, into `node`."""

    def changed(self, node: Draft, log: "Log") -> "list[tuple[str | int, Element]]":
        """Return key and element of what was written, the places of nested changes included."""

    def check(self, node: Draft, log: "Log", document: JSONValue, path: str) -> JSONValue:
        """Validate the JSON of `node`, and return its normal form: `document` itself if it is."""

    def json_key(self, key: Any) -> Any:
        """Return the key in the document."""

    def refresh(self, node: Draft, document: JSONValue) -> None:
        """Let a view show `document`, the normal form of what it holds."""

    def is_intact(self, node: Any, log: "Log | None", recording: "Recording") -> bool:
        """Say whether nothing was written to `node`, which has a base, past its own methods."""

    def key_of(self, node: Draft, child: Draft) -> str | int | None:
        """Return where `child` is."""

    def plain(self, node: Draft) -> JSONValue:
        """Return the JSON of a node in whatever state it is."""


class Link:
    """What the children of one node know: their parent, and the recording."""

    __slots__ = ("cells", "hints", "latest", "node", "note", "recording", "walked")

    def __init__(
        self, recording: "Recording", node: Draft | None = None, latest: Draft | None = None
    ) -> None:
        self.recording = recording
        self.note = recording.nodes.append
        """Registers a child; it must be called with each."""
        self.node = node
        """The parent; the first one, where there were several."""
        self.latest = latest
        """The parent that a child was put into last, if that is another."""
        self.hints: dict[int, str | int] | None = None
        """Where a child was when it was opened, by its id; to be checked."""
        self.walked: list[Element] | None = None
        """What a list held in its places since children were opened in passing, without a hint;
        until its items shift."""
        self.cells: dict[str, Any] | None = None
        """Decoded values of a model that are no nodes, by field."""

    def walk(self, items: Any, place: int, nodes: list[Draft]) -> None:
        """Put children that were opened in passing into the list `items`, from `place` on."""
        end = place + len(nodes)
        list.__setitem__(items, slice(place, end), nodes)
        if items.__draft_base__ is not None:
            if self.walked is None:
                self.walked = items.__draft_base__.copy()
            self.walked[place:end] = nodes


class Log:
    """What was written to one node."""

    __slots__ = ("keys", "kids", "length", "prefix", "suffix")

    def __init__(self) -> None:
        self.keys: dict[Any, None] = {}
        """Keys, field names or indices that were assigned or deleted, in order."""
        self.kids: dict[int, Draft] = {}
        """Children that were written to, by id."""
        self.prefix: int | None = None
        """Of a list whose items have shifted: how many at its start have not."""
        self.suffix = 0
        """Of such a list: how many at its end are the old ones, though maybe elsewhere."""
        self.length = 0
        """Of such a list: how many items it has since."""


def plain(node: Draft) -> JSONValue:
    """Return the JSON of a draft or view as it is now. Shares structure: treat it as frozen."""
    return node.__draft_kind__.plain(node)


def is_node(element: Element) -> TypeGuard[Draft]:
    """Say whether `element` is a draft or a view of one."""
    return hasattr(type(element), "__draft_kind__")
