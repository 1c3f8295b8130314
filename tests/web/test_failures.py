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
    "Said.One of ours, derived from."


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("Said."), 400),
        (NotAllowed("not_for_person", "Said."), 403),
        (UnknownAction("Said."), 404),
        (CanvasError("any", "Said."), 409),
        (CanvasError("invalid_input", "Said."), 409),
        (Own("any", "Said."), 409),
        (Narrower("Said."), 400),
        (Closing("Said."), 410),
        (RevisionConflict(1, 2), 412),
        (HandlerError("Said."), 500),
        (NoHandler("Said."), 501),
        (ActionTimeout("Said."), 504),
    ],
)
def test_the_class_of_an_error_is_its_status(error: CanvasError, status: int) -> None:
    assert status_of(error) == status


def test_every_error_for_callers_has_a_status() -> None:
    for kind in CanvasError.__subclasses__():
        if kind.__module__ == "canvas_provider.errors":
            assert status_of(kind.__new__(kind)) >= 400
