"""Every exception of the package, and what each means for the one who catches it.

    CanvasProviderError
    ├── DeclarationError          what an author declared cannot work; nothing was started
    ├── JoinError                 Copilot did not take us into the session
    ├── Unsupported               the host cannot do what was asked
    ├── Unavailable               the canvas has no source now
    ├── TurnFailed                the agent's turn ended with an error
    ├── CanvasError               an answer for the caller: a code and a message
    │   ├── InvalidInput            invalid_input         the input does not fit the schema
    │   ├── UnknownAction           unknown_action        no such action
    │   ├── NoHandler               canvas_action_no_handler
    │   ├── NotAllowed              not_for_person, not_for_agent
    │   ├── Closing                 closing               the instance is going or gone
    │   ├── RevisionConflict        revision_conflict     somebody else changed it first
    │   ├── NothingToUndo           nothing_to_undo       nor to redo, or it was too long ago
    │   ├── StoreUnavailable        store_unavailable     the state cannot be saved or read now
    │   ├── ActionTimeout           timeout               the handler took too long
    │   └── HandlerError            canvas_handler_error  the handler raised something else
    ├── StateError
    │   ├── NotJSON                 a value that JSON cannot carry
    │   ├── InvalidState            a value that the state's type does not accept
    │   ├── ChangeInProgress        a change inside a change of the same document
    │   ├── DraftClosed             a draft used after its change ended
    │   ├── StateClosed             the document was closed; the change was not made
    │   ├── PatchError              a patch that does not fit its document
    │   └── StoreError              the store could not load or commit
    │       ├── DamagedDocument       what was stored cannot be read; it was set aside
    │       └── UnfitDocument         what is stored does not fit the state's type
    └── WireError
        ├── FrameError              bytes that are no frame
        ├── MessageTooLarge         a message of ours that the other side would not read
        ├── ConnectionClosed        the other side is gone
        ├── InvalidAnswer           the other side answered something that makes no sense
        └── RemoteError             the other side answered with an error
            ├── MethodNotFound
            ├── NotFound              AHP: no such channel or resource
            ├── PermissionDenied      AHP: not for this client
            ├── Conflict              AHP: the URI belongs to something else
            ├── AuthRequired          AHP: the host wants to know first who asks
            └── UnsupportedVersion    AHP: the host speaks none of our versions

A `CanvasError` is the only one whose text reaches an agent or a page.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvas_provider.types import JSONValue

__all__ = [
    "ActionTimeout",
    "AuthRequired",
    "CanvasError",
    "CanvasProviderError",
    "ChangeInProgress",
    "Closing",
    "Conflict",
    "ConnectionClosed",
    "DamagedDocument",
    "DeclarationError",
    "DraftClosed",
    "FrameError",
    "HandlerError",
    "InvalidAnswer",
    "InvalidInput",
    "InvalidState",
    "JoinError",
    "MessageTooLarge",
    "MethodNotFound",
    "NoHandler",
    "NotAllowed",
    "NotFound",
    "NotJSON",
    "NothingToUndo",
    "PatchError",
    "PermissionDenied",
    "RemoteError",
    "RevisionConflict",
    "StateClosed",
    "StateError",
    "StoreError",
    "StoreUnavailable",
    "TurnFailed",
    "UnfitDocument",
    "Unavailable",
    "UnknownAction",
    "Unsupported",
    "UnsupportedVersion",
    "WireError",
]


class CanvasProviderError(Exception):
    """The root of everything this package raises on purpose."""


class DeclarationError(CanvasProviderError):
    """What an author declared cannot work. The message says what to write instead.

    The text names canvas, action, tool, command and field, as far as each is known.
    """

    def __init__(
        self,
        message: str,
        *,
        canvas: str | None = None,
        action: str | None = None,
        tool: str | None = None,
        command: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message, canvas, action, tool, command, field)
        self.message = message
        self.canvas = canvas
        self.action = action
        self.tool = tool
        self.command = command
        self.field = field

    def __str__(self) -> str:
        kinds = ("canvas", "action", "tool", "command", "field")
        named = ((kind, getattr(self, kind)) for kind in kinds)
        where = ", ".join(f"{kind} {name!r}" for kind, name in named if name is not None)
        return f"{where}: {self.message}" if where else self.message


class JoinError(CanvasProviderError):
    """The process is not, or not any longer, part of a Copilot session."""


class Unsupported(CanvasProviderError):
    """The host cannot do what was asked of it. The message says what to do instead."""


class Unavailable(CanvasProviderError):
    """The canvas has no source now: its provider is gone, and may come back with another one."""


class TurnFailed(CanvasProviderError):
    """The agent's turn ended with an error, which is none of ours: no model, no quota, no network.

    `kind` is the runtime's word for it (`errorType`).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return self.message


class CanvasError(CanvasProviderError):
    """An answer that a handler gives on purpose: a code for programs, a message for readers.

    The agent sees only the message (observed with Copilot CLI 1.0.102), the page sees both.

    Raise it in a handler; in tests of handlers, catch it.

    Raises:
        ValueError, TypeError: code or message is blank, or no text: nobody would be told anything.
    """

    def __init__(self, code: str, message: str) -> None:
        _check_told("code", code)
        _check_told("message", message)
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


