"""Canvas instances and their life cycle, without I/O: requests in, effects out.

The other end of the canvas protocol, as Copilot CLI 1.0.102 was observed to play it. `open`,
`invoke` and `close` each return a ticket; `effects()` then hands over, in order, what is to be
done: a `Call` to a provider, an `Emit` of an event, and for every ticket one `Answer` or `Refuse`.
Report the outcome of each `Call` with `receive_answer` or `receive_error`, and ask again.

Knows no transport, no clock and no randomness. Nothing here waits, so nothing here times out.
"""

from collections.abc import Iterable
from typing import Final, cast

from canvas_provider.host.effect import Answer, Call, Effect, Emit, Refuse, Warn
from canvas_provider.host.instance import (
    INSTANCE_ID,
    Closing,
    Instance,
    Invoking,
    Opening,
    Pending,
    owner_of,
)
from canvas_provider.host.registry import DeclaredCanvas, HostRefusal, Provider, Registry
from canvas_provider.host.url import is_allowed_url
from canvas_provider.protocol.copilot import (
    CanvasEvent,
    CanvasRecorded,
    DiscoveredCanvas,
    Method,
    OpenCanvas,
)
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing

__all__ = ["CONNECTION_CLOSED", "Engine"]

CONNECTION_CLOSED: Final = "connection closed"
"""What stands for the provider's message when it died during a call."""


