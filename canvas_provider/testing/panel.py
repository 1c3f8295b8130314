"""`open_canvas`: a canvas with both of its users, in one process and without a socket.

The agent's side is the embedded runtime, which checks and words everything as Copilot does; the
person's side is the page's own app behind all of its guards, asked over HTTP. In between runs the
real session. Only the pipes and the ports are replaced, by memory.
"""

import asyncio
import copy
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

import httpx

from canvas_provider.canvas.canvas import PickStore
from canvas_provider.canvas.declaration import Canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.config import Settings
from canvas_provider.errors import (
    ActionTimeout,
    CanvasError,
    CanvasProviderError,
    Closing,
    HandlerError,
    InvalidInput,
    NoHandler,
    StoreUnavailable,
    UnknownAction,
)
from canvas_provider.host.runtime import HostRefusal, Message, Runtime
from canvas_provider.protocol.copilot import CanvasEvent, OpenCanvas
from canvas_provider.protocol.events import SessionEvent
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.session import Session
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.store import Store
from canvas_provider.testing.events import PageEvents
from canvas_provider.testing.server import InProcessServers, InProcessWeb
from canvas_provider.testing.timeline import Timeline
from canvas_provider.types import MISSING, JSONValue, Missing
from canvas_provider.wire.transports import memory_pair

__all__ = ["Panel", "User", "open_canvas"]

EXTENSION_NAME: Final = "test"
EXTENSION_ID: Final = f"project:{EXTENSION_NAME}"

_ERRORS: Final[dict[str, Callable[[str], CanvasError]]] = {
    "canvas_action_no_handler": NoHandler,
    "canvas_handler_error": HandlerError,
    "store_unavailable": StoreUnavailable,
    "closing": Closing,
    "invalid_input": InvalidInput,
    "timeout": ActionTimeout,
    "unknown_action": UnknownAction,
}

_REFUSALS: Final = {
    "Invalid input for ": "invalid_input",
    "Unknown action ": "unknown_action",
    "Canvas instance ": "instance_not_open",
    "Invalid canvas instance ID ": "invalid_instance_id",
}
"""How the runtime's own texts begin."""


@asynccontextmanager
async def open_canvas(
    canvas: Canvas,
    input: JSONValue | Missing = MISSING,
    *,
    instance_id: str = "panel",
    store: Store | PickStore | None = None,
) -> "AsyncIterator[Panel]":
    """Open a canvas for a test.

        async with open_canvas(kanban, input={}) as panel:
            card = await panel.person.add_card(title="Ship it")
            await panel.agent.move_card(card_id=card["id"], column="done")
            assert panel.revision == 2

    Leaving the block is what quitting Copilot is: no `on_close` runs. For that, `panel.close()`.

    Args:
        input: What the canvas is opened with; left out, it is absent.
        store: Where the state is kept, in place of the canvas's own store; by default in memory,
            so that a test leaves nothing behind. Give the same store twice to see what lasts. As
            in `create_canvas`, a function of the context may pick it.

    Raises:
        CanvasError: the canvas, or the runtime, refused to open.
    """
    canvas = copy.copy(canvas)
    canvas.store = MemoryStore() if store is None else store
    with tempfile.TemporaryDirectory(prefix="canvas-test-") as folder:
        async with Runtime(working_directory=folder, workspace_path=folder) as runtime:
            panel = Panel(canvas, instance_id, runtime)
            try:
                await panel._start(input)
                yield panel
            finally:
                await panel._quit()


