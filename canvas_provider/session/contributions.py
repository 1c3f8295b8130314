"""What an extension contributes besides canvases, checked before a byte is sent.

Loaded only by a program that contributes something: a canvas alone does not pay for it.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, Unpack, cast

from canvas_provider.canvas.results import to_json_value
from canvas_provider.errors import DeclarationError, NotJSON
from canvas_provider.protocol.copilot import SessionResumeParams
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.command import Command
from canvas_provider.session.hooks import Hooks
from canvas_provider.session.options import JoinOptions
from canvas_provider.session.requests import HANDLERS, check_handler
from canvas_provider.session.tool import Tool
from canvas_provider.types import JSONObject

__all__ = ["Contributions"]

T = TypeVar("T")


class Contributions:
    """The options of a join, checked.

    Raises:
        DeclarationError: one of them cannot work. The text names it.
        TypeError: there is no such option.
    """

    def __init__(self, **given: Unpack[JoinOptions]) -> None:
        for name in given.keys() - JoinOptions.__annotations__.keys():
            known = ", ".join(JoinOptions.__annotations__)
            raise TypeError(f"there is no option {name!r}; there are: canvases, {known}")
        self.tools: Final = _by_name(given.get("tools", ()), Tool, "tools", "@tool")
        self.commands: Final = _by_name(given.get("commands", ()), Command, "commands", "@command")
        self.hooks: Final = _hooks(given.get("hooks"))
        self.handlers: Final = _handlers(given)
        """Request handlers, by option."""
        self.environment: Final = _names(given.get("requested_environment_variables", ()))
        self.on_event: Final[Callable[[SessionEvent], object] | None] = given.get("on_event")
        if self.on_event is not None and not callable(self.on_event):
            raise DeclarationError("must be a function of one event", field="on_event")
        self._disable_resume = given.get("disable_resume", True)
        self._further = _further(given.get("options", {}))

    def __bool__(self) -> bool:
        """Whether there is anything that an extension without canvases can be for."""
        called = (self.tools, self.commands, self.hooks, self.handlers, self.on_event)
        return any((*called, self.environment, self._further))

    @property
    def params(self) -> SessionResumeParams:
        """What `session.resume` says of it, without session and canvases."""
        params: dict[str, Any] = {
            **self._further,
            "requestPermission": False,
            "disableResume": self._disable_resume,
        }
        if self.tools:
            params["tools"] = [tool.declaration for tool in self.tools.values()]
        if self.commands:
            params["commands"] = [command.declaration for command in self.commands.values()]
        if self.hooks:
            params["hooks"] = True
        for option in self.handlers:
            if (flag := HANDLERS[option].flag) is not None:
                params[flag] = True
        if self.environment:
            params["requestedEnvironmentVariables"] = list(self.environment)
        return cast(SessionResumeParams, params)


def _by_name(given: Iterable[T], kind: type[T], field: str, maker: str) -> dict[str, T]:
    by_name: dict[str, T] = {}
    for each in _listed(given, field):
        if not isinstance(each, kind):
            raise DeclarationError(
                f"must be what {maker} made of a function: this is a {type(each).__name__}",
                field=field,
            )
        name: str = each.name  # type: ignore[attr-defined]
        if name in by_name:
            raise DeclarationError(f"two of them are called {name!r}: rename one", field=field)
        by_name[name] = each
    return by_name


def _hooks(given: object) -> Hooks | None:
    if given is not None and not isinstance(given, Hooks):
        raise DeclarationError("must be Hooks(on_pre_tool_use=..., ...)", field="hooks")
    return given


def _handlers(given: JoinOptions) -> dict[str, Callable[..., Any]]:
    named = cast(dict[str, Any], given)
    found = {option: named[option] for option in HANDLERS if named.get(option) is not None}
    for option, handler in found.items():
        check_handler(handler, option)
    return found


def _names(given: object) -> tuple[str, ...]:
    field = "requested_environment_variables"
    names = tuple(_listed(given, field))
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
            raise DeclarationError(
                "must be names of variables, as in ['OPENAI_API_KEY']", field=field
            )
    return names


def _listed(given: Any, field: str) -> Iterable[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise DeclarationError(f"must be a list: write {field}=[...]", field=field)
    return given


def _further(given: object) -> JSONObject:
    try:
        further = to_json_value(given)
    except NotJSON as error:
        raise DeclarationError(f"is not JSON: {error}", field="options") from None
    if not isinstance(further, dict):
        raise DeclarationError("must be a dict", field="options")
    if taken := further.keys() & SessionResumeParams.__annotations__.keys() - _FREE:
        name = min(taken)
        raise DeclarationError(f"{name!r} has an argument of its own: use that", field="options")
    return further


_FREE: Final = {"toolFilterPrecedence", "includeSubAgentStreamingEvents", "envValueMode"}
"""Parameters that this package knows and says nothing of."""
