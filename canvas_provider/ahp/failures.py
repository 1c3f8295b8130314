"""What a refused request raises: an exception for each error code that a client can react to."""

from typing import Final

from canvas_provider.ahp.frames import Failure
from canvas_provider.errors import (
    AuthRequired,
    Conflict,
    NotFound,
    PermissionDenied,
    RemoteError,
    UnsupportedVersion,
)
from canvas_provider.protocol.ahp import ErrorCode

__all__ = ["to_error"]

KINDS: Final[dict[int, type[RemoteError]]] = {
    ErrorCode.SESSION_NOT_FOUND: NotFound,
    ErrorCode.NOT_FOUND: NotFound,
    ErrorCode.PERMISSION_DENIED: PermissionDenied,
    ErrorCode.CONFLICT: Conflict,
    ErrorCode.AUTH_REQUIRED: AuthRequired,
    ErrorCode.UNSUPPORTED_PROTOCOL_VERSION: UnsupportedVersion,
}


def to_error(failure: Failure) -> RemoteError:
    """Make the exception that stands for an error answer."""
    kind = KINDS.get(failure.code, RemoteError)
    return kind(failure.code, failure.message, failure.data)