class Engine:
    """The registry of one session and the life of its instances.

    Args:
        records: what the session had open when it was last running; opened again, as it was opened
            first, when the owner declares (observed with Copilot CLI 1.0.102).
    """

    def __init__(
        self, *, session_id: str, working_directory: str, records: Iterable[CanvasRecorded] = ()
    ) -> None:
        self._session_id = session_id
        self._working_directory = working_directory
        self._registry = Registry()
        self._instances: dict[str, Instance] = {}
        self._records = {record["instanceId"]: record for record in records}
        self._openings: dict[str, Opening] = {}
        self._calls: dict[int, Pending] = {}
        self._effects: list[Effect] = []
        self._last_number = 0

    def effects(self) -> list[Effect]:
        """Hand over what is to be done, in order, and forget it."""
        effects, self._effects = self._effects, []
        return effects

    def canvases(self) -> list[DiscoveredCanvas]:
        """Every canvas of every connected provider."""
        return self._registry.describe()

    def open_canvases(self) -> list[OpenCanvas]:
        """Every instance a connected provider has opened."""
        return [each.describe() for each in self._instances.values() if each.is_ready]

    @property
    def is_busy(self) -> bool:
        """Whether a provider owes somebody an answer; nobody waits for what is restored."""
        return any(
            not isinstance(pending, Opening) or pending.tickets for pending in self._calls.values()
        )

    def records(self) -> list[CanvasRecorded]:
        """What was opened and never closed, as it was opened first."""
        return list(self._records.values())

    def attach(self, extension_id: str, extension_name: str, directory: str) -> None:
        """Note that a provider is connected; it has no canvases until it declares some.

        Raises:
            HostRefusal: one with this id is connected already.
        """
        self._registry.add(Provider(extension_id, extension_name, directory))

    def declare(self, extension_id: str, contributions: JSONValue) -> None:
        """Take what `session.resume` declares, and open again what is still open.

        Raises:
            HostRefusal: a declaration is refused; what was declared before stays.
        """
        provider = self._registry.get(extension_id)
        if provider is None:
            raise HostRefusal(f'Extension "{extension_id}" is not connected.')
        if not provider.declare(contributions):
            return
        owned = self._owned_by(extension_id)
        for instance in owned:
            if instance.canvas.id not in provider.canvases:
                self._lose(instance)
        self._emit_registry()
        for instance in owned:
            canvas = provider.canvases.get(instance.canvas.id)
            if canvas is not None and instance.instance_id not in self._openings:
                self._restore(instance.instance_id, canvas, instance.input)
        for record in self._records.values():
            canvas = provider.canvases.get(record["canvasId"])
            is_known = record["instanceId"] in self._instances.keys() | self._openings.keys()
            if canvas is not None and record["extensionId"] == extension_id and not is_known:
                self._restore(record["instanceId"], canvas, record.get("input", MISSING))

    def detach(self, extension_id: str) -> None:
        """Note that a provider is gone: its calls fail, its instances wait for its return."""
        provider = self._registry.remove(extension_id)
        if provider is None:
            return
        for call, pending in list(self._calls.items()):
            if owner_of(pending) == extension_id:
                self.receive_error(call, CONNECTION_CLOSED)
        for instance in self._owned_by(extension_id):
            self._lose(instance)
        if provider.canvases:
            self._emit_registry()

    def open(
        self,
        canvas_id: str,
        instance_id: str,
        input: JSONValue | Missing = MISSING,
        extension_id: str | None = None,
    ) -> int:
        """Ask for an instance: open, re-open or focus, which are the same to the provider.

        Concurrent opens of one instance share one callback, and with it the first one's input.
        """
        ticket = self._number()
        try:
            if not INSTANCE_ID.fullmatch(instance_id):
                raise HostRefusal(f'Invalid canvas instance ID "{instance_id}".')
            canvas = self._registry.resolve(canvas_id, extension_id)
            opening = self._openings.get(instance_id)
            if opening is None:
                self._check_owner(instance_id, canvas)
                canvas.check_open_input(input)
                opening = self._begin_opening(instance_id, canvas, input)
            opening.tickets.append(ticket)
        except HostRefusal as refusal:
            self._refuse(ticket, Method.SESSION_CANVAS_OPEN, str(refusal))
        return ticket

    def invoke(
        self, instance_id: str, action_name: str, input: JSONValue | Missing = MISSING
    ) -> int:
        """Ask for an action of an instance."""
        ticket = self._number()
        try:
            instance = self._find_for_invoke(instance_id)
            instance.canvas.check_action_input(action_name, input)
        except HostRefusal as refusal:
            self._refuse(ticket, Method.SESSION_CANVAS_ACTION_INVOKE, str(refusal))
            return ticket
        invoking = Invoking(instance.canvas.extension_id, ticket)
        params: JSONObject = {**instance.reference, "actionName": action_name}
        self._call(invoking, Method.CANVAS_ACTION_INVOKE, params, input)
        return ticket

    def close(self, instance_id: str) -> int:
        """Ask for the end of an instance; works without its provider, too."""
        ticket = self._number()
        instance = self._instances.get(instance_id)
        if instance is None:
            self._forget(instance_id, ticket)
            return ticket
        instance.is_closing = True
        closing = Closing(instance, ticket)
        if self._registry.find(instance.canvas.extension_id, instance.canvas.id):
            self._call(closing, Method.CANVAS_CLOSE, instance.reference)
        else:
            self._finish_closing(closing)
        return ticket

    def receive_answer(self, call: int, value: JSONValue) -> None:
        """Report that the provider answered; a call that already failed is ignored."""
        match self._calls.pop(call, None):
            case Opening() as opening:
                self._finish_opening(opening, value)
            case Closing() as closing:
                self._finish_closing(closing)
            case Invoking(ticket=ticket):
                self._effects.append(Answer(ticket, value))

    def receive_error(self, call: int, message: str, data: JSONValue = None) -> None:
        """Report that the provider failed; the message is all that reaches the caller."""
        match self._calls.pop(call, None):
            case Opening() as opening:
                self._abandon_opening(opening, message, data)
            case Closing() as closing:
                instance_id = closing.instance.instance_id
                self._effects.append(Warn(f'Closing canvas "{instance_id}" failed: {message}'))
                self._finish_closing(closing)
            case Invoking(ticket=ticket):
                self._refuse(ticket, Method.SESSION_CANVAS_ACTION_INVOKE, message, data)

    def _begin_opening(
        self, instance_id: str, canvas: DeclaredCanvas, input: JSONValue | Missing
    ) -> Opening:
        is_first = instance_id not in self._instances and not self._is_recorded(instance_id, canvas)
        opening = Opening(instance_id, canvas, input, is_first)
        self._openings[instance_id] = opening
        params: JSONObject = {
            "extensionId": canvas.extension_id,
            "canvasId": canvas.id,
            "instanceId": instance_id,
        }
        self._call(opening, Method.CANVAS_OPEN, params, input)
        return opening

    def _finish_opening(self, opening: Opening, value: JSONValue) -> None:
        result = value if isinstance(value, dict) else {}
        url, title, status = (
            text if isinstance(text := result.get(name), str) else None
            for name in ("url", "title", "status")
        )
        if url is not None and not is_allowed_url(url):
            message = f"Canvas provider returned a URL with a disallowed scheme: {url}"
            self._abandon_opening(opening, message)
            return
        del self._openings[opening.instance_id]
        # Closed while it was being re-opened: it comes back, as in the real runtime.
        instance = self._instances.setdefault(
            opening.instance_id, Instance(opening.instance_id, opening.canvas)
        )
        instance.canvas, instance.input, instance.is_ready = opening.canvas, opening.input, True
        instance.url, instance.status = url, status
        instance.title = opening.canvas.declaration["displayName"] if title is None else title
        self._emit(CanvasEvent.OPENED, cast(JSONObject, instance.describe()))
        if opening.is_first:
            self._emit_recorded(instance)
        for ticket in opening.tickets:
            self._effects.append(Answer(ticket, cast(JSONValue, instance.describe())))

    def _abandon_opening(self, opening: Opening, message: str, data: JSONValue = None) -> None:
        """Refuse everybody who waits; what was open before stays as it was."""
        del self._openings[opening.instance_id]
        for ticket in opening.tickets:
            self._refuse(ticket, Method.SESSION_CANVAS_OPEN, message, data)

    def _finish_closing(self, closing: Closing) -> None:
        instance = closing.instance
        # A second close of the same instance finds nothing left to tell.
        if self._instances.get(instance.instance_id) is instance:
            del self._instances[instance.instance_id]
            self._records.pop(instance.instance_id, None)
            self._emit(CanvasEvent.CLOSED, instance.reference)
            self._emit(CanvasEvent.REMOVED, instance.reference)
        self._effects.append(Answer(closing.ticket, None))

    def _is_recorded(self, instance_id: str, canvas: DeclaredCanvas) -> bool:
        """Whether it waits to come back; not if the name is recorded of another canvas."""
        record = self._records.get(instance_id)
        owner = None if record is None else (record["extensionId"], record["canvasId"])
        return owner == (canvas.extension_id, canvas.id)

    def _forget(self, instance_id: str, ticket: int) -> None:
        """Close what is recorded and has not come back."""
        record = self._records.pop(instance_id, None)
        if record is None:
            message = f'Canvas instance "{instance_id}" is not open.'
            self._refuse(ticket, Method.SESSION_CANVAS_CLOSE, message)
            return
        names = ("instanceId", "extensionId", "canvasId")
        reference = {name: cast(JSONObject, record)[name] for name in names}
        self._emit(CanvasEvent.CLOSED, reference)
        self._emit(CanvasEvent.REMOVED, reference)
        self._effects.append(Answer(ticket, None))

    def _restore(
        self, instance_id: str, canvas: DeclaredCanvas, input: JSONValue | Missing
    ) -> None:
        """Open again, silently not where the new schema left the input behind."""
        try:
            canvas.check_open_input(input)
        except HostRefusal:
            return
        self._begin_opening(instance_id, canvas, input)

    def _lose(self, instance: Instance) -> None:
        if instance.is_ready:
            instance.is_ready = False
            self._emit(CanvasEvent.UNAVAILABLE, instance.reference)

    def _check_owner(self, instance_id: str, canvas: DeclaredCanvas) -> None:
        owner = self._instances[instance_id].canvas if instance_id in self._instances else canvas
        if (owner.extension_id, owner.id) != (canvas.extension_id, canvas.id):
            raise HostRefusal(
                f'Canvas instance ID "{instance_id}" is already owned by a different canvas.'
            )

    def _find_for_invoke(self, instance_id: str) -> Instance:
        instance = self._instances.get(instance_id)
        if instance is None:
            raise HostRefusal(
                f'Canvas instance "{instance_id}" is not open. {self._advise(instance_id)}'
            )
        canvas = self._registry.find(instance.canvas.extension_id, instance.canvas.id)
        if canvas is None:
            raise HostRefusal(
                f'Canvas instance "{instance_id}" cannot be reached: its owning provider '
                f'"{instance.canvas.extension_id}" is not connected. '
                "Re-issue open_canvas to rehydrate."
            )
        # The schema that counts is the one declared now; the instance may be a restore that failed.
        instance.canvas = canvas
        return instance

    def _advise(self, instance_id: str) -> str:
        if not self._instances:
            return (
                "No canvases are currently open — call open_canvas first (and remember "
                "instanceId is the caller-chosen panel handle, not the canvasId)."
            )
        names = ", ".join(f'"{name}"' for name in self._instances)
        return (
            f"Currently open instances: [{names}]. "
            f'Verify open_canvas succeeded for "{instance_id}" '
            "and that you're passing the instanceId (not the canvasId)."
        )

    def _refuse(self, ticket: int, method: Method, message: str, data: JSONValue = None) -> None:
        self._effects.append(Refuse(ticket, HostRefusal(message, method=method, data=data)))

    def _owned_by(self, extension_id: str) -> list[Instance]:
        return [
            each
            for each in self._instances.values()
            if each.canvas.extension_id == extension_id and not each.is_closing
        ]

    def _call(
        self,
        pending: Pending,
        method: Method,
        params: JSONObject,
        input: JSONValue | Missing = MISSING,
    ) -> None:
        call = self._number()
        self._calls[call] = pending
        if input is not MISSING:
            params = {**params, "input": input}
        session: JSONObject = {"workingDirectory": self._working_directory}
        params = {**params, "session": session, "sessionId": self._session_id}
        self._effects.append(Call(call, owner_of(pending), method, params))

    def _emit(self, type: CanvasEvent, data: JSONObject) -> None:
        self._effects.append(Emit(type, data))

    def _emit_registry(self) -> None:
        canvases = cast(JSONValue, self._registry.describe())
        self._emit(CanvasEvent.REGISTRY_CHANGED, {"canvases": canvases})

    def _emit_recorded(self, instance: Instance) -> None:
        data: JSONObject = {**instance.reference, "title": instance.title}
        if instance.input is not MISSING:
            data["input"] = instance.input
        self._records[instance.instance_id] = cast(CanvasRecorded, data)
        self._emit(CanvasEvent.RECORDED, data)

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number
