"""A JSON document with a revision, and the changes that lead from one to the next.

No clock, no lock, no storage: `live` owns those. A change goes through `prepare`, then either
`complete`, once whoever stores documents has accepted it, or `rollback`.
"""

from collections.abc import Sequence
from typing import Any

from canvas_provider.errors import ChangeInProgress, InvalidState, StateError
from canvas_provider.state.json import MAX_DEPTH, check_nesting, equal, refuse
from canvas_provider.state.node import Link, is_node
from canvas_provider.state.patch import Operation, Patching, diff
from canvas_provider.state.recheck import still_fits
from canvas_provider.state.recording import Prepared, Recording
from canvas_provider.state.shape import PLAIN, Shape
from canvas_provider.types import JSONValue

__all__ = ["Change", "Document"]


class Document:
    """A document at a revision. Its JSON is shared between revisions, so it is never written to."""

    __slots__ = ("_view", "change", "revision", "shape", "value")

    def __init__(self, value: JSONValue, revision: int = 0, shape: Shape = PLAIN) -> None:
        self.value = value
        self.revision = revision
        self.shape = shape
        self.change: Change | None = None
        """The one that is open."""
        self._view: Any = None

    def __repr__(self) -> str:
        return f"<Document at revision {self.revision}>"

    @property
    def view(self) -> Any:
        """The document as its type, for reading: writing raises `DraftClosed`."""
        if self._view is None:
            self._view = self.look()
        return self._view

    def look(self) -> Any:
        """Return a view of one's own: who writes past its class spoils nobody else's."""
        return self.shape.view(self.value, None)

    def begin(self) -> "Change":
        """Begin a change.

        Raises:
            ChangeInProgress: there is one already.
        """
        if self.change is not None:
            raise ChangeInProgress("this document is being changed: one change at a time")
        self.change = Change(self)
        return self.change

    def end(self, change: "Change") -> None:
        """Note that a change is over."""
        if self.change is change:
            self.change = None

    def advance(self, value: JSONValue, revision: int) -> None:
        """Take another value, from a change or from elsewhere."""
        self.value = value
        self.revision = revision
        self._view = None


class Change:
    """One change of a document, from `begin` to `complete` or `rollback`."""

    __slots__ = (
        "_patched", "_prepared", "_recording", "document", "draft", "is_open", "is_redo", "reverts",
        "waits_for",
    )  # fmt: skip

    def __init__(self, document: Document) -> None:
        self.document = document
        self._recording = Recording()
        self._patched: Prepared | None = None
        self._prepared: Prepared | None = None
        self.is_open = True
        """Whether the draft may be written to."""
        self.reverts: int | None = None
        """The revision that this one takes back."""
        self.is_redo = False
        self.waits_for: list[Document] = []
        """What code within this change is waiting to change as well."""
        self.draft: Any = document.shape.draft(document.value, Link(self._recording))
        """The document to write to."""

    def patch(self, operations: Sequence[Operation]) -> bool:
        """Write by a patch, in place of the draft. Returns whether that changes anything.

        Raises:
            PatchError: it does not fit the document.
            InvalidState: what it makes of it does not fit the type.
        """
        old, shape = self.document.value, self.document.shape
        patching = Patching(old)
        fits = True
        for operation in operations:
            patching.step(operation)
            fits = fits and still_fits(shape, patching.document, operation)
        new, found = patching.document, list(operations)
        if not fits:
            try:
                normal = shape.load(new)
            except StateError as error:
                raise InvalidState(f"it cannot be changed back: {error}") from None
            if normal is not None:
                new, found = normal, diff(old, normal)
        # C compares what is not the same object, so little.
        if old == new and equal(old, new):
            return False
        self._patched = Prepared(new, found)
        return True

    def prepare(self) -> Prepared | None:
        """Settle what the change has written; `None` if nothing. The draft is frozen from here.

        Raises:
            NotJSON, InvalidState: it cannot be committed; `rollback` is due.
        """
        recording, draft = self._recording, self.draft
        prepared = self._patched if self._patched is not None else self._settle()
        recording.freeze()
        if recording.normal is not None:
            draft.__draft_kind__.refresh(draft, recording.normal)
        self.is_open = False
        if prepared is None:
            self._end()
            return None
        self._prepared = prepared
        return prepared

    def _settle(self) -> Prepared | None:
        draft = self.draft
        try:
            prepared = self._recording.prepare(draft) if is_node(draft) else self._compare()
        except RecursionError:
            refuse("", f"nesting deeper than {MAX_DEPTH} levels")
        if prepared is not None:
            _check_depth(prepared)
        return prepared

    def _compare(self) -> Prepared | None:
        """Settle a document whose type has no drafts: it is written anew and compared."""
        old = self.document.value
        new = self.document.shape.json(self.draft)
        operations = diff(old, new)
        return Prepared(new, operations) if operations else None

    def complete(self) -> None:
        """Make what `prepare` returned the document's next revision."""
        prepared = self._prepared
        assert prepared is not None, "complete() follows a prepare() that found something"
        self.document.advance(prepared.document, self.document.revision + 1)
        self._end()

    def rollback(self) -> None:
        """Leave the document as it was. Every use of a draft of this change raises from now on."""
        self._recording.close()
        self.is_open = False
        self._end()

    def _end(self) -> None:
        self._recording.release()
        self.document.end(self)


def _check_depth(prepared: Prepared) -> None:
    """Refuse what came to lie too deep: a draft that is put elsewhere is not looked into then."""
    for operation in prepared.operations:
        path = operation["path"]
        value = operation.get("value")
        if type(value) is dict or type(value) is list:
            check_nesting(value, path, path.count("/"))
        elif operation["op"] == "move" and path.count("/") > operation["from"].count("/"):
            check_nesting(prepared.document, "", 0)
