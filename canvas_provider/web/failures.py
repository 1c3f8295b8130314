"""Which HTTP status an exception is answered with: one table, and the boundary that uses it."""

import logging
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    HandlerError,
    InvalidInput,
    NoHandler,
    NotAllowed,
    RevisionConflict,
    UnknownAction,
)
from canvas_provider.serving.guards import TOO_LARGE
from canvas_provider.serving.responses import NOT_FOUND, send_error

__all__ = ["ErrorBoundary", "status_of"]

logger = logging.getLogger("canvas_provider.web")

STATUS: Final[Mapping[type[CanvasError], int]] = {
    InvalidInput: 400,
    NotAllowed: 403,
    UnknownAction: 404,
    CanvasError: 409,
    Closing: 410,
    RevisionConflict: 412,
    HandlerError: 500,
    NoHandler: 501,
    ActionTimeout: 504,
}


def status_of(error: CanvasError) -> int:
    """The status of the nearest class in the table: an author's own subclass is a 409."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


class ErrorBoundary:
    """Turn whatever an app raises into a JSON error, unless its response has begun.

    A CanvasError says what its author wants said. Of anything else the caller learns an id, under
    which the traceback is logged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except CanvasError as error:
            status, code, message = status_of(error), error.code, error.message
            headers: Mapping[str, str] | None = None
        except HTTPException as error:
            status, code, message = _describe(error)
            headers = error.headers
        except Exception:
            status, code, headers = 500, "canvas_handler_error", None
            number = secrets.token_hex(4)
            message = f"Something went wrong in the extension. Its log says what (error {number})."
            logger.exception("A request failed (error %s)", number)
        else:
            return
        if begun:
            # Nothing can be said any more: the server cuts the line, and the client sees that.
            return
        raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        await send_error(send, status, code, message, headers=raw)


def _describe(error: HTTPException) -> tuple[int, str, str]:
    if error.status_code == 404 and error.detail == HTTPStatus.NOT_FOUND.phrase:
        return NOT_FOUND
    if error.status_code == 413:
        return error.status_code, TOO_LARGE, error.detail
    try:
        phrase = HTTPStatus(error.status_code).phrase
    except ValueError:
        phrase = "error"
    code = "_".join("".join(c if c.isalnum() else " " for c in phrase.lower()).split())
    return error.status_code, code, error.detail
