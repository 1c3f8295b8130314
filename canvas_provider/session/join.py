"""`join_session`: from a process that Copilot started to a `Session`."""

from collections.abc import Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.session.handshake import Handshake, begin_on_stdio
from canvas_provider.session.process import Lifeline, end_program
from canvas_provider.session.session import Session
from canvas_provider.wire.stdio import Pipes
from canvas_provider.wire.transports import PipeTransport

if TYPE_CHECKING:
    from typing import Unpack

    from canvas_provider.session.options import JoinOptions

__all__ = ["JoinSession", "join", "join_session"]


def join_session(
    *, canvases: Sequence[Canvas] = (), **options: "Unpack[JoinOptions]"
) -> "JoinSession":
    """Join the Copilot session that started this process.

    Either of:

        async with join_session(canvases=[kanban]) as session:
            await session.wait_closed()

        session = await join_session(canvases=[kanban])

    From here on stdin and stdout belong to Copilot: `print()` goes to stderr, `input()` sees the
    end of the file. EOF on stdin, SIGTERM, SIGINT and the end of Copilot end the session. If the
    program is not in `wait_closed` then, it is ended too, by `SystemExit`: Copilot waits for its
    exit.

    **Approval** means that Copilot asks the user while the extension loads. Refused, the join
    raises `JoinError`, and nothing of the extension is there.

    Args:
        canvases: what `create_canvas` returned.
        tools: functions for the agent (`@tool`). Approval for those with `skip_permission`.
        hooks: `Hooks(on_pre_tool_use=…, …)`, called at fixed points of a session. Approval.
        commands: slash commands for the person (`@command`).
        on_permission_request: decides about what the agent asks permission for. Approval.
        on_user_input_request: answers the agent's questions (`ask_user`).
        on_elicitation_request: answers forms, of MCP servers, of the agent and of extensions.
        on_exit_plan_mode_request: decides whether a plan is carried out.
        on_auto_mode_switch_request: decides whether to go on with another model.
        on_mcp_auth_request: gives tokens for MCP servers.
        requested_environment_variables: names of variables that Copilot keeps from extensions;
            granted ones are in `os.environ` when this returns. Approval.
        on_event: called with each event of the session, from the first byte on.
        disable_resume: True (the default) sends no `session.resume` event to the session.
        options: further parameters of `session.resume`, by their wire names; `JoinOptions` says
            more of each.

    Raises:
        JoinError: not started by Copilot, or Copilot or its user refused. Let it end the process
            at once: one that lives on blocks the user's first turn.
        DeclarationError: what is contributed cannot work.
    """
    return JoinSession(canvases, options)


class JoinSession:
    """What `join_session` returns: await it, or enter it."""

    def __init__(self, canvases: Sequence[Canvas], options: "JoinOptions") -> None:
        self._canvases = canvases
        self._options = options
        self._session: Session | None = None

    def __await__(self) -> Generator[Any, None, Session]:
        return self._join().__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._join()
        return self._session

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._session is not None
        await self._session.aclose()

    async def _join(self) -> Session:
        pipes, handshake = begin_on_stdio(self._canvases, self._options)
        return await join(pipes, handshake)


async def join(pipes: Pipes, handshake: Handshake) -> Session:
    """Go on from a handshake that is written; the process now lives and dies with the session.

    Raises:
        JoinError: Copilot refused, or went away.
    """
    # The one late import: the runtime answers the handshake while these 150 ms pass.
    from canvas_provider.session.codec import speed_up
    from canvas_provider.web.loopback import LoopbackWeb

    speed_up(handshake.connection)
    lifeline = Lifeline(handshake.settings.shutdown_deadline)

    def closed() -> None:
        lifeline.detach()
        if lifeline.is_ending and session.joined and not session.is_awaited:
            end_program()

    session = Session(
        handshake,
        PipeTransport(pipes.read_fd, pipes.write_fd),
        LoopbackWeb(development=handshake.settings.development),
        on_lost=lifeline.start_clock,
        on_closed=closed,
    )
    lifeline.attach(session.begin_close, pipes.read_fd)
    await session.join()
    return session
