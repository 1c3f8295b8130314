"""An instance's document with its history, for the development host; and undo from there."""

import asyncio
from contextlib import suppress
from typing import Any, Final, cast

from canvas_provider.errors import CanvasError, StateError
from canvas_provider.protocol.development import HistoryResult, RevisionResult
from canvas_provider.session.instances import Instances
from canvas_provider.state.shared import Revision, SharedState
from canvas_provider.types import JSONObject

__all__ = ["follow", "redo", "undo"]

PATIENCE: Final = 10.0
"""Seconds that a request waits for a change."""


async def follow(instances: Instances, params: JSONObject) -> HistoryResult:
    """Return an instance's document and its history, once it is not the one the asker has.

    Raises:
        CanvasError: no such instance is open.
    """
    state = instances.find_state(str(params.get("instanceId")))
    if state is None:
        return {"version": None}
    if str(state.version) == params.get("after"):
        await _wait_for_change(state)
    return {
        "version": str(state.version),
        "revision": state.revision,
        "state": state.document,
        "revisions": [_describe(revision) for revision in state.history()],
    }


async def undo(instances: Instances, params: JSONObject) -> RevisionResult:
    """Take back a revision, or the newest one that stands.

    Raises:
        CanvasError: it cannot be taken back; the text says why.
    """
    number = params.get("revision")
    state = _need_state(instances, params)
    try:
        revision = await state.undo(number if isinstance(number, int) else None, author="person")
    except StateError as error:
        raise CanvasError("state_error", str(error)) from error
    return _describe(revision)


async def redo(instances: Instances, params: JSONObject) -> RevisionResult:
    """Take back the newest undo that stands.

    Raises:
        CanvasError: there is none, or a later revision is in the way.
    """
    try:
        revision = await _need_state(instances, params).redo(author="person")
    except StateError as error:
        raise CanvasError("state_error", str(error)) from error
    return _describe(revision)


async def _wait_for_change(state: SharedState[Any]) -> None:
    changed = asyncio.Event()
    unsubscribe = state.subscribe(lambda _: changed.set())
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await changed.wait()
    finally:
        unsubscribe()


def _need_state(instances: Instances, params: JSONObject) -> SharedState[Any]:
    state = instances.find_state(str(params.get("instanceId")))
    if state is None:
        raise CanvasError("no_state", "This canvas has no state.")
    return state


def _describe(revision: Revision) -> RevisionResult:
    return {
        "number": revision.number,
        "previous": revision.previous,
        "author": revision.author,
        "action": revision.action,
        "time": revision.time,
        "ops": cast(list[JSONObject], revision.ops),
        "inverse": cast(list[JSONObject], revision.inverse),
        "reverts": revision.reverts,
    }
