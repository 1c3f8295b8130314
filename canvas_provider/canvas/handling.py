"""Whether this code runs inside a handler that somebody waits for.

A handler that waited for the agent would wait for ever: the agent's turn waits for the handler.
The mark goes where the context goes: into the tasks that a handler starts, and into its thread. It
is void as soon as the handler has returned.
"""

from contextvars import ContextVar, Token

__all__ = ["Handling", "current", "current_handler", "current_handling"]


class Handling:
    """Marks what runs inside of the `with` as part of a handler.

    Args:
        what: its kind and name, for a message: `action "refresh"`, `on_open`.
        instance_id: the instance that it is a handler of.
    """

    __slots__ = ("awaits_close", "instance_id", "is_running", "token", "what")

    def __init__(self, what: str, instance_id: str | None = None) -> None:
        self.what = what
        self.instance_id = instance_id
        self.is_running = True
        self.awaits_close = False
        """Whether it waits for the close of its own instance, which must not wait for it then."""

    def __enter__(self) -> None:
        self.token: Token[Handling | None] = current.set(self)

    def __exit__(self, *exc_info: object) -> None:
        self.is_running = False
        current.reset(self.token)


current: ContextVar[Handling | None] = ContextVar("canvas_provider_handling", default=None)
"""Set by who enters one, as a `with` does; read by `current_handling`."""


def current_handler() -> str | None:
    """Return which handler this runs in, if it still runs."""
    handling = current_handling()
    return None if handling is None else handling.what


def current_handling() -> Handling | None:
    """Return the handler this runs in, if it still runs."""
    handling = current.get()
    return handling if handling is not None and handling.is_running else None