class Panel:
    """One open canvas. `open_canvas` makes it."""

    def __init__(self, canvas: Canvas, instance_id: str, runtime: Runtime) -> None:
        self.instance_id: Final = instance_id
        self.runtime: Final = runtime
        """What plays Copilot; for what is not offered here."""
        self.events: Final = PageEvents()
        """What the page has received."""
        self.timeline: Final = Timeline()
        """What the person reads in the session: `ctx.session.log`, and progress."""
        self.person: Final = Person(self._post)
        """`await panel.person.NAME(field=…)`: the page calls an action, by a POST."""
        self.agent: Final = User(self._invoke)
        """`await panel.agent.NAME(field=…)`: the agent calls an action, by the runtime."""
        self._canvas = canvas
        self._servers = InProcessServers()
        self._web = InProcessWeb(self._servers)
        self._session: Session | None = None
        self._restored: asyncio.Future[None] | None = None
        self._http = httpx.AsyncClient(transport=self._servers)

    def __repr__(self) -> str:
        return f"<Panel {self.instance_id!r} of {self._canvas!r}>"

    # What is there

    @property
    def http(self) -> httpx.AsyncClient:
        """A client at the page's address, as in `await panel.http.get("state")`."""
        return self._http

    @property
    def state(self) -> Any:
        """The state as JSON, a copy. None for a canvas without state."""
        state = self._instance.state
        return None if state is None else copy.deepcopy(state.document)

    @property
    def revision(self) -> int:
        """Counts the changes that were committed; 0 is what the state began with."""
        state = self._instance.state
        return 0 if state is None else state.revision

    @property
    def url(self) -> str | None:
        """The page's address. It works with `http` only: there is no socket."""
        return self._shown.get("url")

    @property
    def title(self) -> str | None:
        return self._shown.get("title")

    @property
    def status(self) -> str | None:
        return self._shown.get("status")

    # What can happen to it

    async def reopen(self, input: JSONValue | Missing = MISSING) -> None:
        """Open the same instance again: what an agent does to focus it."""
        async with self._answers():
            await self.runtime.open(self._canvas.id, self.instance_id, input)
        await self._arrive()

    async def reload(self) -> None:
        """Restart the provider, as a reload of extensions does; the runtime opens it again.

        Raises:
            CanvasError: the canvas refused; it is not open then.
        """
        await self._leave()
        restored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._restored = restored
        try:
            await self._join()
            async with self._answers(), asyncio.timeout(self._canvas.open_timeout):
                await restored
        finally:
            self._restored = None
        await self._arrive()

    async def close(self) -> None:
        """Close it for good: `on_close` runs, the page is told, its address is gone."""
        async with self._answers():
            await self.runtime.close(self.instance_id)

    # The two users

    async def _invoke(self, name: str, input: JSONValue | Missing) -> Any:
        async with self._answers():
            return await self.runtime.invoke(self.instance_id, name, input)

    async def _post(
        self, name: str, input: JSONValue | Missing, expected_revision: int | None = None
    ) -> Any:
        # What a browser sends along with a page's own request.
        origin = str(self._http.base_url.copy_with(raw_path=b"")).rstrip("/")
        headers = {
            "Content-Type": "application/json",
            "Origin": origin,
            "Sec-Fetch-Site": "same-origin",
        }
        if expected_revision is not None:
            headers["If-Match"] = f'"{expected_revision}"'
        response = await self._http.post(
            f"actions/{quote(name, safe='')}",
            content=b"" if input is MISSING else json.dumps(input, allow_nan=False).encode(),
            headers=headers,
            # A page waits as long as the action takes, and so does an agent.
            timeout=None,
        )
        answer = response.json()
        if response.is_success:
            return answer["result"]
        raise _error(answer["error"]["code"], answer["error"]["message"])

    # The provider in between

    async def _start(self, input: JSONValue | Missing) -> None:
        self.runtime.subscribe(self._note_event)
        self.runtime.subscribe_messages(self._note_message)
        await self._join()
        await self.reopen(input)

    async def _quit(self) -> None:
        await self._leave()
        await self._http.aclose()

    async def _join(self) -> None:
        ours, theirs = memory_pair()
        link = await self.runtime.attach(
            theirs, extension_id=EXTENSION_ID, extension_name=EXTENSION_NAME
        )
        handshake = Handshake.begin(
            [self._canvas], session_id=self.runtime.session_id, settings=Settings()
        )
        self._session = Session(handshake, ours, self._web)
        await self._session.join()
        await link.wait_joined()

    async def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()
        await self.events.unfollow()

    async def _arrive(self) -> None:
        """Go to where the page is now, as the frame that shows it does."""
        url = self.url
        if url is None or not self._servers.has(url):
            await self.events.unfollow()
        elif url != str(self._http.base_url):
            self._http.base_url = url
            await self.events.follow(self._http)

    @property
    def _instance(self) -> Instance:
        try:
            return self._web.instances[self.instance_id]
        except KeyError:
            raise CanvasProviderError(
                "Only a canvas whose page we serve can be looked into: "
                f"{self._canvas.id!r} opens a URL of its own."
            ) from None

    @property
    def _shown(self) -> OpenCanvas:
        for shown in self.runtime.list_open():
            if shown["instanceId"] == self.instance_id:
                return shown
        raise CanvasError("instance_not_open", f"Instance {self.instance_id!r} is not open.")

    def _note_event(self, event: SessionEvent) -> None:
        self.timeline.note(event)
        if event["type"] == CanvasEvent.OPENED:
            self._end_restoring(None)

    def _note_message(self, message: Message) -> None:
        """A provider that cannot restore an instance tells the runtime, which tells nobody."""
        if self._restored is not None and message.direction == "in" and b'"error"' in message.body:
            error = json.loads(message.body).get("error")
            if error is not None:
                self._end_restoring(HostRefusal(error["message"], data=error.get("data")))

    def _end_restoring(self, refusal: HostRefusal | None) -> None:
        restored = self._restored
        if restored is None or restored.done():
            return
        if refusal is None:
            restored.set_result(None)
        else:
            restored.set_exception(refusal)

    @asynccontextmanager
    async def _answers(self) -> AsyncIterator[None]:
        """Turn what the runtime refuses into what a handler raised."""
        try:
            yield
        except HostRefusal as refusal:
            raise _error(_code(refusal), refusal.message) from None


