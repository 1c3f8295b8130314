"""Whether this code runs inside a handler that somebody waits for.

A handler that waited for the agent would wait for ever: the agent's turn waits for the handler.
The mark goes where the context goes: into the tasks that a handler starts, and into its thread. It
is void as soon as the handler has returned.
"""

from contextvars import ContextVar, Token

__all__ = ["Handling", "current_handler"]


class Handling:
    """Marks what runs inside of the `with` as part of a handler.

    Args:
        what: its kind and name, for a message: `action "refresh"`, `on_open`.
    """

    __slots__ = ("_token", "is_running", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_running = True

    def __enter__(self) -> None:
        self._token: Token[Handling | None] = _current.set(self)

    def __exit__(self, *exc_info: object) -> None:
        self.is_running = False
        _current.reset(self._token)


_current: ContextVar[Handling | None] = ContextVar("canvas_provider_handling", default=None)


def current_handler() -> str | None:
    """Return which handler this runs in, if it still runs."""
    handling = _current.get()
    return handling.what if handling is not None and handling.is_running else None
