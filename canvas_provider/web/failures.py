"""Which HTTP status an exception is answered with: one table, and the boundary that uses it."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canvas_provider.canvas.dispatch import is_failure, translate
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    Closing,
    HandlerError,
    InvalidInput,
    NoHandler,
    NotAllowed,
    RevisionConflict,
    StoreUnavailable,
    UnknownAction,
)
from canvas_provider.serving.guards import TOO_LARGE
from canvas_provider.serving.responses import NOT_FOUND, send_error

__all__ = ["ErrorBoundary", "status_of"]

STATUS: Final[Mapping[type[CanvasError], int]] = {
    InvalidInput: 400,
    NotAllowed: 403,
    UnknownAction: 404,
    CanvasError: 409,
    Closing: 410,
    RevisionConflict: 412,
    HandlerError: 500,
    NoHandler: 501,
    StoreUnavailable: 503,
    ActionTimeout: 504,
}


def status_of(error: CanvasError) -> int:
    """The status of the nearest class in the table: an author's own subclass is a 409."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


class ErrorBoundary:
    """Turn whatever an app raises into a JSON error.

    A CanvasError says what its author wants said. Of anything else the caller learns an id, under
    which the traceback is logged.
    """

    def __init__(self, app: ASGIApp, canvas_id: str) -> None:
        self._app = app
        self._canvas_id = canvas_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            # Nobody is there to be told.
            pass
        except BaseException as error:
            if begun or not is_failure(error):
                # Nothing can be said any more: the server reports it and cuts the line.
                raise
            await self._answer(error, send)

    async def _answer(self, error: BaseException, send: Send) -> None:
        if isinstance(error, HTTPException):
            code, message = _describe(error)
            given = error.headers or {}
            headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
            await send_error(send, error.status_code, code, message, headers=headers)
        else:
            answer = translate(error, "request", self._canvas_id)
            revision = int(answer.actual) if isinstance(answer, RevisionConflict) else None
            await send_error(
                send, status_of(answer), answer.code, answer.message, revision=revision
            )


def _describe(error: HTTPException) -> tuple[str, str]:
    """A code and a message; a bare 404 is the same as that of a wrong path."""
    try:
        phrase = HTTPStatus(error.status_code).phrase
    except ValueError:
        phrase = "error"
    if error.status_code == 404 and error.detail == phrase:
        return NOT_FOUND[1:]
    if error.status_code == 413:
        return TOO_LARGE, error.detail
    return re.sub("[^a-z]+", "_", phrase.lower()), error.detail