def _check_told(name: str, value: object) -> None:
    if isinstance(value, str) and value.strip():
        return
    found = "blank" if isinstance(value, str) else type(value).__name__
    text = (
        f"the {name} of a CanvasError is {found}: write a code for programs and a sentence for "
        'readers, as in CanvasError("no_such_card", "There is no card 7.")'
    )
    raise ValueError(text) if isinstance(value, str) else TypeError(text)


class InvalidInput(CanvasError):
    """The input does not fit the declared schema. Names the fields, never echoes a value."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_input", message)


class UnknownAction(CanvasError):
    """The canvas has no action of that name."""

    def __init__(self, message: str) -> None:
        super().__init__("unknown_action", message)


class NoHandler(CanvasError):
    """The action is declared, but nothing handles it (copilot-sdk: `CanvasError.noHandler`)."""

    def __init__(self, message: str) -> None:
        super().__init__("canvas_action_no_handler", message)


class NotAllowed(CanvasError):
    """The action's `audience` does not include the caller."""


class Closing(CanvasError):
    """The instance, or the whole provider, is closing or closed."""

    def __init__(self, message: str) -> None:
        super().__init__("closing", message)


class RevisionConflict(CanvasError):
    """The document is at another revision than the caller based its change on.

    Of an undo: `actual` has changed what `expected`, the revision to be undone, had written.
    """

    def __init__(self, expected: int, actual: int, message: str | None = None) -> None:
        # The numbers are the same where a store was reset, and has grown again since.
        found = f"at revision {actual}, not {expected}" if actual != expected else "another by now"
        super().__init__(
            "revision_conflict",
            message or f"The state is {found}: read it again, then retry.",
        )
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[type["RevisionConflict"], tuple[int, int, str]]:
        return type(self), (self.expected, self.actual, self.message)


class NothingToUndo(CanvasError):
    """There is nothing to undo or redo, or it was done already, or it was too long ago."""

    def __init__(self, message: str) -> None:
        super().__init__("nothing_to_undo", message)


class StoreUnavailable(CanvasError):
    """The state cannot be saved or read now; nothing was changed.

    The text says why and what helps, and names no path: those are logged.
    """

    def __init__(self, message: str) -> None:
        super().__init__("store_unavailable", message)


class ActionTimeout(CanvasError):
    """The handler did not finish within its time; its change, if any, was rolled back."""

    def __init__(self, message: str) -> None:
        super().__init__("timeout", message)


class HandlerError(CanvasError):
    """A handler raised something unexpected.

    The text holds an id that is logged beside the traceback, and nothing of the cause.
    """

    def __init__(self, message: str) -> None:
        super().__init__("canvas_handler_error", message)


class StateError(CanvasProviderError):
    """Something about the shared state is not possible."""


class NotJSON(StateError, ValueError):
    """A value that JSON cannot carry; the message names its place, not the value."""


class InvalidState(StateError, ValueError):
    """A value that the state's type does not accept; the message names its place, not the value."""


class ChangeInProgress(StateError):
    """A change was begun inside a change of the same document, or would wait for ever."""


class DraftClosed(StateError):
    """A draft was written after its commit, or used after its rollback."""


class StateClosed(StateError):
    """The document was closed; the change was not made."""


class PatchError(StateError, ValueError):
    """A patch that does not fit its document (RFC 6902 section 5)."""


class StoreError(StateError):
    """The store could not load or commit.

    The message is for the log and names what is where. `told` is what an agent and a page read: a
    sentence or two with what is wrong and what helps, without a path. A store of your own may
    leave it out: they are told then that the log has the details.
    """

    def __init__(self, message: str, *, told: str | None = None) -> None:
        super().__init__(message)
        self.told = told


class DamagedDocument(StoreError):
    """What was stored could not be read and was set aside, unchanged."""


class UnfitDocument(StoreError):
    """What is stored does not fit the state's type, and stays as it is until it is put right."""


class WireError(CanvasProviderError):
    """Something about the connection."""


class FrameError(WireError):
    """Bytes that are no frame: the stream cannot be read any further."""


class MessageTooLarge(WireError):
    """A message that is larger than may be sent, in bytes. It was not sent; the connection lives.

    Sent, it would end the connection: nobody reads on behind a frame that is refused.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.size} bytes, where at most {self.limit} fit into a message"


class ConnectionClosed(WireError):
    """The other side is gone; a request in flight will get no answer."""


class InvalidAnswer(WireError):
    """The other side answered, but not what its method promises. Names what is wrong, no value."""


class RemoteError(WireError):
    """A JSON-RPC error, received or to be sent (JSON-RPC 2.0 section 5.1)."""

    def __init__(self, code: int, message: str, data: "JSONValue" = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return self.message


class MethodNotFound(RemoteError):
    """There is no such method (JSON-RPC 2.0: -32601)."""

    def __init__(self, method: str) -> None:
        super().__init__(-32601, f"Unhandled method {method}")

    def __reduce__(self) -> tuple[type["RemoteError"], tuple[int, str, "JSONValue"]]:
        return RemoteError, (self.code, self.message, self.data)


class NotFound(RemoteError):
    """There is no such channel or resource (AHP: -32008)."""


class PermissionDenied(RemoteError):
    """The host does not do that for this client (AHP: -32009)."""


class Conflict(RemoteError):
    """The URI belongs to something else already (AHP: -32011)."""


class AuthRequired(RemoteError):
    """The host wants to know first who asks; `data` says for what (AHP: -32007)."""


class UnsupportedVersion(RemoteError):
    """The host speaks none of our versions; `data` may name those it speaks (AHP: -32005)."""
