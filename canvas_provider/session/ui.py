"""`session.ui`: dialogs that the host shows to the person.

A host without dialogs would leave a request unanswered for ever (observed with Copilot CLI
1.0.102). So nothing is sent to one, and what is under way ends when a host loses them.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal, cast

from canvas_provider.errors import Unsupported
from canvas_provider.protocol.copilot import Method
from canvas_provider.protocol.requests import ElicitationResult
from canvas_provider.session.facts import Facts
from canvas_provider.session.prompts import Request
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["SessionUI"]

_ADVICE: Final = (
    "this host shows no dialogs: ask on the canvas's own page instead, or look at "
    'session.capabilities["ui"] first'
)


class SessionUI:
    """Every method raises `Unsupported` if the host has no dialogs, also while it waits.

    A dialog waits for a person, who may be away: bound it with `asyncio.timeout` if you must.
    """

    def __init__(self, request: Request, facts: Facts) -> None:
        self._request = request
        self._facts = facts

    async def elicitation(self, message: str, schema: JSONObject) -> ElicitationResult:
        """Show a form and return what the person did.

        Args:
            schema: `{"type": "object", "properties": {…}, "required": […]}`; a property is a
                string, number, integer or boolean, or one of several texts (`enum`).
        """
        if not self._facts.has_dialogs:
            raise Unsupported(_ADVICE)
        params: JSONObject = {"message": message, "requestedSchema": schema}
        answer = asyncio.ensure_future(self._request(Method.SESSION_UI_ELICITATION, params))
        lost = asyncio.ensure_future(self._facts.wait_no_dialogs())
        try:
            await asyncio.wait((answer, lost), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise Unsupported("the host has lost its dialogs meanwhile: nobody answered")
            return _to_result(answer.result())
        finally:
            answer.cancel()
            lost.cancel()

    async def confirm(self, message: str) -> bool:
        """Ask yes or no; declined or dismissed is no."""
        field: JSONObject = {"type": "boolean", "default": True}
        return await self._ask(message, "confirmed", field) is True

    async def select(self, message: str, options: Sequence[str]) -> str | None:
        """Ask for one of the options; None if the person declines."""
        field: JSONObject = {"type": "string", "enum": list(options)}
        value = await self._ask(message, "selection", field)
        return value if isinstance(value, str) else None

    async def input(
        self,
        message: str,
        *,
        title: str | None = None,
        description: str | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        format: Literal["email", "uri", "date", "date-time"] | None = None,
        default: str | None = None,
    ) -> str | None:
        """Ask for a text; None if the person declines."""
        given: JSONObject = {
            "title": title,
            "description": description,
            "minLength": min_length,
            "maxLength": max_length,
            "format": format,
            "default": default,
        }
        field: JSONObject = {"type": "string"}
        field |= {name: value for name, value in given.items() if value is not None}
        value = await self._ask(message, "value", field)
        return value if isinstance(value, str) else None

    async def _ask(self, message: str, name: str, field: JSONObject) -> JSONValue:
        schema: JSONObject = {"type": "object", "properties": {name: field}, "required": [name]}
        result = await self.elicitation(message, schema)
        return result.get("content", {}).get(name) if result["action"] == "accept" else None


def _to_result(answer: JSONValue) -> ElicitationResult:
    """Read an answer; one that makes no sense is a dismissal."""
    fields = answer if isinstance(answer, dict) else {}
    if fields.get("action") not in ("accept", "decline", "cancel"):
        return {"action": "cancel"}
    if not isinstance(fields.get("content"), dict):
        fields.pop("content", None)
    return cast(ElicitationResult, fields)
