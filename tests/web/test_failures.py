import pytest

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
from canvas_provider.web.failures import status_of


class Own(CanvasError):
    """An author's own."""


class Narrower(InvalidInput):
    """One of ours, derived from."""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput(""), 400),
        (NotAllowed("not_for_person", ""), 403),
        (UnknownAction(""), 404),
        (CanvasError("any", ""), 409),
        (CanvasError("invalid_input", ""), 409),
        (Own("any", ""), 409),
        (Narrower(""), 400),
        (Closing(""), 410),
        (RevisionConflict(1, 2), 412),
        (HandlerError(""), 500),
        (NoHandler(""), 501),
        (ActionTimeout(""), 504),
    ],
)
def test_the_class_of_an_error_is_its_status(error: CanvasError, status: int) -> None:
    assert status_of(error) == status


def test_every_error_for_callers_has_a_status() -> None:
    for kind in CanvasError.__subclasses__():
        if kind.__module__ == "canvas_provider.errors":
            assert status_of(kind.__new__(kind)) >= 400
