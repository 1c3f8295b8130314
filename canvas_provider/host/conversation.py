"""The embedded runtime's half of talking to the agent: there is no agent, so nothing answers.

Prompts are shown to whoever watches, as `user.message`, and their turn is over at once. Answers and
events are those of Copilot CLI 1.0.102, with one exception: it leaves `session.ui.elicitation`
without an answer where the host has no dialogs, and we refuse it.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, cast

from canvas_provider.host.link import ProviderLink
from canvas_provider.host.registry import HostRefusal
from canvas_provider.protocol.copilot import Method, OpenCanvas
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["Conversation"]

HISTORY: Final = 10_000
"""Events that are remembered."""

MODEL: Final = "none"


class Publish(Protocol):
    """Sends an event to everybody, and returns its id."""

    def __call__(self, type: str, data: JSONObject, *, ephemeral: bool) -> str: ...


class Conversation:
    """What a provider may ask of its session beside canvases: `services`, by method."""

    def __init__(self, publish: Publish, list_open: Callable[[], list[OpenCanvas]]) -> None:
        self._publish = publish
        self._list_open = list_open
        self._history: deque[SessionEvent] = deque(maxlen=HISTORY)
        self._model = MODEL
        self.reload: Callable[[], object] | None = None
        """Starts every provider again, later; None: here nobody can."""
        self.services: Mapping[str, Callable[[ProviderLink, JSONObject], Awaitable[JSONValue]]] = {
            Method.SESSION_LOG: self._log,
            Method.SESSION_SEND: self._send,
            Method.SESSION_ABORT: self._abort,
            Method.SESSION_GET_MESSAGES: self._get_messages,
            Method.SESSION_UI_ELICITATION: self._elicit,
            Method.SESSION_MODEL_SWITCH_TO: self._switch_model,
            Method.SESSION_EXTENSIONS_LIST: self._list_extensions,
            Method.SESSION_EXTENSIONS_RELOAD: self._reload,
            Method.SESSION_EXTENSIONS_SEND_ATTACHMENTS: self._push_attachments,
        }

    def remember(self, event: SessionEvent) -> None:
        """Keep an event that belongs to the session's history."""
        self._history.append(event)

    async def _log(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        message, level = params.get("message"), params.get("level", "info")
        if not isinstance(message, str):
            raise HostRefusal("missing parameter 'message'")
        if level not in ("info", "warning", "error"):
            raise HostRefusal(f"unsupported session log level: {level}")
        data: JSONObject = {f"{level}Type": "notification", "message": message}
        if isinstance(url := params.get("url"), str):
            data["url"] = url
        ephemeral = params.get("ephemeral") is True
        return {"eventId": self._publish(f"session.{level}", data, ephemeral=ephemeral)}

    async def _send(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        prompt = params.get("prompt")
        message_id = str(uuid.uuid4())
        content = prompt if isinstance(prompt, str) else ""
        data: JSONObject = {"content": content, "messageId": message_id}
        if attachments := params.get("attachments"):
            data["attachments"] = attachments
        asyncio.get_running_loop().call_soon(self._take_turn, data)
        return {"messageId": message_id}

    def _take_turn(self, data: JSONObject) -> None:
        self._publish("user.message", data, ephemeral=False)
        self._publish("session.idle", {"mode": "interactive"}, ephemeral=True)

    async def _abort(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        return {"success": True}

    async def _get_messages(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        return {"events": cast("list[JSONValue]", list(self._history))}

    async def _elicit(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        raise HostRefusal("this host has no dialogs (capabilities.ui.elicitation is false)")

    async def _switch_model(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        if not isinstance(model := params.get("modelId"), str):
            raise HostRefusal("missing or non-string parameter 'modelId'")
        before, self._model = self._model, model
        data: JSONObject = {"previousModel": before, "newModel": model, "source": "sdk"}
        self._publish("session.model_change", data, ephemeral=False)
        return {"status": "applied", "deferred": False, "modelId": model}

    async def _list_extensions(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        own: JSONObject = {"id": link.extension_id, "name": link.extension_name}
        return {"extensions": [{**own, "source": "project", "status": "running"}]}

    async def _reload(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        if self.reload is None:
            raise HostRefusal("this host cannot start an extension again")
        self.reload()
        return None

    async def _push_attachments(self, link: ProviderLink, params: JSONObject) -> JSONValue:
        given = params.get("attachments")
        instance_id = params.get("instanceId")
        stamp: JSONObject = {"extensionId": link.extension_id}
        if instance_id is not None:
            canvas = self._find(link, instance_id)
            stamp |= {"canvasId": canvas["canvasId"], "instanceId": canvas["instanceId"]}
        attachments: list[JSONValue] = [
            {**each, **stamp} if isinstance(each, dict) and _is_context(each) else each
            for each in (given if isinstance(given, list) else [])
        ]
        data: JSONObject = {"attachments": attachments}
        self._publish("session.extensions.attachments_pushed", data, ephemeral=True)
        return None

    def _find(self, link: ProviderLink, instance_id: JSONValue) -> OpenCanvas:
        for each in self._list_open():
            if each["instanceId"] == instance_id and each["extensionId"] == link.extension_id:
                return each
        message = f'Canvas instance "{instance_id}" is not open.'
        raise HostRefusal(message, data={"code": "canvas_instance_not_found"})


def _is_context(attachment: JSONObject) -> bool:
    return attachment.get("type") == "extension_context"
