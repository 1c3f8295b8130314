"""Changes of a document that is stored nowhere."""

from canvas_provider.state.document import Change
from canvas_provider.state.recording import Prepared


def commit(change: Change) -> Prepared | None:
    """Prepare and complete, as a state does once its store has accepted the change."""
    prepared = change.prepare()
    if prepared is not None:
        change.complete()
    return prepared