class User:
    """Calls actions: `await user.NAME(field=…)`, or `await user("NAME", input)` for any name."""

    def __init__(self, call: Callable[[str, JSONValue | Missing], Awaitable[Any]]) -> None:
        self._call = call

    def __call__(self, name: str, input: JSONValue | Missing = MISSING) -> Awaitable[Any]:
        """Call an action with this input; left out, it is absent.

        Raises:
            CanvasError: the action, or who checks its input, refused.
        """
        return self._call(name, input)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)

        def action(**fields: Any) -> Awaitable[Any]:
            return self._call(name, fields if fields else MISSING)

        return action


class Person(User):
    """Calls actions as the page does."""

    def __init__(
        self, call: Callable[[str, JSONValue | Missing, int | None], Awaitable[Any]]
    ) -> None:
        super().__init__(lambda name, input: call(name, input, None))
        self._call_at = call

    def __call__(
        self,
        name: str,
        input: JSONValue | Missing = MISSING,
        *,
        expected_revision: int | None = None,
    ) -> Awaitable[Any]:
        """Call an action with this input; left out, it is absent.

        Args:
            expected_revision: Refuse with `revision_conflict` unless the state is at it, as
                `{ ifMatch: 7 }` of `canvas.js` does.

        Raises:
            CanvasError: the action, or who checks its input, refused.
        """
        return self._call_at(name, input, expected_revision)


def _error(code: str, message: str) -> CanvasError:
    make = _ERRORS.get(code)
    return CanvasError(code, message) if make is None else make(message)


def _code(refusal: HostRefusal) -> str:
    """The provider's code; what the runtime itself refuses has a text only."""
    if isinstance(refusal.data, dict):
        return str(refusal.data.get("code", "refused"))
    starts = (code for start, code in _REFUSALS.items() if refusal.message.startswith(start))
    return next(starts, "refused")
