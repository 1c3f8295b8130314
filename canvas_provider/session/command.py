"""`@command` and `Command`: a slash command that the person types, `/deploy production`."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

from canvas_provider.canvas import rules
from canvas_provider.canvas.annotation import Site
from canvas_provider.canvas.signature import compile_long_form, first_paragraphs
from canvas_provider.errors import DeclarationError
from canvas_provider.protocol.copilot import CommandDeclaration

if TYPE_CHECKING:
    from canvas_provider.session.session import Session

__all__ = ["Command", "CommandContext", "command"]

T = TypeVar("T")


class CommandContext(NamedTuple):
    """One call of a command, as its handler sees it."""

    session: "Session"
    command: str
    """The whole text, as in `/deploy production`."""
    command_name: str
    """Without the slash."""
    args: str
    """What stands behind the name, as it was typed."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Do what has to be awaited, from a `def` handler, which is in a thread."""
        return self.session.run(coroutine)

    def __repr__(self) -> str:
        # What a person types is for nobody's log.
        return f"CommandContext(command_name={self.command_name!r})"


class Command:
    """One slash command, field by field as in the Node SDK.

    Its handler takes one argument, the `CommandContext`, and returns nothing: what it has to say
    goes to the person by `ctx.session.log`, or to the agent by `ctx.session.send`. A `CanvasError`
    tells the person its message. A `def` runs in a thread.

    Args:
        name: without the slash and without blanks.
        description: what the person reads beside it.

    Raises:
        DeclarationError: it could not work.
    """

    def __init__(
        self, name: str, description: str | None, handler: Callable[[CommandContext], Any]
    ) -> None:
        site = _CommandSite(str(name))
        self.name: Final = _check_name(name, site)
        compile_long_form(handler, None, site=site, subject=f'command "/{name}"')
        self.handler: Final = handler
        self.declaration: Final[CommandDeclaration] = {"name": self.name, "description": ""}
        """What the runtime is told."""
        if description is not None:
            self.declaration["description"] = rules.check_text(description, "description", site)

    def __repr__(self) -> str:
        return f"Command(name={self.name!r})"


@overload
def command(function: Callable[[CommandContext], Any], /) -> Command: ...
@overload
def command(
    function: None = None, /, *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[[CommandContext], Any]], Command]: ...
def command(
    function: Callable[[CommandContext], Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
) -> Command | Callable[[Callable[[CommandContext], Any]], Command]:
    """Make a function of a `CommandContext` a command; pass it to `run(commands=[...])`.

        @command
        async def deploy(ctx: CommandContext) -> None:
            "Deploy to a stage."
            await ctx.session.send(f"Deploy to {ctx.args or 'staging'}.")

    Its name is the function's, its description the docstring's.

    Raises:
        DeclarationError: it could not work.
    """
    if isinstance(function, str):
        raise DeclarationError(
            f"takes the name by keyword: write @command(name={function!r})", command=function
        )

    def declare(function: Callable[[CommandContext], Any]) -> Command:
        given = getattr(function, "__name__", "") if name is None else name
        text = first_paragraphs(function) if description is None else description
        return Command(given, text, function)

    return declare if function is None else declare(function)


class _CommandSite(Site):
    context = CommandContext
    decorator = "@command"
    report = "ctx.session.log(...)"

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def refuse(self, message: str, field: str | None = None) -> DeclarationError:
        return DeclarationError(message, command=self._name, field=field)


def _check_name(name: object, site: Site) -> str:
    if not isinstance(name, str) or not name or any(c.isspace() for c in name) or "/" in name:
        raise site.refuse(
            "must be one word without the slash, as in 'deploy': the person types '/deploy'", "name"
        )
    return name
