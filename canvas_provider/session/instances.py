"""The open instances of one provider process: from a callback of the runtime to an `Instance`.

Knows which instance is which, where each is served and which document store it uses. Knows
nothing of JSON-RPC beyond the shapes of the three callbacks, and nothing of HTTP.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from canvas_provider.canvas.context import CanvasContext, Opened
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.canvas.threads import Workers
from canvas_provider.config import copilot_home
from canvas_provider.errors import CanvasError, Closing, HandlerError
from canvas_provider.protocol.copilot import (
    CallParams,
    CanvasActionInvokeParams,
    CanvasOpenParams,
    CanvasOpenResult,
)
from canvas_provider.session.memory import Memory
from canvas_provider.session.prompts import Panel
from canvas_provider.session.view import InstanceSession
from canvas_provider.session.watch import PageWatch
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.shared import SharedState
from canvas_provider.state.store import Store
from canvas_provider.types import MISSING, JSONObject, JSONValue, Missing

__all__ = ["Instances", "Serve", "Served"]

logger = logging.getLogger("canvas_provider.session")


class Served(Protocol):
    """A page on the air."""

    @property
    def url(self) -> str:
        """Where it is. Holds the token: never log it."""

    @property
    def visited(self) -> bool:
        """Whether anybody has asked for it."""

    def drop_streams(self) -> int:
        """Break every event stream off, and return how many."""

    async def aclose(self, reason: Literal["closed", "shutdown"]) -> None:
        """End its event streams with `closed` and this reason, then free the port."""


Serve = Callable[[Instance], Awaitable[Served]]
"""Puts the page of an instance on the air."""


@dataclass(slots=True, eq=False, repr=False)
class _Entry:
    """One instance, its page, and what the runtime was last told about it.

    No repr: it would show the input, and the address with its token.
    """

    instance: Instance
    session: InstanceSession
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    updating: asyncio.Lock = field(default_factory=asyncio.Lock)
    served: Served | None = None
    is_leaving: bool = False
    input: JSONValue | Missing = MISSING
    presented: CanvasOpenResult = field(default_factory=CanvasOpenResult)


class Instances:
    """`open`, `invoke` and `close` take the parameters of the runtime's callbacks.

    All may run at once, also for one instance: Copilot sends them so.
    """

    def __init__(
        self,
        canvases: Mapping[str, Canvas],
        *,
        serve: Serve,
        view: Callable[[Panel], InstanceSession],
        reopen: Callable[[Instance, JSONValue | Missing], Awaitable[object]],
        slow_after: float,
        pages: PageWatch,
        memory_directory: Path | None = None,
    ) -> None:
        self._canvases = canvases
        self._serve = serve
        self._view = view
        self._reopen = reopen
        self._slow_after = slow_after
        self._pages = pages
        self._workers = Workers()
        self._entries: dict[str, _Entry] = {}
        self._leaving: set[_Entry] = set()
        self._ended = False
        self._memory = Memory(canvases, memory_directory)
        self._registries: dict[tuple[int, str], tuple[Store, StateRegistry]] = {}
        """By the store's identity, so the store is held on to."""

    async def open(self, params: CanvasOpenParams, *, restoring: bool) -> CanvasOpenResult:
        """Open an instance, or answer again for one that is open: same instance, same URL.

        Args:
            restoring: the runtime opens again what an earlier process had open.

        Raises:
            CanvasError: the handler's own, or ours; an instance that was open stays as it was.
        """
        entry = self._entry(params)
        if entry.updating.locked() and _same(params.get("input", MISSING), entry.input):
            return entry.presented
        async with entry.opening:
            if entry.is_leaving or self._ended:
                raise _closing(entry.instance)
            # While it waited, an open that failed may have let go of the entry, and a later one may
            # have put another in its place.
            if self._entries.setdefault(params["instanceId"], entry) is not entry:
                return await self.open(params, restoring=restoring)
            reopened = restoring or entry.instance.phase == "open"
            try:
                opened = await entry.instance.open(params.get("input", MISSING), reopened=reopened)
                await self._put_on_air(entry, opened)
            except BaseException:
                if entry.instance.phase != "open":
                    self._forget(entry)
                raise
            if entry.is_leaving or self._ended:
                raise _closing(entry.instance)
            entry.input = params.get("input", MISSING)
            return self._present(entry, opened)

    async def invoke(self, params: CanvasActionInvokeParams) -> JSONValue:
        """Run an action for the agent.

        Raises:
            CanvasError: `instance_not_open`, or what the action answers.
        """
        entry = self._entries.get(params["instanceId"])
        if entry is None:
            # A restore that failed: the runtime still sends us its actions
            # (observed with Copilot CLI 1.0.102).
            raise _not_open(params["instanceId"])
        if entry.instance.phase == "opening":
            async with entry.opening:
                pass
        entry.session.follow(params)
        outcome = await entry.instance.invoke(
            params["actionName"], params.get("input", MISSING), author="agent"
        )
        return outcome.result

    async def close(self, params: CallParams) -> None:
        """Close an instance for good. One that is not open is closed already."""
        entry = self._entries.get(params["instanceId"])
        if entry is None:
            return
        entry.is_leaving = True
        self._forget(entry)
        self._leaving.add(entry)
        try:
            await self._take_off_air(entry, "closed")
        finally:
            self._leaving.discard(entry)

    def drop_streams(self, instance_id: str) -> int:
        """Break off the event streams of an instance's pages, and return how many."""
        entry = self._entries.get(instance_id)
        return 0 if entry is None or entry.served is None else entry.served.drop_streams()

    def find_state(self, instance_id: str) -> SharedState[Any] | None:
        """Return an instance's document; None where its canvas has no state.

        Raises:
            CanvasError: no such instance is open.
        """
        entry = self._entries.get(instance_id)
        if entry is None:
            raise _not_open(instance_id)
        return entry.instance.state

    async def aclose(self) -> None:
        """Take every page off the air, leave every lifespan, flush and close the stores."""
        self._ended = True
        # Those that are being closed, too: their stores are still needed.
        entries = [*self._entries.values(), *self._leaving]
        self._entries.clear()
        await _all(self._take_off_air(entry, "shutdown") for entry in entries)
        await _all(registry.aclose() for _, registry in self._registries.values())
        self._registries.clear()

    # --- One entry

    def _entry(self, params: CanvasOpenParams) -> _Entry:
        entry = self._entries.get(params["instanceId"])
        if entry is None:
            entry = self._create(params)
            self._entries[params["instanceId"]] = entry
        elif entry.instance.canvas.id != params["canvasId"]:
            raise CanvasError(
                "instance_of_other_canvas",
                f"Instance {params['instanceId']!r} belongs to canvas "
                f"{entry.instance.canvas.id!r}: use another instance id.",
            )
        entry.session.follow(params)
        host = params.get("host")
        entry.instance.host = cast(JSONObject, host) if isinstance(host, dict) else {}
        return entry

    def _create(self, params: CanvasOpenParams) -> _Entry:
        canvas = self._canvases.get(params["canvasId"])
        if canvas is None:
            raise CanvasError(
                "unknown_canvas", f"This extension has no canvas {params['canvasId']!r}."
            )
        session = self._view(Panel(params["extensionId"], params["canvasId"], params["instanceId"]))
        instance = Instance(
            canvas,
            instance_id=params["instanceId"],
            session_id=params["sessionId"],
            extension_id=params["extensionId"],
            registry=self._registry,
            session=session,
            update=self._update,
            workers=self._workers,
            slow_after=self._slow_after,
        )
        return _Entry(instance, session)

    def _forget(self, entry: _Entry) -> None:
        if self._entries.get(entry.instance.instance_id) is entry:
            del self._entries[entry.instance.instance_id]

    async def _put_on_air(self, entry: _Entry, opened: Opened) -> None:
        instance = entry.instance
        if opened.url is not None or entry.served is not None or not instance.canvas.has_page:
            return
        try:
            entry.served = await self._serve(instance)
        except BaseException as error:
            if "url" not in entry.presented:
                await instance.close(explicit=False)
            if isinstance(error, OSError):
                raise _no_page(instance, error) from None
            raise
        instance.url = entry.served.url
        self._pages.add(entry.served, instance.canvas.id, instance.instance_id)

    async def _take_off_air(self, entry: _Entry, reason: Literal["closed", "shutdown"]) -> None:
        """Pages first, so that nobody talks to an instance that is leaving."""
        try:
            await self._end_page(entry, reason)
        finally:
            await entry.instance.close(explicit=reason == "closed")
        async with entry.opening:
            # An open that was under way may have put a page on the air meanwhile.
            await self._end_page(entry, reason)

    async def _end_page(self, entry: _Entry, reason: Literal["closed", "shutdown"]) -> None:
        served, entry.served = entry.served, None
        if served is not None:
            self._pages.remove(served)
            await served.aclose(reason)

    def _present(self, entry: _Entry, opened: Opened) -> CanvasOpenResult:
        instance = entry.instance
        url = opened.url if entry.served is None else entry.served.url
        told: CanvasOpenResult = {}
        if url is not None:
            told["url"] = url
        if instance.title is not None:
            told["title"] = instance.title
        if instance.status is not None:
            told["status"] = instance.status
        entry.presented = told
        return told

    # --- Updates, stores

    async def _update(self, instance: Instance, title: str | None, status: str | None) -> None:
        """Tell the host a new title or status by opening the instance again.

        There is no other way (observed with Copilot CLI 1.0.102). The callback that comes back is
        answered from `presented`; the input is sent again, or the runtime would forget it.
        """
        entry = self._entries.get(instance.instance_id)
        if entry is None or entry.instance is not instance:
            raise _closing(instance)
        async with entry.opening:
            pass  # until then nobody knows the address and the input to tell again
        async with entry.updating:
            told = entry.presented.copy()
            if title is not None:
                told["title"] = title
            if status is not None:
                told["status"] = status
            before, entry.presented = entry.presented, told
            try:
                await self._reopen(instance, entry.input)
            except BaseException:
                entry.presented = before
                raise

    def _registry(self, context: CanvasContext[Any]) -> StateRegistry:
        canvas = self._canvases[context.canvas_id]
        store = self._memory.pick(canvas.id, canvas.store_for(context))
        extension = context.extension_id.rpartition(":")[2]
        name = re.sub(r"[^\w.-]+", "-", extension).lstrip(".") or "canvas"
        known = self._registries.get((id(store), name))
        if known is None:
            folder = copilot_home() / "extensions" / name / "artifacts"
            known = store, StateRegistry(store.resolve(folder))
            self._registries[id(store), name] = known
        return known[1]


def _no_page(instance: Instance, error: OSError) -> CanvasError:
    """Too many files are open, most often: no fault of the canvas, so no traceback."""
    reason = error.strerror or type(error).__name__
    logger.error("the page of canvas %r cannot be served: %s", instance.canvas.id, reason)
    return HandlerError(
        f"The page of this canvas cannot be served: {reason}. Close panels that are not needed."
    )


def _closing(instance: Instance) -> Closing:
    return Closing(f"The instance {instance.instance_id!r} is closing: open it again.")


def _same(one: JSONValue | Missing, other: JSONValue | Missing) -> bool:
    """Say whether two inputs mean the same: null, absent and `{}` do."""
    nothing: tuple[object, ...] = (MISSING, None, {})
    return one == other or (one in nothing and other in nothing)


def _not_open(instance_id: str) -> CanvasError:
    return CanvasError(
        "instance_not_open",
        f"Canvas instance {instance_id!r} is not open. Open it again with the same "
        "instance id, then retry.",
    )


async def _all(awaitables: Iterable[Coroutine[object, object, None]]) -> None:
    """Await them side by side; all of them end before the first error is raised."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
