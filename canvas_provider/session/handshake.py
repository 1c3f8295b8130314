"""The handshake: what a joining extension says first. Bytes only, no event loop.

Copilot makes the user's first turn wait for every extension, so `run` writes these bytes before
it imports asyncio, let alone a web server. Whatever the runtime answers waits in the pipe; the
same `Connection` then goes on under the event loop, which is why restored instances (their
`canvas.open` arrives *before* the reply to `session.resume`, observed with Copilot CLI 1.0.102)
find their handlers live.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.config import Settings
from canvas_provider.errors import DeclarationError, JoinError
from canvas_provider.protocol.names import Method
from canvas_provider.types import JSONObject
from canvas_provider.wire.connection import Connection
from canvas_provider.wire.stdio import Pipes, claim_stdio, write_all

if TYPE_CHECKING:
    from canvas_provider.protocol.copilot import SessionResumeParams
    from canvas_provider.session.contributions import Contributions
    from canvas_provider.session.options import JoinOptions

__all__ = ["Handshake", "begin_on_stdio"]


@dataclass(frozen=True, slots=True, repr=False)
class Handshake:
    """A connection on which `connect` and `session.resume` are sent, and their request ids.

    Take the bytes from `connection.data_to_send()`. No repr: `options` may hold keys of a provider.
    """

    session_id: str
    canvases: Mapping[str, Canvas]
    settings: Settings
    connection: Connection
    connect_id: int
    resume_id: int
    declared: "SessionResumeParams"
    """What `session.resume` has said, to be said again."""
    contributions: "Contributions | None" = None
    """What there is besides canvases."""

    @classmethod
    def begin(
        cls,
        canvases: Sequence[Canvas],
        contributions: "Contributions | None" = None,
        *,
        session_id: str,
        settings: Settings,
    ) -> "Handshake":
        """Check the canvases against each other and queue both requests.

        Raises:
            DeclarationError: nothing to contribute, or two canvases of the same id.
        """
        by_id = _by_id(canvases)
        if not by_id and not contributions:
            raise DeclarationError(
                "there is nothing to contribute: pass what create_canvas() or @tool returned",
                field="canvases",
            )
        params: SessionResumeParams = {
            "sessionId": session_id,
            "canvases": [canvas.declaration for canvas in canvases],
            "requestPermission": False,
            "disableResume": True,
        }
        if contributions is not None:
            params.update(contributions.params)
        limit = settings.max_frame_size
        connection = Connection(max_frame_size=limit, max_sent_size=limit)
        return cls(
            session_id,
            by_id,
            settings,
            connection,
            connection.send_request(Method.CONNECT, {}),
            connection.send_request(Method.SESSION_RESUME, cast(JSONObject, params)),
            params,
            contributions,
        )


def begin_on_stdio(canvases: Sequence[Canvas], options: "JoinOptions") -> tuple[Pipes, Handshake]:
    """Take stdin and stdout, and write the first bytes.

    Raises:
        JoinError: not started by Copilot, or Copilot is gone already.
        DeclarationError: as `Handshake.begin` and `Contributions`, or a setting that is no number.
    """
    contributions = None
    if options:
        # Only now: who contributes nothing but canvases does not pay for it.
        from canvas_provider.session.contributions import Contributions

        contributions = Contributions(**options)
    session_id = _session_id()
    settings = Settings.from_environment()
    handshake = Handshake.begin(canvases, contributions, session_id=session_id, settings=settings)
    pipes = claim_stdio()
    try:
        write_all(pipes.write_fd, handshake.connection.data_to_send())
    except BrokenPipeError:
        raise JoinError("the connection to Copilot closed before the join was done") from None
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        raise JoinError(
            "this process has been in a session, which is over: "
            "contribute all canvases at once, as in run(canvas, other)"
        ) from None
    return pipes, handshake


def _session_id() -> str:
    session_id = os.environ.get("SESSION_ID")
    if not session_id:
        raise JoinError(
            "this process was not started by Copilot (SESSION_ID is not set). "
            "Try the canvas in a browser with: canvas-provider dev extension.py; "
            "put it into Copilot with: canvas-provider install extension.py"
        )
    return session_id


def _by_id(canvases: Sequence[Canvas]) -> dict[str, Canvas]:
    by_id: dict[str, Canvas] = {}
    for canvas in canvases:
        if not isinstance(canvas, Canvas):
            raise DeclarationError(
                "must be what create_canvas() returned, one by one, as in run(canvas, other): "
                f"this is a {type(canvas).__name__}",
                field="canvases",
            )
        if canvas.id in by_id:
            raise DeclarationError(
                "two canvases have this id: give each its own", canvas=canvas.id, field="id"
            )
        by_id[canvas.id] = canvas
    return by_id
