"""What actions do to the state of a channel. Pure: a state and an action in, a state out.

Host and client use the same ones, so both arrive at the same state. A reducer never changes what
it is given: it returns the same object where nothing changes, and a new one otherwise. An action
that it does not know, or that lacks what it needs, changes nothing (versioning.md: newer hosts send
newer actions).

The cases are in `tests/ahp/fixtures/reducers.json`, for other languages to run, too.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from canvas_provider.protocol.ahp import ActionType, Scheme
from canvas_provider.protocol.ahp_canvases import REGISTRY, CanvasAction
from canvas_provider.types import JSONObject, JSONValue

__all__ = [
    "Reducer",
    "reduce",
    "reduce_canvas",
    "reduce_chat",
    "reduce_root",
    "reduce_session",
    "scheme_of",
]

Reducer: TypeAlias = Callable[[JSONObject, JSONObject], JSONObject]


def reduce_root(state: JSONObject, action: JSONObject) -> JSONObject:
    """Return the root's state: none of its actions concerns canvases, so it stays as it is."""
    return state


def reduce_session(state: JSONObject, action: JSONObject) -> JSONObject:
    """Return the state of a session: whether it is ready, and which chats it has."""
    match action:
        case {"type": ActionType.SESSION_READY}:
            return {**state, "lifecycle": "ready"}
        case {"type": ActionType.SESSION_CHAT_ADDED, "summary": {"resource": str(added)} as chat}:
            known = added in map(_resource, _chats(state))
            listed = [chat if _resource(each) == added else each for each in _chats(state)]
            return {**state, "chats": [*listed, *(() if known else (chat,))]}
        case {"type": ActionType.SESSION_CHAT_REMOVED, "chat": str(removed)}:
            return _without_chat(state, removed)
        case {
            "type": ActionType.SESSION_CHAT_UPDATED,
            "chat": str(updated),
            "changes": dict() as changes,
        }:
            chats: list[JSONValue] = [
                # Its address is what is meant by `chat`, and cannot change.
                {**each, **changes, "resource": updated} if _resource(each) == updated else each
                for each in _chats(state)
            ]
            return state if chats == state.get("chats") else {**state, "chats": chats}
    return state


def reduce_chat(state: JSONObject, action: JSONObject) -> JSONObject:
    """Return the state of a chat: which canvases are live, and which could be opened.

    `chat/canvasRegistryRequested` changes nothing, neither when it is dispatched nor when the host
    has echoed it: only the host knows what there is.
    """
    match action.get("type"):
        case ActionType.CHAT_CANVASES_CHANGED:
            return _replace(state, "canvases", action.get("canvases"), list)
        case CanvasAction.REGISTRY_CHANGED:
            return _replace(state, REGISTRY, action.get(REGISTRY), dict)
    return state


def reduce_canvas(state: JSONObject, action: JSONObject) -> JSONObject:
    """Return the state of a canvas, which is always replaced as a whole."""
    match action:
        case {"type": ActionType.CANVAS_STATE_CHANGED, "canvas": dict() as canvas}:
            return canvas
    return state


REDUCERS: Final[dict[str, Reducer]] = {
    Scheme.ROOT: reduce_root,
    Scheme.SESSION: reduce_session,
    Scheme.CHAT: reduce_chat,
    Scheme.CANVAS: reduce_canvas,
}


def reduce(channel: str, state: JSONObject, action: JSONObject) -> JSONObject:
    """Reduce the state of the channel with this URI; that of an unknown scheme stays as it is."""
    reducer = REDUCERS.get(scheme_of(channel))
    return state if reducer is None else reducer(state, action)


def scheme_of(uri: str) -> str:
    """Return what stands before the first colon, in small letters; empty if there is none."""
    scheme, colon, _ = uri.partition(":")
    return scheme.lower() if colon else ""


def _replace(state: JSONObject, key: str, value: JSONValue, kind: type) -> JSONObject:
    """Replace a value; nothing, and what it cannot be, removes it."""
    if isinstance(value, kind):
        return {**state, key: value}
    return {name: each for name, each in state.items() if name != key} if key in state else state


def _without_chat(state: JSONObject, chat: str) -> JSONObject:
    if chat not in map(_resource, _chats(state)):
        return state
    chats: list[JSONValue] = [each for each in _chats(state) if _resource(each) != chat]
    gone = {"defaultChat"} if state.get("defaultChat") == chat else set()
    return {name: each for name, each in state.items() if name not in gone} | {"chats": chats}


def _chats(state: JSONObject) -> list[JSONObject]:
    chats = state.get("chats")
    return [each for each in chats if isinstance(each, dict)] if isinstance(chats, list) else []


def _resource(chat: JSONObject) -> JSONValue:
    return chat.get("resource")
